"""A grid of runs: the product of class systems, optimisers, sequence lengths, batch sizes, seeds and rate pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.data.checksum import checksum
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.arguments import MOMENTUM, checked_momentum
from scansnap_core.engine.settings import Settings


@dataclass(frozen=True)
class Grid:
    """The axes of a sweep, checked on construction: :func:`~scansnap_core.engine.training.train`'s arguments by name.

    Parameters
    ----------
    data
        Class systems by name.
    rates
        Pairs (eta_Y, eta_Z).
    steps
        Updates of every run. **Clock**: one step is one update with a batch of the run's batch size.
    seeds
        One run a seed; runs of one seed share data and initial values over all rates.
    optimizers, seq_lens, batch_sizes
        Further axes. A batch size None is the expectation over the classes.
    momentum, initial, rng, dtype
        The same for all runs.

    Raises
    ------
    BadInput
        An axis is empty or names a value twice, or some combination can't be trained.
    """

    data: Mapping[str, SequenceClasses]
    rates: tuple[tuple[float, float], ...]
    steps: int
    seeds: tuple[int, ...]
    optimizers: tuple[str, ...] = ("momentum",)
    seq_lens: tuple[float, ...] = (128,)
    batch_sizes: tuple[int | None, ...] = (128,)
    momentum: float | None = None
    initial: str = "zero"
    rng: str = "fresh"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        axes: dict[str, Sequence[Any]] = {
            "data": tuple(self.data),
            "rates": self.rates,
            "seeds": self.seeds,
            "optimizer": self.optimizers,
            "seq_len": self.seq_lens,
            "batch_size": self.batch_sizes,
        }
        for name, values in axes.items():
            check_axis(name, values)
        if self.initial not in ("zero", "random"):
            raise BadInput(
                value=f"initial = {self.initial!r}", rule="the choices are zero, random", remedy="use one of them"
            )
        checked_momentum(self.momentum, "momentum" if "momentum" in self.optimizers else self.optimizers[0])
        for optimizer, seq_len, batch_size in itertools.product(self.optimizers, self.seq_lens, self.batch_sizes):
            Settings.checked(**self.arguments(optimizer, seq_len, batch_size), seeds=self.seeds, device="cpu")

    def arguments(self, optimizer: str, seq_len: float, batch_size: int | None) -> dict[str, Any]:
        """The arguments of a training at one point of the grid, without data, seeds and device."""
        lr_y, lr_z = (list(rates) for rates in zip(*self.rates, strict=True))
        return {
            "lr_y": lr_y,
            "lr_z": lr_z,
            "steps": self.steps,
            "batch_size": batch_size,
            "seq_len": seq_len,
            "optimizer": optimizer,
            "momentum": self.momentum if optimizer == "momentum" else None,
            "initial": self.initial,
            "record": [self.steps],
            "rng": self.rng,
            "dtype": self.dtype,
        }

    @property
    def num_runs(self) -> int:
        """How many runs there are."""
        axes = (self.data, self.optimizers, self.seq_lens, self.batch_sizes, self.seeds, self.rates)
        return math.prod(map(len, axes))

    def configuration(self) -> dict[str, Any]:
        """All that decides the results, as JSON values by name; of class systems, checksums."""
        return {
            "data": {name: checksum(classes) for name, classes in self.data.items()},
            "lr_y": [lr_y for lr_y, _ in self.rates],
            "lr_z": [lr_z for _, lr_z in self.rates],
            "steps": self.steps,
            "seeds": list(self.seeds),
            "optimizer": list(self.optimizers),
            "seq_len": [str(seq_len) for seq_len in self.seq_lens],
            "batch_size": [size or "expectation" for size in self.batch_sizes],
            "momentum": MOMENTUM if self.momentum is None else self.momentum,
            "initial": self.initial,
            "rng": self.rng,
            "dtype": self.dtype,
        }


def check_axis(name: str, values: Sequence[Any]) -> None:
    """Raise :class:`~scansnap_core.BadInput` for an axis that is empty or names a value twice."""
    if not values:
        raise BadInput(value=f"{name} = []", rule="an axis of a grid has at least one value", remedy="give it one")
    seen = set()
    for value in values:
        if value in seen:
            raise BadInput(
                value=f"{name} holds {value!r} twice", rule="the values of an axis differ", remedy="remove one"
            )
        seen.add(value)
