"""A grid of runs: the product of class systems, optimisers, sequence lengths, batch sizes, seeds and rate pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, checksum
from scansnap_core.engine.arguments import MOMENTUM, checked_data, checked_momentum, checked_rates, checked_seeds
from scansnap_core.engine.names import PLAIN, check_windows, heads_of, name_of, resolved, source_digest
from scansnap_core.engine.settings import Extension, Settings
from scansnap_core.rules import check_differ, listed, shown
from scansnap_core.sweeps.measures import DEFAULT, Measure


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
    models
        A further axis, if it's given: "plain", "residual" and others, as
        :func:`~scansnap_core.engine.training.train` takes them.
    momentum, initial, rng, dtype
        The same for all runs.
    measures
        What is kept of each run: names of :data:`~scansnap_core.sweeps.measures.KNOWN`, functions of one's own, or
        ``module:function``. ``diverged_at`` is always kept.
    record
        When measures are taken, as :func:`~scansnap_core.engine.training.train` takes it; default: at the end, without
        the dimension ``recorded``.

    Raises
    ------
    BadInput
        An axis is empty or names a value twice, or some combination can't be trained.
    """

    data: Mapping[str, SequenceClasses]
    rates: tuple[tuple[float, float], ...]
    steps: int
    seeds: tuple[int, ...]
    optimizers: tuple[Extension, ...] = ("momentum",)
    seq_lens: tuple[float, ...] = (128,)
    batch_sizes: tuple[int | None, ...] = (128,)
    momentum: float | None = None
    initial: str = "zero"
    rng: str = "fresh"
    dtype: str = "float32"
    models: tuple[Extension, ...] = (PLAIN,)
    measures: tuple[Any, ...] = DEFAULT
    record: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise BadInput(f"data = {shown(self.data)}", "data are class systems by name", "pass {'name': classes}")
        for pair in listed("rates", self.rates):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise BadInput(f"rates hold {shown(pair)}", "rates are pairs (eta_Y, eta_Z)", "pass e.g. ((1.0, 1.0),)")
        axes: dict[str, Sequence[Any]] = {
            "data": tuple(self.data),
            "rates": self.rates,
            "seeds": self.seeds,
            "model": tuple(map(name_of, listed("model", self.models))),
            "optimizer": tuple(map(name_of, listed("optimizer", self.optimizers))),
            "seq_len": self.seq_lens,
            "batch_size": self.batch_sizes,
            "measures": tuple(measure.name for measure in self.measured) if self.measures else (),
        }
        for name, values in axes.items():
            check_axis(name, values)
        checked_data(dict(self.data))
        checked_rates(*zip(*self.rates, strict=True))
        checked_seeds(self.seeds)
        if self.initial not in ("zero", "random"):
            raise BadInput(
                value=f"initial = {shown(self.initial)}", rule="the choices are zero, random", remedy="use one of them"
            )
        if len({heads_of(model) for model in self.models}) > 1:
            raise BadInput(
                value=f"model = {', '.join(map(name_of, self.models))}",
                rule="the arrays of one sweep have one shape, so its models have the same number of heads",
                remedy="use a sweep for each; one head is 'heads 1'",
            )
        for model, classes in itertools.product(self.models, self.data.values()):
            check_windows(model, classes.vocab_size)
        checked_momentum(self.momentum, "momentum" if "momentum" in self.optimizers else self.optimizers[0])
        for point in itertools.product(self.models, self.optimizers, self.seq_lens, self.batch_sizes):
            arguments = self.arguments(*point) | {"lr_y": 1.0, "lr_z": 1.0}  # blocks hold few seeds and rates
            Settings.checked(**arguments, seeds=[0], device="cpu")

    @property
    def axes(self) -> dict[str, Sequence[Any]]:
        """List the dimensions that all of a sweep's arrays have, with their values; model is one if it was given."""
        axes: dict[str, Sequence[Any]] = {
            "data": tuple(self.data),
            "model": self.models,
            "optimizer": self.optimizers,
            "seq_len": self.seq_lens,
            "batch_size": self.batch_sizes,
            "seed": self.seeds,
            "rate": self.rates,
        }
        return axes if self.models != (PLAIN,) else {name: axes[name] for name in axes if name != "model"}

    @cached_property
    def measured(self) -> tuple[Measure, ...]:
        """Return the measures, ``diverged_at`` among them."""
        given = tuple(Measure.of(each) for each in listed("measures", self.measures))
        return given if any(each.name == "diverged_at" for each in given) else (*given, Measure.of("diverged_at"))

    def arguments(
        self, model: Extension, optimizer: Extension, seq_len: float, batch_size: int | None
    ) -> dict[str, Any]:
        """Return the arguments of a training at one point of the grid, without data, seeds and device."""
        lr_y, lr_z = (list(rates) for rates in zip(*self.rates, strict=True))
        return {
            "lr_y": lr_y,
            "lr_z": lr_z,
            "steps": self.steps,
            "batch_size": batch_size,
            "seq_len": seq_len,
            "model": model,
            "optimizer": optimizer,
            "momentum": self.momentum if optimizer == "momentum" else None,
            "initial": self.initial,
            "record": [self.steps] if self.record is None else self.record,
            "rng": self.rng,
            "dtype": self.dtype,
        }

    @property
    def num_runs(self) -> int:
        """Count the runs."""
        return math.prod(map(len, self.axes.values()))

    def configuration(self) -> dict[str, Any]:
        """Return all that decides the results, as JSON values by name; class systems appear as checksums."""
        own = [each for each in (*self.models, *self.optimizers) if not isinstance(each, str) or ":" in each]
        more = {
            "model": list(map(name_of, self.models)) if "model" in self.axes else None,
            "functions": {name_of(each): source_digest(resolved("function", each, {})) for each in own},
            "measures": [each.configuration() for each in self.measured] if self.measures != DEFAULT else None,
            "record": self.record if isinstance(self.record, int | None) else list(self.record),
        }
        return {
            "data": {name: checksum(classes) for name, classes in self.data.items()},
            "lr_y": [lr_y for lr_y, _ in self.rates],
            "lr_z": [lr_z for _, lr_z in self.rates],
            "steps": self.steps,
            "seeds": list(self.seeds),
            "optimizer": list(map(name_of, self.optimizers)),
            "seq_len": [str(seq_len) for seq_len in self.seq_lens],
            "batch_size": [size or "expectation" for size in self.batch_sizes],
            "momentum": MOMENTUM if self.momentum is None else self.momentum,
            "initial": self.initial,
            "rng": self.rng,
            "dtype": self.dtype,
            **{name: value for name, value in more.items() if value},
        }


def check_axis(name: str, values: Sequence[Any]) -> None:
    """Raise :class:`~scansnap_core.BadInput` for an axis that is empty or names a value twice."""
    if not listed(name, values):
        raise BadInput(value=f"{name} = []", rule="an axis of a grid has at least one value", remedy="give it one")
    check_differ(name, values)
