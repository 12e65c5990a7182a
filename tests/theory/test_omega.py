"""omega_0 and omega_1 of Lemma 8 against 50 digits, and against their definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from scansnap_core import BadInput
from scansnap_core.theory import clocks, formulas

VOCABULARIES = [4, 5, 12, 100, 50_272, 1e6, 1e12, 1e32]


@pytest.mark.parametrize("vocab_size", VOCABULARIES)
def test_omegas_meet_50_digits(vocab_size: float) -> None:
    with mp.workdps(50):
        M = mpf(vocab_size)
        lower, upper = (-mp.lambertw(-1 / (M - 1), branch).real / M for branch in (0, -1))
        exact = 2 + mp.log(lower) / mp.log(M), M * upper / mp.log(M) - 1
        got = clocks.omega(vocab_size)
        assert max(abs(mpf(float(value)) / root - 1) for value, root in zip(got, exact, strict=True)) < 1e-12


@pytest.mark.parametrize("vocab_size", VOCABULARIES)
def test_omegas_are_the_zeros_that_they_name(vocab_size: float) -> None:
    omega_0, omega_1 = clocks.omega(vocab_size)
    log_m = np.log(vocab_size)
    for log_u in ((omega_0 - 1) * log_m, np.log((1 + omega_1) * log_m)):
        # e^u = (M - 1) u in logarithms
        assert np.exp(log_u) == pytest.approx(np.log(vocab_size - 1) + log_u, rel=1e-12, abs=1e-13)


def test_formulas_and_flows_agree() -> None:
    symbolic = [float(value.subs(formulas.M, 100).evalf(30)) for value in (formulas.omega_0, formulas.omega_1)]
    assert clocks.omega(100) == pytest.approx(symbolic, rel=1e-12, abs=0)


def test_arrays_broadcast() -> None:
    omega_0, omega_1 = clocks.omega(np.array(VOCABULARIES))
    assert omega_0.shape == omega_1.shape == (len(VOCABULARIES),)
    assert omega_1[3] == clocks.omega(100)[1]


def test_where_the_zeros_merge() -> None:
    merged = 1 + math.e
    omega_0, omega_1 = clocks.omega(np.nextafter(merged, 4))
    assert merged ** (omega_0 - 1) == pytest.approx(1, abs=1e-6)
    assert (1 + omega_1) * np.log(merged) == pytest.approx(1, abs=1e-6)
    # the float itself is just outside: 1 + e is no float
    with mp.workdps(50):
        assert mpf(merged) < 1 + mp.e < mpf(np.nextafter(merged, 4))


@pytest.mark.parametrize("vocab_size", [1, 2, 3, 3.7, 1 + math.e, [100, 3], float("nan")])
def test_no_omegas_below(vocab_size: object) -> None:
    with pytest.raises(BadInput, match="use 4 tokens or more"):
        clocks.omega(vocab_size)  # type: ignore[arg-type]


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
