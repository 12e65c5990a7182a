"""Entropy and movement of attention maps."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import entropy

from scansnap_core.text import maps

T = 35


def test_even_causal_attention() -> None:
    even = torch.tril(torch.ones(T, T)) / torch.arange(1, T + 1)[:, None]
    assert float(maps.entropy(even[None])) == pytest.approx(math.log(math.factorial(T)) / T, rel=1e-6, abs=0)


def test_entropy_meets_scipy_by_layer() -> None:
    rows = torch.rand(2, 3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows /= rows.sum(-1, keepdim=True)
    assert maps.entropy(rows).tolist() == pytest.approx(
        entropy(rows.numpy(), axis=-1).mean((1, 2)).tolist(), rel=1e-12, abs=0
    )
    assert maps.entropy(torch.eye(T)[None]).tolist() == [0]


def test_movement() -> None:
    still, other = torch.eye(4)[None], torch.eye(4)[None].roll(1, dims=-1)
    assert maps.moved(still, still).tolist() == [0]
    assert maps.moved(still, other).tolist() == [1]
    half = (still + other) / 2
    layers = maps.moved(torch.cat([still, still]), torch.cat([half, other]))
    assert layers.tolist() == [0.5, 1]
