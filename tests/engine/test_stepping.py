"""A step stays on its device: on "meta", which has no numbers to copy, whatever leaves it raises."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from scansnap_core.data.datasets import syn_small
from scansnap_core.engine import captured, counter
from scansnap_core.engine.captured import WARM_UP, Recorder
from scansnap_core.engine.model_names import MODELS
from scansnap_core.engine.settings import OPTIMIZERS, Settings
from scansnap_core.engine.stepping import Runs
from scansnap_core.engine.variants import Batch, plain
from tests.engine.references import NAMED
from tests.engine.tape import CannotBeRecorded, Tapes


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


class Numbers(TorchDispatchMode):
    """Lists the calls and what they are given beside tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, list[str]]] = []

    def __torch_dispatch__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        self.calls.append((str(function), [repr(leaf) for leaf in leaves if not isinstance(leaf, torch.Tensor)]))
        return function(*args, **(kwargs or {}))


def runs_of(recorder: Recorder | None = None, device: str = "meta", **options: Any) -> Runs:
    given: dict[str, Any] = {
        "lr_y": [1.0, 0.5], "lr_z": [0.5, 0.2], "steps": 3, "seeds": [0, 1], "batch_size": 8, "seq_len": 16,
        "optimizer": "sgd", "initial": "zero", "record": None, "rng": "fresh", "dtype": "float32",
    }  # fmt: skip
    settings = Settings.checked(**given | options, device="cpu")
    return Runs(syn_small(), dataclasses.replace(settings, device=device), recorder)


@pytest.mark.parametrize(
    "options",
    [
        *({"optimizer": optimizer} for optimizer in ("sgd", "momentum", "adam", torch.optim.AdamW)),
        *({"model": model.replace("H", "2").replace("W", "2"), "initial": "random"} for model in MODELS),
        {"batch_size": None, "seq_len": math.inf, "dtype": "float64"},
    ],
    ids=str,
)
def test_nothing_but_the_batch_crosses_in_a_step(options: dict[str, Any]) -> None:
    runs = runs_of(**options)
    with Crossings() as crossings:
        losses = [runs.step() for _ in range(3)]
    assert {(loss.device.type, loss.shape) for loss in losses} == {("meta", (2, 2))}
    B, L = (8 if options.get("batch_size", 8) else len(syn_small().next_of)), len(syn_small().tokens)
    assert crossings.brought == [(2, B), (2, B, L)] * 3


@pytest.mark.parametrize(("model", "optimizer"), [pair for pair in NAMED if "plain" in pair or "sgd" in pair])
def test_nothing_crosses_in_a_step_that_is_recorded(
    model: str, optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tape refuses what a recording can't hold, copies from the CPU among it."""
    monkeypatch.setattr(counter, "AHEAD", 1)
    monkeypatch.setattr(captured, "WARM_UP", 1)
    tapes = Tapes()
    runs = runs_of(tapes, rng="counter", model=model, optimizer=optimizer, initial="random")
    with Crossings() as crossings:
        losses = [runs.step() for _ in range(3)]
    assert {loss.device.type for loss in losses} == {"meta"}
    assert (crossings.brought, tapes.recorded) == ([], 2)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_a_device_is_told_the_same_numbers_in_every_step(
    device: str, optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "AHEAD", 1)
    runs, told = runs_of(rng="counter", device=device, optimizer=optimizer), []
    for _ in range(3):
        with Numbers() as numbers:
            runs.step()
        told.append(numbers.calls)
    assert len(told[0]) > 100
    # control: on a CPU Adam counts in Python
    assert (told[0] == told[1] == told[2]) == ((device, optimizer) != ("cpu", "adam"))


@pytest.mark.parametrize("options", [{}, {"seq_len": math.inf}, {"model": "residual"}], ids=str)
def test_nothing_crosses_where_the_device_draws_by_counter(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "AHEAD", 2 * 2 * 8 * 16)  # two steps at a time, the third anew
    runs = runs_of(rng="counter", **options)
    with Crossings() as crossings:
        losses = [runs.step() for _ in range(3)]
    assert {loss.device.type for loss in losses} == {"meta"}
    assert crossings.brought == []


def stays_behind(batch: Batch, Y: torch.Tensor, Z: torch.Tensor) -> Any:
    """A tensor on the CPU in the middle of a step."""
    return plain(batch._replace(multiplicity=torch.ones(batch.multiplicity.shape)), Y, Z)


LEFT_BEHIND = torch.ones(1)


def brings(batch: Batch, Y: torch.Tensor, Z: torch.Tensor) -> Any:
    """A copy of what lies on the CPU."""
    return plain(batch._replace(multiplicity=batch.multiplicity * LEFT_BEHIND.to("meta")), Y, Z)


def test_a_recorded_step_that_brings_something_is_refused() -> None:
    runs = runs_of(Tapes(), rng="counter", model=brings)
    for _ in range(WARM_UP):
        runs.step()
    with pytest.raises(CannotBeRecorded, match="a call concerns cpu and meta"):
        runs.step()


def asks(batch: Batch, Y: torch.Tensor, Z: torch.Tensor) -> Any:
    """A question to the device, for which a step waits."""
    return plain(batch, Y, Z) if bool((Y > -1).all()) else None


def comes_back(batch: Batch, Y: torch.Tensor, Z: torch.Tensor) -> Any:
    """A copy to the CPU."""
    return plain(batch, Y.cpu().to(Y.device), Z)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (stays_behind, "Tensor on device cpu is not on the expected device meta!"),
        (asks, r"Tensor.item\(\) cannot be called on meta tensors"),
        (comes_back, "Cannot copy out of meta tensor; no data!"),
    ],
)
def test_a_step_that_leaves_its_device_is_noticed(model: Callable[..., Any], message: str) -> None:
    runs = runs_of(model=model)
    with pytest.raises(RuntimeError, match=message):
        runs.step()
