"""The contest's systems and the tokens on which it is decided."""

from __future__ import annotations

import numpy as np
import pytest

from scansnap_core import BadInput, IdealisedFlow, SequenceClasses, solve
from scansnap_core.theory.law import contest

SYSTEMS = contest.systems(5, 40)


def test_the_same_seed_draws_the_same_systems() -> None:
    assert contest.systems(5, 4) == SYSTEMS[:4]
    assert contest.systems(6, 4) != SYSTEMS[:4]
    with pytest.raises(BadInput):
        contest.systems(5, 0)


def test_they_are_of_the_sizes_that_it_promises() -> None:
    sizes = [(each.num_classes, each.vocab_size, len(each.compact.queries)) for each in SYSTEMS]
    K, M, Q = (np.array(column) for column in zip(*sizes, strict=True))
    assert (K >= 2).all() and (K <= 20).all() and K.min() < 4 and K.max() > 14
    assert (M >= 100).all() and (M <= 1_000_000).all() and M.min() < 1_000 and M.max() > 100_000
    assert (Q[::2] == 1).all() and set(Q[1::2]) == {1, 2, 3}


def test_even_ones_have_equal_overlaps_and_odd_ones_unequal() -> None:
    for number, classes in enumerate(SYSTEMS):
        off = classes.E[~np.eye(classes.num_classes, dtype=bool)]
        assert off.max() > 0
        assert (np.ptp(off) < 1e-9) == (number % 2 == 0 or classes.num_classes == 2)
        assert off.max() <= contest.LARGEST_SHARE + 1e-9


def test_the_tokens_are_those_of_the_first_class() -> None:
    classes = SequenceClasses([[0.1, 0.2, 0.1, 0.2, 0.4, 0, 0], [0.1, 0.4, 0, 0, 0, 0.5, 0]], query_of=[6, 3])
    query, columns = contest.judged(classes)
    assert classes.coords["query"][query] == 6
    assert classes.tokens[columns].tolist() == [1, 4, 2]


def test_all_that_take_part_speak_of_the_same_tokens_and_times() -> None:
    taus = [1.0, 30.0]
    for classes in SYSTEMS[:2]:
        z = contest.true_flow(classes, 0.1, taus)
        assert contest.law(classes, 0.1, taus) == pytest.approx(z, rel=0.05)
        idealised = solve(IdealisedFlow(classes, 1.0, 0.1), np.array(taus) * classes.num_classes).Z.values
        query, columns = contest.judged(classes)
        assert contest.quasi_static(classes, 0.1, taus) == pytest.approx(idealised[:, query, columns], rel=1e-5)
        assert np.abs(idealised[:, query, columns] / z - 1).min() > 0.5
