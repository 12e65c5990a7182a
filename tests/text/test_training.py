"""A training on text against the same steps written out; its state; its randomness."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from scansnap_core.base.rules import FLAG, RATE
from scansnap_core.engine.names import OPTIMIZERS
from scansnap_core.text.settings import EVEN, Settings
from scansnap_core.text.training import Training, entropy, moved
from scansnap_core.text.transformer import Dice
from tests.engine.references import DEVICES
from tests.refusing import refuses
from tests.text.tiny import small_corpus

CPU = torch.device("cpu")
SMALL = Settings(steps=14, every=4, embedding=8, hidden=6, context=10, batch_size=5, lr=0.5, clip=0.1)


def values(taken: list[tuple[int, dict[str, Any]]]) -> dict[str, np.ndarray]:
    return {name: np.stack([found[name] for _, found in taken]) for name in taken[0][1]}


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_steps_written_out(optimizer: str) -> None:
    lr = 0.01 if optimizer == "adam" else 0.5
    corpus, settings = small_corpus(), dataclasses.replace(SMALL, dropout=0.0, optimizer=optimizer, steps=20, lr=lr)
    one = Training(corpus, settings, CPU)
    start = {name: value.clone() for name, value in one.model.state_dict().items()}
    losses = np.array([found["train_loss"] for _, found in one.snapshots()])
    trained = {name: value.clone() for name, value in one.model.state_dict().items()}
    model = one.model
    model.load_state_dict(start)
    velocity = [torch.zeros_like(p) for p in model.parameters()]
    square = [torch.zeros_like(p) for p in model.parameters()]
    seen = []
    for step in range(20):
        column = 900 // 5  # 180 words, 17 windows of 10 and the word after
        first = step % 17 * 10
        rows = torch.stack([torch.tensor(corpus.train[b * column + first :][:11]) for b in range(5)])
        model.zero_grad()
        loss = functional.nll_loss(model(rows[:, :10]).log_softmax(-1).flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        seen.append(loss.item())
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        length = torch.stack([g.square().sum() for g in gradients]).sum().sqrt()
        shortened = [g * min(1.0, 0.1 / float(length)) for g in gradients]
        with torch.no_grad():
            for p, g, v, s in zip(model.parameters(), shortened, velocity, square, strict=True):
                if optimizer == "adam":
                    v.mul_(0.9).add_(0.1 * g)
                    s.mul_(0.999).add_(0.001 * g * g)
                    k = step + 1
                    p.sub_(lr * (v / (1 - 0.9**k)) / ((s / (1 - 0.999**k)).sqrt() + 1e-8))
                else:
                    v.mul_(0.9 if optimizer == "momentum" else 0.0).add_(g)
                    p.sub_(lr * v)
    means = [np.mean(seen[at : at + 4]) for at in range(0, 20, 4)]
    np.testing.assert_allclose(losses[1:], means, rtol=1e-5)
    if optimizer != "adam":  # which divides by gradients that rounding alone makes
        for name, value in model.state_dict().items():
            torch.testing.assert_close(value, trained[name], rtol=1e-4, atol=1e-5)


def test_what_a_snapshot_sees() -> None:
    corpus = small_corpus()
    one = Training(corpus, dataclasses.replace(SMALL, steps=2, every=1), CPU)
    words = torch.tensor(corpus.validation[:190]).reshape(19, 10)
    after = torch.tensor(corpus.validation[1:191]).reshape(19, 10)
    attended, predicted, losses, taken = [], [], [], []
    for number, found in one.snapshots():
        with torch.no_grad():
            attended.append(one.model.eval().attention(words).numpy())
            logits = one.model(words)
            predicted.append(logits.softmax(-1).numpy())
            losses.append(functional.cross_entropy(logits.flatten(0, 1), after.flatten()).item())
        taken.append((number, found))
    seen = values(taken)
    assert [number for number, _ in taken] == [0, 1, 2]
    np.testing.assert_allclose(seen["loss"], losses, rtol=1e-5)
    np.testing.assert_allclose(seen["maps"], np.array(attended)[:, :, :2], atol=1e-6)
    assert all(np.isnan(seen[name][0]).all() for name in ("speed", "drift", "prediction_speed", "train_loss"))
    change = np.abs(np.diff(attended, axis=0)).sum(-1).mean((1, 2, 3)) / 2
    np.testing.assert_allclose(seen["speed"][1:, 0], change, rtol=1e-3)
    change = np.abs(np.diff(predicted, axis=0)).sum(-1).mean((1, 2)) / 2
    np.testing.assert_allclose(seen["prediction_speed"][1:], change, rtol=1e-3)


def test_speed_is_of_one_step_and_drift_of_the_interval() -> None:
    by_one, by_four = (
        values(list(Training(small_corpus(), dataclasses.replace(SMALL, steps=12, every=every), CPU).snapshots()))
        for every in (1, 4)
    )
    np.testing.assert_allclose(by_four["speed"][1:], by_one["speed"][4::4], rtol=1e-5)
    np.testing.assert_allclose(by_four["entropy"], by_one["entropy"][::4], rtol=1e-6)
    np.testing.assert_allclose(by_four["train_loss"][1:], by_one["train_loss"][1:].reshape(3, 4).mean(1), rtol=1e-5)
    path = by_one["speed"][1:].reshape(3, 4, -1).mean(1)
    assert (by_four["drift"][1:] < path + 1e-9).all()  # the straight way is the shortest


def test_state_goes_on_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = small_corpus()
    for optimizer in ("sgd", "momentum", "adam"):
        settings = dataclasses.replace(SMALL, optimizer=optimizer)
        whole, first = Training(corpus, settings, CPU), Training(corpus, settings, CPU)
        undisturbed = values(list(whole.snapshots()))
        ahead = first.snapshots()
        taken = [next(ahead), next(ahead)]
        second = Training(corpus, settings, CPU)
        second.resume(first.state())
        joined = values(taken + list(second.snapshots()))
        assert all(np.array_equal(joined[name], undisturbed[name], equal_nan=True) for name in undisturbed)
        assert second.state() == whole.state()
    # with the random words of the start, dropout takes other numbers
    other, begin = Training(corpus, settings, CPU), Dice.begin
    other.resume(first.state())
    monkeypatch.setattr(Dice, "begin", lambda dice, step: begin(dice, step=step - 4))
    assert not np.array_equal(values(taken + list(other.snapshots()))["loss"], undisturbed["loss"])


def test_seeds_and_the_rest_of_the_process() -> None:
    corpus = small_corpus()
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    runs = [Training(corpus, dataclasses.replace(SMALL, seed=seed), CPU) for seed in (0, 0, 1)]
    torch.manual_seed(2)
    torch.rand(2)
    losses = [values(list(run.snapshots()))["loss"] for run in runs]
    assert np.array_equal(losses[0], losses[1])
    assert not np.isclose(losses[0], losses[2], rtol=1e-6, atol=0).any()
    torch.manual_seed(1)
    list(Training(corpus, SMALL, CPU).snapshots())
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("sizes", "value", "rule"),
    [
        ({"train": 54}, "a training text of 54 words", "a step needs 5 columns of more than 10 words"),
        (
            {"validation": 20},
            "a validation text of 20 words",
            "it holds 2 sequences of 10 words and the word after them",
        ),
    ],
)
def test_texts_that_are_too_short(sizes: dict[str, int], value: str, rule: str) -> None:
    with refuses(value, rule):
        Training(small_corpus(**sizes), SMALL, CPU)
    Training(small_corpus(**{name: size + 1 for name, size in sizes.items()}), SMALL, CPU)


@pytest.mark.parametrize("device", DEVICES[1:])
def test_devices(device: str) -> None:
    """On a GPU the step is compiled and its products are in bfloat16, so the loss agrees to a few thousandths."""
    corpus, settings = small_corpus(), dataclasses.replace(SMALL, dropout=0.0)
    here = values(list(Training(corpus, settings, CPU).snapshots()))
    there = values(list(Training(corpus, settings, torch.device(device)).snapshots()))
    np.testing.assert_allclose(there["loss"], here["loss"], rtol=5e-3)


# -- maps ----------------------------------------------------------------------------------------------------------


def test_entropy_meets_scipy_by_layer() -> None:
    rows = torch.rand(2, 3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows /= rows.sum(-1, keepdim=True)
    assert entropy(rows).tolist() == pytest.approx(
        stats.entropy(rows.numpy(), axis=-1).mean((1, 2)).tolist(), rel=1e-12, abs=0
    )
    assert entropy(torch.eye(35)[None]).tolist() == [0]


def test_movement() -> None:
    still, other = torch.eye(4)[None], torch.eye(4)[None].roll(1, dims=-1)
    assert moved(still, still).tolist() == [0]
    assert moved(still, other).tolist() == [1]
    half = (still + other) / 2
    layers = moved(torch.cat([still, still]), torch.cat([half, other]))
    assert layers.tolist() == [0.5, 1]


# -- settings ----------------------------------------------------------------------------------------------------------


REFUSED = [
    ("lr", 0, RATE.says),
    ("clip", -1.0, RATE.says),
    ("layers", 0, "a positive integer"),
    ("steps", 1.5, "a positive integer"),
    ("every", 0, "a positive integer"),
    ("hidden", 0, "a positive integer"),
    ("batch_size", 0, "a positive integer"),
    ("seed", 2**64, "a whole number below 2^64"),
    ("context", 1, "an integer, at least 2"),
    ("embedding", 7, EVEN.says),
    ("dropout", 1.0, "a probability in [0, 1)"),
    ("positions", 1, FLAG.says),
    ("optimizer", "lion", f"the choices are {', '.join(OPTIMIZERS)}"),
]


@pytest.mark.parametrize(("name", "wrong", "rule"), REFUSED)
def test_refused(name: str, wrong: Any, rule: str) -> None:
    with refuses(f"{name} = {wrong!r}", rule):
        Settings(**{name: wrong})
