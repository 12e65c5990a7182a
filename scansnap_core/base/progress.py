"""Progress: a bar in a terminal or a notebook; elsewhere, as in a batch job's log, a line a
minute.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from datetime import timedelta
from typing import Any

from tqdm import tqdm

SECONDS = 60.0
"""The time between two printed lines, in seconds."""


def progress_bar(
    things: Iterable[Any] | None,
    show: bool,
    *,
    unit: str,
    total: int | None = None,
    initial: int = 0,
) -> tqdm[Any] | Lines:
    """Make a bar that goes through things, or without them is moved by its ``update``, in a
    ``with`` statement.

    Parameters
    ----------
    things
        What the work is done for, one after another; its length is the total if none is given.
    show
        Whether the user asked to see the progress. A bar is drawn only if standard error is a
        terminal or a Jupyter kernel's. Elsewhere a line is printed to standard error every
        `SECONDS`, so short work prints none.
    unit, total, initial
        One thing's name in the singular, how many there are, and how many of them were done before.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    drawn = type(shell).__name__ == "ZMQInteractiveShell" or (
        sys.stderr is not None and sys.stderr.isatty()
    )
    if drawn or not show or sys.stderr is None:
        hidden = not (show and drawn)
        return tqdm(things, disable=hidden, leave=False, unit=unit, total=total, initial=initial)
    return Lines(things, unit, total, initial)


class Lines:
    """Counts as a bar does. A thread prints the lines, so that long work on one thing doesn't look
    like a halt. Arguments are those of :func:`progress_bar`.
    """

    def __init__(
        self, things: Iterable[Any] | None, unit: str, total: int | None, initial: int
    ) -> None:
        """Begin to count and to measure time; the thread starts with the ``with`` statement."""
        self.n = initial
        self._initial = initial
        self._things = () if things is None else things
        self._unit = unit
        self._total = len(things) if total is None and isinstance(things, Sized) else total
        self._values = ""
        self._ended = threading.Event()
        self._start = time.monotonic()

    def __enter__(self) -> Lines:
        threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()

    def __iter__(self) -> Iterator[Any]:
        for thing in self._things:
            yield thing
            self.n += 1

    def update(self, n: int = 1) -> None:
        """Count n things more."""
        self.n += n

    def set_postfix(self, **values: str) -> None:
        """Name what the last thing came to."""
        self._values = "".join(f", {name} {value}" for name, value in values.items())

    def _print_lines(self) -> None:
        """Print a line every `SECONDS` until the work ends."""
        while not self._ended.wait(SECONDS):
            print(self.line(time.monotonic() - self._start), file=sys.stderr, flush=True)

    def line(self, seconds: float) -> str:
        """Say how far the work is after some seconds, and how long the rest takes at the same
        speed.
        """
        of = "" if self._total is None else f" of {self._total:,}"
        text = f"scansnap: {self.n:,}{of} {self._unit}s after {timedelta(seconds=round(seconds))}"
        done = self.n - self._initial
        if self._total is not None and done > 0:
            left = seconds * (self._total - self.n) / done
            text += f", about {timedelta(seconds=round(left))} left"
        return text + self._values
