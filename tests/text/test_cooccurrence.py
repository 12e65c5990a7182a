from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import sparse, stats

from scansnap_core.text import cooccurrence
from scansnap_core.text.generator import topic_text
from scansnap_core.text.samples import Samples, samples_after
from tests.refusing import refuses

TOTALS = np.array([300, 150, 100, 50])
DRAWS = 999


def null_tables(sizes: np.ndarray, seed: int = 0) -> np.ndarray:
    """Words that have nothing to do with next words, one for each size."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.multivariate_hypergeometric(TOTALS, size) for size in sizes])


def test_contexts_are_counted_once_however_often_they_hold_a_word() -> None:
    text = np.array([4, 4, 0, 2, 4, 5, 0, 2, 5, 5, 0, 3])
    samples = samples_after(text, 0, seq_len=3, num_next=2)
    table = dict(zip(samples.words.tolist(), cooccurrence.contexts_with(samples).tolist(), strict=True))
    assert samples.next_words.tolist() == [2, 3]
    assert table == {4: [2, 0], 5: [1, 1]}
    # control: positions, 3 and 0 for word 4
    assert (samples.probs[0] * 4).tolist() == [3, 1]


def test_divergence_by_hand() -> None:
    assert cooccurrence.divergence(np.array([5, 0]), np.array([10, 10])) == pytest.approx(np.log(2), rel=1e-9, abs=0)
    rows = np.array([[30, 15, 10, 5], [0, 0, 0, 7]])
    assert cooccurrence.divergence(rows, TOTALS) == pytest.approx([0, np.log(12)], abs=1e-15)


def test_chance_makes_rare_words_look_distinct_and_it_is_taken_off() -> None:
    sizes = np.repeat([1, 3, 10, 40, 200, 550], 300)
    counted = cooccurrence.divergence(null_tables(sizes), TOTALS)
    chance = cooccurrence.chance_divergence(sizes, TOTALS)
    for size in np.unique(sizes):
        left = (counted - chance)[sizes == size]
        assert abs(left.mean()) < 4 * left.std(ddof=1) / np.sqrt(300)
    # control: as counted, a word seen once departs by a nat, and rarer is more distinct
    assert counted[sizes == 1].mean() > 1
    assert stats.spearmanr(counted, sizes).statistic < -0.8
    assert abs(stats.spearmanr(counted - chance, sizes).statistic) < 0.15


def test_chance_of_frequent_words_is_chi_squareds_mean() -> None:
    totals, size = TOTALS * 10, 2000
    expected = 3 / (2 * size) * (1 - size / totals.sum())
    assert cooccurrence.chance_divergence(np.array([size]), totals) == pytest.approx([expected], rel=0.01, abs=0)
    # control: drawn with replacement it would be larger
    assert expected < 0.7 * 3 / (2 * size)
    assert cooccurrence.chance_divergence(np.array([TOTALS.sum()]), TOTALS) == pytest.approx([0], abs=1e-9)


@pytest.mark.parametrize("size", [4, 30, 400])
def test_pvalues_are_right_where_nothing_depends(size: int) -> None:
    table = null_tables(np.full(2000, size))
    pvalues = cooccurrence.independence_pvalues(table, TOTALS, np.random.default_rng(1), DRAWS)
    for level in (0.01, 0.05, 0.2):
        # a discrete statistic may be conservative
        assert np.mean(pvalues <= level) < level + 4 * np.sqrt(level / 2000)
    if size >= 30:
        assert np.mean(pvalues <= 0.2) > 0.15
    # control: chi-squared, which draws with replacement
    if size == 400:
        g = 2 * size * cooccurrence.divergence(table, TOTALS)
        assert np.mean(stats.chi2.sf(g, 3) <= 0.2) < 0.05


def test_pvalues_see_a_dependence() -> None:
    table = np.array([[0, 0, 0, 8], [9, 0, 0, 0], [30, 15, 10, 5]])
    pvalues = cooccurrence.independence_pvalues(table, TOTALS, np.random.default_rng(1), DRAWS)
    assert pvalues[0] == 1 / (DRAWS + 1)
    assert pvalues[1] < 0.02
    assert pvalues[2] == 1


def departing(nats: float) -> np.ndarray:
    """P(n|l) with more of the rarest next word, so that it departs from P(n) by so many nats."""
    P = TOTALS / TOTALS.sum()
    raised = P * (1 + np.linspace(0, 5, 2001)[:, None] * [0, 0, 0, 1])
    raised /= raised.sum(axis=1, keepdims=True)
    return raised[np.argmin(np.abs(stats.entropy(raised, P[None], axis=1) - nats))]


def test_common_is_claimed_only_where_a_departure_would_show() -> None:
    rng = np.random.default_rng(2)

    def refuted(given: np.ndarray) -> float:
        table = rng.multinomial(150, given, size=2000)
        # so many contexts that sampling is as good as with replacement
        return float(np.mean(cooccurrence.departure_pvalues(table, TOTALS * 1000, 0.05) <= 0.05))

    assert 0.02 < refuted(departing(0.05)) < 0.09
    # control: words that don't depart
    assert refuted(departing(0)) > 0.8


def test_it_is_claimed_as_often_as_it_may_be_of_a_word_in_most_contexts() -> None:
    totals, held_in = TOTALS * 10, np.array([0.8, 0.8, 0.8, 0.7])
    tolerance = float(cooccurrence.divergence(np.rint(totals * held_in).astype(int), totals))
    table = np.random.default_rng(2).binomial(totals, held_in, size=(2000, 4))
    assert 0.03 < np.mean(cooccurrence.departure_pvalues(table, totals, tolerance) <= 0.05) < 0.12
    # control: drawn with replacement, chance would take the place of evidence
    sizes = table.sum(axis=1)
    g = 2 * sizes * cooccurrence.divergence(table, totals)
    assert np.mean(stats.ncx2.cdf(g, 3, 2 * sizes * tolerance) <= 0.05) < 0.02


def test_a_word_of_all_contexts_is_common_without_a_doubt() -> None:
    table = np.array([TOTALS, TOTALS - [0, 0, 0, 1]])
    assert (cooccurrence.departure_pvalues(table, TOTALS, 0.05) < 1e-6).all()
    assert cooccurrence.independence_pvalues(table, TOTALS, np.random.default_rng(1), DRAWS)[0] == 1


def described(present: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> xr.Dataset:
    q = sparse.csr_array(present / present.sum(axis=1, keepdims=True))
    samples = Samples(0, np.arange(600), np.arange(4), q, target, np.full(len(target), 1 / len(target)))
    return cooccurrence.describe(samples, rng)


def test_false_labels_are_kept_rare_among_many_words() -> None:
    rng, target = np.random.default_rng(3), np.repeat(np.arange(4), TOTALS)
    # 597 words that don't depend on the next word, and three that do
    present = rng.random((len(target), 600)) < rng.uniform(0.05, 0.5, 600)
    present[:, :3] = rng.random((len(target), 3)) < np.where(target[:, None] == [1, 2, 3], 0.7, 0.2)
    found = described(present, target, rng)
    assert (found.label[:3] == "distinct").all()
    # most over-represented there, though more often before the most frequent next word
    assert found["next"][:3].values.tolist() == [1, 2, 3]
    assert (present[target == 0, 2].sum()) > present[target == 3, 2].sum()
    assert (found.label[3:] == "distinct").mean() < 0.005
    # control: p-values without the correction
    assert 0.03 < (found.p_independent[3:] <= 0.05).mean() < 0.08
    # 597 words that depart by just as much as common words mustn't, and three that don't depart at all
    present = rng.random((len(target), 600)) < (0.3 * departing(0.05) / departing(0))[target, None]
    present[:, :3] = rng.random((len(target), 3)) < 0.9
    found = described(present, target, rng)
    assert (found.label[:3] == "common").all()
    assert (found.label[3:] == "common").mean() < 0.005
    # control: p-values without the correction
    assert 0.02 < (found.p_apart[3:] <= 0.05).mean() < 0.09


def test_kinds_known_by_construction() -> None:
    made = topic_text(60_000, 1_000, num_topics=4, num_common=30, num_distinct=5, seed=1)
    samples = samples_after(made.corpus.train, made.query, seq_len=35, num_next=10)
    rng = np.random.default_rng(0)
    found = cooccurrence.describe(samples, rng)
    assert set(samples.next_words) == set(made.next_words)
    distinct = found.sel(word=np.intersect1d(found.word, made.distinct))
    common = found.sel(word=np.intersect1d(found.word, made.common))
    assert (distinct.label == "distinct").all()
    assert (common.label == "distinct").mean() <= 0.1
    assert (common.label == "common").mean() > 0.3
    for n, own in enumerate(made.distinct):
        assert (found["next"].sel(word=np.intersect1d(found.word, own)) == made.next_words[n]).all()
    # P(n|l) = 1, so a distinct word departs by -ln P(n)
    surprise = dict(zip(samples.next_words.tolist(), -np.log(samples.next_probs), strict=True))
    assert distinct.distinctness.values == pytest.approx([surprise[n] for n in distinct["next"].values], abs=0.05)
    assert abs(common.distinctness.median()) < 0.01
    first = int(made.common[0])
    places = np.flatnonzero(made.corpus.train == made.query)
    held = [first in made.corpus.train[place - 34 : place] for place in places if place + 1 < len(made.corpus.train)]
    assert int(found.contexts.sel(word=first)) == sum(held)
    frequency = made.probs.mean(axis=0)[found.word]
    assert found.frequency.values == pytest.approx(frequency, rel=0.35, abs=0)

    # control: next words shuffled
    control = cooccurrence.describe(samples.shuffled(rng), rng)
    assert (control.label == "distinct").mean() <= 0.02
    assert abs(control.distinctness.median()) < 0.01


def test_too_few_contexts() -> None:
    samples = samples_after(np.array([4, 0, 2, 4, 0, 3, 5, 0, 3]), 0, seq_len=2, num_next=2)
    with refuses("least = 4", "no word is in so many of the 3 contexts"):
        cooccurrence.describe(samples, np.random.default_rng(0), least=4)
    # word 4 is in two contexts, word 5 in one: in `least` contexts is enough
    assert cooccurrence.describe(samples, np.random.default_rng(0), least=2).word.values.tolist() == [4]
    assert cooccurrence.describe(samples, np.random.default_rng(0), least=1).word.values.tolist() == [4, 5]
