"""Equal classes: the flow on few numbers against all of Y and Z, and the linear law inside its bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.base.bad_input import BadInput
from scansnap_core.law import closed
from scansnap_core.law.equal_classes import EqualClassesFlow, FlowPath, Reached, Rest, linear_error

TAUS = np.array([1.0, 20.0, 500.0])


def reached(path: FlowPath, moment: int = -1) -> Reached:
    return Reached(*(float(getattr(path, name)[moment]) for name in Reached._fields))


@pytest.mark.parametrize(("size", "weights"), [((2, 1000, 0.3), [1, 2]), ((3, 500, 0.6), [3, 1, 1])])
def test_flow_is_that_of_all_of_Y_and_Z(size: tuple[int, int, float], weights: list[int]) -> None:
    flow = ss.TrueFlow(ss.with_overlap(*size, distinct_weights=weights), 1.0, 1.0)
    whole = ss.solve(flow, TAUS, unit="tau", rtol=1e-9).Z.values[:, 0, : 1 + len(weights)]
    path = EqualClassesFlow(Rest(size[0], size[2], weights), vocab_size=size[1], ratio=1.0).path(TAUS)
    np.testing.assert_allclose(path.z, whole, rtol=1e-6)


def test_at_rest_evidence_is_the_closed_form() -> None:
    path = EqualClassesFlow(Rest(3, 0.1, [1, 2]), vocab_size=10_000, ratio=0.0).path(TAUS)
    for mine, known in zip((path.a, path.b, path.c), closed.evidence(TAUS, 3, 10_000, 0.1), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-6)
    assert not path.z.any()
    assert not path.way.any()


def test_linear_law_without_memory_is_the_drift() -> None:
    rest = Rest(2, 0.2, [1, 2])
    path = EqualClassesFlow(rest, vocab_size=10_000, ratio=1e-9).path(TAUS)
    drift = closed.drift(TAUS, 2, 10_000, 0.2)[:, None]
    np.testing.assert_allclose(path.linear, 1e-9 * np.sqrt(rest.count) * rest.drive * drift, rtol=1e-5)


def test_rest_is_the_derivative_of_attention() -> None:
    rest = Rest(3, 0.2, [1, 2])
    step = 1e-6 * np.eye(3)
    moved = rest.f * np.exp(step)
    slope = (moved / np.linalg.norm(moved, axis=1, keepdims=True) - rest.f) / 1e-6
    np.testing.assert_allclose(rest.J, slope.T, atol=1e-5)
    assert (rest.modes.T @ (1 / np.sqrt(rest.count))) == pytest.approx(0, abs=1e-12)  # a shift of all z moves nothing


@pytest.mark.parametrize("ratio", [0.01, 10.0])
@pytest.mark.parametrize("size", [(2, 10_000, 0.1), (5, 40_000, 0.01)])
def test_error_and_way_stay_below_their_bounds(size: tuple[int, int, float], ratio: float) -> None:
    rest = Rest(size[0], size[2], [1, 2])
    path = EqualClassesFlow(rest, vocab_size=size[1], ratio=ratio).path(TAUS)
    assert (np.diff(path.odds) > 0).all()
    off = np.linalg.norm((path.z - path.linear) / np.sqrt(rest.count), axis=1)
    bounds = [linear_error(rest, size[1], ratio, reached(path, i)) for i in range(len(TAUS))]
    assert all(error < bound.error for error, bound in zip(off, bounds, strict=True))
    assert all(way < bound.way for way, bound in zip(path.way, bounds, strict=True))
    assert bounds[-1].error < 0.1 * path.length[-1]


@pytest.mark.parametrize(
    ("K", "M", "rho", "ratio", "at"),
    [
        (2, 100, 0.1, 1.0, Reached(a=30.0, b=0.02, c=0.003, share=0.01, response=0.5, length=1e-3)),  # each term counts
        (2, 100, 0.1, 1.0, Reached(a=30.0, b=0.2, c=0.003, share=0.001, response=0.5, length=1e-3)),
        (5, 50, 0.3, 1e-4, Reached(a=5.0, b=1e-3, c=9e-4, share=0.05, response=0.01, length=1e-2)),  # short memory
        (3, 50, 0.2, 1.0, Reached(a=40.0, b=1e-6, c=1e-7, share=1e-9, response=0.1, length=1e-3)),
    ],
)
def test_the_bound_is_as_large_as_its_theorem_says(K: int, M: int, rho: float, ratio: float, at: Reached) -> None:
    """With one distinct token a class, norms and eigenvalues are known by hand: all are powers of K + 1 times s."""
    s, root = rho * (1 - rho), math.sqrt(K + 1)
    G, C, d = (K + 1) * s, 2 * root * s, (K - 1) * root * s
    nu_other = M / (M - K) * at.share
    nu = 1 / (M - K) + (K - 1) * (at.b - at.c) / at.a + nu_other
    drift = at.share * (1 + at.b / at.a) / (K - 1) + (at.b - at.c) / at.a
    mu, zeta, error = min(1 / G, ratio * at.a**2 / 4), 0.0, 0.0
    for _ in range(200):
        fourth, sixth = math.exp(4 * zeta), math.exp(6 * zeta)
        turned = root * fourth * (3 * (1 + nu) * zeta * C + 4 * d * drift)
        delta = (sixth - 1 + (nu + nu_other) * sixth) * G + turned
        error = (mu * delta * at.length + (fourth - 1) * d * at.response) / (1 - mu * delta)
        zeta = root * (at.length + error)
    assert 0 < mu * delta < 1
    assert linear_error(Rest(K, rho, [1]), M, ratio, at) == pytest.approx((error, zeta), rel=1e-5, abs=0)


@pytest.mark.parametrize("length", [0.6, 1e3])
def test_no_bound_on_a_way_longer_than_1(length: float) -> None:
    at = Reached(a=1e-9, b=0.0, c=0.0, share=0.0, response=0.0, length=length)
    assert linear_error(Rest(2, 0.1, [1]), 100, 1e-9, at) == (np.inf, np.inf)


@pytest.mark.parametrize("ratio", [0.0, 3.0])
def test_the_share_of_errors_on_other_classes_is_that_of_their_integrals(ratio: float) -> None:
    """(K - 1) db/da: with M = 20 and K = 5 it tells M outputs from the M - K that no class has."""
    path = EqualClassesFlow(Rest(5, 0.3, [1, 2]), vocab_size=20, ratio=ratio).path([10.0, 10.01, 10.02])
    np.testing.assert_allclose(path.share[1], 4 * (path.b[2] - path.b[0]) / (path.a[2] - path.a[0]), rtol=1e-4)


REST = Rest(2, 0.1, [1, 2])
BAD: list[Callable[[], object]] = [
    *(partial(Rest, *size) for size in ((1, 0.1, [1]), (2, 0.0, [1]), (2, 1.0, [1]), (2, 0.1, []), (2, 0.1, [1, 0]))),
    partial(EqualClassesFlow, REST, vocab_size=2, ratio=0.1),
    partial(EqualClassesFlow, REST, vocab_size=100, ratio=-1.0),
    partial(EqualClassesFlow(REST, vocab_size=100, ratio=1.0).path, [2.0, 1.0]),
    partial(linear_error, REST, 100, 0.1, Reached(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    partial(linear_error, REST, 100, 0.1, Reached(1.0, 0.0, np.nan, 0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize("refused", BAD)
def test_bad_input_is_refused(refused: Callable[[], object]) -> None:
    with pytest.raises(BadInput):
        refused()
