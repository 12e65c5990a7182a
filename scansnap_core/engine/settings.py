"""A training's arguments are checked before any work starts. Torch is imported only where it is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.arguments import (
    check_continues,
    check_given,
    checked_device,
    checked_length,
    checked_momentum,
    checked_rates,
    checked_record,
    checked_seeds,
    start_of,
)
from scansnap_core.engine.names import (
    MODELS,
    PLAIN,
    check_takes,
    check_windows,
    checked_model_name,
    heads_of,
    name_of,
    resolved,
    windows_of,
)
from scansnap_core.rules import FLAG, check_memory, one_of, whole

if TYPE_CHECKING:
    from scansnap_core.engine.variants import Variant

OPTIMIZERS = ("sgd", "momentum", "adam")
RNGS = ("fresh", "replay", "counter")
WORD_BYTES = 64
"""A token of a sample takes at most so much while it's drawn by counter."""

Initial = str | tuple[Any, Any] | xr.Dataset
Extension = str | Callable[..., Any]


@dataclass(frozen=True)
class Settings:
    """Checked arguments of :func:`scansnap_core.engine.training.train`, which documents them."""

    rates: list[tuple[float, float]]
    steps: int
    seeds: list[int]
    batch_size: int | None
    seq_len: float
    optimizer: Extension
    momentum: float
    initial: Initial
    recorded: list[int]
    rng: str
    device: str
    dtype: str
    model: Extension
    keep_state: bool
    start: int
    """So many updates lie behind the initial values."""

    @classmethod
    def checked(
        cls,
        *,
        lr_y: float | Sequence[float],
        lr_z: float | Sequence[float],
        steps: int,
        seeds: Iterable[int],
        batch_size: int | None,
        seq_len: float,
        optimizer: Extension,
        momentum: float | None = None,
        initial: Initial,
        record: int | Iterable[int] | None,
        rng: str,
        device: str,
        dtype: str,
        model: Extension = PLAIN,
        keep_state: bool = False,
    ) -> Settings:
        """Check every argument; raise :class:`~scansnap_core.BadInput` for the first that breaks its rule."""
        one_of(RNGS)("rng", rng)
        one_of(("float64", "float32"))("dtype", dtype)
        if isinstance(initial, str):
            one_of(("zero", "random"))("initial", initial)
        whole()("steps", steps)
        if batch_size is not None:
            whole()("batch_size", batch_size)
        FLAG("keep_state", keep_state)
        rates, seed_list = checked_rates(lr_y, lr_z), checked_seeds(seeds)
        # not counting Y and Z, and before they are: a list of recorded steps alone may be too long
        runs = len(rates) * len(seed_list)
        check_memory(f"the losses of {runs:,} runs at {steps:,} steps", 8.0 * int(steps) * runs)
        start = start_of(initial)
        recorded = checked_record(record, start, start + int(steps))
        _check_keeps(keep_state, optimizer, recorded, start + int(steps))
        _check_heads(model, initial, rng, keep_state)
        _check_windows(model, optimizer)
        return cls(
            rates=rates,
            steps=int(steps),
            seeds=seed_list,
            batch_size=None if batch_size is None else int(batch_size),
            seq_len=checked_length(seq_len, batch_size, rng),
            optimizer=_checked_optimizer(optimizer, rates),
            momentum=checked_momentum(momentum, optimizer),
            initial=initial,
            recorded=recorded,
            rng=rng,
            device=checked_device(device),
            dtype=dtype,
            model=_checked_model(model),
            keep_state=keep_state,
            start=start,
        )

    @property
    def end(self) -> int:
        """Count the updates behind the last values."""
        return self.start + self.steps

    @property
    def in_closed_form(self) -> bool:
        """Tell whether nothing needs autograd: models and optimisers with a name don't, a user's own may."""
        return isinstance(self.model, str) and isinstance(self.optimizer, str)

    @property
    def begins(self) -> str:
        """Say where the run began, or the one that it goes on from: "zero", "random" or "given"."""
        if isinstance(self.initial, xr.Dataset):
            return str(self.initial.attrs["initial"])
        return self.initial if isinstance(self.initial, str) else "given"

    def attributes(self, classes: SequenceClasses) -> dict[str, Any]:
        """Return the attributes of the data set that a training on the classes returns."""
        attributes = {
            "optimizer": name_of(self.optimizer),
            "momentum": self.momentum,
            "batch_size": str(self.batch_size or "expectation"),
            "seq_len": self.seq_len,
            "initial": self.begins,
            "rng": self.rng,
            "device": self.device,
            "dtype": self.dtype,
            "vocab_size": classes.vocab_size,
            "num_classes": classes.num_classes,
        }
        if self.model != PLAIN:
            attributes["model"] = name_of(self.model)
        if self.keep_state:
            attributes["end"] = self.end
        return attributes

    def check_fits(self, classes: SequenceClasses) -> None:
        """Check that initial values suit the classes, that windows divide M, and that all fits into memory."""
        check_windows(self.model, classes.vocab_size)
        if self.rng == "replay":
            classes.check_uniform("rng = 'replay', the authors' order of random numbers,")
        M, outputs = classes.vocab_size, len(classes.outputs) if self.begins == "zero" else classes.vocab_size
        if isinstance(self.initial, xr.Dataset):
            check_continues(self.initial, classes, self.attributes(classes), self.seeds, self.rates)
        elif not isinstance(self.initial, str):
            check_given(self.initial, M, heads_of(self.model))
        heads = max(1, heads_of(self.model))
        L, Q = heads * len(classes.tokens), len(np.unique(classes.query_of))
        runs, size = len(self.rates) * len(self.seeds), np.dtype(self.dtype).itemsize
        state = size * runs * (L * outputs + Q * L)
        samples = 8 * len(self.seeds) * (self.batch_size or classes.num_classes) * (4 * L + outputs)
        tokens = 0.0
        if self.rng == "replay":
            tokens = 16 * self.seq_len
        elif self.rng == "counter" and math.isfinite(self.seq_len):
            tokens = WORD_BYTES * self.seq_len * len(self.seeds) * (self.batch_size or 0)
        check_memory(
            f"{runs:,} runs of {self.steps:,} steps, recorded {len(self.recorded):,} times",
            8.0 * runs * self.steps + state * (2.0 * len(self.recorded) + 4) + samples + tokens,
        )


def _never(*_: Any) -> None:
    raise AssertionError("the plain model is no function of a user's own")


def _check_keeps(keep_state: bool, optimizer: Any, recorded: list[int], end: int) -> None:
    if keep_state and optimizer not in OPTIMIZERS:
        raise BadInput(
            value=f"keep_state with {name_of(optimizer)}",
            rule=f"the state of {', '.join(OPTIMIZERS)} is kept, that of other optimisers isn't",
            remedy="use one of these, or make all steps in one training",
        )
    if keep_state and recorded[-1] != end:
        raise BadInput(
            value=f"keep_state with the last recorded step {recorded[-1]}",
            rule="a training goes on from its end",
            remedy=f"record step {end} too",
        )


def _check_heads(model: Extension, initial: Initial, rng: str, keep_state: bool) -> None:
    if not heads_of(model):
        return
    if isinstance(initial, str) and initial == "random" and rng == "replay":
        raise BadInput(
            value=f"model = {model!r} with rng = 'replay' and initial = 'random'",
            rule="the authors' runs draw initial values for one head",
            remedy="use rng='fresh', or pass initial values",
        )
    if keep_state or isinstance(initial, xr.Dataset):
        raise BadInput(
            value=f"model = {model!r} with keep_state, or an initial data set",
            rule="a training of several heads doesn't go on later",
            remedy="make all steps in one training",
        )


def _check_windows(model: Extension, optimizer: Extension) -> None:
    if windows_of(model) and optimizer not in ("sgd", "momentum"):
        raise BadInput(
            value=f"model = {model!r} with {name_of(optimizer)}",
            rule="its Z holds sums of a token's and a window's logit, which only sgd and momentum move part by part",
            remedy="use one of these",
        )


def _checked_model(model: Extension) -> Extension:
    if name := checked_model_name(model):
        return name
    variant = resolved("model", model, dict.fromkeys(MODELS, _never))
    rule, remedy = "a model is called with a batch, Y and Z", "see scansnap_core.engine.variants"
    check_takes(f"model {name_of(variant)}", variant, "batch", "Y", "Z", rule=rule, remedy=remedy)
    return variant


def _checked_optimizer(optimizer: Extension, rates: list[tuple[float, float]]) -> Extension:
    if isinstance(optimizer, str) and optimizer in OPTIMIZERS:
        return optimizer
    make = resolved("optimizer", optimizer, dict.fromkeys(OPTIMIZERS, _never), such_as="torch.optim:AdamW")
    from scansnap_core.engine.optimizers import check_optimizer

    check_optimizer(name_of(optimizer), make, rates)
    return make


def known_variant(model: Any) -> Variant | None:
    """Ask :func:`scansnap_core.engine.architectures.variant_of`, but without PyTorch for the paper's own model."""
    if isinstance(model, str) and model == PLAIN:
        return None
    from scansnap_core.engine.architectures import variant_of

    return variant_of(model)
