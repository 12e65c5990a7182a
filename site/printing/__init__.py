"""The book as one PDF, printed from the built site by the machine's own Chromium: ``python -m printing``."""
