"""Print for what processor the libraries compute, with how many threads, and in what language and time zone."""

import ctypes
import locale
import math
import time
from pathlib import Path

import numba
import numpy as np
import torch
from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

UNFUSED = 29 / 8, float.fromhex("0x1.2c32a20e4f854p+5")
"""A number, and its exponential as glibc rounds it without fused multiply-adds: one unit in the last place lower."""


def openblas() -> str:
    """Name the kernel that NumPy's OpenBLAS has chosen."""
    (library,) = Path(np.__file__).parents[1].joinpath("numpy.libs").glob("libscipy_openblas64_*")
    name = ctypes.CDLL(str(library)).scipy_openblas_get_corename64_
    name.restype = ctypes.c_char_p
    return name().decode()


@numba.njit("f8(f8[:])", fastmath=True)
def total(values: np.ndarray) -> float:
    """Sum the values; the sum is compiled to the widest registers that the compiler takes the processor to have."""
    s = 0.0
    for value in values:
        s += value
    return s


(assembly,) = total.inspect_asm().values()
try:
    locale.setlocale(locale.LC_ALL, "")
    point = locale.localeconv()["decimal_point"]
except locale.Error:  # it isn't installed
    point = "?"
print(
    torch.backends.cpu.get_cpu_capability(),
    max(name for name in ("xmm", "ymm", "zmm") if name in assembly),
    openblas(),
    max((name for name in ("X86_V2", "X86_V3", "X86_V4") if __cpu_features__.get(name)), default=""),
    "unfused" if math.exp(UNFUSED[0]) == UNFUSED[1] else "fused",
    torch.get_num_threads(),
    point,
    time.tzname[0],
)
