"""The true, the modified and the idealised flow against definitions, autograd, loops and training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import quad, solve_ivp

from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.theory import clocks, flows, formulas, spectrum
from scansnap_core.theory.functions import function_of
from tests.engine.references import expected_loss, frequent_classes, overlapping_classes

LR_Y, LR_Z = 0.8, 0.5


# -- the true flow ---------------------------------------------------------------------------------------------------


def some_state(flow: flows.TrueFlow) -> np.ndarray:
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


@pytest.mark.parametrize("classes", [overlapping_classes(), frequent_classes()], ids=str)
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


def test_true_flow_keeps_row_sums() -> None:
    classes = overlapping_classes()
    flow = flows.TrueFlow(classes, LR_Y, LR_Z)
    Y, _, B = flow.unpack(flow.rhs(0.0, some_state(flow)))
    multiplicity = np.array([1, 1, 1, classes.vocab_size - 3])
    assert np.abs(Y @ multiplicity).max() < 1e-14
    assert np.abs(Y.sum(axis=-1)).max() > 1e-3  # control: without the multiplicity
    assert B.shape == (3,)


@pytest.mark.parametrize("others", [0, 1, 2])
def test_true_flow_with_few_other_outputs(others: int) -> None:
    probs = np.pad([[0.7, 0.3, 0.0], [0.7, 0.0, 0.3], [0.4, 0.3, 0.3]], ((0, 0), (0, others)))
    classes = SequenceClasses(probs, [0, 0, 0])
    flow = flows.TrueFlow(classes, LR_Y, LR_Z)
    rate_Y, _, _ = flow.unpack(flow.rhs(0.0, flow.initial()))
    full = [torch.zeros(3 + others, 3 + others, dtype=torch.float64, requires_grad=True) for _ in "YZ"]
    dY, _ = torch.autograd.grad(-expected_loss(classes, *full), full)
    assert rate_Y == pytest.approx(LR_Y * dY.numpy()[:3, : 3 + (others > 0)], abs=1e-14)


@pytest.mark.parametrize("make", [flows.TrueFlow, flows.ModifiedFlow])
def test_a_learned_class_keeps_the_digits_of_its_error(make: type[flows.TrueFlow]) -> None:
    classes = with_overlap(2, 100, 0.0)
    flow, F = make(classes, 1.0, 1.0), classes.compact.probs / np.linalg.norm(classes.compact.probs, axis=1)[:, None]
    Y = 80 * F.T @ classes.outputs.targets  # 1 - alpha_nn is 99 e^-80
    error = F @ flow.unpack(flow.rhs(0.0, flow.initial(Y=Y)))[0] * classes.num_classes
    assert np.diag(error) == pytest.approx(99 * np.exp(-80.0) * np.ones(2), rel=1e-12, abs=0)
    assert error @ classes.outputs.multiplicity == pytest.approx(0, abs=1e-12 * error.max())


@pytest.mark.parametrize("classes", [overlapping_classes(), frequent_classes()], ids=str)
def test_B_grows_by_the_definition_of_xi(classes: SequenceClasses) -> None:
    flow = flows.TrueFlow(classes, LR_Y, LR_Z)
    state = some_state(flow)
    Y, Z, _ = flow.unpack(state)
    F = spectrum.F(classes.compact.probs, Z[classes.compact.query_row])
    expected = []
    for n in range(3):
        logits = F[n] @ Y
        weights = np.exp(logits) * np.array([1, 1, 1, classes.vocab_size - 3])
        g = Y @ (np.eye(4)[n] - weights / weights.sum())
        gamma_beta = -np.linalg.lstsq(F.T, g)[0]  # Eqn 9: g = gamma iota_n f_n - sum gamma beta_nn' f_n'
        expected.append(sum(gamma_beta[k] * F[n] @ F[k] for k in range(3) if k != n))
    _, _, rate_B = flow.unpack(flow.rhs(0.0, state))
    assert rate_B == pytest.approx(LR_Z * classes.frequencies * expected, rel=1e-9, abs=0)
    assert flow.xi(Y, Z) == pytest.approx(expected, rel=1e-9, abs=0)


def test_the_flows_start_at_the_given_attention_and_else_at_zero() -> None:
    classes = overlapping_classes()
    Z = np.random.default_rng(5).normal(size=(2, 6))
    for flow in (make(classes, LR_Y, LR_Z) for make in (flows.TrueFlow, flows.ModifiedFlow, flows.IdealisedFlow)):
        *Y, at, B = flow.unpack(flow.initial(Z))
        assert np.array_equal(at, Z)
        assert not any(part.any() for part in (*Y, B, flow.initial()))
        assert flow.initial().shape == flow.initial(Z).shape


def test_training_with_small_rates_follows_the_true_flow_to_first_order() -> None:
    classes = overlapping_classes()
    flow, end = flows.TrueFlow(classes, LR_Y, LR_Z), 20
    solution = solve_ivp(flow.rhs, (0, end), flow.initial(), rtol=1e-11, atol=1e-13)
    Y, Z, _ = flow.unpack(solution.y[:, -1])
    errors = []
    for halvings in range(4):
        step = 0.5**halvings / 4
        run = train(
            classes, lr_y=LR_Y * step, lr_z=LR_Z * step, steps=round(end / step), batch_size=None, seq_len=np.inf
        ).isel(seed=0, rate=0, recorded=-1)
        errors.append([float(np.abs(run.Y - Y).max()), float(np.abs(run.Z - Z).max())])
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert np.max(errors[-1]) < 0.01 * np.abs(Z).max()
    assert ratios[-1] == pytest.approx([2, 2], abs=0.1)


# -- update (26) and Eqn 4 ------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("classes", [overlapping_classes(), frequent_classes()], ids=str)
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


@pytest.mark.parametrize("classes", [overlapping_classes(), frequent_classes()], ids=str)
def test_modified_flow_with_attention_at_rest_solves_lemma_5_for_every_class(classes: SequenceClasses) -> None:
    F = spectrum.F(classes.compact.probs, np.zeros_like(classes.compact.probs))
    zeta, height = 9 / 8 * (np.eye(3, 4) - 1 / 9), clocks.h(60 * classes.frequencies, 9, LR_Y)[:, None]
    far = []
    for flow in (flows.ModifiedFlow(classes, LR_Y, 0.0), flows.TrueFlow(classes, LR_Y, 0.0)):
        end = solve_ivp(flow.rhs, (0, 60), flow.initial(), method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
        # Eqn 31 at h(t P(n)): W = F^T Y knows nothing of the overlaps
        far.append(np.abs(F @ flow.unpack(end)[0] - 8 * height * zeta).max())
    assert far[0] < 1e-8
    assert far[1] > 0.1  # control: the gradient's W does


def test_modified_flow_remembers_past_attention() -> None:
    classes = overlapping_classes()
    outside = []
    for lr_z in (0.0, LR_Z):
        flow = flows.ModifiedFlow(classes, LR_Y, lr_z)
        end = solve_ivp(flow.rhs, (0, 60), flow.initial(), rtol=1e-9, atol=1e-11).y[:, -1]
        Y, Z, _ = flow.unpack(end)
        F = spectrum.F(classes.compact.probs, Z[classes.compact.query_row])
        outside.append(np.linalg.norm(Y - np.linalg.pinv(F) @ (F @ Y)) / np.linalg.norm(Y))
    # Y is made of the present f_n only where they rest
    assert outside[0] < 1e-8
    assert outside[1] > 1e-2


# -- the idealised flow ----------------------------------------------------------------------------------------------


def phi_by_eqn_97(classes: SequenceClasses, Z: np.ndarray, power: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Eqn 97 with beta_nn' = E'_n'n, token by token; ``power`` is that of the first f_nl in the bracket, plus one."""
    compact, K = classes.compact, classes.num_classes
    F = spectrum.F(compact.probs, Z[compact.query_row])
    E_prime = np.eye(K) - np.linalg.inv(np.eye(K) + F @ F.T - np.eye(K))
    phi, pull = np.zeros_like(Z), np.zeros(K)
    for n in range(K):
        for other in range(K):
            if other == n:
                continue
            overlap = F[n] @ F[other]
            pull[n] += E_prime[other, n] * overlap
            for token in range(len(compact.tokens)):
                bracket = overlap * F[n, token] ** (power - 1) - F[other, token]
                phi[compact.query_row[n], token] += F[n, token] * E_prime[other, n] * bracket
    return phi, pull


def test_idealised_direction_is_eqn_97() -> None:
    classes = overlapping_classes()
    flow = flows.IdealisedFlow(classes, LR_Y, LR_Z)
    Z = np.random.default_rng(2).normal(size=(2, 6))
    phi, pull = flow.phi(Z)
    expected_phi, expected_pull = phi_by_eqn_97(classes, Z)
    assert phi == pytest.approx(expected_phi, abs=1e-14)
    assert pull == pytest.approx(expected_pull, abs=1e-14)
    assert np.abs(phi - phi_by_eqn_97(classes, Z, power=3)[0]).max() > 1e-2  # control
    # a query of its own: class 1 alone moves row 1, and only on its support
    assert (phi[1][classes.compact.probs[1] == 0] == 0).all()


def test_idealised_flow_moves_at_the_speed_gamma() -> None:
    classes = overlapping_classes()
    flow = flows.IdealisedFlow(classes, LR_Y, LR_Z)
    start = np.random.default_rng(3).normal(size=(2, 6))
    # gamma(t) at h(t/K), Eqn 85
    M, height = classes.vocab_size, float(clocks.h(40 / 3, classes.vocab_size, LR_Y))
    gamma = (M - 1) ** 2 * height / (M - 1 + np.exp(M * height))
    assert flow.gamma(40.0) == pytest.approx(gamma, rel=1e-12, abs=0)
    phi, pull = flow.phi(start)
    # P(n) = 1/3 by steps of batch size 1, as in the other flows; Eqn 10 as printed has no such weight
    printed = flows.IdealisedFlow(classes, LR_Y, LR_Z, clock="printed")
    for on_clock, weight in ((flow, 1 / 3), (printed, 1)):
        rate_Z, rate_B = on_clock.unpack(on_clock.rhs(40.0, flow.initial(start)))
        assert rate_Z == pytest.approx(LR_Z * weight * gamma * phi, rel=1e-12, abs=0)
        assert rate_B == pytest.approx(LR_Z * weight * gamma * pull, rel=1e-12, abs=0)


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


def test_idealised_flow_keeps_the_row_sums_of_Z() -> None:
    classes = overlapping_classes()
    flow = flows.IdealisedFlow(classes, LR_Y, LR_Z)
    start = np.random.default_rng(3).normal(size=(2, 6))
    solution = solve_ivp(flow.rhs, (0, 300), flow.initial(start), rtol=1e-9, atol=1e-11)
    Z, B = flow.unpack(solution.y.T)
    assert Z.shape == (solution.t.size, 2, 6)
    assert B.shape == (solution.t.size, 3)
    assert np.abs(Z[-1] - start).max() > 0.1
    assert Z.sum(axis=-1) == pytest.approx(np.tile(start.sum(axis=-1), (len(Z), 1)), abs=1e-12)


def test_Gamma_is_the_integral_of_gamma() -> None:
    classes = overlapping_classes()
    flow = flows.IdealisedFlow(classes, LR_Y, LR_Z)
    arguments = (formulas.h_, formulas.M, formulas.K, formulas.eta_Y, formulas.eta_Z)
    closed = function_of(formulas.Gamma, arguments)(clocks.h(50 / 3, 9, LR_Y), 9, 3, LR_Y, LR_Z)
    integral = LR_Z * quad(flow.gamma, 0, 50, epsabs=0, epsrel=1e-10)[0]
    # the exact integral of h h' is h^2/2 times K (M-1)^2/eta_Y
    assert closed == pytest.approx(integral, rel=1e-9, abs=0)
