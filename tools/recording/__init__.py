"""The programs that make the files in ``results/``; its README has the commands."""
