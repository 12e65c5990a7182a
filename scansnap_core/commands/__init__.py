"""The commands of ``scansnap``. Importing them stays light: no torch."""
