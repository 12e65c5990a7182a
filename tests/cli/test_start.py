"""What the command line doesn't wait for."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

TRIES = 6
"""The least of so many counts: other processes slow a processor down, never up."""


def missing(program: str, slow: tuple[str, ...]) -> str:
    """What a program prints that names those of some modules that it has imported."""
    code = f"import sys\n{program}\nprint(sorted({set(slow)} & sys.modules.keys()))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        ("scansnap_core", ("numpy", "torch")),
        ("scansnap_core.cli", ("scipy", "sympy", "torch", "xarray", "numba", "nbformat")),
        ("scansnap_core.book.verify", ("scipy", "sympy", "torch", "xarray", "numba")),
        ("scansnap_core.sweeps.running", ("sympy", "torch", "matplotlib")),
    ],
)
def test_a_start_waits_for_no_slow_import(module: str, slow: tuple[str, ...]) -> None:
    assert missing(f"import {module}", slow) == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(("-c", "import scansnap_core"), 0.2), (("-m", "scansnap_core.cli", "--help"), 0.3)],
)
def test_a_start_takes_few_seconds_of_a_processor(arguments: tuple[str, ...], most: float) -> None:
    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    for _ in range(TRIES):
        before = spent()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        if spent() - before <= most:
            return
    pytest.fail(f"none of {TRIES} took as little as {most} s")
