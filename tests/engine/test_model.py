"""Lemma 1's gradients in closed form against autograd, and against Eqn 3 on one-hot sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from scansnap_core.engine import model
from tests.engine.references import DEVICES, eqn_3

TOLERANCE = 1e-12
LEAD, B, L, Q, NUM_OUT = (2, 3), 5, 6, 3, 4


def batch(*, device: str = "cpu", scale: float = 1.0, multiplicity: bool = False, seed: int = 0) -> dict[str, Any]:
    """A random batch with leading dimensions, absent tokens (never all of a sample's) and unequal weights."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*LEAD, *shape, dtype=torch.float64, generator=draw)

    counts = torch.randint(0, 4, (*LEAD, B, L), generator=draw).double()
    counts[..., 0] += 1
    counts[..., 1] = 0
    arguments = {
        "q": counts / counts.sum(-1, keepdim=True),
        "query": torch.eye(Q, dtype=torch.float64)[torch.randint(Q, (*LEAD, B), generator=draw)],
        "target": torch.eye(NUM_OUT, dtype=torch.float64)[torch.randint(NUM_OUT - 1, (*LEAD, B), generator=draw)],
        "weight": torch.rand(*LEAD, B, dtype=torch.float64, generator=draw),
        "Y": normal(L, NUM_OUT),
        "Z": scale * normal(Q, L),
        "multiplicity": torch.tensor([1.0, 1.0, 1.0, 7.0], dtype=torch.float64) if multiplicity else None,
    }
    return {name: value if value is None else value.to(device) for name, value in arguments.items()}


def by_autograd(arguments: dict[str, Any]) -> model.Gradients:
    Y, Z = (arguments[name].clone().requires_grad_() for name in "YZ")
    loss = model.loss(**{**arguments, "Y": Y, "Z": Z})
    dY, dZ = torch.autograd.grad(loss.sum(), (Y, Z))
    if arguments["multiplicity"] is not None:
        # autograd moves a column for all the outputs that it stands for; each of them moves by its share
        dY = dY / arguments["multiplicity"]
    return model.Gradients(loss.detach(), -dY, -dZ)


def distance(one: model.Gradients, other: model.Gradients) -> float:
    """The largest difference, relative to the largest entry (at least 1); NaN if there is one."""
    ratios = [(a - b).abs().max() / b.abs().max().clamp(min=1) for a, b in zip(one, other, strict=True)]
    return float(torch.stack(ratios).max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("multiplicity", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_gradients_meet_autograd(device: str, multiplicity: bool, scale: float) -> None:
    for seed in range(3):
        arguments = batch(device=device, scale=scale, multiplicity=multiplicity, seed=seed)
        gradients = model.gradients(**arguments)
        assert gradients.loss.shape == LEAD
        assert gradients.Y.shape == (*LEAD, L, NUM_OUT)
        assert gradients.Z.shape == (*LEAD, Q, L)
        assert all(part.isfinite().all() for part in gradients)
        assert distance(gradients, by_autograd(arguments)) < TOLERANCE


def test_gradients_are_eqn_3_on_one_hot_sequences() -> None:
    """Literal sequences, each alone, against the model on their counts."""
    rng = np.random.default_rng(5)
    M, num_context = 6, 9
    for _ in range(8):
        Y, Z = rng.normal(size=(M, M)), 2 * rng.normal(size=(M, M))
        tokens = rng.integers(M - 1, size=num_context)
        query, target = (int(token) for token in rng.integers(M, size=2))
        loss, dY, dZ = eqn_3(tokens.tolist(), query, target, Y, Z)
        q = torch.from_numpy(np.bincount(tokens, minlength=M) / num_context).unsqueeze(0)
        eye, one = torch.eye(M, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
        got = model.gradients(q, eye[[query]], eye[[target]], one, torch.from_numpy(Y), torch.from_numpy(Z))
        reference = model.Gradients(torch.tensor(loss, dtype=torch.float64), torch.from_numpy(dY), torch.from_numpy(dZ))
        assert distance(got, reference) < TOLERANCE


def test_one_column_with_multiplicity_is_the_full_program() -> None:
    arguments = batch(multiplicity=True)
    copies = int(arguments["multiplicity"][-1])
    spread = [*range(NUM_OUT - 1), *[NUM_OUT - 1] * copies]
    full = {**arguments, "Y": arguments["Y"][..., spread], "multiplicity": None}
    full["target"] = arguments["target"][..., spread]  # no target is the last column
    lumped, whole = model.gradients(**arguments), model.gradients(**full)
    expected = model.Gradients(whole.loss, whole.Y[..., :NUM_OUT], whole.Z)
    assert (whole.Y[..., NUM_OUT - 1 :] == whole.Y[..., [NUM_OUT - 1]]).all()
    assert distance(lumped, expected) < TOLERANCE
    # control: without its multiplicity the column is one output only
    assert distance(model.gradients(**{**arguments, "multiplicity": None}), expected) > 1e-3


def test_attention_is_exact_at_large_logits() -> None:
    q = torch.tensor([0.5, 0.25, 0.25, 0.0], dtype=torch.float64)
    z = torch.tensor([-1e4, -1e4 + 1, -2e4, 1e4], dtype=torch.float64)
    c = model.attend(q, z)
    total = 0.5 + 0.25 * math.e
    expected = torch.tensor([0.5 / total, 0.25 * math.e / total, 0.0, 0.0], dtype=torch.float64)
    assert torch.allclose(c, expected, rtol=1e-12, atol=0)
    assert torch.linalg.vector_norm(model.normalise(c)) == pytest.approx(1, rel=1e-15, abs=0)
