"""Generated text is made of classes as it says: which words, in which shares, and which of them tell the next word."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scansnap_core.text.generator import TopicText, topic_text
from tests.refusing import refuses

CONTEXT = 35


@pytest.fixture(scope="module")
def made() -> TopicText:
    return topic_text()


def passages(made: TopicText) -> list[np.ndarray]:
    """The whole passages of the training text, without their <eos>."""
    ends = np.flatnonzero(made.corpus.train == made.corpus.words.index("<eos>"))
    return [made.corpus.train[before + 1 : end] for before, end in pairwise([-1, *ends])]


def topic_of(made: TopicText, passage: np.ndarray) -> int:
    """The topic, read off the first next word."""
    return int(np.flatnonzero(made.next_words == passage[np.flatnonzero(passage == made.query)[0] + 1])[0])


def filler(made: TopicText, passage: np.ndarray) -> np.ndarray:
    return passage[~np.isin(passage, [made.query, *made.next_words])]


# -- kinds ----------------------------------------------------------------------------------------------------------


def faults(made: TopicText) -> list[str]:
    """Where the text isn't as the generator's documentation has it."""
    found = []
    for passage in passages(made):
        queries = np.flatnonzero(passage == made.query)
        n = topic_of(made, passage)
        gaps = np.diff([0, *queries]) - [0, *[2] * (len(queries) - 1)]
        words = filler(made, passage)
        if len(queries) != 5 or queries[-1] != len(passage) - 2:
            found.append("queries")
        if gaps.min() < CONTEXT or gaps.max() > 55:
            found.append("gaps")
        if (passage[queries + 1] != made.next_words[n]).any() or np.isin(passage, made.next_words).sum() != 5:
            found.append("next words")
        if not np.isin(words, [*made.common, *made.distinct[n]]).all():
            found.append("filler")
    return found


def test_every_passage_is_of_one_topic(made: TopicText) -> None:
    assert len(passages(made)) > 800
    assert faults(made) == []
    assert faults(topic_text(num_topics=7, num_distinct=3, seed=5)) == []


def test_the_words_are_each_of_one_kind(made: TopicText) -> None:
    words = made.corpus.words
    kinds = [made.query, *made.next_words, *made.common, *made.distinct.flat]
    assert sorted([words.index("<unk>"), words.index("<eos>"), *kinds]) == list(range(97))
    assert made.corpus.vocab_size == 97
    assert len(set(words)) == 97
    assert words[made.query] == "query"
    assert [words[i] for i in made.next_words] == [f"next-{n}" for n in range(4)]
    assert words[made.common[7]] == "common-7"
    assert words[made.distinct[2, 3]] == "distinct-2-3"
    assert (made.corpus.train != words.index("<unk>")).all()
    assert (made.corpus.name, made.corpus.trained_on, made.corpus.sha256) == ("topics", "generated", {})


# -- shares ---------------------------------------------------------------------------------------------------------


def fits(counts: np.ndarray, probs: np.ndarray) -> bool:
    """Tell whether counts fit these probabilities (chi-square at one in ten thousand) and no other words occur."""
    if counts[probs == 0].any():
        return False
    counts, expected = counts[probs > 0], probs[probs > 0] * counts.sum()
    return bool(stats.chisquare(counts, expected).pvalue > 1e-4)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_filler_is_drawn_with_its_probabilities(seed: int) -> None:
    made = topic_text(seed=seed, num_common=20, num_distinct=5, exponent=0.8)
    counts = np.zeros_like(made.probs)  # of each word as filler, by topic
    for passage in passages(made):
        counts[topic_of(made, passage)] += np.bincount(filler(made, passage), minlength=made.corpus.vocab_size)
    np.testing.assert_allclose(made.probs.sum(axis=1), 1)
    np.testing.assert_allclose(made.probs[:, made.common].sum(axis=1), 0.7)
    assert np.ptp(made.probs[:, made.common], axis=0).max() == 0
    for n in range(4):
        np.testing.assert_allclose(made.probs[n, made.distinct[n]].sum(), 0.3)
        assert fits(counts[n], made.probs[n])
        assert not fits(counts[n], made.probs[n - 1])  # control
    nearby = topic_text(1, 1, num_common=20, num_distinct=5, exponent=0.85)
    assert not any(fits(counts[n], nearby.probs[n]) for n in range(4))  # control


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.5])
def test_probabilities_follow_zipfs_law(exponent: float) -> None:
    made = topic_text(1, 1, num_common=20, num_distinct=5, exponent=exponent)
    for words in (made.common, made.distinct[1]):
        probs, rank = made.probs[1, words], np.arange(1, len(words) + 1)
        np.testing.assert_allclose(probs, probs[0] * rank**-exponent, rtol=1e-12)


def test_topics_and_gaps_are_equally_likely(made: TopicText) -> None:
    topics = np.bincount([topic_of(made, passage) for passage in passages(made)], minlength=4)
    assert fits(topics, np.full(4, 1 / 4))
    assert not fits(topics, np.array([0.4, 0.2, 0.2, 0.2]))  # control
    gaps = np.concatenate([np.diff(np.flatnonzero(passage == made.query)) - 2 for passage in passages(made)])
    gaps = np.bincount(gaps - CONTEXT)
    assert fits(gaps, np.full(21, 1 / 21))
    assert not fits(gaps[:-1], np.arange(20, 40) / np.arange(20, 40).sum())  # control


# -- seeds, lengths, arguments --------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_text(made: TopicText) -> None:
    again, other = topic_text(), topic_text(seed=1)
    for split in ("train", "validation"):
        np.testing.assert_array_equal(getattr(made.corpus, split), getattr(again.corpus, split))
        assert (getattr(made.corpus, split) != getattr(other.corpus, split)).any()
    assert made.corpus.words == other.corpus.words
    assert (made.corpus.train[:1000] != made.corpus.validation[:1000]).any()


@pytest.mark.parametrize("lengths", [(1, 2), (185, 186), (187, 5000)])
def test_lengths(lengths: tuple[int, int]) -> None:
    for seed in range(20):
        corpus = topic_text(*lengths, seed=seed).corpus
        assert (len(corpus.train), len(corpus.validation)) == lengths
        assert corpus.train.dtype == corpus.validation.dtype == np.int64


def test_arguments() -> None:
    least: dict[str, Any] = {"num_tokens": np.int64(9), "exponent": 2}
    made = topic_text(num_validation_tokens=1, num_topics=2, num_common=1, num_distinct=1, **least)
    assert made.corpus.vocab_size == 3 + 2 + 1 + 2
    with refuses("num_topics = 1", "an integer, at least 2"):
        topic_text(num_topics=1)
