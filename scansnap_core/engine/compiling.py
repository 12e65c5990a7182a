"""How the package compiles a function for a CPU: with Numba, stored for later processes where there is room for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scansnap_core.extras import needs

with needs("sweeps"):
    from numba import njit


def compiled_for_cpu(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call, without the interpreter's lock; NumPy's rules hold for 1/0.

    Numba stores the machine code beside the source or in the user's cache. If neither can be written, as on a
    read-only file system without a home, every process compiles the function again.
    """
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # Numba finds no place for its cache
        return njit(nogil=True, error_model="numpy")(function)
