"""Vectors of 16 numbers, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from scansnap_core.engine import vectors
from scansnap_core.engine.vectors import (
    LANES,
    add_product,
    larger,
    largest,
    load,
    minus,
    plus,
    product,
    splat,
    store,
    total,
)

BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@njit
def combine(a: Any, b: Any, number: Any, out: Any) -> Any:
    """Each function once, at places that no register is aligned to."""
    u, v = load(a, 1), load(b, 3)
    store(out[0], 0, plus(u, v))
    store(out[1], 0, minus(u, v))
    store(out[2], 0, product(u, v))
    store(out[3], 0, add_product(splat(number), u, v))
    store(out[4], 0, larger(u, v))
    return total(u), largest(u)


@njit
def exponentials(x: Any, out: Any) -> None:
    for i in range(0, x.size, LANES):
        store(out, i, vectors.exp(load(x, i)))


@BOTH
def test_a_vector_does_what_numpy_does(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    a, b, out = rng.normal(size=20).astype(dtype), rng.normal(size=20).astype(dtype), np.zeros((5, LANES), dtype)
    summed, top = combine(a, b, dtype(0.3), out)
    u, v = a[1:17], b[3:19]
    expected = np.array([u + v, u - v, u * v, dtype(0.3) + u * v, np.maximum(u, v)])
    np.testing.assert_allclose(out, expected, rtol=0, atol=4 * np.finfo(dtype).eps)
    assert top == u.max()
    halves = u
    while halves.size > 1:
        halves = halves[: halves.size // 2] + halves[halves.size // 2 :]
    assert summed == halves[0]


@BOTH
def test_exponentials_are_right_to_the_last_digits(dtype: Any) -> None:
    lowest = {np.float32: 79, np.float64: 699}[dtype]
    x = -np.geomspace(1e-6, lowest, 16_000).astype(dtype)
    x[0], out = 0, np.zeros_like(x)
    exponentials(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(out / exact - 1)) < 2 * np.finfo(dtype).eps


@BOTH
def test_what_is_far_below_zero_is_nothing_and_nan_stays(dtype: Any) -> None:
    x, out = np.full(LANES, -1e30, dtype), np.zeros(LANES, dtype)
    x[:2] = np.nan, -np.inf
    exponentials(x, out)
    assert np.isnan(out[0])
    assert ((out[1:] > 0) & (out[1:] < 1e-30)).all()
