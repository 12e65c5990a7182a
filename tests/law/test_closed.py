"""The decoder at rest in closed form: against the decoder integrated, its own derivatives, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import special
from scipy.integrate import quad, solve_ivp

from scansnap_core.base.bad_input import BadInput
from scansnap_core.law import closed, drift, evidence, phases
from scansnap_core.theory.decoder import Decoder
from scansnap_core.theory.formulas import K, M, rho

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
    V = integrated(*size, taus)
    push = -decoder.gradient(V)[:, 0, 1]
    between = np.concatenate([[0.0], np.cumsum((push[1:] + push[:-1]) / 2 * np.diff(taus))])
    found = drift(taus, *size)
    assert found - found[0] == pytest.approx(between, rel=2e-3, abs=1e-9)
    alpha = special.softmax((0.9 * V + 0.1 * V.sum(axis=1, keepdims=True))[:, 0] + np.log([1, 1, 1, 997]), axis=1)
    values = {"a": V[:, 0, 0], "b": -V[:, 0, 1], "c": -V[:, 0, 3], "alpha_other": alpha[:, 1], "K": 3, "M": 1000}
    kappa = sp.lambdify(sorted(closed.kappa.free_symbols, key=str), closed.kappa)
    assert kappa(**values, alpha_rest=alpha[:, 3] / 997) == pytest.approx(push, rel=1e-9, abs=0)


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


def test_the_start_is_the_lowest_bound() -> None:
    """Each bound is s where the integral of dtau/ds, with a factor left out or made a power of e^s, is tau."""
    for k, vocab, overlap in [(2, 900, 0.294), (2, 1024, 0.0), (5, 40_000, 0.04), (20, 20, 0.0), (3, 5, 0.6)]:
        taus, unit = np.logspace(-3, 20, 100), 1 + overlap * (vocab - 1)
        start, X = closed.s_of(taus, k, vocab, overlap, steps=0), unit / (1 - overlap)
        power = 1 + (vocab - k) / X
        before = ((vocab - 1) * start + np.expm1(power * start) / power) / unit
        after = np.expm1((power + k - 1) * start) / (unit * (power + k - 1) * X ** (k - 1))
        assert np.maximum(before, after) == pytest.approx(taus, rel=1e-7, abs=0)


def test_at_first_all_outputs_are_alike() -> None:
    """Then alpha is 1/M; Wright's omega leaves nothing but rounding, in which each sign occurs over many sizes."""
    for size in [(k, k + more, overlap) for k in (2, 5, 12, 100) for more in range(40) for overlap in (0.0, 0.1, 0.6)]:
        _, vocab, overlap = size
        s = 1e-100 * (1 + overlap * (vocab - 1)) / vocab
        assert closed.s_of(1e-100, *size, steps=0) == pytest.approx(s, rel=1e-12, abs=0)
        a, b, c = evidence(1e-100, *size)
        assert (a, b, c) == pytest.approx((1e-100 * (1 - 1 / vocab), 1e-100 / vocab, 1e-100 / vocab), rel=1e-9, abs=0)


def test_powers_that_no_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scansnap_core.base.rules.memory", lambda: 32 * 3 * 4)  # bytes
    closed.s_of([1.0] * 4, 3, 50, 0.1)
    monkeypatch.setattr("scansnap_core.base.rules.memory", lambda: 32 * 3 * 4 - 1)
    with pytest.raises(BadInput):
        closed.s_of([1.0] * 4, 3, 50, 0.1)


def test_time_is_the_integral_of_its_rate() -> None:
    size, step = (4, 700, 0.2), 1e-4
    rate = sp.lambdify(closed.s, closed.tau_rate.subs(dict(zip((K, M, rho), size, strict=True))))
    for at in (0.5, 3.0, 8.0):
        ends = np.exp(closed.log_tau(np.array([at - step, at + step]), *size))
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(rate(at), rel=1e-6, abs=0)
    whole, _ = quad(rate, 0, np.log((1 + 0.2 * 699) / 0.8))
    assert np.exp(closed.log_crossing(*size)) == pytest.approx(whole, rel=1e-7, abs=0)


@pytest.mark.parametrize("size", EARLY)
def test_every_error_is_kept(size: tuple[int, float, float]) -> None:
    a, _, _ = closed.evidence(TAUS, *size)
    rounding = 1e-9
    value, error = closed.early_drift(a, *size)
    assert (np.abs(closed.drift(TAUS, *size) / value - 1) <= error + rounding).all()
    length, error = closed.early_turning_length(-3.0, a, *size)
    assert (np.abs((length - 1) / (phases.turning_length(-3.0, TAUS, *size) - 1) - 1) <= error + rounding).all()


def proved(a: float, K: int, M: int, rho: float) -> tuple[float, float]:
    """The errors of Lambda and of T*'s numerator by the steps of their proof: the most that b and c can be."""
    rest = M - K

    def odds(a: float, b: float, c: float) -> float:
        """The odds of another class's output against one that is no class, by all K rows."""
        overlaps = np.array([1.0] + [rho] * (K - 1))
        return float(np.exp(overlaps @ np.array([-b, a] + [-b] * (K - 2)) + overlaps.sum() * c))

    most = odds(a, a / rest, a / rest)
    apart = quad(lambda x: odds(x, x / rest, x / rest) - 1, 0, a, epsabs=0, epsrel=1e-12)[0] / rest  # b - c
    factor = M / rest * np.exp(rho * a) / odds(a, apart, 0) * (1 + (K - 1) * most / rest)
    formula_b = quad(lambda x: np.exp(rho * x) / M, 0, a, epsabs=0, epsrel=1e-12)[0]
    b = factor * formula_b
    off = a * (b - formula_b) + (a * (K * a / M + 2 * (K - 1) * b) / rest + (K - 2) * b**2) / 2
    return off / (a * (formula_b - a / M / 2)), (K - 1) * (b / a) ** 2 + 1 / rest


@pytest.mark.parametrize("size", [(2, 3, 0.3), (3, 8, 0.4), (5, 30, 0.2), (10, 1_000, 0.01), (2, 300, 0.4)])
@pytest.mark.parametrize("a", [0.01, 1.0, 4.0])
def test_errors_are_those_of_their_proof(size: tuple[int, int, float], a: float) -> None:
    (_, error), (_, with_numerator) = closed.early_drift(a, *size), closed.early_turning_length(-3.0, a, *size)
    assert (error, with_numerator - error) == pytest.approx(proved(a, *size), rel=1e-9, abs=0)


@pytest.mark.parametrize(("size", "tau"), [((2, 1e12, 0.6), 15), ((2, 1e12, 0.05), 1e68), ((40, 1e12, 0.5), 20)])
def test_the_bound_is_twice_the_error_where_odds_are_large(size: tuple[int, float, float], tau: float) -> None:
    """It holds at all times what others took by the end, which is on average half of that."""
    value, error = closed.early_drift(evidence(tau, *size)[0], *size)
    assert error < 1e-3
    assert error / np.abs(drift(tau, *size) / value - 1) == pytest.approx(2, rel=0.03, abs=0)


@pytest.mark.parametrize(("size", "taus"), [(EARLY[0], [0.1, 1.0]), ((5, 1e12, 0.2), [1e29, 1e30])])
def test_the_turning_lengths_numerator_has_its_own_error(size: tuple[int, float, float], taus: list[float]) -> None:
    """T* - 1 is a sum of squares over Lambda, of which the formula keeps a²: in each limit a term left out is seen."""
    a, _, _ = closed.evidence(taus, *size)
    (value, by_drift), (length, error) = closed.early_drift(a, *size), closed.early_turning_length(-3.0, a, *size)
    exact = (phases.turning_length(-3.0, taus, *size) - 1) * closed.drift(taus, *size)
    off = np.abs((length - 1) * value / exact - 1)
    assert (off <= error - by_drift).all()
    assert off == pytest.approx(error - by_drift, rel=0.05, abs=0)


def test_errors_are_small_before_the_crossing_and_not_after_it() -> None:
    early, late = closed.evidence([100.0, 1e8], 2, 10_000, 0.3)[0]
    assert closed.early_drift(early, 2, 10_000, 0.3)[1] < 0.05
    assert closed.early_drift(late, 2, 10_000, 0.3)[1] > 1
    assert closed.early_drift([50.0, 200.0, 700.0], 2, 1_000, 0.3)[1].tolist() == [np.inf] * 3


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
        (closed.early_drift, np.nextafter(700, 701), EARLY[0]),
        (closed.early_drift, 1.0, (2, 100, 1.0)),
        (closed.early_evidence, 1e-3, (1_000,)),
        (closed.early_evidence, 1.0, (1.5,)),
        *((closed.s_of, tau, (2, 100, 0.1)) for tau in (-0.5, np.nextafter(1e280, np.inf))),
        *((closed.s_of, 1.0, (classes, 100, 0.1)) for classes in (0, 1.5, True, "2")),
        *((closed.s_of, 1.0, (1, 100, overlap)) for overlap in (-0.5, 1.0)),
        (closed.s_of, 1.0, (1, 1, 0.0)),
    ],
)
def test_refuses_what_it_has_no_formula_for(call: Callable[..., Any], a: float, size: tuple[float, ...]) -> None:
    with pytest.raises(BadInput):
        call(a, *size)


def test_the_last_values_with_a_formula_have_one() -> None:
    size = (2, 3, 0.5)
    assert closed.early_drift(700.0, *size)[0] == pytest.approx(700 / 3 * np.exp(350) / 0.5, rel=1e-9, abs=0)
    assert closed.log_tau(closed.s_of([1e280], *size), *size) == pytest.approx(280 * np.log(10), rel=1e-12, abs=0)
    assert closed.evidence(1e3, 1, 2, 0.0)[0] == pytest.approx(closed.evidence(1e3, 1, 2, 0.7)[0], rel=1e-9, abs=0)
    a = closed.early_evidence([0.75, 1.0], 2)
    assert a + np.exp(a) / 2 == pytest.approx([0.75, 1.0], rel=1e-12, abs=0)


@pytest.mark.filterwarnings("error")
def test_the_earliest_times_make_no_warning() -> None:
    assert closed.s_of([5e-324, 1e-308, 1e-290], 2, 1e12, 0.5)[1:] == pytest.approx([5e-309, 5e-291], rel=1e-6, abs=0)
