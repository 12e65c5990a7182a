"""Sweeps in processes of their own, watched through the journal of their store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scansnap_core.storage.store import JOURNAL

PATIENCE = 300
"""Seconds after which something that should have happened hasn't."""
SLOW = {
    "data": "syn_medium 3", "rates": {"lr_z": [1, 2], "ratio": [1, 5]}, "steps": 60, "seeds": 16,
    "optimizer": "momentum", "initial": "random",
}  # fmt: skip
"""A grid that takes long enough for something to happen meanwhile."""


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """Run a module of Python with its output caught, on one thread."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
    )


def finished_blocks(store: Path) -> int:
    """How many blocks the journal holds."""
    journal = store / JOURNAL
    return max(0, journal.read_bytes().count(b"\n") - 1) if journal.exists() else 0


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so while the process lives."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)
