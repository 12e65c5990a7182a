"""Adam's flow against Adam."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
import torch

import scansnap_core as ss
from scansnap_core.theory.law.adam import AdamFlow

CLASSES = ss.syn_small()


def apart(rate: float, betas: tuple[float, float], lr_z: float) -> float:
    steps = round(0.8 / rate)
    made = functools.partial(torch.optim.Adam, betas=betas)
    recipe: dict[str, Any] = {"lr_y": rate, "lr_z": lr_z * rate, "steps": steps, "record": [steps], "batch_size": None}
    Z = ss.train(CLASSES, optimizer=made, seq_len=math.inf, **recipe).Z.values.ravel()
    flow = AdamFlow(CLASSES, rate, lr_z * rate, betas=betas)
    return float(np.abs(ss.solve(flow, [steps], method="RK45", rtol=1e-5, atol=1e-9).Z.values.ravel() - Z).max())


@pytest.mark.parametrize(("betas", "lr_z"), [((0.9, 0.999), 1.0), ((0.5, 0.99), 0.3)])
def test_the_flow_is_of_first_order(betas: tuple[float, float], lr_z: float) -> None:
    far, near = apart(0.01, betas, lr_z), apart(0.0025, betas, lr_z)
    assert near < 0.01
    assert far > 2.5 * near


@pytest.mark.parametrize("betas", [(0.0, 0.9), (0.9, 1.0), ("0.9", 0.9)])
def test_memories_have_a_length(betas: tuple[float, float]) -> None:
    with pytest.raises(ss.BadInput, match="beta"):
        AdamFlow(CLASSES, 0.1, 0.1, betas=betas)
