from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from scansnap_core.text import cooccurrence, rankings, yz
from scansnap_core.text.generator import topic_text
from scansnap_core.text.samples import Samples, samples_after
from tests.refusing import refuses


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
    row = given.sel(score="bystander")
    assert float(row.rho) == pytest.approx(float(rankings.partial_spearman(z, bystander, frequency)), rel=1e-9, abs=0)
    assert float(given.rho.sel(score="frequency")) == float(alone.rho.sel(score="frequency"))


@pytest.mark.parametrize(
    ("words", "y", "given", "value", "rule"),
    [
        (5, np.ones(4), None, "y of shape (4,)", "one finite number for each of the 5 words, four words or more"),
        (
            5,
            np.array([1, 2, np.nan, 4, 5]),
            None,
            "y of shape (5,)",
            "one finite number for each of the 5 words, four words or more",
        ),
        (3, np.arange(3), None, "gains of shape (3,)", "one finite number for each of the 3 words, four words or more"),
        (5, np.arange(5), "x", "given = 'x'", "the choices are y"),
    ],
)
def test_bad_input_is_refused(words: int, y: np.ndarray, given: str | None, value: str, rule: str) -> None:
    with refuses(value, rule):
        rankings.explain(np.arange(words), {"y": y}, np.random.default_rng(0), given=given)


# -- gains ----------------------------------------------------------------------------------------------------------


def test_theorems_2_and_3_hold_on_text_that_meets_their_terms() -> None:
    made = topic_text(60_000, 1_000, num_topics=4, num_common=30, num_distinct=5, seed=1)
    samples = samples_after(made.corpus.train, made.query, seq_len=35, num_next=10)
    M, rng = made.corpus.vocab_size, np.random.default_rng(0)
    described = cooccurrence.describe(samples, rng)
    run = yz.train_on(samples.at_infinity(), vocab_size=M, lr_y=1, lr_z=0.1, record=[10, 100], batch_size=None)
    found = rankings.follow(run.z.sel(seed=0), samples.at_infinity(), described, M)
    assert (found.rising.sel(label="distinct") == 1).all()
    assert (found.order > 0.9).all()
    assert found.rho.sel(score="first force", recorded=10) > 0.95
    common = run.z.sel(seed=0, word=np.intersect1d(described.word, made.common))
    assert (common < 0).all()

    # control: short contexts push the most frequent word up at first, common as it is
    short = yz.train_on(samples, vocab_size=M, lr_y=1, lr_z=0.1, record=[10], batch_size=None)
    assert float(short.z.sel(seed=0, recorded=10, word=made.common[0])) > 0
    followed = rankings.follow(short.z.sel(seed=0), samples, described, M)
    assert float(followed.rising.sel(label="distinct")[0]) < 0.5

    # control: next words shuffled
    shuffled = samples.shuffled(rng)
    run = yz.train_on(shuffled.at_infinity(), vocab_size=M, lr_y=1, lr_z=0.1, record=[100], batch_size=None)
    control = rankings.follow(run.z.sel(seed=0), shuffled.at_infinity(), described, M)
    assert abs(float(control.rising.sel(label="distinct")[0]) - 0.5) < 0.4
    assert float(control.rho.sel(score="distinctness")[0]) < 0.5 < float(found.rho.sel(score="distinctness")[1])


@pytest.fixture(scope="module")
def few() -> tuple[Samples, xr.Dataset]:
    made = topic_text(30_000, 1_000, num_topics=3, num_common=20, num_distinct=4, seed=2)
    samples = samples_after(made.corpus.train, made.query, seq_len=20, num_next=3)
    return samples, cooccurrence.describe(samples, np.random.default_rng(0), least=100)


def gains(z: np.ndarray, samples: Samples) -> xr.DataArray:
    return xr.DataArray(z, dims=("recorded", "word"), coords={"recorded": range(len(z)), "word": samples.words})


def test_numbers_are_what_they_say(few: tuple[Samples, xr.Dataset]) -> None:
    samples, described = few
    assert 10 < described.sizes["word"] < len(samples.words)
    z = np.random.default_rng(1).normal(size=(2, len(samples.words)))
    found = rankings.follow(gains(z, samples), samples, described, 100)
    at = np.isin(samples.words, described.word)
    scores = {
        "first force": yz.first_force(samples, 100)[at],
        "base-rate force": yz.first_force_from_base_rates(samples)[at],
        "frequency": described.frequency,
        "distinctness": described.distinctness,
    }
    for moment in (0, 1):
        expected = [stats.spearmanr(z[moment, at], score).statistic for score in scores.values()]
        assert found.rho.sel(score=list(scores)).values[moment] == pytest.approx(expected, rel=1e-9, abs=0)
    columns = [stats.rankdata(values) for values in (z[0, at], described.distinctness, described.frequency)]
    left = [column - np.polyval(np.polyfit(columns[2], column, 1), columns[2]) for column in columns[:2]]
    assert float(found.distinct_beyond_frequency[0]) == pytest.approx(stats.pearsonr(*left).statistic, rel=1e-9, abs=0)
    common = z[0, at][described.label == "common"]
    assert float(found.rising.sel(recorded=0, label="common")) == np.mean(common > 0)
    assert float(found["mean"].sel(recorded=0, label="common")) == pytest.approx(common.mean(), rel=1e-9, abs=0)
    pointing = described.sel(word=described.word[described.label == "distinct"])
    own = np.searchsorted(samples.words, pointing.word)
    group = np.array([samples.next_words.tolist().index(word) for word in pointing["next"]])
    order = rankings.order_within(z[0, own], samples.probs[group, own], group)
    assert float(found.order[0]) == pytest.approx(order, rel=1e-9, abs=0)
    assert dict(found.sizes) == {"recorded": 2, "score": 4, "label": 3}


def test_a_word_that_stays_where_it_was_has_not_risen(few: tuple[Samples, xr.Dataset]) -> None:
    samples, described = few
    label = str(described.label.values[0])
    of_label = np.isin(samples.words, described.word[described.label == label])
    z = np.random.default_rng(1).normal(size=(3, len(samples.words)))
    z[:, of_label] = 0
    z[1:, np.flatnonzero(of_label)[0]] = 1e-9, -1e-9
    rising = rankings.follow(gains(z, samples), samples, described, 100).rising.sel(label=label)
    assert rising.values.tolist() == [0, 1 / of_label.sum(), 0]


def test_order_is_taken_within_a_group() -> None:
    x, y = np.array([1.0, 2, 3, 11, 12, 13]), np.array([13.0, 12, 11, 3, 2, 1])
    group = np.array([0, 0, 0, 1, 1, 1])
    assert rankings.order_within(x, x + 100 * group, group) == pytest.approx(1, rel=1e-9, abs=0)
    assert rankings.order_within(x, y, group) == pytest.approx(-1, rel=1e-9, abs=0)
    # control: between the groups the order is the other way round
    assert rankings.order_within(x, np.where(group, x - 100, x), group) == pytest.approx(1, rel=1e-9, abs=0)
    # groups of different sizes
    uneven = np.array([0, 0, 1, 1, 1, 1])
    assert rankings.order_within(np.arange(6.0), np.array([0, 1.0, 5, 4, 3, 2]), uneven) == pytest.approx(
        -9 / 11, rel=1e-9, abs=0
    )
    assert np.isnan(rankings.order_within(x[:2], y[:2], np.array([0, 1])))


def test_what_ties_in_a_group_has_no_order() -> None:
    group = np.array([0, 0, 0, 1, 1])
    x, tied = np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 1, 2, 5, 4])
    orders = [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [4, 3, 2, 1, 0]]
    found = [rankings.order_within(x[order], tied[order], group[order]) for order in orders]
    # less their means: ranks -1, 0, 1, -1/2, 1/2 of x against -1/2, -1/2, 1, 1/2, -1/2
    assert found == pytest.approx([1 / 5**0.5] * 3, rel=1e-9, abs=0)
    assert np.isnan(rankings.order_within(x, np.zeros(5), group))
