"""A grid of runs: the product of class systems, models, optimisers, sequence lengths, batch sizes,
seeds and rate pairs.

:mod:`scansnap_core.sweeps.grid_files` reads one from a file, or by the name of a figure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import Rule, check_differ, checked_list
from scansnap_core.data.sequences import SequenceClasses, checksum
from scansnap_core.engine.names import check_windows, heads_of, name_of, resolved, source_digest
from scansnap_core.engine.settings import (
    STARTS,
    Extension,
    Settings,
    checked_momentum,
    checked_rates,
    checked_seeds,
    known_variant,
)
from scansnap_core.sweeps.defaults import DEFAULTS
from scansnap_core.sweeps.measures import Measure

EXAMPLE = "see the example that python -m pydoc scansnap_core.sweeps.grid_files shows"
DATA = Rule(
    lambda value: (
        isinstance(value, Mapping)
        and bool(value)
        and all(
            isinstance(name, str) and isinstance(each, SequenceClasses)
            for name, each in value.items()
        )
    ),
    "the data are SequenceClasses, or several by name",
    "pass these",
)
PAIR = Rule(
    lambda pair: isinstance(pair, tuple | list) and len(pair) == 2,
    "rates are pairs (eta_Y, eta_Z)",
    EXAMPLE,
)


@dataclass(frozen=True)
class Grid:
    """The axes of a sweep, checked on construction: :func:`~scansnap_core.engine.training.train`'s
    arguments by name.

    Parameters
    ----------
    data
        Class systems by name.
    rates
        Pairs (eta_Y, eta_Z).
    steps
        Updates of every run. **Clock**: one step is one update with a batch of the run's batch
        size.
    seeds
        One run a seed; runs of one seed share data and initial values over all rates.
    optimizers, seq_lens, batch_sizes
        Further axes; by default plain SGD, T = 128 and B = 128. A batch size None is the
        expectation over the classes.
    models
        A further axis, if it's given; by default "plain". "plain", "residual" and others, as
        :func:`~scansnap_core.engine.training.train` takes them.
    momentum, initial, rng, dtype
        The same for all runs: by default 0.9 (of the optimiser "momentum" alone), "zero", "fresh"
        and "float32".
    measures
        What is kept of each run: names of :data:`~scansnap_core.sweeps.measures.KNOWN`, functions
        of one's own, or ``module:function``. ``diverged_at`` is always kept.
    record
        When measures are taken, as :func:`~scansnap_core.engine.training.train` takes it; default:
        at the end, without the dimension ``recorded``.

    Raises
    ------
    BadInput
        An axis is empty or names a value twice, or some combination can't be trained.
    """

    data: Mapping[str, SequenceClasses]
    rates: tuple[tuple[float, float], ...]
    steps: int
    seeds: tuple[int, ...]
    optimizers: tuple[Extension, ...] = (DEFAULTS["optimizer"].value,)
    seq_lens: tuple[float, ...] = (DEFAULTS["seq_len"].value,)
    batch_sizes: tuple[int | None, ...] = (DEFAULTS["batch_size"].value,)
    momentum: float | None = None
    initial: str = DEFAULTS["initial"].value
    rng: str = DEFAULTS["rng"].value
    dtype: str = DEFAULTS["dtype"].value
    models: tuple[Extension, ...] = (DEFAULTS["model"].value,)
    measures: tuple[Any, ...] = DEFAULTS["measures"].value
    record: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        """Check each axis, and then each combination of values, as a training of one seed."""
        DATA("data", self.data)
        for pair in checked_list("rates", self.rates):
            PAIR("a pair of rates", pair)
        axes: dict[str, Sequence[Any]] = {
            "rates": self.rates,
            "seeds": self.seeds,
            "model": [name_of(each) for each in checked_list("model", self.models)],
            "optimizer": [name_of(each) for each in checked_list("optimizer", self.optimizers)],
            "seq_len": self.seq_lens,
            "batch_size": self.batch_sizes,
            "measures": [measure.name for measure in self.measured] if self.measures else (),
        }
        for name, values in axes.items():
            check_axis(name, values)
        checked_rates(*zip(*self.rates, strict=True))
        checked_seeds(self.seeds)
        STARTS("initial", self.initial)
        _ = self._momentum  # reading it checks it
        for point in itertools.product(
            self.models, self.optimizers, self.seq_lens, self.batch_sizes
        ):
            # One seed and one pair of rates are enough to check the other settings.
            arguments = self.arguments(*point) | {"lr_y": 1.0, "lr_z": 1.0}
            Settings(**arguments, seeds=[0], device="cpu")
        variants = list(map(known_variant, self.models))
        if len(set(map(heads_of, variants))) > 1:
            raise BadInput(
                f"model = {', '.join(map(name_of, self.models))}",
                "the arrays of one sweep have one shape, so its models have the same number of "
                "heads",
                "use a sweep for each; one head is 'heads 1'",
            )
        for variant, classes in itertools.product(variants, self.data.values()):
            check_windows(variant, classes.vocab_size)

    @property
    def axes(self) -> dict[str, Sequence[Any]]:
        """List the dimensions that all of a sweep's arrays have, in their order, with their values.

        ``model`` is one if another than the default was given.
        """
        axes: dict[str, Sequence[Any]] = {
            "data": tuple(self.data),
            "model": self.models,
            "optimizer": self.optimizers,
            "seq_len": self.seq_lens,
            "batch_size": self.batch_sizes,
            "seed": self.seeds,
            "rate": self.rates,
        }
        if self.models == (DEFAULTS["model"].value,):
            del axes["model"]
        return axes

    @cached_property
    def measured(self) -> tuple[Measure, ...]:
        """Return the measures, ``diverged_at`` among them."""
        given = tuple(Measure.of(each) for each in checked_list("measures", self.measures))
        return (
            given
            if any(each.name == "diverged_at" for each in given)
            else (*given, Measure.of("diverged_at"))
        )

    @property
    def _momentum(self) -> float:
        """The momentum of the optimiser "momentum", checked; 0 if it isn't among the optimisers."""
        return checked_momentum(
            self.momentum, "momentum" if "momentum" in self.optimizers else self.optimizers[0]
        )

    def arguments(
        self, model: Extension, optimizer: Extension, seq_len: float, batch_size: int | None
    ) -> dict[str, Any]:
        """Return the arguments of a training at one point of the grid, without data, seeds and
        device.
        """
        lr_y, lr_z = map(list, zip(*self.rates, strict=True))
        point = {
            "lr_y": lr_y,
            "lr_z": lr_z,
            "batch_size": batch_size,
            "seq_len": seq_len,
            "model": model,
        }
        point |= {
            "optimizer": optimizer,
            "momentum": self.momentum if optimizer == "momentum" else None,
        }
        record = [self.steps] if self.record is None else self.record
        return (
            point
            | {"record": record}
            | {name: getattr(self, name) for name in ("steps", "initial", "rng", "dtype")}
        )

    @property
    def num_runs(self) -> int:
        """Count the runs."""
        return math.prod(map(len, self.axes.values()))

    def configuration(self) -> dict[str, Any]:
        """Return all that decides the results, as JSON values by name; class systems appear as
        checksums.

        A store has it, so that a sweep goes on only in the store that it began. The model,
        functions of one's own, the measures and ``record`` are left out where they are the default
        ones.
        """
        by_default = self.measures == DEFAULTS["measures"].value
        own = [
            each
            for each in (*self.models, *self.optimizers)
            if not isinstance(each, str) or ":" in each
        ]
        more = {
            "model": list(map(name_of, self.models)) if "model" in self.axes else None,
            "functions": {
                name_of(each): source_digest(resolved("function", each, {})) for each in own
            },
            "measures": None if by_default else [each.configuration() for each in self.measured],
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
            "momentum": self._momentum,
            "initial": self.initial,
            "rng": self.rng,
            "dtype": self.dtype,
            **{name: value for name, value in more.items() if value},
        }


def check_axis(name: str, values: Sequence[Any]) -> None:
    """Raise :class:`BadInput` unless an axis has at least one value, and none twice."""
    Rule(bool, "an axis of a grid has at least one value", "give it one")(
        name, checked_list(name, values)
    )
    check_differ(name, values)
