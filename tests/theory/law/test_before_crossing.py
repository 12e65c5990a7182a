"""Scanning and drift in one formula: its errors bound what they are said to bound, and not by being vast."""

from __future__ import annotations

import numpy as np
import pytest

from scansnap_core.bad_input import BadInput
from scansnap_core.theory.law import before_crossing, closed, phases

SIZES = [(2, 300, 0.4), (2, 10_000, 0.1), (3, 10**6, 0.16), (10, 1_000, 0.01), (40, 10**9, 0.0005)]
TAUS = np.logspace(-1, 8, 25)


@pytest.mark.parametrize("size", SIZES)
def test_every_error_is_kept(size: tuple[int, float, float]) -> None:
    a, _, _ = closed.evidence(TAUS, *size)
    rounding = 1e-9
    value, error = before_crossing.drift(a, *size)
    assert (np.abs(closed.drift(TAUS, *size) / value - 1) <= error + rounding).all()
    length, error = before_crossing.turning_length(-3.0, a, *size)
    assert (np.abs((length - 1) / (phases.turning_length(-3.0, TAUS, *size) - 1) - 1) <= error + rounding).all()
    away = np.abs(before_crossing.evidence(TAUS, size[1]) - a)
    assert (away <= before_crossing.evidence_error(a, *size) + rounding).all()


def test_the_numerator_of_the_turning_length_has_its_own_error() -> None:
    """T* - 1 is a sum of squares over Lambda, of which the formula keeps a²: at M = 300 each term left out is seen."""
    size, taus = SIZES[0], np.logspace(-1, 2, 13)
    a, _, _ = closed.evidence(taus, *size)
    (value, by_drift), (length, error) = before_crossing.drift(a, *size), before_crossing.turning_length(-3.0, a, *size)
    exact = (phases.turning_length(-3.0, taus, *size) - 1) * closed.drift(taus, *size)
    off = np.abs((length - 1) * value / exact - 1)
    assert (off <= error - by_drift).all()
    assert off.min() > 0.99 / (300 - 2)
    assert off.max() > 1.02 / (300 - 2)


def test_errors_are_small_before_the_crossing_and_not_after_it() -> None:
    early, late = closed.evidence([100.0, 1e8], 2, 10_000, 0.3)[0]
    assert before_crossing.drift(early, 2, 10_000, 0.3)[1] < 0.05
    assert before_crossing.drift(late, 2, 10_000, 0.3)[1] > 1


def test_first_moments_keep_their_digits() -> None:
    value, _ = before_crossing.drift(1e-9, 2, 1_000, 0.2)
    assert value == pytest.approx(1e-18 / 2_000, rel=1e-8, abs=0)
    length, _ = before_crossing.turning_length(2.0, 1e-9, 3, 1_000, 0.2)
    assert length - 1 == pytest.approx(2 * 1_000 / (2 * 0.2), rel=1e-8, abs=0)


@pytest.mark.parametrize(
    ("a", "size"), [(0.0, SIZES[0]), (1e3, SIZES[0]), (1.0, (1, 100, 0.1)), (1.0, (5, 5, 0.1)), (1.0, (2, 100, 0.0))]
)
def test_refuses_what_it_has_no_formula_for(a: float, size: tuple[int, float, float]) -> None:
    with pytest.raises(BadInput):
        before_crossing.drift(a, *size)
    with pytest.raises(BadInput):
        before_crossing.turning_length(1.0, a, *size)


def test_evidence_begins_after_the_first_unit() -> None:
    with pytest.raises(BadInput):
        before_crossing.evidence(1e-4, 1_000)
