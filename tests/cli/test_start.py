"""What the command line doesn't wait for."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from scansnap_core.commands.sweep import UNUSED
from scansnap_core.extras import COVERAGE

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
        ("scansnap_core.book.verify", ("rfc3987_syntax", "scipy", "sympy", "torch", "xarray", "numba")),
        ("scansnap_core.sweeps.running", ("sympy", "torch", "matplotlib")),
    ],
)
def test_a_start_waits_for_no_slow_import(module: str, slow: tuple[str, ...]) -> None:
    assert missing(f"import {module}", slow) == "[]\n"


def test_a_sweep_does_without_what_others_import_if_they_find_it() -> None:
    unused = (*UNUSED, COVERAGE)
    look = "import xarray, numba, scipy.sparse\nassert (xarray.DataArray([1.0, 2.0], dims='x') > 1).any()"
    assert missing(look, unused) == f"{sorted(unused)}\n"  # control: all are looked for
    alone = "from scansnap_core.commands.sweep import import_without_unused\nimport_without_unused()\n"
    assert missing(alone + look, unused) == "[]\n"


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


@pytest.mark.parametrize(("arguments", "own"), [(None, True), (["--version"], False)])
def test_only_a_process_of_its_own_has_its_garbage_left(arguments: list[str] | None, own: bool) -> None:
    program = f"""
import atexit, gc
from scansnap_core import cli

usual = gc.get_threshold()
atexit.register(lambda: print(gc.get_threshold() != usual, gc.get_freeze_count() > 0))
cli.main({arguments})
"""
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == [f"{own} {own}"]
