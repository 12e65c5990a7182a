"""omega_0 and omega_1 of Lemma 8 against 50 digits, and against their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
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
