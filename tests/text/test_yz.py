"""The paper's model on contexts: its steps against automatic differentiation, its forecast against Eqn 97 as well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from scansnap_core.base.rules import RATE
from scansnap_core.text import yz
from scansnap_core.text.samples import Samples, samples_after
from scansnap_core.theory import spectrum
from tests.refusing import refuses

EXACT: dict[str, Any] = {"batch_size": None, "dtype": torch.float64}


def some_samples() -> Samples:
    rng = np.random.default_rng(3)
    text = rng.choice(12, size=1500, p=rng.dirichlet(np.ones(12)))
    return samples_after(text, int(np.bincount(text).argmax()), seq_len=7, num_next=4)


def by_autograd(samples: Samples, bias: np.ndarray, lr_y: float, lr_z: float, steps: int) -> np.ndarray:
    """z after steps of gradient descent on the loss as Eqn 2 writes it, nothing shared with the package's gradients."""
    q, weight = torch.from_numpy(samples.q.toarray()), torch.from_numpy(samples.weight)
    target = torch.from_numpy(samples.target)
    Y = torch.zeros(q.shape[1], len(bias), dtype=torch.float64, requires_grad=True)
    z = torch.zeros(q.shape[1], dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        attended = q * torch.exp(z)
        logits = attended / attended.norm(dim=1, keepdim=True) @ Y + torch.from_numpy(bias)
        loss = (weight * torch.nn.functional.cross_entropy(logits, target, reduction="none")).sum()
        dY, dz = torch.autograd.grad(loss, (Y, z))
        with torch.no_grad():
            Y -= lr_y * dY
            z -= lr_z * dz
    return z.detach().numpy()


def early_speed(samples: Samples, bias: np.ndarray) -> np.ndarray:
    """(dz/dt)/t of the true flow at eta = 1 and t -> 0: z moves in the second step alone, from Y after the first."""
    return by_autograd(samples, bias, 1e-6, 1.0, 2) / 1e-6


@pytest.mark.parametrize("vocab_size", [4, 20])
def test_full_batches_are_gradient_descent_by_autograd(vocab_size: int) -> None:
    samples = some_samples()
    run = yz.train_on(samples, vocab_size=vocab_size, lr_y=2.0, lr_z=3.0, record=[20, 40], **EXACT)
    expected = by_autograd(samples, np.zeros(vocab_size), 2.0, 3.0, 40)
    assert run.z.sel(recorded=40).values[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert np.abs(expected).max() > 0.1
    # control: the state halfway
    assert np.abs(run.z.sel(recorded=20).values[0] - expected).max() > 0.05


def test_base_rates_are_a_fixed_bias() -> None:
    samples = some_samples()
    run = yz.train_on(samples, vocab_size=20, lr_y=2.0, lr_z=3.0, record=[40], base_rates=True, **EXACT)
    expected = by_autograd(samples, np.log(samples.next_probs), 2.0, 3.0, 40)
    assert run.z.values[0, 0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    entropy = -(samples.next_probs * np.log(samples.next_probs)).sum()
    assert float(run.loss[0, 0]) == pytest.approx(entropy, rel=1e-9, abs=0)
    # control: without the bias
    plain = yz.train_on(samples, vocab_size=20, lr_y=2.0, lr_z=3.0, record=[40], **EXACT)
    assert np.abs(plain.z.values[0, 0] - expected).max() > 0.05


def test_batches_move_as_the_mean_of_all_samples_does_on_average() -> None:
    samples = some_samples()
    recipe: dict[str, Any] = {"vocab_size": 20, "lr_y": 1.0, "lr_z": 1.0, "record": [60]}
    mean = yz.train_on(samples, **recipe, **EXACT).z.values[0, 0]
    runs = yz.train_on(samples, **recipe, batch_size=32, seeds=range(12)).z.values[:, 0]
    error = runs.std(axis=0, ddof=1) / np.sqrt(12)
    assert (np.abs(runs.mean(axis=0) - mean) < 5 * error + 1e-6).all()
    assert error.max() < 0.2 * np.abs(mean).max()


def test_at_infinity_batches_are_drawn_by_weight() -> None:
    limit = some_samples().at_infinity()
    assert limit.weight.max() > 1.5 * limit.weight.min()
    recipe: dict[str, Any] = {"vocab_size": 20, "lr_y": 1.0, "lr_z": 1.0, "record": [60]}
    mean = yz.train_on(limit, **recipe, **EXACT).z.values[0, 0]
    many = yz.train_on(limit, **recipe, batch_size=4096, dtype=torch.float64).z.values[0, 0]
    assert np.abs(many - mean).max() < 0.05 * np.abs(mean).max()


def test_held_out_loss_is_that_of_the_same_parameters() -> None:
    samples = some_samples()
    taught, others = samples.halves(np.random.default_rng(0))
    recipe: dict[str, Any] = {"vocab_size": 20, "lr_y": 3.0, "lr_z": 3.0, "record": [1, 400], "dtype": torch.float64}
    same = yz.train_on(samples, **recipe, batch_size=None, held_out=samples)
    assert float(same.held_out_loss[0, 0]) == pytest.approx(float(same.loss[0, 1]), rel=1e-9, abs=0)
    run = yz.train_on(taught, **recipe, batch_size=None, held_out=others)
    # the first step from zero moves Y alone
    f, f_others = (part.q.toarray() / np.linalg.norm(part.q.toarray(), axis=1)[:, None] for part in (taught, others))
    Y = 3.0 * f.T @ (np.eye(20)[taught.target] - 1 / 20) / len(f)
    log_alpha = f_others @ Y - logsumexp(f_others @ Y, axis=1)[:, None]
    expected = -log_alpha[np.arange(len(f_others)), others.target].mean()
    assert float(run.held_out_loss[0, 0]) == pytest.approx(expected, rel=1e-9, abs=0)
    # control: the next words here are drawn at random, so what is learnt in the end doesn't help elsewhere
    assert float(run.held_out_loss[0, 1]) > float(run.loss[0, 300:].mean()) + 0.05


def test_a_seed_names_a_run() -> None:
    samples = some_samples()
    recipe: dict[str, Any] = {"vocab_size": 20, "lr_y": 1.0, "lr_z": 1.0, "record": [5, 10], "batch_size": 16}
    both = yz.train_on(samples, **recipe, seeds=[3, 4])
    alone = yz.train_on(samples, **recipe, seeds=[4])
    assert np.array_equal(both.z.sel(seed=4), alone.z.sel(seed=4))
    assert not np.array_equal(both.z.sel(seed=3), alone.z.sel(seed=4))
    assert both.z.dims == ("seed", "recorded", "word")
    assert both.word.values.tolist() == samples.words.tolist()
    assert float(both.loss[0, 0]) == pytest.approx(np.log(20), rel=1e-6, abs=0)
    # words outside a batch stay
    brief = yz.train_on(samples, **recipe | {"record": [2], "batch_size": 2})
    assert 0 < np.count_nonzero(brief.z) < len(samples.words)


# -- the forecast ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vocab_size", [4, 50])
@pytest.mark.parametrize("limit", [False, True])
def test_first_force_is_the_flows(vocab_size: int, limit: bool) -> None:
    samples = some_samples().at_infinity() if limit else some_samples()
    expected = early_speed(samples, np.zeros(vocab_size))
    found = yz.first_force(samples, vocab_size)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4 * np.abs(expected).max())
    assert abs(found.sum()) < 1e-15  # row sums of Z stay zero (Lemma 1)
    # control: the same at another M
    assert np.abs(yz.first_force(samples, 2 * vocab_size) - expected).max() > 5e-3 * np.abs(expected).max()


@pytest.mark.parametrize("limit", [False, True])
def test_first_force_from_base_rates_is_that_of_a_decoder_with_a_bias(limit: bool) -> None:
    samples = some_samples().at_infinity() if limit else some_samples()
    expected = early_speed(samples, np.log(samples.next_probs))
    found = yz.first_force_from_base_rates(samples)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4 * np.abs(expected).max())
    # control: without the bias
    assert np.abs(yz.first_force(samples, 4) - expected).max() > 5e-3 * np.abs(expected).max()


def test_at_infinity_it_is_eqn_97_with_beta_of_the_next_words_over_m() -> None:
    samples, M = some_samples(), 30
    P, F = samples.next_probs, spectrum.F(samples.probs, np.zeros_like(samples.probs))
    beta = np.tile(P / M, (len(P), 1))
    np.fill_diagonal(beta, 0.0)
    assert yz.first_force(samples.at_infinity(), M) == pytest.approx(P @ spectrum.force(F, beta), rel=1e-10, abs=0)
    assert np.abs(yz.first_force(samples.at_infinity(), math.inf)).max() < 1e-15
    # control: in short contexts the class's own part is left, however large M is
    assert np.abs(yz.first_force(samples, math.inf)).max() > 1e-3


def test_bad_input_is_refused() -> None:
    good: dict[str, Any] = {"vocab_size": 20, "lr_y": 1.0, "lr_z": 1.0, "record": [5]}
    bad: list[tuple[str, Any, str]] = [
        ("lr_y", 0.0, RATE.says),
        ("lr_z", -1.0, RATE.says),
        ("vocab_size", 3, "there are 4 next words"),
        *(("record", moments, "moments are positive and ascend") for moments in ([], [5, 5], [0, 5])),
    ]
    for name, wrong, rule in bad:
        with refuses(f"{name} = {wrong}", rule):
            yz.train_on(some_samples(), **good | {name: wrong})
