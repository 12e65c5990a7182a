"""What tools/recording/one_passage.py chooses and measures, on a text and on attention that are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from scansnap_core.text.corpus import Corpus
from scansnap_core.text.samples import Samples
from tools.recording import one_passage

WORDS = ("<unk>", "<eos>", "the", "storm", "sea")
UNKNOWN, LINE_END, THE, STORM, SEA = range(5)


def corpus(*tail: int) -> Corpus:
    """A text of "sea" whose last words are given."""
    validation = np.array([SEA] * 60 + list(tail))
    return Corpus("wikitext-2", WORDS, validation, validation, "test", {})


def place(*tail: int) -> int:
    text = corpus(*tail)
    return one_passage.passage_place(text, text, np.array([STORM])) - 60


def test_the_passage_is_the_first_that_obeys_the_rule() -> None:
    assert place(THE, STORM, THE, STORM) == 0
    assert place(UNKNOWN, THE, STORM) == 1
    assert place(THE, SEA, THE, STORM) == 2  # "sea" isn't one of the next words
    assert place(UNKNOWN, UNKNOWN, THE, STORM, *[SEA] * 40, THE, STORM) == 44


@pytest.mark.parametrize("tail", [(THE, SEA), (LINE_END, THE, STORM), (UNKNOWN, UNKNOWN, THE, STORM), (SEA, STORM)])
def test_another_passage_isnt_taken(tail: tuple[int, ...]) -> None:
    with pytest.raises(LookupError, match="no such passage"):
        place(*tail)


def samples() -> Samples:
    """Two contexts of 34 places: 17 of each word, and one word alone."""
    q = sparse.csr_array(np.array([[0.5, 0.5], [1.0, 0.0]]))
    return Samples(THE, np.array([3, 4]), np.array([3, 4]), q, np.array([0, 1]), np.full(2, 0.5))


def test_attention_its_movement_and_its_entropy() -> None:
    even = one_passage.attention_on(samples(), np.zeros(2))
    moved = one_passage.attention_on(samples(), np.array([np.log(3), 0.0]))
    assert moved.toarray().tolist() == pytest.approx(np.array([[0.75, 0.25], [1, 0]]))
    assert one_passage.apart(even, even) == 0
    assert one_passage.apart(even, moved) == pytest.approx(0.125)  # a quarter of the first context, none of the second
    assert one_passage.entropy(samples(), even) == pytest.approx(np.log(34))
    sparser = np.log(34) - (np.log(2) + 0.75 * np.log(0.75) + 0.25 * np.log(0.25)) / 2
    assert one_passage.entropy(samples(), moved) == pytest.approx(sparser)
