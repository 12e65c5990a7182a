"""SGD, momentum and Adam against torch.optim, step by step, with a rate of its own for every run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from scansnap_core.engine.optimizers import SGD, Adam

RATES = torch.tensor([0.1, 3.0], dtype=torch.float64)
STEPS = 30

Stepper = SGD | Adam
OPTIMIZERS: dict[str, tuple[Callable[[Tensor, Tensor], Stepper], Callable[[Tensor, float], torch.optim.Optimizer]]] = {
    "sgd": (lambda x, lr: SGD(x, lr, 0.0), lambda x, lr: torch.optim.SGD([x], lr=lr)),
    "momentum": (lambda x, lr: SGD(x, lr, 0.9), lambda x, lr: torch.optim.SGD([x], lr=lr, momentum=0.9)),
    "adam": (lambda x, lr: Adam(x, lr), lambda x, lr: torch.optim.Adam([x], lr=lr)),
}


def worst_difference(
    ours: Callable[[Tensor, Tensor], Stepper], theirs: Callable[[Tensor, float], torch.optim.Optimizer]
) -> float:
    draw = torch.Generator().manual_seed(0)
    start = torch.randn(3, 4, dtype=torch.float64, generator=draw)
    batch = start.repeat(len(RATES), 1, 1)
    climber = ours(batch, RATES.reshape(-1, 1, 1))
    singles = [start.clone().requires_grad_() for _ in RATES]
    references = [theirs(single, float(lr)) for single, lr in zip(singles, RATES, strict=True)]
    differences = []
    for _ in range(STEPS):
        gradient = torch.randn(3, 4, dtype=torch.float64, generator=draw)
        climber.step(gradient.repeat(len(RATES), 1, 1))
        for single, reference in zip(singles, references, strict=True):
            single.grad = -gradient  # torch descends
            reference.step()
        differences.append((batch - torch.stack(singles).detach()).abs().max())
    return float(torch.stack(differences).max())  # NaN if one of them is, which Python's max would lose


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_meets_torch_step_by_step(name: str) -> None:
    ours, theirs = OPTIMIZERS[name]
    assert worst_difference(ours, theirs) < 1e-12
    # control: another momentum, another method
    for other in OPTIMIZERS.keys() - {name}:
        assert worst_difference(ours, OPTIMIZERS[other][1]) > 1e-2
