"""What the commands of ``scansnap`` do, one module a command. Importing them stays light: no torch."""
