"""A training that is recorded once and replayed is the training told step by step, to the last bit."""

from __future__ import annotations

import dataclasses
import gc
import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from scansnap_core.bad_input import BadInput
from scansnap_core.engine import captured, counter, optimizers, training
from scansnap_core.engine.captured import WARM_UP, Captured
from scansnap_core.engine.counter import Counter
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.stepping import Runs
from scansnap_core.engine.training import train
from scansnap_core.engine.variants import Batch, plain
from tests.engine.references import DEVICES, NAMED, overlapping_classes, scattered_classes
from tests.engine.tape import CannotBeRecorded, Tapes

STEPS = 12
AHEAD = 2 * 2 * 4 * 8
"""Two steps of two seeds and four samples of two blocks: the draws of two are recorded together."""
GIVEN: dict[str, Any] = {
    "lr_y": [1.0, 0.5], "lr_z": [0.5, 0.2], "steps": STEPS, "seeds": [0, 7], "batch_size": 4, "seq_len": 8,
    "optimizer": "sgd", "initial": "random", "record": [0, 5, 9], "rng": "counter", "dtype": "float64",
}  # fmt: skip


def numbers(runs: Runs, steps: int = STEPS) -> dict[str, np.ndarray]:
    """All that a training leaves."""
    with torch.inference_mode():
        losses = [runs.step().clone() for _ in range(steps)]
    states = {f"{name} of {of}": state for of, held in runs.optimizer.states().items() for name, state in held.items()}
    found = {"loss": torch.stack(losses), "Y": runs.Y, "Z": runs.Z} | states
    return {name: value.numpy() for name, value in found.items()}


def both(**options: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], int]:
    """The numbers told step by step, those replayed, and how much was recorded."""
    settings, tapes = Settings.checked(**GIVEN | options, device="cpu"), Tapes()
    classes = scattered_classes()
    return numbers(Runs(classes, settings)), numbers(Runs(classes, settings, tapes)), tapes.recorded


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("model", "optimizer"), NAMED)
def test_a_replayed_training_is_the_same_to_the_last_bit(
    model: str, optimizer: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "AHEAD", AHEAD)
    told, replayed, recorded = both(model=model, optimizer=optimizer, dtype=dtype)
    assert recorded == 2  # the draws and the update
    assert np.isfinite(told["loss"]).all()
    assert same(told, replayed)


@pytest.mark.parametrize(
    ("options", "recordings"),
    [
        ({"rng": "fresh"}, 1),
        ({"rng": "replay"}, 1),
        ({"seq_len": math.inf}, 2),
        ({"seq_len": math.inf, "batch_size": None}, 1),
        ({"initial": "zero"}, 2),
    ],
    ids=str,
)
def test_batches_may_come_from_anywhere(
    options: dict[str, Any], recordings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "AHEAD", 1)
    told, replayed, recorded = both(optimizer="momentum", **options)
    assert recorded == recordings
    assert same(told, replayed)


# -- Steps that a GPU would replay wrongly, or refuse ------------------------------------------------------------------


def steps_of_python(self: Any, gradient: Tensor) -> None:
    """Adam whose number of updates is Python's."""
    beta_1, beta_2 = optimizers.ADAM_BETAS
    self._count = getattr(self, "_count", 0) + 1
    self._mean.mul_(beta_1).add_(gradient, alpha=1 - beta_1)
    self._square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
    mean, root = self._mean / (1 - beta_1**self._count), (self._square / (1 - beta_2**self._count)).sqrt()
    self._parameter.add_(self._lr * mean / (root + optimizers.ADAM_EPS))


def bound_anew(self: Any, gradient: Tensor) -> None:
    """Momentum whose velocity is another tensor after each update."""
    self._velocity = self._momentum * self._velocity + gradient
    self._parameter.add_(self._lr * self._velocity)


FOLLOWING = Counter._following


def drawn_by_pythons_number(self: Any) -> Any:
    """Steps counted from what Python has drawn."""
    self._next.fill_(self._step)
    return FOLLOWING(self)


@pytest.mark.parametrize(
    ("where", "name", "wrong", "optimizer", "what"),
    [
        (optimizers.Adam, "step", steps_of_python, "adam", "Y"),
        (optimizers.SGD, "step", bound_anew, "momentum", "Y"),
        (Counter, "_following", drawn_by_pythons_number, "sgd", "loss"),
    ],
)
def test_a_step_that_would_be_replayed_wrongly_is_noticed(
    where: Any, name: str, wrong: Any, optimizer: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "AHEAD", AHEAD)
    right, _, _ = both(optimizer=optimizer)
    monkeypatch.setattr(where, name, wrong)
    told, replayed, _ = both(optimizer=optimizer)
    assert told[what] == pytest.approx(right[what], rel=1e-12, abs=1e-15)  # step by step nothing is wrong
    assert np.abs(told[what] - replayed[what]).max() > 1e-3


def asks(batch: Batch, Y: Tensor) -> Tensor:
    return Y * float(Y.isfinite().all().item())


def decides(batch: Batch, Y: Tensor) -> Tensor:
    return Y if bool((batch.q >= 0).all()) else -Y


def selects(batch: Batch, Y: Tensor) -> Tensor:
    return Y + 0 * batch.q[batch.q > 0].sum()


def puts(batch: Batch, Y: Tensor) -> Tensor:
    return Y.clone().index_put_((Y > 9,), Y.new_zeros(()))


def finds(batch: Batch, Y: Tensor) -> Tensor:
    return Y + 0 * batch.q.nonzero().sum()


def brings(batch: Batch, Y: Tensor) -> Tensor:
    return Y * torch.tensor([1.0] * Y.shape[-1], dtype=Y.dtype)


def tosses(batch: Batch, Y: Tensor) -> Tensor:
    return Y + 0 * torch.rand_like(Y)


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (asks, "aten._local_scalar_dense.default waits for what the device answers"),
        (decides, "aten._local_scalar_dense.default waits"),
        (selects, "aten.index.Tensor waits"),
        (puts, "aten.index_put_.default waits"),
        (finds, "aten.nonzero.default waits"),
        (brings, "a tensor is made of the host's numbers"),
        (tosses, "aten.rand_like.default draws from a generator"),
    ],
)
def test_a_step_that_cannot_be_captured_is_refused(does: Callable[[Batch, Tensor], Tensor], message: str) -> None:
    told = Settings.checked(**GIVEN | {"model": lambda batch, Y, Z: plain(batch, does(batch, Y), Z)}, device="cpu")
    runs = Runs(overlapping_classes(), told, Tapes())
    for _ in range(WARM_UP):
        runs.step()
    with pytest.raises(CannotBeRecorded, match=message):
        runs.step()


# -- Recording and replaying -------------------------------------------------------------------------------------------


def test_a_refused_recording_is_refused_for_the_same_reason_again() -> None:
    here, x = Captured(Tapes()), torch.ones(2)
    with torch.inference_mode():
        for _ in range(WARM_UP):
            here(lambda x: x * x.sum().item(), x)
        for _ in range(2):
            with pytest.raises(CannotBeRecorded, match="waits for what the device answers"):
                here(lambda x: x * x.sum().item(), x)


def test_work_is_told_a_few_times_recorded_once_and_replayed() -> None:
    total, told, modes = torch.zeros(3, dtype=torch.float64), [], []

    def work(given: Tensor) -> Tensor:
        told.append(given.tolist())
        modes.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled()))
        total.add_(given)
        return 2 * total

    tapes = Tapes()
    replayed = Captured(tapes)
    given = [torch.full((3,), float(n), dtype=torch.float64) for n in range(1, 8)]
    with torch.inference_mode():
        results = [replayed(work, each) for each in given]
    assert told == [[1.0] * 3, [2.0] * 3, [3.0] * 3, [4.0] * 3]
    assert tapes.recorded == 1
    assert modes[-1] == (False, False)  # a capture in inference mode would leave CUDA's random numbers in it
    assert total.tolist() == [28.0] * 3
    assert torch.stack(given).tolist() == [[float(n)] * 3 for n in range(1, 8)]  # copied, and left alone
    assert [result[0].item() for result in results] == [2.0, 6.0, 12.0] + 4 * [56.0]  # good until the next call


@pytest.mark.parametrize("recorder", [None, Tapes()], ids=["told", "captured"])
def test_what_a_training_holds_goes_with_it(recorder: Tapes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting until Python looks for garbage."""
    monkeypatch.setattr(counter, "AHEAD", AHEAD)
    runs = Runs(overlapping_classes(), Settings.checked(**GIVEN | {"optimizer": "adam"}, device="cpu"), recorder)
    for _ in range(STEPS):
        runs.step()
    held = weakref.ref(runs), weakref.ref(runs.source), weakref.ref(runs.optimizer)
    gc.disable()
    try:
        del runs
        assert [each() for each in held] == [None, None, None]
    finally:
        gc.enable()


def test_cuda_waits_for_what_was_told_before_and_what_comes_after_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two streams and the capture, with a log in CUDA's place."""
    log: list[str] = []

    class Logged:
        def __init__(self, name: str) -> None:
            self.name = name

        def wait_stream(self, other: Logged) -> None:
            log.append(f"{self.name} waits for {other.name}")

        def __enter__(self) -> None:
            log.append(f"in {self.name}")

        def __exit__(self, *_: object) -> None:
            log.append(f"out of {self.name}")

        def replay(self) -> None:
            log.append("replayed")

    stands_in: dict[str, Any] = {
        "current_stream": lambda: Logged("main"), "Stream": lambda: Logged("side"), "stream": lambda side: side,
        "CUDAGraph": lambda: Logged("graph"), "graph": lambda graph: graph,
    }  # fmt: skip
    for name, stand_in in stands_in.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    graphs = captured.CUDAGraphs()

    def work() -> int:
        log.append("told")
        return 5

    assert graphs.warm_up(work) == 5
    assert log == ["side waits for main", "in side", "told", "out of side", "main waits for side"]
    log.clear()
    replay, results = graphs.record(work)
    assert (log, results) == (["in graph", "told", "out of graph"], 5)
    replay()
    assert log[-1] == "replayed"


# -- Trainings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_train_records_and_goes_on(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tape in CUDA's place."""
    tapes = Tapes()
    monkeypatch.setattr(training, "CUDAGraphs", lambda: tapes)
    monkeypatch.setattr(counter, "AHEAD", AHEAD)
    classes, given = overlapping_classes(), GIVEN | {"optimizer": optimizer, "keep_state": True, "device": "cpu"}
    whole = train(classes, **given | {"steps": 19, "record": [12, 19]})

    def part(**options: Any) -> Any:
        settings = Settings.checked(**given | options)
        return training._train_one(classes, dataclasses.replace(settings, capture=True), progress=False)

    begun = part(record=[0, 12])
    rest = part(steps=7, record=[12, 19], initial=begun)
    assert tapes.recorded == 4
    assert rest.identical(whole.sel(step=rest.step))
    assert begun.loss.equals(whole.loss.sel(step=begun.step))


@pytest.mark.parametrize("optimizer", ["adam", torch.optim.AdamW])
@pytest.mark.parametrize("model", ["plain", lambda batch, Y, Z: plain(batch, Y, Z)])
def test_what_cannot_be_recorded_is_refused(model: Any, optimizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = not (isinstance(model, str) and isinstance(optimizer, str))
    given = GIVEN | {"model": model, "optimizer": optimizer, "capture": True}
    with pytest.raises(BadInput, match="capture on the device cpu: a step is recorded and replayed by a CUDA GPU"):
        Settings.checked(**given, device="cpu")
    monkeypatch.setattr("scansnap_core.engine.settings.checked_device", lambda device: device)
    if own:
        with pytest.raises(
            BadInput, match=r"capture of the model .* with the optimizer .*: what a user's own function"
        ):
            Settings.checked(**given, device="cuda")
    else:
        assert Settings.checked(**given, device="cuda").capture


# -- On a GPU ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", [DEVICES[1]])
@pytest.mark.parametrize(("model", "optimizer"), NAMED)
def test_a_captured_training_is_the_one_told_step_by_step(
    model: str, optimizer: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same calls, but a library may choose other kernels on another stream. Adam makes the most of that: where a
    gradient should be 0 and is 1e-17, it moves by lr 1e-17/eps, so by 1e-8 in these steps.
    """
    monkeypatch.setattr(counter, "AHEAD", AHEAD)
    told, replayed = (
        train(scattered_classes(), **GIVEN | {"model": model, "optimizer": optimizer}, device=device, capture=capture)
        for capture in (False, True)
    )
    for name in ("loss", "Y", "Z"):
        assert replayed[name].values == pytest.approx(told[name].values, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("device", [DEVICES[1]])
def test_a_replayed_step_takes_no_memory(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter, "AHEAD", AHEAD)
    settings = Settings.checked(**GIVEN | {"capture": True}, device=device)
    runs = Runs(scattered_classes(), settings, captured.CUDAGraphs())
    with torch.inference_mode():
        held = []
        for _ in range(60):
            runs.step()
            held.append(torch.cuda.memory_reserved())
    assert held[-1] == held[STEPS]
