"""What a kernel that executes a chapter runs first (``PYTHONSTARTUP``). It leaves no name in the chapter's own."""

# What the imports of a chapter make stays to its end: looking for garbage among it took 5 % of a chapter's time.
__import__("gc").set_threshold(100_000)
