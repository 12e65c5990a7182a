"""What a program has set in PyTorch for itself changes no bit of what this package computes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import scansnap_core as ss
from scansnap_core.engine.training import train
from scansnap_core.engine.variants import Batch
from scansnap_core.law.inertia import ReducedFlow
from scansnap_core.law.trials import descend
from scansnap_core.text import yz
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import Training
from tests.text.test_yz import some_samples
from tests.text.tiny import small_corpus


@contextmanager
def setting(change: Callable[[Any], object], value: Any, before: Any) -> Iterator[None]:
    change(value)
    try:
        yield
    finally:
        change(before)


SETTINGS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "default dtype float64": lambda: setting(torch.set_default_dtype, torch.float64, torch.float32),
    "default dtype bfloat16": lambda: setting(torch.set_default_dtype, torch.bfloat16, torch.float32),
    "default device": lambda: setting(torch.set_default_device, "meta", None),
    "autocast": lambda: torch.autocast("cpu"),
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "coarse products": lambda: setting(torch.set_float32_matmul_precision, "medium", "highest"),
    "deterministic": lambda: setting(torch.use_deterministic_algorithms, True, False),
}
CLASSES = ss.with_overlap(2, 40, 0.3, distinct_weights=[1, 2])
EXACT: dict[str, Any] = {"lr_y": 1.0, "lr_z": 0.5}
TRAINING: dict[str, Any] = {**EXACT, "steps": 5, "record": [0, 5], "dtype": "float32"}


def trained(**more: Any) -> list[np.ndarray]:
    run = train(CLASSES, **{**TRAINING, **more})
    return [run[name].values for name in ("loss", "Y", "Z")]


def mine(batch: Batch, Y: torch.Tensor, Z: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(batch.q * torch.exp(batch.query @ Z) @ Y + torch.log(batch.multiplicity), dim=-1)


def resumed() -> list[np.ndarray]:
    first = train(CLASSES, **TRAINING, rng="counter", optimizer="adam", keep_state=True)
    return trained(rng="counter", optimizer="adam", initial=first, record=[5, 10])


def text() -> list[np.ndarray]:
    settings = Settings(steps=4, every=2, embedding=8, hidden=6, context=10, batch_size=5, lr=0.5, clip=0.1)
    taken = [values for _, values in Training(small_corpus(), settings, torch.device("cpu")).snapshots()]
    return [values[name] for values in taken for name in ("loss", "maps")]


COMPUTED: dict[str, Callable[[], list[np.ndarray]]] = {
    **{rng: lambda rng=rng: trained(rng=rng) for rng in ("fresh", "replay", "counter")},  # type: ignore[misc]
    **{name: lambda name=name: trained(model=name) for name in ("residual", "heads 2")},  # type: ignore[misc]
    "random start": lambda: trained(initial="random", rng="replay"),
    "expectation": lambda: trained(batch_size=None, seq_len=float("inf")),
    "my model": lambda: trained(model=mine),
    "my optimiser": lambda: trained(optimizer=torch.optim.AdamW),
    "resumed": resumed,
    "flow": lambda: [ss.solve(ss.TrueFlow(CLASSES, **EXACT, model="residual"), [0.1]).Z.values],
    "finite T": lambda: [ss.solve(ss.FiniteLengthFlow(CLASSES, **EXACT, seq_len=20), [0.1]).Z.values],
    "inertia": lambda: [ss.solve(ReducedFlow(CLASSES, **EXACT), [0.1]).Z.values],
    "descend": lambda: list(descend(CLASSES, [[[1, 0]], [[0, 1]]], lr_y=1, lr_z=1)),
    "contexts": lambda: [
        yz.train_on(some_samples(), vocab_size=20, record=[5], **EXACT)[k].values for k in ("z", "loss")
    ],
    "text": text,
}


def checksum(name: str) -> str:
    arrays = COMPUTED[name]()
    return hashlib.sha256(b"".join(f"{a.dtype} {a.shape}".encode() + a.tobytes() for a in arrays)).hexdigest()


@pytest.mark.parametrize("name", COMPUTED)
def test_no_setting_of_pytorch_changes_a_bit(name: str) -> None:
    plain = checksum(name)
    for said, surroundings in SETTINGS.items():
        with surroundings():
            found = checksum(name)
        assert found == plain, said
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
