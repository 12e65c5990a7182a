"""Test the true gradient flow, update (26) and law (10) against definitions, autograd and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.theory import clocks, flows, spectrum
from tests.engine.references import expected_loss, frequent_classes, overlapping_classes
from tests.refusing import refuses

LR_Y, LR_Z = 0.8, 0.5
SYSTEMS = [overlapping_classes(), frequent_classes()]


def of_few_outputs(others: int) -> SequenceClasses:
    """Three classes, whose next tokens are all outputs but so many."""
    probs = [[0.7, 0.3, 0.0], [0.7, 0.0, 0.3], [0.4, 0.3, 0.3]]
    return SequenceClasses(np.pad(probs, ((0, 0), (0, others))), [0, 0, 0])


def some_state(flow: flows.Flow) -> np.ndarray:
    return np.random.default_rng(8).normal(size=flow.initial().shape)


def on_the_full_program(classes: SequenceClasses, Y: np.ndarray, Z: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """The M x M parameters that compact ones stand for; the last column of Y is every output that is no class."""
    M, compact = classes.vocab_size, classes.compact
    column = np.full(M, classes.num_classes)
    column[classes.next_of] = np.arange(classes.num_classes)
    full_Y, full_Z = np.zeros((M, M)), np.zeros((M, M))
    full_Y[compact.tokens] = Y[:, column]
    full_Z[np.ix_(compact.queries, compact.tokens)] = Z
    return torch.from_numpy(full_Y).requires_grad_(), torch.from_numpy(full_Z).requires_grad_()


@pytest.mark.parametrize("classes", [*SYSTEMS, of_few_outputs(0), of_few_outputs(1)], ids=str)
def test_true_flow_climbs_the_expected_objective(classes: SequenceClasses) -> None:
    flow = flows.TrueFlow(classes, LR_Y, LR_Z)
    state = some_state(flow)
    Y, Z, _ = flow.unpack(state)
    full = on_the_full_program(classes, Y, Z)
    dY, dZ = torch.autograd.grad(-expected_loss(classes, *full), full)
    rate_Y, rate_Z, _ = flow.unpack(flow.rhs(0.0, state))
    full_rates = on_the_full_program(classes, rate_Y, rate_Z)
    for got, gradient, lr in zip(full_rates, (dY, dZ), (LR_Y, LR_Z), strict=True):
        assert gradient.abs().max() > 1e-3
        assert torch.allclose(got, lr * gradient, rtol=0, atol=1e-13)


@pytest.mark.parametrize("classes", SYSTEMS, ids=str)
def test_B_grows_by_the_definition_of_xi(classes: SequenceClasses) -> None:
    flow = flows.TrueFlow(classes, LR_Y, LR_Z)
    Y, Z, _ = flow.unpack(state := some_state(flow))
    F = spectrum.F(classes.compact.probs, Z[classes.compact.query_row])
    weights = np.exp(F @ Y) * np.array([1, 1, 1, classes.vocab_size - 3])
    g = (np.eye(3, 4) - weights / weights.sum(axis=1, keepdims=True)) @ Y.T
    # Eqn 9: g = gamma iota_n f_n - sum gamma beta_nn' f_n'
    expected = -(np.linalg.lstsq(F.T, g.T)[0].T * spectrum.E(F)).sum(axis=1)
    assert flow.unpack(flow.rhs(0.0, state))[2] == pytest.approx(LR_Z * classes.frequencies * expected, rel=1e-9, abs=0)
    assert flow.xi(Y, Z) == pytest.approx(expected, rel=1e-9, abs=0)


def by_eqns_26_and_4(classes: SequenceClasses, Y: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the classes of one step's change by Eqns 26 and 4, class by class on the M x M program."""
    M, K, compact = classes.vocab_size, classes.num_classes, classes.compact
    rows = [np.exp(Z[query]) * classes.probs[n] for n, query in enumerate(classes.query_of)]
    F = np.stack([row / np.linalg.norm(row) for row in rows], axis=1)  # the paper's F, one column a class
    E_prime = np.eye(K) - np.linalg.inv(F.T @ F)
    dY, dZ = np.zeros_like(Y), np.zeros_like(Z)
    for n in range(K):
        f, target = F[:, n], np.eye(M)[classes.next_of[n]]
        alpha = np.exp(Y.T @ f) / np.exp(Y.T @ f).sum()
        error = classes.frequencies[n] * (target - alpha)
        dY += np.outer(f - F @ E_prime[:, n], error)
        dZ[classes.query_of[n]] += np.diag(f) @ (np.eye(M) - np.outer(f, f)) @ Y @ error
    return dY[compact.tokens], dZ[np.ix_(compact.queries, compact.tokens)]


@pytest.mark.parametrize("classes", SYSTEMS, ids=str)
def test_modified_flow_is_eqns_26_and_4(classes: SequenceClasses) -> None:
    flow = flows.ModifiedFlow(classes, LR_Y, LR_Z)
    Y, Z, B = flow.unpack(some_state(flow))
    column = np.full(classes.vocab_size, classes.num_classes)
    column[classes.next_of] = np.arange(classes.num_classes)
    expected_Y, expected_Z = by_eqns_26_and_4(
        classes, *(full.detach().numpy() for full in on_the_full_program(classes, Y, Z))
    )
    state = np.concatenate([Y.ravel(), Z.ravel(), B])
    rate_Y, rate_Z, rate_B = flow.unpack(flow.rhs(0.0, state))
    assert np.abs(rate_Y[:, column] - LR_Y * expected_Y).max() < 1e-14
    assert np.abs(rate_Z - LR_Z * expected_Z).max() < 1e-14
    true = flows.TrueFlow(classes, LR_Y, LR_Z)
    true_Y, _, true_B = true.unpack(true.rhs(0.0, state))
    assert np.abs(true_Y - rate_Y).max() > 1e-2  # control: the gradient is another update of Y
    assert np.array_equal(rate_B, true_B)


def test_idealised_direction_is_the_force_of_eqn_97_on_each_query() -> None:
    classes = overlapping_classes()
    Z = np.random.default_rng(2).normal(size=(2, 6))
    F = spectrum.F(classes.compact.probs, Z[[0, 1, 0]])  # class 1 alone has query 7
    beta = spectrum.beta(spectrum.E(F), np.inf)
    force = spectrum.force(F, beta)
    phi, pull = flows.IdealisedFlow(classes, LR_Y, LR_Z).phi(Z)
    assert phi == pytest.approx(np.stack([force[0] + force[2], force[1]]), abs=1e-14)
    assert pull == pytest.approx((beta * spectrum.E(F)).sum(axis=1), abs=1e-14)


def test_idealised_flow_moves_at_the_speed_gamma() -> None:
    classes = overlapping_classes()
    flow = flows.IdealisedFlow(classes, LR_Y, LR_Z)
    start = np.random.default_rng(3).normal(size=(2, 6))
    # gamma(t) at h(t/K), Eqn 85
    M, height = classes.vocab_size, float(clocks.h(40 / 3, classes.vocab_size, LR_Y))
    gamma = (M - 1) ** 2 * height / (M - 1 + np.exp(M * height))
    assert flow.gamma(40.0) == pytest.approx(gamma, rel=1e-12, abs=0)
    for wrong in (-5, math.nan, math.inf, True, b"1", "1", None):
        with refuses(f"t = {wrong!r}", "time is finite and not negative"):
            flow.gamma(wrong)  # type: ignore[arg-type]
    with refuses("M lr_y t = inf", "a clock runs up to the largest float"):
        flow.gamma(1e308)
    with refuses("t with a masked place at (1,)", "what is masked is no number"):
        flow.gamma(np.ma.masked_equal([1.0, 2.0], 2))
    phi, pull = flow.phi(start)
    # P(n) = 1/3 by steps of batch size 1, as in the other flows; Eqn 10 as printed has no such weight
    printed = flows.IdealisedFlow(classes, LR_Y, LR_Z, clock="printed")
    for on_clock, weight in ((flow, 1 / 3), (printed, 1)):
        rate_Z, rate_B = on_clock.unpack(on_clock.rhs(40.0, flow.initial(start)))
        assert rate_Z == pytest.approx(LR_Z * weight * gamma * phi, rel=1e-12, abs=0)
        assert rate_B == pytest.approx(LR_Z * weight * gamma * pull, rel=1e-12, abs=0)
    with refuses("clock = 'epochs'", "the choices are steps, printed"):
        flows.IdealisedFlow(classes, LR_Y, LR_Z, clock="epochs")


@pytest.mark.parametrize("frequencies", [None, [0.1, 0.6, 0.3]])
def test_all_flows_share_one_clock_where_the_idealisation_is_exact(frequencies: list[float] | None) -> None:
    # update (26) with attention at rest is Theorem 5's Y, for which Eqn 4's force is Eqn 10's as M grows
    classes = with_overlap(3, 10**7, 0.1, distinct_weights=[1, 0.5]).with_frequencies(frequencies)
    still = flows.ModifiedFlow(classes, LR_Y, 0.0)
    at_t = solve_ivp(still.rhs, (0, 30), still.initial(), rtol=1e-11, atol=1e-18).y[:, -1]
    force = flows.ModifiedFlow(classes, LR_Y, LR_Z)
    true = force.unpack(force.rhs(30.0, at_t))[1]
    ideal = flows.IdealisedFlow(classes, LR_Y, LR_Z)
    assert ideal.unpack(ideal.rhs(30.0, ideal.initial()))[0] == pytest.approx(true, rel=1e-3, abs=0)


@pytest.mark.parametrize("model", ["plain", "residual"])
def test_each_class_has_its_own_gamma_and_weight_where_frequencies_differ(model: str) -> None:
    classes = SequenceClasses(np.pad(overlapping_classes().probs, ((0, 0), (0, 2))), [9, 10, 9])
    at, P = np.random.default_rng(3).normal(size=(2, 6 if model == "plain" else 8)), [0.2, 0.5, 0.3]
    flow = flows.IdealisedFlow(classes.with_frequencies(P), LR_Y, LR_Z, model=model)
    gammas = flow.gamma(40.0)
    by_class = []
    for n, gamma in enumerate(gammas):
        alone = np.eye(3)[n][:, None]
        phi, pull = flow.phi(at, alone)
        by_class.append(P[n] * gamma * phi)
        alike = flows.IdealisedFlow(classes, LR_Y, LR_Z, model=model)
        assert gamma == pytest.approx(alike.gamma(40 * 3 * P[n]), rel=1e-12, abs=0)
        assert pull == pytest.approx(alike.phi(at)[1], rel=1e-12, abs=0)
    rate_Z, rate_B = flow.unpack(flow.rhs(40.0, flow.initial(at)))
    assert rate_Z == pytest.approx(LR_Z * sum(by_class), rel=1e-12, abs=1e-15)
    assert rate_B == pytest.approx(LR_Z * gammas * P * pull, rel=1e-12, abs=0)


@pytest.mark.parametrize("state", [None, "x", 3, [], [1, 2], {}, np.zeros(3), np.zeros((2, 2)), np.array(0.0)])
def test_what_no_flow_packed_is_not_unpacked(state: object) -> None:
    flow = flows.IdealisedFlow(overlapping_classes(), LR_Y, LR_Z)
    with refuses("state …", "the flow 'idealised' of these classes packs 15 numbers into a state"):
        flow.unpack(state)  # type: ignore[arg-type]
    Z, B = flow.unpack(np.zeros((4, 15)))
    assert (Z.shape, B.shape) == ((4, 2, 6), (4, 3))
