"""Runs ``scansnap`` with a line of progress every tenth of a second: ``python -m tests.cli.quick_progress ...``."""

import signal
import sys

from scansnap_core.base import progress
from scansnap_core.cli import main

progress.SECONDS = 0.1

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background would ignore it
    sys.exit(main())
