"""What attention has done, in numbers: on a system whose answers are known, and where there is nothing to say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scansnap_core import IdealisedFlow, TrueFlow, solve, syn_small, transition, with_overlap
from scansnap_core.data.population import system
from scansnap_core.theory import outcomes

TWO = with_overlap(2, 1_000, 0.3, distinct_weights=[1, 0.8, 0.5])
MARKS = (1.0, 40.0)


def test_a_path_is_the_flows_at_multiples_of_t_0() -> None:
    t_0 = transition(2, 1_000, 1.0)[1]
    for name, flow in (("gradient", TrueFlow), ("law (10)", IdealisedFlow)):
        Z = solve(flow(TWO, 1.0, 0.1), [t_0, 40 * t_0]).Z.values
        np.testing.assert_allclose(outcomes.path_of(TWO, 0.1, name, MARKS), Z, rtol=1e-6)


def test_on_two_classes_alike_the_common_token_falls_and_the_most_frequent_distinct_one_leads() -> None:
    Z = outcomes.path_of(TWO, 0.1, "gradient", MARKS)
    found = outcomes.outcome(TWO, Z)
    np.testing.assert_allclose(found.size, -Z[:, 0, 0])
    np.testing.assert_allclose(found.common_high, Z[:, 0, 0])
    np.testing.assert_allclose(found.distinct_low, Z[:, 0, 3])
    assert found.leaders.tolist() == [1, 1]
    # with the signs turned, every answer turns
    turned = outcomes.outcome(TWO, -Z)
    np.testing.assert_allclose(turned.common_high, -Z[:, 0, 0])
    np.testing.assert_allclose(turned.distinct_low, -Z[:, 0, 1])
    assert turned.leaders.tolist() == [0, 0]


@pytest.mark.parametrize("weights", [[1, 1, 0.5], [1, 0.5, 1], [0.5, 1, 1]])
def test_of_equally_frequent_tokens_none_is_picked_by_its_place(weights: list[float]) -> None:
    tied = with_overlap(2, 1_000, 0.3, distinct_weights=weights)
    Z = outcomes.path_of(tied, 0.1, "gradient", MARKS)
    for place in np.flatnonzero(np.array(weights) == 1):  # rounding puts one or the other ahead
        nudged = Z.copy()
        nudged[:, 0, 1 + place] *= 1 + 1e-12
        assert outcomes.outcome(tied, nudged).leaders.tolist() == [1, 1]
    assert outcomes.outcome(tied, -Z).leaders.tolist() == [0, 0]
    equal = with_overlap(2, 1_000, 0.3, distinct_weights=[1, 1, 1])
    assert np.isnan(outcomes.outcome(equal, Z).leaders).all()


def test_a_path_is_compared_with_its_double_and_with_another_direction() -> None:
    Z = outcomes.path_of(TWO, 0.1, "gradient", MARKS)
    double = outcomes.compare(TWO, Z, 2 * Z)
    assert double.cosine == pytest.approx([1, 1])
    assert double.least_times == pytest.approx([2, 2])
    assert double.error == pytest.approx([1, 1])
    opposite = outcomes.compare(TWO, Z, -Z)
    assert opposite.cosine == pytest.approx([-1, -1])
    assert opposite.least_times == pytest.approx([-1, -1])
    assert opposite.error == pytest.approx([2, 2])


def test_tokens_that_a_querys_classes_do_not_hold_are_left_out() -> None:
    classes = syn_small()  # a query a class: the other class's distinct tokens stay at 0 in its row
    found = outcomes.outcome(classes, outcomes.path_of(classes, 0.1, "gradient", (1.0,)))
    assert found.distinct_low[0] > 0


def test_where_no_token_is_common_nothing_is_said_of_common_ones() -> None:
    apart = with_overlap(2, 1_000, 0.0, distinct_weights=[1, 2])
    Z = np.zeros((1, 1, len(apart.tokens)))
    assert np.isnan(outcomes.outcome(apart, Z).common_high).all()
    assert np.isnan(outcomes.compare(apart, Z, Z).least_times).all()


def test_classes_with_one_distinct_token_have_no_leader() -> None:
    one = with_overlap(2, 1_000, 0.3, distinct_weights=[1])
    assert np.isnan(outcomes.outcome(one, np.ones((1, 1, 3))).leaders).all()


def test_runs_of_sgd_with_full_batches_end_near_the_gradient() -> None:
    (trained,) = outcomes.trained(TWO, 0.1, math.inf, None)
    (gradient,) = outcomes.path_of(TWO, 0.1, "gradient", (1.0,))
    np.testing.assert_allclose(trained, gradient, rtol=0.06)
    # attention faster than the decoder: the larger rate is 1, and the ratio is kept
    (trained,) = outcomes.trained(TWO, 2.0, math.inf, None)
    (gradient,) = outcomes.path_of(TWO, 2.0, "gradient", (1.0,))
    np.testing.assert_allclose(trained, gradient, rtol=0.06)
    (slow,) = outcomes.path_of(TWO, 0.1, "gradient", (1.0,))
    assert np.abs(trained / slow - 1).min() > 0.5


def test_heights_are_in_standard_errors_of_the_mean_over_runs() -> None:
    Z = np.array([[[-1.0, 1, 2, 3, 1, 2, -3]], [[-2.0, 1, 2, 4, 1, 2, -3.5]]])
    found = outcomes.over_runs(TWO, Z)
    assert found.size == 3.5
    assert found.common_high == pytest.approx(-3)
    assert found.common_low == pytest.approx(-3)
    assert found.distinct_low == pytest.approx(-13)
    assert outcomes.over_runs(TWO, -Z).common_high == pytest.approx(3)
    # one run has no scatter, and what has moved in it is certain
    assert outcomes.over_runs(TWO, Z[:1]).common_high == -math.inf


def test_a_system_of_the_population_has_every_number() -> None:
    drawn = system("edges", 1)
    Z, other = (outcomes.path_of(drawn.classes, drawn.ratio, name, (1.0,)) for name in ("gradient", "law (10)"))
    values = [*outcomes.outcome(drawn.classes, Z), *outcomes.compare(drawn.classes, Z, other)]
    assert np.isfinite(values).all()
