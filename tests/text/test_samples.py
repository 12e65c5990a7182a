import numpy as np
import pytest

from scansnap_core.text.samples import samples_after
from tests.refusing import refuses

# the query is 0
TEXT = np.array([5, 0, 3, 4, 4, 0, 2, 3, 6, 0, 2, 6, 4, 0, 3, 1, 1, 0, 7, 3, 0])


def test_samples_are_read_off_the_text() -> None:
    samples = samples_after(TEXT, 0, seq_len=3, num_next=2)
    # the first query has one word before it, the last has none after it; 7 is the rarest next word
    assert samples.next_words.tolist() == [2, 3]
    assert samples.target.tolist() == [0, 0, 1]
    assert samples.words.tolist() == [3, 4, 6]
    assert samples.q.toarray().tolist() == [[0, 1, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]
    assert samples.next_probs == pytest.approx([2 / 3, 1 / 3], rel=1e-9, abs=0)
    assert samples.probs == pytest.approx(np.array([[0.25, 0.5, 0.25], [0, 0.5, 0.5]]), rel=1e-9, abs=0)


def test_rare_and_unwanted_next_words_are_left_out() -> None:
    everything = samples_after(TEXT, 0, seq_len=3, num_next=9)
    assert everything.next_words.tolist() == [2, 3, 7]
    assert samples_after(TEXT, 0, seq_len=3, num_next=9, without=[3]).next_words.tolist() == [2, 7]
    with refuses(
        "query word 0 with 1 next words seen 2 times or more",
        "common and distinct are told apart by two next words or more",
    ):
        samples_after(TEXT, 0, seq_len=3, num_next=9, least=2)


def test_at_infinity_keeps_the_classes_and_drops_the_rest() -> None:
    rng = np.random.default_rng(0)
    samples = samples_after(rng.integers(6, size=2000), 0, seq_len=5, num_next=4)
    limit = samples.at_infinity()
    assert limit.q.shape == (4, len(samples.words))
    assert limit.probs == pytest.approx(samples.probs, rel=1e-9, abs=0)
    assert limit.next_probs == pytest.approx(samples.next_probs, rel=1e-9, abs=0)
    assert limit.probs.sum(axis=1) == pytest.approx(1, rel=1e-9, abs=0)
    assert limit.weight @ limit.q == pytest.approx(samples.weight @ samples.q, rel=1e-9, abs=0)


def test_shuffling_keeps_contexts_and_next_words_but_not_their_pairs() -> None:
    text = np.tile([1, 0, 2, 3, 0, 4], 500)  # 1 is followed by 2, 3 by 4
    samples = samples_after(text, 0, seq_len=2, num_next=2)
    shuffled = samples.shuffled(np.random.default_rng(0))
    assert np.sort(shuffled.target).tolist() == np.sort(samples.target).tolist()
    assert (shuffled.q != samples.q).nnz == 0
    assert np.abs(shuffled.probs - 0.5).max() < 0.1
    assert np.abs(samples.probs - 0.5).min() == 0.5


def test_halves_are_all_samples_once() -> None:
    rng = np.random.default_rng(0)
    samples = samples_after(rng.integers(6, size=2001), 0, seq_len=5, num_next=4)
    parts = samples.halves(rng)
    assert abs(len(parts[0].target) - len(parts[1].target)) <= 1
    together = np.concatenate([np.column_stack([part.q.toarray(), part.target]) for part in parts])
    everything = np.column_stack([samples.q.toarray(), samples.target])
    assert np.array_equal(together[np.lexsort(together.T)], everything[np.lexsort(everything.T)])
    assert all(part.weight.sum() == pytest.approx(1, rel=1e-9, abs=0) for part in parts)
