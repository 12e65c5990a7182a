"""Exact tails against mpmath, and joint probabilities against every outcome counted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from scansnap_core.theory.tails import CHANCE, all_within, log_deviations, log_miss, log_tails
from tests.refusing import refuses


@pytest.mark.parametrize(("draws", "p"), [(1, 0.3), (40, 0.5), (2_000, 0.01), (2_000, 0.999)])
def test_tails_meet_mpmath(draws: int, p: float) -> None:
    below, above = log_tails(draws, p)
    assert below.shape == above.shape == (draws + 1,)
    with mpmath.workdps(50):
        pmf = [mpmath.binomial(draws, k) * mpmath.mpf(p) ** k * (1 - mpmath.mpf(p)) ** (draws - k) for k in (0, draws)]
        assert below[0] == pytest.approx(float(mpmath.log(pmf[0])), rel=1e-10, abs=0)
        assert above[draws] == pytest.approx(float(mpmath.log(pmf[1])), rel=1e-10, abs=0)
        k = draws // 3
        tail = mpmath.fsum(
            mpmath.binomial(draws, j) * mpmath.mpf(p) ** j * (1 - mpmath.mpf(p)) ** (draws - j) for j in range(k + 1)
        )
        assert below[k] == pytest.approx(float(mpmath.log(tail)), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("p", [0.4, 0.05, 0.999])
def test_deviations_count_both_sides_from_every_jump_on(p: float) -> None:
    draws = 7
    pmf = np.array([math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(draws + 1)])
    d, logs = log_deviations(draws, p)
    away = np.abs(np.arange(draws + 1) / draws - p)
    assert d == pytest.approx(away, rel=1e-15, abs=0)
    assert np.exp(logs) == pytest.approx([pmf[away >= each - 1e-12].sum() for each in away], rel=1e-12, abs=0)


def test_miss_counts_both_sides_and_nothing_outside() -> None:
    draws, p, center = 7, 0.4, 3
    pmf = [math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(draws + 1)]
    distances = np.arange(1, 9)
    expected = [sum(pmf[k] for k in range(draws + 1) if abs(k - center) >= d) for d in distances]
    assert np.exp(log_miss(draws, p, center, distances)) == pytest.approx(expected, rel=1e-12, abs=0)


def test_all_within_counts_every_outcome() -> None:
    draws, probs = 5, np.array([0.2, 0.3, 0.5])
    low, high = np.array([0, 1, 1]), np.array([2, 3, 9])
    expected = 0.0
    for outcome in itertools.product(range(3), repeat=draws):
        counts = np.bincount(outcome, minlength=3)
        if np.all((low <= counts) & (counts <= high)):
            expected += float(np.prod(probs[list(outcome)]))
    assert all_within(draws, probs, low, high) == pytest.approx(expected, rel=1e-12, abs=0)
    assert all_within(draws, probs, 0, draws) == pytest.approx(1, rel=1e-12, abs=0)
    assert all_within(draws, probs, 3, draws) == 0
    assert all_within(draws, probs, 2, 1) == 0


def test_windows_of_one_count_are_the_multinomial_law() -> None:
    draws, probs, counts = 5, [0.2, 0.3, 0.5], [1, 1, 3]
    exact = 20 * 0.2 * 0.3 * 0.5**3
    # the bounds' own sums may be all that is left: 5 = 1 + 1 + 3
    for low, high in ((counts, counts), (0, counts), (counts, draws)):
        assert all_within(draws, probs, low, high) == pytest.approx(exact, rel=1e-12, abs=0)
    pairs = [(a, b, 5 - a - b) for a in (0, 1) for b in (0, 1)]
    assert all_within(draws, probs, [-3, -1, 3], [1, 1, 99]) == pytest.approx(
        stats.multinomial.pmf(pairs, draws, probs).sum(), rel=1e-12, abs=0
    )


BAD: list[tuple[Callable[..., Any], tuple[Any, ...], str, str]] = [
    *(
        (all_within, (3, p, 0, 3), f"probs sum to {sum(p):.9g}", "every draw falls into one of the classes")
        for p in ([0.4, 0.5], [0.6, 0.5], [0.5, 0.49999])
    ),
    (all_within, (3, [1.5, -0.5], 0, 3), "probs = -0.5", "probabilities are not negative"),
    (all_within, (-1, [0.5, 0.5], 0, 0), "draws = -1", "an integer, at least 0"),
    (log_tails, (-1, 0.3), "draws = -1", "an integer, at least 0"),
    (log_deviations, (0, 0.3), "draws = 0", "a positive integer"),
    *((log_tails, (3, p), f"p = {p!r}", CHANCE.says) for p in (-0.1, 1.1, -1, 2, math.nan, "0.5", None)),
]


@pytest.mark.parametrize(("call", "arguments", "value", "rule"), BAD)
def test_bad_input_is_refused(call: Callable[..., Any], arguments: tuple[Any, ...], value: str, rule: str) -> None:
    with refuses(value, rule):
        call(*arguments)


def test_what_is_certain_and_what_never_happens() -> None:
    never, always = log_tails(3, 0), log_tails(3, 1)
    assert never[0].tolist() == [0, 0, 0, 0]
    assert never[1].tolist() == [0, -math.inf, -math.inf, -math.inf]
    assert always[0].tolist() == [-math.inf, -math.inf, -math.inf, 0]
    assert always[1].tolist() == [0, 0, 0, 0]
    assert [tail.tolist() for tail in log_tails(0, 0.3)] == [[0], [0]]
    assert all_within(0, [0.5, 0.5], 0, 0) == pytest.approx(1, rel=1e-12, abs=0)
