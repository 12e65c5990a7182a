"""A step stays on its device: on "meta", which has no numbers to copy, whatever leaves it raises."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from scansnap_core.data.datasets import syn_small
from scansnap_core.engine.names import MODELS, OPTIMIZERS
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.training import Runs


class Crossings(TorchDispatchMode):
    """Counts what is brought to the device, and refuses all else that concerns both it and the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.brought: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        given = [part for part in torch.utils._pytree.tree_leaves(args) if isinstance(part, torch.Tensor) and part.ndim]
        made = [part for part in torch.utils._pytree.tree_leaves(result) if isinstance(part, torch.Tensor)]
        if {part.device.type for part in given + made} == {"cpu", "meta"}:
            assert function is torch.ops.aten._to_copy.default
            self.brought.append(tuple(given[0].shape))
        return result


def runs_of(**options: Any) -> Runs:
    given: dict[str, Any] = {
        "lr_y": [1.0, 0.5], "lr_z": [0.5, 0.2], "steps": 3, "seeds": [0, 1], "batch_size": 8, "seq_len": 16,
        "optimizer": "sgd", "initial": "zero", "record": None, "rng": "fresh", "dtype": "float32",
    }  # fmt: skip
    settings = Settings(**given | options, device="cpu")
    settings.device = "meta"
    return Runs(syn_small(), settings)


@pytest.mark.parametrize(
    "options",
    [
        *({"optimizer": optimizer} for optimizer in (*OPTIMIZERS, torch.optim.AdamW)),
        *({"model": model.replace("H", "2").replace("W", "2"), "initial": "random"} for model in MODELS),
        {"batch_size": None, "seq_len": math.inf, "dtype": "float64"},
        *({"rng": "counter"} | more for more in ({}, {"seq_len": math.inf}, {"model": "residual"})),
    ],
    ids=str,
)
def test_nothing_but_the_batch_crosses_in_a_step(options: dict[str, Any]) -> None:
    runs = runs_of(**options)
    with Crossings() as crossings:
        losses = [runs.step() for _ in range(3)]
    assert {(loss.device.type, loss.shape) for loss in losses} == {("meta", (2, 2))}
    B, L = (8 if options.get("batch_size", 8) else len(syn_small().next_of)), len(syn_small().tokens)
    assert crossings.brought == ([] if "rng" in options else [(2, B), (2, B, L)] * 3)  # the device draws by counter
