"""The decoder at rest in closed form: against the decoder integrated, its own derivatives, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from scansnap_core.bad_input import BadInput
from scansnap_core.theory.decoder import Decoder
from scansnap_core.theory.formulas import K, M, rho
from scansnap_core.theory.law import closed, drift, evidence, phases

SIZES = [(2, 900, 0.294), (2, 1000, 0.0), (3, 3, 0.2), (5, 40_000, 0.04), (20, 500, 0.6)]
EARLY = [(2, 300, 0.4), (2, 10_000, 0.1), (3, 10**6, 0.16), (10, 1_000, 0.01), (40, 10**9, 0.0005)]
TAUS = np.logspace(-1, 8, 25)
NO_FORMULA = [(0.0, EARLY[0]), (1e3, EARLY[0]), (1.0, (1, 100, 0.1)), (1.0, (5, 5, 0.1)), (1.0, (2, 100, 0.0))]


def integrated(num_classes: int, vocab_size: int, overlap: float, taus: np.ndarray) -> np.ndarray:
    """V at taus, shape (taus, K, O), by the decoder of Eqn 7 on the overlaps, which knows nothing of symmetry."""
    E = overlap * (1 - np.eye(num_classes))
    decoder = Decoder(E, vocab_size, lr_y=1.0, modified=False)
    start = decoder.initial()
    times = taus * num_classes
    path = solve_ivp(
        decoder.rhs, (0, times[-1]), start.ravel(), t_eval=times, method="LSODA", rtol=1e-11, atol=1e-16,
        first_step=times[0] / 1000,
    )  # fmt: skip
    return path.y.T.reshape(len(taus), *start.shape)


@pytest.mark.parametrize("size", SIZES)
def test_the_decoder_integrated_has_these_numbers(size: tuple[int, int, float]) -> None:
    taus = np.array([0.01, 1.0, 30.0, 1e3, 1e5])
    V = integrated(*size, taus)
    a, b, c = evidence(taus, *size)
    assert a == pytest.approx(V[:, 0, 0], rel=1e-8, abs=0)
    assert b == pytest.approx(-V[:, 0, 1], rel=1e-8, abs=0)
    if size[1] > size[0]:
        assert c == pytest.approx(-V[:, 0, -1], rel=1e-8, abs=0)


def test_drift_is_the_integral_of_the_push() -> None:
    size, taus = (3, 1000, 0.1), np.logspace(-2, 4, 400)
    decoder = Decoder(size[2] * (1 - np.eye(3)), size[1], lr_y=1.0, modified=False)
    push = -decoder.gradient(integrated(*size, taus))[:, 0, 1]
    between = np.concatenate([[0.0], np.cumsum((push[1:] + push[:-1]) / 2 * np.diff(taus))])
    found = drift(taus, *size)
    assert found - found[0] == pytest.approx(between, rel=2e-3, abs=1e-9)


def test_time_and_parameter_are_each_others_inverse() -> None:
    for size in SIZES:
        taus = np.logspace(-6, 200, 60)
        assert closed.log_tau(closed.s_of(taus, *size), *size) == pytest.approx(np.log(taus), rel=1e-12, abs=1e-12)
    assert closed.s_of(0.0, 2, 900, 0.3) == 0


def test_one_newton_step_from_the_bounds_is_good_to_two_percent() -> None:
    for size in [(2, 900, 0.294), (2, 100, 0.49), (10, 1e6, 0.01), (100, 1e8, 1e-4)]:
        taus = np.logspace(-1, 20, 100)
        rough = closed.s_of(taus, *size, steps=1)
        near = closed._Lambda(closed._b(rough, *size), closed._c(rough, *size), *size[:2])
        assert near == pytest.approx(drift(taus, *size), rel=0.02, abs=0)
        assert (closed.s_of(taus, *size, steps=0) >= closed.s_of(taus, *size) * (1 - 1e-6)).all()


def test_time_is_the_integral_of_its_rate() -> None:
    size, step = (4, 700, 0.2), 1e-4
    rate = sp.lambdify(closed.s, closed.tau_rate.subs(dict(zip((K, M, rho), size, strict=True))))
    for at in (0.5, 3.0, 8.0):
        ends = np.exp(closed.log_tau(np.array([at - step, at + step]), *size))
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(rate(at), rel=1e-6, abs=0)


@pytest.mark.parametrize("size", EARLY)
def test_every_error_is_kept(size: tuple[int, float, float]) -> None:
    a, _, _ = closed.evidence(TAUS, *size)
    rounding = 1e-9
    value, error = closed.early_drift(a, *size)
    assert (np.abs(closed.drift(TAUS, *size) / value - 1) <= error + rounding).all()
    length, error = closed.early_turning_length(-3.0, a, *size)
    assert (np.abs((length - 1) / (phases.turning_length(-3.0, TAUS, *size) - 1) - 1) <= error + rounding).all()


def test_the_numerator_of_the_turning_length_has_its_own_error() -> None:
    """T* - 1 is a sum of squares over Lambda, of which the formula keeps a²: at M = 300 each term left out is seen."""
    size, taus = EARLY[0], np.logspace(-1, 2, 13)
    a, _, _ = closed.evidence(taus, *size)
    (value, by_drift), (length, error) = closed.early_drift(a, *size), closed.early_turning_length(-3.0, a, *size)
    exact = (phases.turning_length(-3.0, taus, *size) - 1) * closed.drift(taus, *size)
    off = np.abs((length - 1) * value / exact - 1)
    assert (off <= error - by_drift).all()
    assert off.min() > 0.99 / (300 - 2)
    assert off.max() > 1.02 / (300 - 2)


def test_errors_are_small_before_the_crossing_and_not_after_it() -> None:
    early, late = closed.evidence([100.0, 1e8], 2, 10_000, 0.3)[0]
    assert closed.early_drift(early, 2, 10_000, 0.3)[1] < 0.05
    assert closed.early_drift(late, 2, 10_000, 0.3)[1] > 1


def test_first_moments_keep_their_digits() -> None:
    value, _ = closed.early_drift(1e-9, 2, 1_000, 0.2)
    assert value == pytest.approx(1e-18 / 2_000, rel=1e-8, abs=0)
    length, _ = closed.early_turning_length(2.0, 1e-9, 3, 1_000, 0.2)
    assert length - 1 == pytest.approx(2 * 1_000 / (2 * 0.2), rel=1e-8, abs=0)


@pytest.mark.parametrize(
    ("call", "a", "size"),
    [
        *((closed.early_drift, a, size) for a, size in NO_FORMULA),
        *((partial(closed.early_turning_length, 1.0), a, size) for a, size in NO_FORMULA),
        (closed.early_evidence, 1e-4, (1_000,)),
    ],
)
def test_refuses_what_it_has_no_formula_for(call: Callable[..., Any], a: float, size: tuple[float, ...]) -> None:
    with pytest.raises(BadInput):
        call(a, *size)


def test_early_evidence_leaves_out_what_other_classes_take() -> None:
    a, _, _ = closed.evidence([1.0, 1e2, 1e4, 1e8], 2, 10_000, 0.1)
    off = np.abs(closed.early_evidence([1.0, 1e2, 1e4, 1e8], 10_000) - a)
    assert off[:3].max() < 0.01
