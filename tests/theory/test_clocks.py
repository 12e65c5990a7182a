"""h and h* in 50 digits, the omegas of Lemma 8, and what the clocks refuse."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from scansnap_core.base.bad_input import BadInput
from scansnap_core.theory import clocks, formulas
from tests.refusing import refuses
from tests.theory.test_formulas import h_by_newton

NO_SIZES = (0, -1, math.nan, math.inf, "10", None, [10])


def test_both_ends_of_the_transition_are_in_units_of_classes_over_rate() -> None:
    unit = clocks.transition(1, 100, 1.0)
    assert clocks.transition(0.5, 100, 2.0) == pytest.approx([end / 4 for end in unit], rel=1e-13, abs=0)
    omega_1 = unit[1] / (2 * np.log(100)) - 1  # the upper root of exp(M h) = (M - 1) M h at M h = (1 + omega_1) ln M
    u = (1 + omega_1) * np.log(100)
    assert u > 1
    assert np.exp(u) == pytest.approx(99 * u, rel=1e-10, abs=0)


def test_the_recursion_is_ahead_by_its_lead() -> None:
    sizes, rates = np.array([50.0, 1000.0]), np.array([[0.3], [2.0], [9e-5]])
    heights, ahead = clocks.lead(50, sizes, rates)
    steps = np.arange(51)[:, None, None]
    assert heights[:, 0, 0] / 50 == pytest.approx(clocks.h_star(50, 50, 0.3), rel=1e-14, abs=0)
    assert heights == pytest.approx(sizes * clocks.h(steps + ahead, sizes, rates), rel=1e-12, abs=0)


POSITIVE = "a positive finite number"
NO_ROOT = "exp(M h) meets (M - 1) M h from M = 1 + e on (Lemma 8)"
BAD: list[tuple[Callable[..., Any], tuple[Any, ...], str, str]] = [
    *((clocks.transition, (K, 100, 1.0), f"num_classes = {K!r}", POSITIVE) for K in NO_SIZES),
    *((clocks.transition, (10, M, 1.0), f"vocab_size = {M!r}", POSITIVE) for M in NO_SIZES),
    *((clocks.omega, (M,), f"vocab_size = {M:g}", NO_ROOT) for M in (1, 2, 3, 3.7, 1 + math.e, math.nan)),
    (clocks.omega, ([100, 3],), "vocab_size = 3", NO_ROOT),
    (clocks.h, (0.0, 1.99, 1.0), "vocab_size = 1.99", "M is finite and at least 2"),
    (clocks.h_star, (-1, 100, 1.0), "steps = -1", "an integer, at least 0"),
    (clocks.lead, (-1, 50.0, 1.0), "steps = -1", "an integer, at least 0"),
]


@pytest.mark.parametrize(("call", "arguments", "value", "rule"), BAD)
def test_bad_input_is_refused(call: Callable[..., Any], arguments: tuple[Any, ...], value: str, rule: str) -> None:
    with refuses(value, rule):
        call(*arguments)


def test_the_least_vocabulary_and_no_step() -> None:
    assert clocks.h(0.0, 2, 1.0) == 0
    assert clocks.h_star(0, 100, 1.0).tolist() == [0]


def test_more_steps_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 8, "SC_PHYS_PAGES": 1000}.__getitem__)
    assert len(clocks.h_star(1000, 100, 1.0)) == 1001
    with refuses("1001 values of h*, which take 8,008 bytes", "all is held in memory, here 8,000 bytes"):
        clocks.h_star(1001, 100, 1.0)
    assert len(clocks.lead(250, [50.0, 60.0], 1.0)[0]) == 251
    with refuses("251 leads, which take 8,032 bytes", "all is held in memory, here 8,000 bytes"):
        clocks.lead(251, [50.0, 60.0], 1.0)


def test_where_the_zeros_merge() -> None:
    merged = 1 + math.e
    omega_0, omega_1 = clocks.omega(np.nextafter(merged, 4))
    assert merged ** (omega_0 - 1) == pytest.approx(1, abs=1e-6)
    assert (1 + omega_1) * np.log(merged) == pytest.approx(1, abs=1e-6)
    # the float itself is just outside: 1 + e is no float
    with mp.workdps(50):
        assert mpf(merged) < 1 + mp.e < mpf(np.nextafter(merged, 4))


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(t=NUMBERS, vocab_size=NUMBERS, lr_y=NUMBERS)
def test_any_number_gives_a_finite_h_that_grows_or_a_refusal(t: float, vocab_size: float, lr_y: float) -> None:
    good = 0 <= t < math.inf and 2 <= vocab_size < math.inf and 0 < lr_y < math.inf
    if not good:
        with pytest.raises(BadInput):
            clocks.h(t, vocab_size, lr_y)
    elif vocab_size < 1e12 and lr_y > 1e-200 and vocab_size * lr_y * max(t, 1) < 1e200:
        now, later = clocks.h([t, 2 * t + 1], vocab_size, lr_y)
        assert 0 <= now < later < math.inf


@settings(derandomize=True, deadline=None, max_examples=60)
@given(steps=st.one_of(st.integers(-3, 30), st.floats(), st.none()), vocab_size=NUMBERS, lr_y=NUMBERS)
def test_any_number_gives_h_star_or_a_refusal(steps: Any, vocab_size: float, lr_y: float) -> None:
    good = isinstance(steps, int) and steps >= 0 and 2 <= vocab_size < math.inf and 0 < lr_y < math.inf
    if not good:
        with pytest.raises(BadInput):
            clocks.h_star(steps, vocab_size, lr_y)
    elif vocab_size * lr_y < 1e200:
        path = clocks.h_star(steps, vocab_size, lr_y)
        assert path.shape == (steps + 1,)
        assert (np.diff(path) >= 0).all()


@pytest.mark.parametrize("vocab_size", [2, 34, 1e6, 1e12])
@pytest.mark.parametrize("rate", [1e-3, 1.0, 1e3])
def test_h_solves_eqn_45_to_full_relative_precision(vocab_size: float, rate: float) -> None:
    times = np.logspace(-12, 15, 28)
    with mp.workdps(50):
        exact = [h_by_newton(mpf(time), mpf(vocab_size), mpf(rate)) for time in times]
        got = clocks.h(times, vocab_size, rate)
        assert max(abs(mpf(value) / root - 1) for value, root in zip(got, exact, strict=True)) < 1e-13
    assert clocks.h(0.0, vocab_size, rate) == pytest.approx(0.0, abs=1e-25)


def test_h_star_follows_the_recursion() -> None:
    for vocab_size, rate in ((2, 0.1), (50, 2.0), (10**6, 1e3)):
        got = clocks.h_star(60, vocab_size, rate)
        with mp.workdps(50):
            exact = [mpf(0)]
            for _ in range(60):
                exact.append(exact[-1] + mpf(rate) / (vocab_size - 1 + mp.exp(vocab_size * exact[-1])))
            assert got[0] == 0
            assert max(abs(mpf(a) / b - 1) for a, b in zip(got[1:], exact[1:], strict=True)) < 1e-13
        # control: the recursion is not the flow
        assert np.abs(got[1:] / clocks.h(np.arange(1, 61), vocab_size, rate) - 1).max() > 1e-6


def test_h_rhs_is_eqn_44() -> None:
    assert clocks.h_rhs(0.0, np.array([0.0, 0.5]), 10, 2.0) == pytest.approx(
        [2 / 10, 2 / (9 + np.exp(5))], rel=1e-14, abs=0
    )


@pytest.mark.parametrize("vocab_size", [4, 5, 34, 50_272, 10**6, 10**12, 10**32])
def test_the_zeros_of_lemma_8(vocab_size: int) -> None:
    with mp.workdps(100):
        M = mpf(vocab_size)
        # u - ln u - ln(M - 1) falls up to u = 1 and rises after it; v = ln u
        zeros = [
            mp.exp(mp.findroot(lambda v: mp.exp(v) - v - mp.log(M - 1), ends, solver="bisect", tol=1e-90, maxsteps=400))
            for ends in ((mpf(-100), mpf(0)), (mpf(0), mpf(5)))
        ]
        omegas = [2 + mp.log(zeros[0] / M) / mp.log(M), zeros[1] / mp.log(M) - 1]
        exact = dict(
            zip(("J_lower", "J_upper", "omega_0", "omega_1"), [zero / M for zero in zeros] + omegas, strict=True)
        )
        for name, value in exact.items():
            formula = getattr(formulas, name).subs(formulas.M, vocab_size)
            assert abs(mpf(str(formula.evalf(60))) / value - 1) < mpf(10) ** -20
        for value, (got, _) in zip(omegas, clocks.omega([vocab_size, 100]), strict=True):
            assert abs(mpf(float(got)) / value - 1) < 1e-13


@pytest.mark.parametrize("t", [1e-300, 1e-30, 1e-12, 0.9e-8, 1.1e-8, 1e-6])
@pytest.mark.parametrize("M", [2, 50_000])
def test_h_keeps_its_digits_however_small_it_is(t: float, M: int) -> None:
    with mp.workdps(60):
        # Eqn 45's first terms: M h = t - t^2/2M + ..., with eta = 1
        expected = (mpf(t) - mpf(t) ** 2 / (2 * M) + mpf(t) ** 3 * (3 - mpf(M)) / (6 * mpf(M) ** 2)) / M
        assert abs(mpf(float(clocks.h(t, M, 1))) / expected - 1) < 1e-15
    assert clocks.h(0, M, 1) == 0


@pytest.mark.parametrize("over", [0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1.4e-4, 1e-3, 0.1, 10.0])
def test_the_omegas_keep_their_digits_where_they_meet(over: float) -> None:
    M = np.nextafter(1 + math.e, 4) + over
    with mp.workdps(60):
        lower, upper = (-mp.lambertw(-1 / (mpf(M) - 1), branch).real for branch in (0, -1))
        expected = 2 + mp.log(lower / M) / mp.log(M), upper / mp.log(M) - 1
        for found, wanted in zip(clocks.omega(M), expected, strict=True):
            assert abs(mpf(float(found)) - wanted) < 1e-14
