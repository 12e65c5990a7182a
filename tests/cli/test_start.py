"""What the command line doesn't wait for."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        ("scansnap_core", ("numpy", "torch")),
        ("scansnap_core.cli", ("scipy", "sympy", "torch", "xarray", "numba", "nbformat")),
        ("scansnap_core.book.verify", ("rfc3987_syntax", "scipy", "sympy", "torch", "xarray", "numba")),
    ],
)
def test_a_start_waits_for_no_slow_import(module: str, slow: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print(sorted({set(slow)} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
