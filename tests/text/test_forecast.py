"""The first force against automatic differentiation along the true flow, and against Eqn 97."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from scansnap_core.engine import model
from scansnap_core.text import forecast
from scansnap_core.text.samples import Samples, samples_after
from scansnap_core.theory import spectrum


def some_samples() -> Samples:
    rng = np.random.default_rng(0)
    text = rng.choice(9, size=900, p=rng.dirichlet(np.ones(9)))
    return samples_after(text, int(np.bincount(text).argmax()), seq_len=6, num_next=4)


def early_speed(samples: Samples, bias: np.ndarray) -> np.ndarray:
    """(dz/dt)/t of the true flow at eta = 1 and t -> 0, by autograd of the loss in Eqn 2 with a fixed bias."""
    q, weight = torch.from_numpy(samples.q.toarray()), torch.from_numpy(samples.weight)
    target = torch.from_numpy(samples.target)
    offset = torch.from_numpy(bias)

    def loss(Y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        f = model.normalise(model.attend(q, z))
        log_alpha = torch.log_softmax(f @ Y + offset, dim=-1)
        return -(weight * log_alpha[torch.arange(len(target)), target]).sum()

    L, t = q.shape[1], 1e-6
    Y, z = torch.zeros(L, len(bias), dtype=torch.float64, requires_grad=True), torch.zeros(L, dtype=torch.float64)
    (dY,) = torch.autograd.grad(loss(Y, z), Y)
    at = (-t * dY).detach(), z.requires_grad_()
    (dz,) = torch.autograd.grad(loss(*at), at[1])
    return (-dz / t).numpy()


@pytest.mark.parametrize("vocab_size", [4, 50])
@pytest.mark.parametrize("limit", [False, True])
def test_first_force_is_the_flows(vocab_size: int, limit: bool) -> None:
    samples = some_samples().at_infinity() if limit else some_samples()
    expected = early_speed(samples, np.zeros(vocab_size))
    found = forecast.first_force(samples, vocab_size)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4 * np.abs(expected).max())
    assert abs(found.sum()) < 1e-15  # row sums of Z stay zero (Lemma 1)
    # control: the same at another M
    assert np.abs(forecast.first_force(samples, 2 * vocab_size) - expected).max() > 5e-3 * np.abs(expected).max()


@pytest.mark.parametrize("limit", [False, True])
def test_first_force_from_base_rates_is_that_of_a_decoder_with_a_bias(limit: bool) -> None:
    samples = some_samples().at_infinity() if limit else some_samples()
    expected = early_speed(samples, np.log(samples.next_probs))
    found = forecast.first_force_from_base_rates(samples)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4 * np.abs(expected).max())
    # control: without the bias
    assert np.abs(forecast.first_force(samples, 4) - expected).max() > 5e-3 * np.abs(expected).max()


def test_at_infinity_it_is_eqn_97_with_beta_of_the_next_words_over_m() -> None:
    samples, M = some_samples(), 30
    P, F = samples.next_probs, spectrum.F(samples.probs, np.zeros_like(samples.probs))
    beta = np.tile(P / M, (len(P), 1))
    np.fill_diagonal(beta, 0.0)
    assert forecast.first_force(samples.at_infinity(), M) == pytest.approx(
        P @ spectrum.force(F, beta), rel=1e-10, abs=0
    )
    assert np.abs(forecast.first_force(samples.at_infinity(), math.inf)).max() < 1e-15
    # control: in short contexts the class's own part is left, however large M is
    assert np.abs(forecast.first_force(samples, math.inf)).max() > 1e-3
