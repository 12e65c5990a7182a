"""The population: what its strata promise, and that each system can be drawn alone."""

from __future__ import annotations

import numpy as np
import pytest

from scansnap_core import SequenceClasses, audit
from scansnap_core.data.population import (
    INSIDE,
    LARGEST_RATIO,
    LEAST_RATIO,
    STRATA,
    one_common_token,
    population,
    system,
)
from tests.refusing import refuses

SYSTEMS = population(12)


def inside(classes: SequenceClasses) -> bool:
    """Whether Assumption 2 holds, all of it."""
    return all(condition.holds for condition in audit(classes) if condition.name.startswith("2"))


def of(stratum: str) -> list[SequenceClasses]:
    return [drawn.classes for drawn in SYSTEMS if drawn.stratum == stratum]


def num_queries(classes: SequenceClasses) -> int:
    return len(classes.compact.queries)


def num_common(classes: SequenceClasses) -> int:
    return int((classes.compact.held.sum(axis=0) > 1).sum())


def test_a_system_is_the_same_drawn_alone_and_another_one_by_another_seed() -> None:
    for drawn in SYSTEMS[::5]:
        alone = system(drawn.stratum, drawn.number)
        assert alone.ratio == drawn.ratio
        assert alone.classes.vocab_size == drawn.classes.vocab_size
        assert np.array_equal(alone.classes.compact.probs, drawn.classes.compact.probs)
        assert system(drawn.stratum, drawn.number, seed=1).ratio != drawn.ratio
        assert drawn.name == f"{drawn.stratum} {drawn.number}"


def test_strata_inside_satisfy_assumption_2_and_the_others_break_the_condition_that_they_name() -> None:
    for drawn in SYSTEMS:
        assert LEAST_RATIO <= drawn.ratio <= LARGEST_RATIO
        assert inside(drawn.classes) == (drawn.stratum in (*INSIDE, "unequal frequencies"))
    assert all(np.abs(classes.eigenvalues).max() > 1 / classes.num_classes for classes in of("outside"))
    assert all(not classes.is_uniform for classes in of("unequal frequencies"))
    assert all(classes.is_uniform for name in STRATA if name != "unequal frequencies" for classes in of(name))


def test_queries_and_common_tokens_are_as_many_as_the_stratum_says() -> None:
    for name in set(STRATA) - {"several queries", "the paper's own data"}:
        assert {num_queries(classes) for classes in of(name)} == {1}
    assert {num_queries(classes) for classes in of("several queries")} == {2, 3, 4}
    assert {num_common(classes) for classes in of("several common tokens")} == {2, 3, 4}
    for name in ("alike", "unlike", "several queries", "unequal frequencies", "a class apart", "edges"):
        assert {num_common(classes) for classes in of(name)} == {1}


def test_alike_pairs_and_apart_are_what_they_are_called() -> None:
    for classes in of("alike"):
        assert np.ptp(classes.E[~np.eye(classes.num_classes, dtype=bool)]) < 1e-12
        assert np.allclose(np.sort(classes.compact.probs, axis=1), np.sort(classes.compact.probs[0]))
    assert all(np.ptp(classes.compact.probs[:, 0]) > 0 for classes in of("unlike"))
    assert all(0.7 <= classes.E[0, 1] <= 0.99 for classes in of("near pairs"))
    assert all((classes.E[-1] == 0).all() for classes in of("a class apart"))


def test_edges_are_just_inside() -> None:
    for classes in of("edges"):
        K, M = classes.num_classes, classes.vocab_size
        assert 0.98 <= K * np.abs(classes.eigenvalues).max() < 1
        slack = M / max(10 * K**2, 36 / np.abs(classes.eigenvalues).min() ** 2)
        assert 1 <= slack < 1.06


def test_classes_with_one_common_token_have_the_entries_weights_and_queries_asked_for() -> None:
    classes = one_common_token((0.9, 0.2), ([1, 0.5, 0.5], [2]), 1000, 2)
    F = classes.compact.probs / np.linalg.norm(classes.compact.probs, axis=1, keepdims=True)
    assert F[:, 0] == pytest.approx([0.9, 0.2])
    assert F[0, 1:4] / F[0, 1] == pytest.approx([1, 0.5, 0.5])
    assert (F > 0).sum(axis=1).tolist() == [4, 2]
    assert num_queries(classes) == 2
    three = one_common_token((0.1, 0.2, 0.3), ([1], [1], [1]), 1000)
    assert num_queries(three) == num_common(three) == 1
    assert three.E[1] == pytest.approx([0.02, 0, 0.06])


def test_what_is_asked_for_wrongly_is_refused() -> None:
    with refuses(
        "stratum = 'no stratum'",
        (
            "the choices are alike, unlike, several queries, several common tokens, unequal "
            "frequencies, near pairs, a class apart, edges, the paper's own data, outside"
        ),
    ):
        system("no stratum", 0)
    with refuses("number = -1", "an integer, at least 0"):
        system("alike", -1)
