"""Classes by type: which are alike, what is held of each type, and where values stand on queries and tokens."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.data import inputs
from scansnap_core.data.sequences import CLASSES
from scansnap_core.law.types import types_of
from tests.refusing import refuses

# Tokens 1 and 3 are common; 0 is the first class's own, 2 and 4 are the second's, 5 the third's, 7 the last's.
MIXED = ss.SequenceClasses(
    [
        [0.2, 0.5, 0, 0.3, 0, 0, 0, 0],
        [0, 0.3, 0.1, 0.2, 0.4, 0, 0, 0],
        [0, 0.4, 0, 0.3, 0, 0.3, 0, 0],
        [0, 0.4, 0, 0.3, 0, 0, 0, 0.3],
    ],
    query_of=[1, 0, 0, 1],
)


def of_probs(*rows: list[float]) -> ss.SequenceClasses:
    return ss.SequenceClasses([list(row) for row in rows], query_of=[0] * len(rows))


def test_each_part_stands_at_its_place() -> None:
    types = types_of(MIXED)
    of = types.of_class
    assert sorted(of) == [0, 1, 2, 3]
    assert types.common[of].tolist() == [[0.5, 0.3], [0.3, 0.2], [0.4, 0.3], [0.4, 0.3]]
    assert types.distinct[of].tolist() == [[0.2, 0], [0.4, 0.1], [0.3, 0], [0.3, 0]]
    assert types.common_columns.tolist() == [1, 3]
    assert types.distinct_columns.tolist() == [[0, -1], [4, 2], [5, -1], [6, -1]]
    assert types.size.tolist() == [1, 1, 1, 1]
    assert types.others.tolist() == (1 - np.eye(4)).tolist()
    assert types.asking.shape == (2, 4)
    assert types.asking[types.of_query[1], of].tolist() == [1, 0, 0, 1]
    assert types.asking[types.of_query[0], of].tolist() == [0, 1, 1, 0]
    assert types.query[of].tolist() == types.of_query[[1, 0, 0, 1]].tolist()
    assert (types.num_tokens, types.vocab_size, types.rest) == (7, 8, 4)


def test_values_stand_on_all_queries_and_tokens() -> None:
    types = types_of(MIXED)
    common, distinct = np.zeros((2, 2)), np.zeros((4, 2))
    common[types.of_query] = [[1, 2], [3, 4]]
    distinct[types.of_class] = [[5, 0], [6, 7], [8, 0], [9, 0]]
    # columns are the tokens that some class holds: 0 to 5, and 7
    assert types.per_query(common, distinct).tolist() == [[0, 1, 7, 2, 6, 8, 0], [5, 3, 0, 4, 0, 0, 9]]


def test_overlaps_are_of_two_classes() -> None:
    common = np.array([[0.6, 0.0], [0.0, 0.8]])
    types = types_of(of_probs([0.6, 0.2, 0.2, 0, 0], [0.6, 0.2, 0, 0.2, 0], [0.5, 0.2, 0, 0, 0.3]))
    two, one = types.of_class[[0, 2]]
    overlaps = types.overlaps(common[np.argsort([two, one])])
    assert overlaps[two, two] == pytest.approx(0.36, rel=1e-12, abs=0)
    assert (overlaps[one, one], overlaps[one, two]) == (0, 0)


def test_classes_are_alike_that_agree_to_twelve_decimals() -> None:
    alike = types_of(of_probs([0.5, 0.25, 0.25], [0.5 + 2e-13, 0.25, 0.25 - 2e-13]))
    other = types_of(of_probs([0.5, 0.25, 0.25], [0.5 + 2e-12, 0.25, 0.25 - 2e-12]))
    assert (alike.size.tolist(), other.size.tolist()) == ([2], [1, 1])


def test_classes_are_alike_only_if_they_are_equally_frequent_and_share_their_query_alike() -> None:
    types = types_of(ss.syn_medium(2).with_frequencies([0.1, 0.3, 0.3, 0.3]))
    # the queries differ: one asks for classes of 0.1 and 0.3, one for two of 0.3
    assert sorted(types.size) == [1, 1, 2]
    assert types.paces[types.of_class] == pytest.approx([0.4, 1.2, 1.2, 1.2], rel=1e-12, abs=0)
    probs = np.pad(np.hstack([np.full((4, 1), 0.4), 0.6 * np.eye(4)]), ((0, 0), (0, 2)))
    for query_of, sizes in (([5, 5, 6, 6], [4]), ([5, 5, 5, 6], [1, 3])):
        assert sorted(types_of(ss.SequenceClasses(probs, query_of)).size) == sizes
    assert types_of(ss.with_overlap(5, 1000, 0.1)).others.tolist() == [[4]]


def test_without_distinct_tokens() -> None:
    types = types_of(of_probs([0.5, 0.5], [0.3, 0.7]))
    assert types.distinct.shape == types.distinct_columns.shape == (2, 0)
    assert types.per_query(np.array([[1.0, 2.0]]), types.distinct).tolist() == [[1, 2]]


def test_types_stay_and_are_compared_as_objects() -> None:
    types = types_of(MIXED)
    with pytest.raises(FrozenInstanceError):
        types.vocab_size = 9  # type: ignore[misc]
    assert hash(types) != hash(types_of(MIXED))


def test_more_common_tokens_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_PLACES", 8)
    assert len(types_of(MIXED).common) == 4  # four classes, two common tokens
    with refuses("classes = 8", CLASSES.says):
        types_of(8)  # type: ignore[arg-type]
    monkeypatch.setattr(inputs, "MOST_PLACES", 7)
    with refuses("P(l|n) of the common tokens of 8 numbers", "an array in memory holds 7e+00 of them at most"):
        types_of(MIXED)


def test_classes_named_apart_are_alone_and_tell_queries_apart() -> None:
    classes = ss.syn_medium(3)
    together = types_of(classes)
    assert together.size.tolist() == [classes.num_classes]
    apart = types_of(classes, apart=[4])
    assert sorted(apart.size.tolist())[0] == 1
    assert (apart.of_class == apart.of_class[4]).sum() == 1
    same_query = np.flatnonzero(classes.query_of == classes.query_of[4])
    others = {int(kind) for n, kind in enumerate(apart.of_class) if n not in same_query}
    assert apart.size.sum() == classes.num_classes
    assert len(apart.size) == 1 + (len(same_query) > 1) + len(others)
    assert len(set(apart.of_query.tolist())) == min(2, len(set(classes.query_of.tolist())))
