"""Print as JSON for what processor the libraries compute, and where: ``python -m tools.portable.probe``."""

import ctypes
import json
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
    """The kernel that NumPy's OpenBLAS has chosen."""
    (library,) = Path(np.__file__).parents[1].joinpath("numpy.libs").glob("libscipy_openblas64_*")
    name = ctypes.CDLL(str(library)).scipy_openblas_get_corename64_
    name.restype = ctypes.c_char_p
    return name().decode()


@numba.njit("f8(f8[:])", fastmath=True)
def total(values: np.ndarray) -> float:
    """A sum, which is compiled to the widest registers that the compiler takes the processor to have."""
    s = 0.0
    for value in values:
        s += value
    return s


def registers() -> str:
    """The widest registers that Numba uses: xmm before AVX, ymm, or zmm."""
    (assembly,) = total.inspect_asm().values()
    return max(name for name in ("xmm", "ymm", "zmm") if name in assembly)


def main() -> None:
    """Print it. MKL itself prints its mode when MKL_VERBOSE=1."""
    locale.setlocale(locale.LC_ALL, "")
    torch.ones(8, 8) @ torch.ones(8, 8)
    print(
        json.dumps(
            {
                "torch": torch.backends.cpu.get_cpu_capability(),
                "numba": registers(),
                "openblas": openblas(),
                "numpy": max(
                    (name for name in ("X86_V2", "X86_V3", "X86_V4") if __cpu_features__.get(name)), default=""
                ),
                "fused": math.exp(UNFUSED[0]) != UNFUSED[1],
                "threads": torch.get_num_threads(),
                "point": locale.localeconv()["decimal_point"],
                "clock": time.tzname[0],
            }
        )
    )


if __name__ == "__main__":
    main()
