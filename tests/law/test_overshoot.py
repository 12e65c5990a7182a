"""How far updates overshoot: against the Jacobian, dense second moments, and a million runs of SGD."""

import math

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.data import population
from scansnap_core.data.population import STRATA, System
from scansnap_core.law.forecast_errors import Oscillation
from scansnap_core.law.memory import Law, State
from scansnap_core.law.overshoot import (
    Stiffness,
    Updates,
    growth_of,
    overshoot_of,
    step_of,
)
from scansnap_core.law.types import types_of
from scansnap_core.theory import spectrum

FULL = Updates(1.0, 0.0, None)


@pytest.mark.parametrize(
    ("classes", "within"),
    [
        (ss.with_overlap(2, 10**6, 0.02, distinct_weights=[1, 2, 4]), 1e-3),
        (ss.with_overlap(3, 1000, 0.1, distinct_weights=[1, 2]), 0.02),  # drift pulls a little, too
    ],
)
def test_a_step_is_how_fast_memory_brings_attention_back(classes: ss.SequenceClasses, within: float) -> None:
    """The least eigenvalue of the law's Jacobian in z, by differences, where attention has rested so far."""
    law = Law(types_of(classes), 1.0)
    for state in Law(law.types, 1e-6).path(np.array([5.0, 20.0, 60.0])):
        packed = np.concatenate([np.ravel(part) for part in state])
        places = np.arange(len(packed))
        of_z = np.concatenate([places[part] for part in law._parts[4:]])
        steps = [1e-4 * (places == i) for i in of_z]
        slopes = [(law.rate(packed + step) - law.rate(packed - step))[of_z] / 2e-4 for step in steps]
        found = overshoot_of(law, state, law.own_errors(state), FULL).step
        assert found == pytest.approx(-np.linalg.eigvals(slopes).real.min(), rel=within, abs=0)
        # The control: the diagonal alone, as if the other tokens stayed.
        assert found > 1.2 * -np.diag(slopes).min()


ROUGHLY = {"near pairs": (0.37, 1.05), "outside": (0.76, 1.0), "the paper's own data": (0.62, 1.45)}
"""Strata whose classes overlap so much that the step isn't the Jacobian's, and what shares of that it has."""


@pytest.mark.parametrize("stratum", STRATA)
def test_the_step_is_the_jacobians_but_for_large_overlaps(stratum: str) -> None:
    """Where attention rests and where it moves; with the ranges that the docstring states."""
    least, most = ROUGHLY.get(stratum, (0.98, 1.02))
    for number in range(4):
        drawn = population.system(stratum, number, seed=5)
        if drawn.classes.num_classes > 6:
            continue
        law = Law(types_of(drawn.classes), 1.0)
        places = np.arange(law.num_values)
        of_z = np.concatenate([places[part] for part in law._parts[4:]])
        for ratio in (1e-6, drawn.ratio):
            for state in Law(law.types, ratio).path(math.log(drawn.classes.vocab_size) * np.array([0.7, 2.0, 8.0])):
                packed = np.concatenate([np.ravel(part) for part in state])
                steps = [1e-4 * (places == i) for i in of_z]
                slopes = [(law.rate(packed + step) - law.rate(packed - step))[of_z] / 2e-4 for step in steps]
                found = overshoot_of(law, state, law.own_errors(state), FULL).step
                assert least <= found / -np.linalg.eigvals(slopes).real.min() <= most, (number, ratio)


def stiffness_by_class(drawn: System, law: Law, state: State) -> np.ndarray:
    """A_n of one draw of each class at eta_Y = K, on all places of Z in a row, shape (K, N, N)."""
    types = law.types
    errors, _, _ = law.errors_and_gradient(state, law.attention(state))
    compact = drawn.classes.compact
    Z = types.per_query(state.z_common, state.z_distinct)
    f = spectrum.F(compact.probs, Z[compact.query_row])
    K = len(f)
    A = np.zeros((K, Z.size, Z.size))
    for n in range(K):
        square = np.zeros_like(Z)
        square[compact.query_row[n]] = f[n] ** 2
        kind = types.of_class[n]
        strength = K * law.ratio * state.a[kind] * errors.own[kind]
        A[n] = strength * (np.diag(square.ravel()) - np.outer(square, square))
    held = np.any(A != 0, axis=(0, 1))
    return A[:, held][:, :, held]


def growth_of_moments(A: np.ndarray, shares: np.ndarray, updates: Updates) -> float:
    """Half of the logarithm of the factor by which the second moments of distance and velocity grow, by iteration."""
    size = A.shape[1]
    mu = updates.momentum
    mean = np.einsum("n,nij->ij", shares, A)
    one = np.eye(size)
    turn = np.block([[one - mean, mu * one], [-mean, mu * one]])
    draws = np.random.default_rng(0).normal(size=(2 * size, 2 * size))
    C = draws @ draws.T
    factor = 1.0
    for _ in range(200):
        distance = C[:size, :size]
        C = turn @ C @ turn.T
        if updates.batch_size is not None:
            scatter = np.einsum("n,nij,jk,nkl->il", shares, A, distance, A, optimize=True) - mean @ distance @ mean
            C += np.tile(scatter / updates.batch_size, (2, 2))
        factor = float(np.linalg.norm(C))
        C /= factor
    return math.log(factor) / 2


@pytest.mark.parametrize("stratum", STRATA)
def test_the_growth_is_near_that_of_all_second_moments(stratum: str) -> None:
    """Written out densely by class. Without momentum it is never above that, but for where the iteration stopped."""
    near = []
    for number in range(4):
        drawn = population.system(stratum, number, seed=5)
        if drawn.classes.num_classes > 6:
            continue
        law = Law(types_of(drawn.classes), drawn.ratio)
        (state,) = law.path(np.array([math.log(drawn.classes.vocab_size)]))
        A = stiffness_by_class(drawn, law, state)
        if A.shape[1] > 40:
            continue
        for momentum, batch_size in ((0.0, None), (0.0, 1), (0.0, 4), (0.9, 1)):
            # The pace is such that attention overshoots.
            plain = Updates(1.0, momentum, batch_size)
            updates = plain._replace(pace=5 / overshoot_of(law, state, law.own_errors(state), plain).step)
            found = overshoot_of(law, state, law.own_errors(state), updates).growth
            exact = growth_of_moments(updates.pace * A, drawn.classes.frequencies, updates)
            if momentum == 0:
                assert found <= exact * 1.005 + 1e-9, (number, updates)
            near.append(found / exact)
    assert np.median(near) > 0.85
    assert min(near) > 0.3


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("batch_size", [None, 1, 3, 16])
def test_a_distance_grows_exactly_from_a_step_of_two_on(momentum: float, batch_size: int | None) -> None:
    updates = Updates(1.0, momentum, batch_size)
    for spread in (0.0, 0.5, 4.0):
        # A multiple of this stiffness has a step of 2.
        unit = step_of(Stiffness(1.0, spread), updates)
        for step, grows in ((1.98, False), (2.02, True)):
            scale = step / unit
            stiffness = Stiffness(scale, scale**2 * spread)
            assert step_of(stiffness, updates) == pytest.approx(step, rel=1e-12)
            assert (growth_of(stiffness, updates) > 0) == grows, (spread, step)


@pytest.mark.parametrize("updates", [Updates(1.0, 0.0, 1), Updates(1.0, 0.6, 2)])
def test_the_mean_square_of_sgd_grows_as_said(updates: Updates) -> None:
    """One logit, pulled back by each draw of one class in three alone, a million times."""
    rng = np.random.default_rng(0)
    share, pull = 1 / 3, 3.0
    size = updates.batch_size or 1
    distance = np.ones(1_000_000)
    velocity = np.zeros_like(distance)
    squares = []
    for _ in range(6):
        drawn = rng.binomial(size, share, distance.size) / size
        velocity = updates.momentum * velocity - pull * drawn * distance
        distance = distance + velocity
        squares.append(np.mean(distance**2))
    growth = growth_of(Stiffness(share * pull, share * (1 - share) * pull**2), updates)
    assert math.log(squares[-1] / squares[-2]) / 2 == pytest.approx(growth, abs=0.03)


def test_full_batches_without_momentum_have_the_step_less_one() -> None:
    for step in (2.5, 4.0, 30.0):
        assert growth_of(Stiffness(step, 7.0), FULL) == pytest.approx(math.log(step - 1), rel=1e-12)


def test_growth_adds_up_over_updates() -> None:
    oscillation = Oscillation(0.5)
    oscillation.advance(1.0, 0.0)
    # Linear in between: half of an update's ln 2.
    half = oscillation.until(1.5, math.log(2))
    assert half == pytest.approx(math.log(2) / 2, rel=1e-12)
    oscillation.advance(1.5, math.log(2))
    assert oscillation.until(4.0, math.log(2)) == pytest.approx(half + 5 * math.log(2), rel=1e-12)
    assert oscillation.until(2.0, math.log(2)) == pytest.approx(half + math.log(2), rel=1e-12)
    oscillation.end(2.0)
    assert oscillation.until(3.0, 0.2) == pytest.approx(0.2, rel=1e-12)  # two updates of half of it
