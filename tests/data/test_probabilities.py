"""Classes by number: token kinds, overlaps, outputs, dense and sparse input, refusals, and what sampling draws."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

from scansnap_core import audit, predict
from scansnap_core.data.inputs import SIZE
from scansnap_core.data.probabilities import OTHERS, Outputs
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.draws import Fresh, Replay
from tests.engine.references import frequent_classes, overlapping_classes, scattered_classes
from tests.refusing import refuses


def test_token_kinds() -> None:
    classes = overlapping_classes()
    assert classes.num_holders.tolist() == [3, 2, 1, 1, 1, 1, 0, 0, 0]
    assert classes.common_tokens.tolist() == [0, 1]
    assert [classes.distinct_tokens(n).tolist() for n in range(3)] == [[2], [3, 4], [5]]
    assert [classes.support(n).tolist() for n in range(3)] == [[0, 1, 2], [0, 3, 4], [0, 1, 5]]
    assert classes.tokens.tolist() == [0, 1, 2, 3, 4, 5]
    assert repr(classes) == "SequenceClasses(K=3, M=9, queries=2)"


def test_overlaps_and_their_eigenvalues() -> None:
    classes = overlapping_classes()
    P = classes.probs
    for n in range(3):
        for other in range(3):
            cosine = P[n] @ P[other] / np.sqrt((P[n] @ P[n]) * (P[other] @ P[other]))
            assert classes.E[n, other] == pytest.approx(0 if n == other else cosine, rel=1e-14, abs=0)
    characteristic = [np.linalg.det(classes.E - value * np.eye(3)) for value in classes.eigenvalues]
    assert characteristic == pytest.approx([0, 0, 0], abs=1e-14)
    assert (np.diff(np.abs(classes.eigenvalues)) <= 0).all()
    assert classes.eigenvalues.sum() == pytest.approx(0, abs=1e-14)


def test_sparse_classes_are_the_dense_ones() -> None:
    dense = overlapping_classes()
    parts = sparse.coo_array(dense.probs)
    twice = sparse.coo_array(
        (np.r_[parts.data / 2, parts.data / 2, 0.0], tuple(np.r_[i, i, 0] for i in parts.coords)), shape=parts.shape
    )
    tokens = np.tile(np.flatnonzero(dense.probs.ravel()) % 9, (2, 1)).reshape(2, 3, 3).transpose(1, 0, 2).ravel()
    halves = np.tile(dense.probs[dense.probs > 0].reshape(3, 3) / 2, 2).ravel()
    unsorted = sparse.csr_array((halves, tokens, [0, 6, 12, 18]), shape=(3, 9))  # each entry stands there twice
    for matrix in (sparse.csr_array(dense.probs), sparse.csc_matrix(dense.probs), twice, unsorted):
        other = SequenceClasses(matrix, dense.query_of, dense.next_of)
        assert (other.probs == dense.probs).all()
        assert (other.E == dense.E).all()
        assert (other.tokens == dense.tokens).all()
        assert (other.compact.probs == dense.compact.probs).all()
    assert unsorted.nnz == 18  # as it was given


@pytest.mark.parametrize("last", [10**6, 10**13])
def test_a_large_vocabulary_costs_only_its_support(last: int) -> None:
    probs = sparse.csr_array(([0.5, 0.5, 0.25, 0.75], ([0, 0, 1, 1], [7, 10**3, 7, last])), shape=(2, last + 1))
    classes = SequenceClasses(probs, [3, 3])
    assert classes.next_of.tolist() == [0, 1]
    assert classes.compact.tokens.tolist() == [7, 10**3, last]
    assert classes.compact.probs.tolist() == [[0.5, 0.5, 0], [0.25, 0, 0.75]]
    assert (classes.sparse_probs.toarray() == classes.compact.probs).all()
    assert classes.common_tokens.tolist() == [7]
    assert classes.distinct_tokens(1).tolist() == [last]
    assert classes.E[0, 1] == pytest.approx(0.5 * 0.25 / np.sqrt(0.5 * 0.625), rel=1e-14, abs=0)


def test_input_is_not_changed() -> None:
    probs = sparse.csr_array(np.array([[0.3000001, 0.7]]))
    classes = SequenceClasses(probs, [0])
    assert probs.data.tolist() == [0.3000001, 0.7]
    assert classes.probs.sum() == pytest.approx(1, abs=1e-15)


def test_a_token_of_two_classes_is_common() -> None:
    classes = scattered_classes()
    assert classes.tokens.tolist() == [2, 5, 7, 9, 11, 13]
    assert classes.common_tokens.tolist() == [2, 5, 11]
    assert [classes.distinct_tokens(n).tolist() for n in range(4)] == [[], [9], [13], [7]]
    assert classes.compact.queries.tolist() == [3, 8, 12]
    assert classes.compact.query_row.tolist() == [2, 0, 2, 1]


SAMPLES, LENGTH = 3000, 9


@pytest.mark.parametrize(
    ("source", "classes"),
    [(Fresh, overlapping_classes()), (Fresh, frequent_classes()), (Replay, overlapping_classes())],
)
def test_sampling_frequencies(source: type[Fresh] | type[Replay], classes: SequenceClasses) -> None:
    draws = source(classes, [12], SAMPLES, LENGTH)
    (drawn,), (q,) = draws.batch()
    counts = q * (LENGTH - 1)
    assert counts == pytest.approx(np.rint(counts), abs=1e-12)
    assert counts.sum(axis=1) == pytest.approx(np.full(SAMPLES, LENGTH - 1), rel=1e-9, abs=0)
    of_class = np.bincount(drawn, minlength=3)
    assert stats.chisquare(of_class, SAMPLES * classes.frequencies).pvalue > 1e-3
    assert (stats.chisquare(of_class).pvalue < 1e-6) == (not classes.is_uniform)  # control
    for n in range(3):
        seen, probs = counts[drawn == n].sum(axis=0), classes.compact.probs[n]
        assert (seen[probs == 0] == 0).all()
        assert stats.chisquare(seen[probs > 0], seen.sum() * probs[probs > 0]).pvalue > 1e-3
        # tokens are independent: one token's count is binomial, so its variance is too
        first = np.flatnonzero(probs)[0]
        expected = (LENGTH - 1) * probs[first] * (1 - probs[first])
        assert counts[drawn == n, first].var() == pytest.approx(expected, rel=0.15, abs=0)
        # control: another class's probabilities
        other = classes.compact.probs[(n + 1) % 3][probs > 0] + 0.05
        assert stats.chisquare(seen[probs > 0], seen.sum() * other / other.sum()).pvalue < 1e-6


def test_infinite_sequences_are_the_probabilities() -> None:
    classes = overlapping_classes()
    drawn, q = classes.sample(20, np.inf, np.random.default_rng(0))
    assert (q == classes.compact.probs[drawn]).all()


def test_the_compact_axes_are_what_they_were_made() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        overlapping_classes().compact.tokens = np.arange(3)  # type: ignore[misc]


def test_counts_are_those_of_a_draw_over_all_tokens() -> None:
    """Classes of all kinds: with the last token and without, of one token, of all of them."""
    rng = np.random.default_rng(5)
    for trial in range(60):
        K, M = rng.integers(1, 6), rng.integers(6, 30)
        probs = rng.random((K, M)) * (rng.random((K, M)) < rng.random())
        probs[np.arange(K), rng.integers(M, size=K)] += 0.1
        classes = SequenceClasses(probs / probs.sum(axis=1, keepdims=True), query_of=np.zeros(K, int))
        ours, whole = np.random.default_rng(trial), np.random.default_rng(trial)
        for seq_len in (2, 5, 128):
            drawn, q = classes.sample(16, seq_len, ours)
            assert (drawn == whole.integers(K, size=16)).all()
            assert (q == whole.multinomial(seq_len - 1, classes.compact.probs[drawn]) / (seq_len - 1)).all()
        assert ours.bit_generator.state == whole.bit_generator.state


def test_a_hundred_thousand_classes_that_share_a_token() -> None:
    K = 100_000
    places = (np.tile(np.arange(K), 2), np.append(np.arange(K), np.full(K, K)))
    classes = SequenceClasses(sparse.csr_array((np.full(2 * K, 0.5), places)), np.zeros(K, int))
    assert classes.distinct_tokens(7).tolist() == [7]
    for use in (lambda: classes.eigenvalues, lambda: audit(classes), lambda: predict(classes, 1, 0.1, 1)):
        with refuses("… of 1e+10 numbers", "an array in memory holds 1e+08 of them at most"):
            use()
    with refuses(
        "one-hot rows of 1e+10 numbers", "an array in memory holds 1e+08 of them at most", "use fewer classes or tokens"
    ):
        _ = classes.outputs.targets


def test_next_tokens_and_all_others() -> None:
    outputs = overlapping_classes().outputs
    assert outputs.labels.tolist() == [8, 2, 5, OTHERS]
    assert outputs.multiplicity.tolist() == [1, 1, 1, 6]
    assert outputs.columns.tolist() == [0, 1, 2]
    assert (outputs.targets == np.eye(3, 4)).all()
    assert len(outputs) == 4

    # none stands for no token
    assert Outputs.lumped([1, 2, 0], 3).labels.tolist() == [1, 2, 0]
    outputs = Outputs.separate([3, 1], 4)
    assert outputs.labels.tolist() == [0, 1, 2, 3]
    assert outputs.multiplicity.tolist() == [1, 1, 1, 1]
    assert outputs.targets.tolist() == [[0, 0, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize("make", [Outputs.lumped, Outputs.separate])
def test_the_outputs_stay_what_they_are(make: Any) -> None:
    outputs = make([3, 1], 4)
    assert (outputs.labels[outputs.columns] == [3, 1]).all()
    assert outputs.multiplicity.sum() == 4
    for array in (outputs.labels, outputs.multiplicity, outputs.columns):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    outputs.targets[:] = 7
    assert outputs.targets.max() == 1


@pytest.mark.parametrize("make", [Outputs.lumped, Outputs.separate])
def test_a_size_may_be_a_whole_float(make: Any) -> None:
    assert make([0, 2], 5.0).multiplicity.sum() == 5
    with refuses("vocab_size = 5.5", SIZE.says):
        make([0, 2], 5.5)


def test_unequal_frequencies_set_the_pace() -> None:
    classes = overlapping_classes()
    assert classes.paces.tolist() == [1, 1, 1]
    unequal = classes.with_frequencies([0.2, 0.5, 0.3])
    assert unequal.paces == pytest.approx([0.6, 1.5, 0.9], rel=1e-14, abs=0)
    classes.check_uniform("t_0")
    with refuses("t_0 of classes with P(n) from 0.2 to 0.5", "it's defined for uniform classes, P(n) = 1/K = 0.333"):
        unequal.check_uniform("t_0")
