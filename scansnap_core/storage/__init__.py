"""What is kept: labelled results that survive a kill, and where they come from."""
