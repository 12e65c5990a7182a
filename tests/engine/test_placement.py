"""Compiled functions give the same bits wherever malloc puts their arrays."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from scansnap_core.data.datasets import with_overlap
from scansnap_core.engine import compiled, kernel, supports
from scansnap_core.engine.compiled import SharedRuns
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.vectors import LANES

NEAR = 512
"""Bytes. Four registers of 64 bytes are worked on at a time, so arrays less than 256 bytes apart get in their way."""
DRAWS = 4
"""Another order of a sum gives another last bit in about every second draw."""

DType = type[np.float32] | type[np.float64]
Call = tuple[Callable[..., Any], list[np.ndarray], list[int]]
"""A function, its arguments, and which of them it writes to."""


def outcomes(call: Call) -> Iterator[bytes]:
    """What a call leaves in its arrays: first with all of them far apart, then with a written one near another."""
    function, arrays, written = call
    stride = max(array.nbytes for array in arrays) + NEAR
    stride += -stride % 64
    memory = np.empty(stride * (len(arrays) + 2) + 64, np.uint8)
    memory = memory[-memory.ctypes.data % 64 :]
    apart = [stride * place for place in range(len(arrays))]
    together = stride * len(arrays)

    def after(starts: list[int]) -> bytes:
        views = [
            memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            for start, array in zip(starts, arrays, strict=True)
        ]
        for view, array in zip(views, arrays, strict=True):
            view[...] = array
        returned = function(*views)
        return b"".join(view.tobytes() for view in views) + np.float64(returned or 0).tobytes()

    yield after(apart)
    for here, there in itertools.product(written, range(len(arrays))):
        if here != there:
            step = max(arrays[here].itemsize, arrays[there].itemsize)
            for (left, right), distance in itertools.product(((here, there), (there, here)), range(0, NEAR + 1, step)):
                starts = apart.copy()
                starts[left] = together
                starts[right] = together + arrays[left].nbytes + distance
                yield after(starts)


def kernel_attend(rng: np.random.Generator, dtype: DType, size: int, top: float = 1) -> Call:
    size += -size % LANES
    q, z = rng.random(size).astype(dtype), rng.normal(size=size).astype(dtype)
    return kernel._attend, [q, z, np.exp(z - z.max()) * dtype(top), np.zeros(size, dtype)], [3]


def kernel_vanishing(rng: np.random.Generator, dtype: DType, size: int) -> Call:
    """Samples whose attention is worked out anew."""
    return kernel_attend(rng, dtype, size, top=1e-30)


def kernel_products(rng: np.random.Generator, dtype: DType, size: int) -> Call:
    """The three products of a climb and its exponentials, one after the other."""
    size += -size % LANES
    F, G = rng.random((kernel.TOGETHER, size)).astype(dtype), np.zeros((kernel.TOGETHER, size), dtype)
    Y, V = rng.normal(size=(2, size + 4, 48)).astype(dtype)
    log_multiplicity, alphas = rng.normal(size=48).astype(dtype), np.zeros((kernel.TOGETHER, 48), dtype)
    rows = rng.permutation(size + 4)[:size]
    tops, sums = np.zeros((2, kernel.TOGETHER), dtype)

    def call(F: Any, G: Any, Y: Any, V: Any, alphas: Any, tops: Any, sums: Any, rows: Any) -> None:
        kernel._decode(F, Y, rows, log_multiplicity, alphas, tops)
        kernel._exponentiate(alphas, tops, sums)
        kernel._back(alphas, Y, rows, G)
        kernel._gather(F, alphas, rows, V)

    return call, [F, G, Y, V, alphas, tops, sums, rows], [1, 3, 4, 5, 6]


def supports_attend(rng: np.random.Generator, dtype: DType, size: int) -> Call:
    return supports._attend, [rng.random(size), rng.normal(size=size), np.zeros(size)], [2]


def supports_classes(rng: np.random.Generator, dtype: DType, size: int) -> Call:
    """Three classes of one common token and distinct ones, and then the common token's row of Y."""
    K, outputs = 3, 2 * size + -2 * size % LANES
    rows = np.array([[3 * n, 3 * n + 1, 3 * n + 2, 9] for n in range(K)])
    starts, is_own, class_of = np.arange(0, 4 * K + 1, 4), rows.ravel() < 9, np.repeat(np.arange(K), 4)
    q, z, per_output = rng.random(4 * K), rng.normal(size=4 * K), rng.random(outputs)
    num_blocks = -(-outputs // supports.COLUMNS)
    Y, moves = rng.normal(size=(10, outputs)), np.zeros((num_blocks, K, supports.COLUMNS))

    def call(
        Y: Any, z: Any, q: Any, log_multiplicity: Any, f: Any, moves: Any, dz: Any, loss: Any, scratch: Any
    ) -> None:
        supports._climb_classes(
            0, K, Y, z, starts, q, rows.ravel(), is_own, np.arange(K), log_multiplicity, per_output, 0.3, f, moves,
            dz, loss, scratch,
        )  # fmt: skip
        supports._climb_common(0, num_blocks, Y, np.flatnonzero(~is_own), rows.ravel(), class_of, f, moves)

    floats = [Y, z, q, rng.normal(size=outputs), np.zeros(4 * K), moves, np.zeros(4 * K), np.zeros(K)]
    return call, [*floats, np.zeros((2, outputs))], [0, 4, 5, 6, 8]


@pytest.mark.parametrize("size", [8, 24, 100])
@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        *itertools.product((kernel_attend, kernel_vanishing, kernel_products), (np.float32, np.float64)),
        (supports_attend, np.float64),
        (supports_classes, np.float64),
    ],
)
def test_no_bit_depends_on_how_far_apart_arrays_are(make: Callable[..., Call], dtype: DType, size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(DRAWS):
        apart, *near = outcomes(make(rng, dtype, size))
        assert len(near) >= 2 * NEAR // 8
        assert [place for place, outcome in enumerate(near) if outcome != apart] == []


def test_a_training_is_the_same_under_heap_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each step malloc's free list is stirred, so that the step's arrays lie elsewhere each time."""
    options = Settings.checked(
        lr_y=[0.1, 0.3], lr_z=[0.05, 0.2], steps=1000, seeds=[3], batch_size=8, seq_len=64, optimizer="momentum",
        momentum=0.9, initial="random", record=[1000], rng="fresh", device="cpu", dtype="float32",
    )  # fmt: skip
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    rng, sample, stirred = np.random.default_rng(0), SharedRuns._sample, []

    def stir_and_sample(runs: SharedRuns, first: int) -> Any:
        rooms = [libc.malloc(size) for size in rng.integers(16, 600, 100).tolist()]
        for room in rng.permutation(rooms):
            libc.free(int(room))
        stirred.append(first)
        return sample(runs, first)

    for distinct in (6, 7, 23):  # supports of 7 and 8 places, which 8 hold, and of 24
        classes = with_overlap(3, 3 * (distinct + 1) + 20, 0.3, distinct_weights=np.arange(1.0, distinct + 1))
        quiet = SharedRuns(classes, options).finish()
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "CHUNK", 1)
            patch.setattr(SharedRuns, "_sample", stir_and_sample)
            noisy = SharedRuns(classes, options).finish()
        for name in ("loss", "Z"):
            np.testing.assert_array_equal(noisy[name], quiet[name])
    assert len(stirred) == 3 * 1000
