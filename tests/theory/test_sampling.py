"""The 1/(T - 1) terms against exact sums over token counts, automatic differentiation and their own bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import multinomial

from scansnap_core.base.rules import SEQ_LEN
from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import model, variants
from scansnap_core.theory import flows, gallery, sampling
from tests.engine.references import frequent_classes
from tests.refusing import refuses

PROBS = torch.tensor([0.5, 0.3, 0.2, 0.0], dtype=torch.float64)
LOGITS = torch.tensor([0.3, -0.8, 1.1, 5.0], dtype=torch.float64)


def all_counts(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Every q of `length` positions over the three tokens that occur, with its probability."""
    counts = np.array([(a, b, length - a - b, 0) for a in range(length + 1) for b in range(length + 1 - a)])
    weight = multinomial.pmf(counts[:, :3], length, PROBS[:3].numpy())
    return torch.from_numpy(counts / length), torch.from_numpy(weight)


@pytest.mark.parametrize("length", [100, 400])
def test_leading_terms_meet_the_exact_means(length: int) -> None:
    q, weight = all_counts(length)
    c, c_inf = model.attend(q, LOGITS), model.attend(PROBS, LOGITS)
    f, f_inf = model.normalise(c), model.normalise(c_inf)
    spread = f - weight @ f
    for exact, leading in (
        (weight @ c - c_inf, sampling.bias_c(PROBS, c_inf)),
        (weight @ f - f_inf, sampling.bias_f(PROBS, f_inf)),
        ((weight.unsqueeze(-1) * spread).mT @ spread, sampling.covariance_f(PROBS, f_inf)),
    ):
        gap = (length * exact - leading).abs().max() / leading.abs().max()
        assert gap < 10 / length  # second order


def test_biases_leave_what_is_conserved() -> None:
    c = model.attend(PROBS, LOGITS)
    f = model.normalise(c)
    covariance = sampling.covariance_f(PROBS, f)
    assert sampling.bias_c(PROBS, c).sum().abs() < 1e-14
    assert (covariance @ f).abs().max() < 1e-14
    # ‖f‖ = 1 for every sample: 2 f^T bias = -tr C
    assert float(2 * f @ sampling.bias_f(PROBS, f) + covariance.trace()) == pytest.approx(0, abs=1e-14)
    assert sampling.bias_c(PROBS, PROBS).abs().max() < 1e-15


def test_dispersion_keeps_to_both_bounds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        probs, z = torch.from_numpy(rng.dirichlet(np.ones(5))), torch.from_numpy(rng.normal(0, 3, 5))
        value = float(sampling.dispersion(probs, model.attend(probs, z)))
        assert 1 - 1e-12 <= value <= min(1 / probs.min(), torch.cosh((z.max() - z.min()) / 2) ** 2) * (1 + 1e-12)
    two = torch.tensor([1 / (1 + math.exp(4)), 1 / (1 + math.exp(-4))], dtype=torch.float64)
    attention = model.attend(two, torch.tensor([4.0, 0.0], dtype=torch.float64))
    assert float(sampling.dispersion(two, attention)) == pytest.approx(math.cosh(2) ** 2, rel=1e-9, abs=0)


def test_gain_is_half_the_trace_of_the_hessian() -> None:
    torch.manual_seed(0)
    Y, multiplicity = torch.randn(3, 3, dtype=torch.float64), torch.tensor([1.0, 1.0, 7.0], dtype=torch.float64)
    target, probs, z = torch.eye(3).double()[0], PROBS[:3], LOGITS[:3]

    def objective(q: torch.Tensor) -> torch.Tensor:
        raised = q * torch.exp(z)
        logits = raised * (raised @ raised) ** -0.5 @ Y + torch.log(multiplicity)
        return (target * torch.log_softmax(logits, -1)).sum()

    hessian = torch.func.hessian(objective)(probs.clone())
    expected = 0.5 * (hessian * (torch.diag(probs) - torch.outer(probs, probs))).sum()
    f = model.normalise(model.attend(probs, z))
    assert float(sampling.gain(probs, f, target, Y, multiplicity)) == pytest.approx(float(expected), rel=1e-10, abs=0)


def test_flow_at_infinity_is_the_true_flow_and_its_change_falls_like_one_over_t() -> None:
    classes = with_overlap(2, 100, 0.3, distinct_weights=[1, 0.5])
    true = flows.TrueFlow(classes, 1.0, 0.1)
    state = np.random.default_rng(0).normal(size=true.initial().size)
    at = {T: sampling.FiniteLengthFlow(classes, 1.0, 0.1, seq_len=T).rhs(0.0, state) for T in (math.inf, 101, 11)}
    with refuses("seq_len = 1", SEQ_LEN.says):
        sampling.FiniteLengthFlow(classes, 1.0, 0.1, seq_len=1)
    assert np.array_equal(at[math.inf], true.rhs(0.0, state))
    assert np.allclose(10 * (at[101] - at[math.inf]), at[11] - at[math.inf], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [gallery.systems()["inside"], gallery.systems()["irregular"], frequent_classes()])
def test_what_a_finite_length_adds_is_the_gradient_of_the_mean_gain(classes: SequenceClasses) -> None:
    flow = sampling.FiniteLengthFlow(classes, 1.0, 1.0, seq_len=11)
    state = np.random.default_rng(4).normal(size=flow.initial().size)
    Y, Z, _ = flow.unpack(state)
    way_Y, way_Z, _ = flow.unpack(np.random.default_rng(5).normal(size=state.size))
    batch = variants.at_infinite_length(flow.classes, flow.tokens)

    def mean(at: float) -> float:
        here_Y, here_Z = torch.from_numpy(Y + at * way_Y), torch.from_numpy(Z + at * way_Z)
        f = model.normalise(model.attend(batch.q, batch.query @ here_Z))
        return float((batch.weight * sampling.gain(batch.q, f, batch.target, here_Y, batch.multiplicity)).sum())

    dY, dZ = flow.added(Y, Z)
    slope = (dY * batch.multiplicity.numpy() * way_Y).sum() + (dZ * way_Z).sum()  # a column moves all its outputs
    assert (mean(1e-4) - mean(-1e-4)) / 2e-4 == pytest.approx(slope, rel=1e-6, abs=0)


def test_flow_follows_the_mean_gradient_over_samples() -> None:
    classes = with_overlap(2, 100, 0.3, distinct_weights=[1.0])  # two tokens a class
    rates = 0.3, 0.07
    flow = sampling.FiniteLengthFlow(classes, *rates, seq_len=2_001)
    rng = np.random.default_rng(1)
    Y, Z = rng.normal(size=(3, 3)), rng.normal(size=(1, 3))
    limit, finite = (
        f.rhs(0.0, np.concatenate([Y.ravel(), Z.ravel(), np.zeros(2)])) for f in (flows.TrueFlow(classes, *rates), flow)
    )
    q, k = np.zeros((2, 2_001, 3)), np.arange(2_001)
    counts = np.stack([k, 2_000 - k], axis=1)
    held = [np.flatnonzero(row) for row in classes.compact.probs]
    for n, tokens in enumerate(held):
        q[n][:, tokens] = counts / 2_000
    chance = [multinomial.pmf(counts, 2_000, row[own]) for row, own in zip(classes.compact.probs, held, strict=True)]
    exact = model.gradients(
        torch.tensor(q.reshape(-1, 3)),
        torch.ones(4_002, 1).double(),
        torch.eye(2, 3).double().repeat_interleave(2_001, dim=0),
        torch.tensor(0.5 * np.concatenate(chance)),
        torch.from_numpy(Y),
        torch.from_numpy(Z),
        torch.tensor([1.0, 1.0, 98.0]).double(),
    )
    parts = zip(exact[1:], rates, flow.unpack(finite)[:2], flow.unpack(limit)[:2], strict=True)
    for part, rate, got, base in parts:
        change = rate * part.numpy() - base
        assert np.abs(got - base - change).max() < 0.02 * np.abs(change).max()


def test_leading_dimensions_are_a_batch() -> None:
    rng = np.random.default_rng(3)
    probs = torch.from_numpy(rng.dirichlet(np.ones(4), size=(2, 3)))
    c = model.attend(probs, torch.from_numpy(rng.normal(size=(2, 3, 4))))
    f = model.normalise(c)
    pairs = (sampling.dispersion, c), (sampling.bias_c, c), (sampling.bias_f, f), (sampling.covariance_f, f)
    for coefficient, values in pairs:
        each = [coefficient(*one) for one in zip(probs.flatten(0, 1), values.flatten(0, 1), strict=True)]
        torch.testing.assert_close(coefficient(probs, values).flatten(0, 1), torch.stack(each), rtol=1e-12, atol=0)
