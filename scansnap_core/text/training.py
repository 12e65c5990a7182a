"""Train a Transformer on text, and measure its attention at every snapshot, always on the same
text.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD, Adam

from scansnap_core.base.bad_input import BadInput
from scansnap_core.engine.surroundings import undisturbed
from scansnap_core.text.corpus import Corpus
from scansnap_core.text.settings import Settings
from scansnap_core.text.transformer import Transformer

MOMENTUM = 0.9
WATCHED = 100
"""The number of sequences of the validation text that snapshots evaluate; always the first ones."""
PREDICTED = 20
"""The number of these on which the movement of predictions is measured; each holds T times M
probabilities.
"""
SHOWN = 2
"""The number of these whose attention maps a snapshot keeps."""


class Training:
    """A Transformer in training. The same corpus, settings, device and number of threads give the
    same numbers.

    On a CPU what dropout drops depends on the seed and the step alone, not on the make of the
    processor.

    Parameters
    ----------
    corpus
        The text. It is cut into ``batch_size`` columns, which are read on side by side, ``context``
        words a step, and from the top again at their end.
    settings
        The model and how it is trained.
    device
        On a GPU the step is compiled and its products are in bfloat16.

    Attributes
    ----------
    model, optimizer
        PyTorch's. Between two snapshots the rate may be changed.
    """

    def __init__(self, corpus: Corpus, settings: Settings, device: torch.device) -> None:
        """Cut the text, make model and optimiser, and measure attention before the first step."""
        self.settings = settings
        self._device = device
        # How many snapshots were taken; which devices have generators to be lent and put back.
        self._taken = 0
        self._devices = [device] if device.type == "cuda" else []
        with undisturbed(device.type), torch.random.fork_rng(self._devices):
            columns, watched, following = _cut(corpus, settings)
            self._columns = columns.to(device)
            self._watched = watched.to(device)
            self._following = following.to(device)
            torch.manual_seed(settings.seed)
            self.model = Transformer(corpus.vocab_size, settings).to(device)
            self._random_states = [torch.cuda.get_rng_state(each) for each in self._devices]
        momentum = MOMENTUM if settings.optimizer == "momentum" else 0.0
        parameters = list(self.model.parameters())
        lr = settings.lr
        self.optimizer = (
            Adam(parameters, lr) if settings.optimizer == "adam" else SGD(parameters, lr, momentum)
        )
        self._logits = torch.compile(self.model) if device.type == "cuda" else self.model
        with undisturbed(device.type):
            self._seen = self._see()

    def snapshots(self) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
        """Train on, and yield at every snapshot that lies ahead.

        Yields
        ------
        number, values
            Which of ``settings.snapshots`` it is, and what is seen there: ``train_loss`` (mean of
            the steps since the last one), ``loss`` on the watched text, both in nats a word; by
            layer the ``entropy`` of attention in nats, its ``speed`` (the share of probability that
            the last step moved) and its ``drift`` (the share moved since the last snapshot, a
            step); both of the predictions too; ``maps`` of the first sequences, (layers, sequence,
            query, key). Rates of change and ``train_loss`` are NaN at step 0.
        """
        ends = self.settings.snapshots
        for number in range(self._taken, len(ends)):
            with undisturbed(self._device.type):
                values = self._advance(ends[max(number - 1, 0)], ends[number])
            self._taken = number + 1
            yield number, values

    def state(self) -> bytes:
        """Pack all that training needs to go on: parameters, optimiser, number of snapshots, a
        GPU's generator.
        """
        kept = {
            "taken": self._taken,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": self._random_states,
        }
        buffer = io.BytesIO()
        torch.save(kept, buffer)
        return buffer.getvalue()

    def resume(self, state: bytes) -> None:
        """Go on from a :meth:`state`, after as many snapshots as it was taken at.

        That it is of the same corpus and settings isn't checked here; a store's configuration tells
        (`scansnap_core.text.recording`).
        """
        kept = torch.load(io.BytesIO(state), map_location=self._device, weights_only=True)
        self.model.load_state_dict(kept["model"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self._taken = kept["taken"]
        self._random_states = [each.cpu() for each in kept["random"]]
        # What attention is now, from which the next snapshot's drift is measured.
        with undisturbed(self._device.type):
            self._seen = self._see()

    def _advance(self, start: int, end: int) -> dict[str, NDArray[Any]]:
        """Make the steps from ``start`` on to ``end``, and measure what :meth:`snapshots` yields
        there.
        """
        total = torch.zeros((), dtype=torch.float32, device=self._device)
        last = self._seen
        one_before = self._seen
        with self._lent_generators():
            for step in range(start, end):
                # Attention before the last step, from which its speed is measured.
                if step == end - 1:
                    one_before = self._see()
                total += self._step(step)
        self._seen = self._see()

        # How far attention and predictions moved in the last step (speed), and per step since the
        # last snapshot (drift). Without a step both are NaN.
        one = 1 if end > start else math.nan
        steps = end - start if end > start else math.nan
        attention, prediction = self._seen
        speed = moved(one_before[0], attention) / one
        prediction_speed = moved(one_before[1], prediction) / one
        drift = moved(last[0], attention) / steps
        prediction_drift = moved(last[1], prediction) / steps
        found = {
            "train_loss": total / steps,
            "loss": self._loss(),
            "entropy": entropy(self._seen[0]),
            "speed": speed,
            "drift": drift,
            "prediction_speed": prediction_speed[0],
            "prediction_drift": prediction_drift[0],
            "maps": self._seen[0][:, :SHOWN],
        }
        return {name: values.cpu().numpy() for name, values in found.items()}

    def _step(self, step: int) -> Tensor:
        """Make one update on the next T words of every column, and return its loss, the mean over
        these words in nats.
        """
        T = self.settings.context
        start = step % ((self._columns.shape[1] - 1) // T) * T
        words = self._columns[:, start : start + T + 1]
        self.model.train().dice.begin(step)
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            loss = _cross_entropy(self._logits(words[:, :-1]), words[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def _see(self) -> tuple[Tensor, Tensor]:
        """Return attention and predictions on the watched text, each with its layers first."""
        model = self.model.eval()
        return model.attention(self._watched), model(self._watched[:PREDICTED]).softmax(-1)[None]

    @torch.no_grad()
    def _loss(self) -> Tensor:
        """Compute the mean loss on the watched text, in nats a word, in parts that memory holds."""
        parts = zip(self._watched.split(PREDICTED), self._following.split(PREDICTED), strict=True)
        losses = [
            _cross_entropy(self.model.eval()(words), after) * len(words) for words, after in parts
        ]
        return torch.stack(losses).sum() / len(self._watched)

    @contextmanager
    def _lent_generators(self) -> Iterator[None]:
        """Lend PyTorch's global generator, from which dropout draws on a GPU, to this training,
        and put it back.
        """
        with torch.random.fork_rng(self._devices):
            for device, state in zip(self._devices, self._random_states, strict=True):
                torch.cuda.set_rng_state(state, device)
            yield
            self._random_states = [torch.cuda.get_rng_state(device) for device in self._devices]


def _cross_entropy(logits: Tensor, words: Tensor) -> Tensor:
    """Compute the mean cross entropy, in nats, of logits (batch, T, M) at words (batch, T)."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), words.flatten())


def entropy(maps: Tensor) -> Tensor:
    """Average the entropy of each row's probabilities over the rows, in nats.

    A row that sees i keys has ln(i) at most, so with a causal mask and T places even attention has
    ln(T!)/T: 2.63 for T = 35.

    Maps are (layers, ..., key), where a row's probabilities sum to 1; the result is (layers,).
    """
    return torch.special.entr(maps).sum(-1).flatten(1).mean(1)


def moved(before: Tensor, after: Tensor) -> Tensor:
    """Average over the rows the share of probability that moved: the total variation distance.

    The same rows at two moments are (layers, ..., key); the result (layers,) is 0 where nothing
    moved and 1 where everything did.
    """
    return (after - before).abs().sum(-1).flatten(1).mean(1) / 2


def _cut(corpus: Corpus, settings: Settings) -> tuple[Tensor, Tensor, Tensor]:
    """Cut the training text into columns side by side, and out of the validation text the watched
    sequences.

    Returns word numbers: the columns (batch_size, length), the watched sequences (sequences, T),
    and the words that follow each of theirs, (sequences, T). A text that is too short is BadInput.
    """
    B = settings.batch_size
    T = settings.context
    length = len(corpus.train) // B
    if length <= T:
        raise BadInput(
            f"a training text of {len(corpus.train):,} words",
            f"a step needs {B} columns of more than {T} words",
            "take a longer text, or a smaller batch_size or context",
        )
    sequences = min(WATCHED, (len(corpus.validation) - 1) // T)
    if sequences < SHOWN:
        raise BadInput(
            f"a validation text of {len(corpus.validation):,} words",
            f"it holds {SHOWN} sequences of {T} words and the word after them",
            "take a longer text, or a smaller context",
        )
    train = torch.from_numpy(corpus.train.astype(np.int64))
    words = torch.from_numpy(corpus.validation.astype(np.int64))
    watched = words[: sequences * T].reshape(sequences, T)
    following = words[1 : 1 + sequences * T].reshape(sequences, T)
    return train[: length * B].reshape(B, length), watched, following
