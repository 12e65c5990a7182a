from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scansnap_core import BadInput
from scansnap_core.text import rankings


def correlated(rng: np.random.Generator, words: int, rho: float) -> tuple[np.ndarray, np.ndarray]:
    x, y = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=words).T
    return x, y


def test_spearman_is_scipys() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(10, size=(3, 50)), rng.integers(10, size=50)  # with ties
    expected = [stats.spearmanr(row, y).statistic for row in x]
    assert rankings.spearman(x, y) == pytest.approx(expected, rel=1e-9, abs=0)
    # control: without ranks
    assert rankings.spearman(np.exp(x), y) == pytest.approx(expected, rel=1e-9, abs=0)
    assert stats.pearsonr(np.exp(x[0]), y).statistic != pytest.approx(expected[0], abs=0.01)


def test_partial_is_the_correlation_of_residuals() -> None:
    rng = np.random.default_rng(1)
    c = rng.normal(size=200)
    a, b = c + rng.normal(size=200), c + rng.normal(size=200)
    ranks = [stats.rankdata(values) for values in (a, b, c)]
    residuals = [r - np.polyval(np.polyfit(ranks[2], r, 1), ranks[2]) for r in ranks[:2]]
    assert rankings.partial_spearman(a, b, c) == pytest.approx(stats.pearsonr(*residuals).statistic, rel=1e-9, abs=0)
    # control: all that a and b share is c
    assert rankings.spearman(a, b) > 0.3
    assert abs(rankings.partial_spearman(a, b, c)) < 0.15


def test_intervals_cover_and_controls_hold() -> None:
    rng = np.random.default_rng(2)
    true = 6 / np.pi * np.arcsin(0.25)  # Spearman's rho of a normal pair with correlation 1/2
    covered, seen, false_alarms, trials = 0, 0, 0, 40
    for _ in range(trials):
        x, y = correlated(rng, 80, 0.5)
        found = rankings.explain(x, {"y": y, "noise": rng.normal(size=80)}, rng)
        y_row, noise = found.sel(score="y"), found.sel(score="noise")
        covered += bool(y_row.low <= true <= y_row.high)
        false_alarms += bool(abs(noise.rho) > noise.chance)
        seen += bool(y_row.p < 0.05)
        assert (abs(noise.rho) > noise.chance) == (noise.p < 0.05) or abs(noise.p - 0.05) < 0.01
    assert covered >= 0.85 * trials
    assert seen >= 0.9 * trials
    assert false_alarms <= 0.15 * trials


@pytest.mark.parametrize("given", [None, "c"])
def test_ninety_five_per_cent_of_other_draws_of_words_lie_inside(given: str | None) -> None:
    rng = np.random.default_rng(6)
    c = rng.normal(size=60)
    x, y = c + rng.normal(size=60), c + rng.normal(size=60)
    found = rankings.explain(x, {"y": y, "c": c}, rng, given=given).sel(score="y")
    drawn = rng.integers(60, size=(20_000, 60))
    again = rankings.partial_spearman(x[drawn], y[drawn], c[drawn]) if given else rankings.spearman(x[drawn], y[drawn])
    # 2.5 % on either side, give or take three standard errors of 1,999 resamples; of 90 % it would be 5 %
    for outside in (again < float(found.low), again > float(found.high)):
        assert abs(outside.mean() - 0.025) < 3 * np.sqrt(0.025 * 0.975 / rankings.RESAMPLES)


def test_what_is_given_is_taken_out_of_the_others() -> None:
    rng = np.random.default_rng(3)
    frequency = rng.normal(size=300)
    z, bystander = frequency + rng.normal(size=300), frequency + rng.normal(size=300)
    scores = {"frequency": frequency, "bystander": bystander}
    alone, given = (rankings.explain(z, scores, rng, given=name) for name in (None, "frequency"))
    assert float(alone.rho.sel(score="bystander")) > 0.3
    row = given.sel(score="bystander")
    assert abs(row.rho) < 0.2
    assert float(row.rho) == pytest.approx(float(rankings.partial_spearman(z, bystander, frequency)), rel=1e-9, abs=0)
    assert float(given.rho.sel(score="frequency")) == float(alone.rho.sel(score="frequency"))


def test_the_generator_alone_decides() -> None:
    x, y = correlated(np.random.default_rng(4), 40, 0.5)
    one, two = (rankings.explain(x, {"y": y}, np.random.default_rng(5)) for _ in range(2))
    assert one.identical(two)


def test_fewer_than_four_words_are_refused() -> None:
    with pytest.raises(BadInput, match="four words or more"):
        rankings.explain(np.arange(3), {"y": np.arange(3)}, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("scores", "given", "message"),
    [
        ({"y": np.ones(4)}, None, "y of shape"),
        ({"y": np.array([1, 2, np.nan, 4, 5])}, None, "y of shape"),
        ({"y": np.arange(5)}, "x", "given = 'x'"),
    ],
)
def test_bad_input_is_refused(scores: dict, given: str | None, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        rankings.explain(np.arange(5), scores, np.random.default_rng(0), given=given)
