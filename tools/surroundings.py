"""Print for what processor the libraries compute, with how many threads, and in what surroundings
otherwise.
"""

import ctypes
import locale
import math
import os
import subprocess
import time
from pathlib import Path

import numba
import numpy as np
import torch
from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

UNFUSED = 29 / 8, float.fromhex("0x1.2c32a20e4f854p+5")
"""A number, and its exponential as glibc rounds it without fused multiply-adds: one unit in the
last place lower.
"""


def openblas() -> str:
    """Name the kernel that NumPy's OpenBLAS has chosen."""
    (library,) = Path(np.__file__).parents[1].joinpath("numpy.libs").glob("libscipy_openblas64_*")
    name = ctypes.CDLL(str(library)).scipy_openblas_get_corename64_
    name.restype = ctypes.c_char_p
    return name().decode()


@numba.njit("f8(f8[:])", fastmath=True)
def total(values: np.ndarray) -> float:
    """Sum the values; the sum is compiled to the widest registers that the compiler takes the
    processor to have.
    """
    s = 0.0
    for value in values:
        s += value
    return s


def date() -> str:
    """Say whether the clock shows the time at which the checkout's last file was changed, or years
    after it.
    """
    newest = max(path.stat().st_mtime for path in Path(__file__).parent.iterdir())
    years = (time.time() - newest) / (365 * 24 * 3600)
    return "future" if years > 10 else "true"


def home() -> str:
    """Say whether there is a home folder to write to."""
    return "writable" if os.access(Path.home(), os.W_OK) else "none"


def umask() -> str:
    """Return the permissions that a new file doesn't get, as octal digits."""
    mask = os.umask(0)
    os.umask(mask)
    return f"{mask:03o}"


def font() -> str:
    """Name the sans-serif font that a browser takes."""
    found = subprocess.run(
        ["fc-match", "--format=%{family}", "sans-serif"], capture_output=True, text=True, check=True
    )
    return found.stdout


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
    max(
        (name for name in ("X86_V2", "X86_V3", "X86_V4") if __cpu_features__.get(name)), default=""
    ),
    "unfused" if math.exp(UNFUSED[0]) == UNFUSED[1] else "fused",
    torch.get_num_threads(),
    point,
    time.tzname[0],
    f"date:{date()}",
    f"home:{home()}",
    f"umask:{umask()}",
    f"columns:{os.environ.get('COLUMNS', 'none')}",
    f"cores:{len(os.sched_getaffinity(0))}",
    f"font:{font()}",
)
