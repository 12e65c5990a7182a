"""A grid of runs: the product of class systems, optimisers, sequence lengths, batch sizes, seeds
and rate pairs.

The paper's grids have names (:data:`NAMED`); others stand in YAML files, as :func:`load_grid` reads
them::

    data: [syn_small, syn_medium 3, two_topics.yaml]   # m = 3 query tokens; a file beside this one
    rates: {lr_z: [0.5, 1], ratio: [1, 2, 5]}          # two of lr_y, lr_z and ratio
    # rates: {pairs: [[1, 1], [10, 1]]}                # or pairs [lr_y, lr_z]
    steps: 100
    seeds: 10                                          # 1..10, or a list
    # From here on optional: these are the defaults, as in DEFAULTS.
    optimizer: sgd                                     # or momentum, adam, "torch.optim:AdamW"
    seq_len: 128                                       # .inf is the limit of long sequences
    batch_size: 128                                    # or expectation, with seq_len: .inf
    momentum: 0.9                                      # of the optimizer momentum alone
    initial: zero                                      # or random
    rng: fresh                                         # or replay, or counter
    dtype: float32                                     # or float64
    model: plain                                       # or residual, ..., "my_module:my_model"
    measures: [entropy, final_loss, diverged_at, Z]    # or {name: recall, threshold: 0.1}
    # record: 10                                       # take them every 10 steps, too

``optimizer``, ``seq_len``, ``batch_size`` and ``model`` take a list too: each is an axis of the
grid.

A grid file runs code: a name such as ``"my_module:my_model"`` imports the module and calls the
function.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.data.datasets import syn_medium, syn_small
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
from scansnap_core.files import Entry
from scansnap_core.rules import RATE, Rule, check_differ, checked_list, shown, whole
from scansnap_core.sweeps.defaults import DEFAULTS
from scansnap_core.sweeps.measures import Measure

EXAMPLE = "see the example that python -m pydoc scansnap_core.sweeps.grids shows"
REQUIRED = ("data", "rates", "steps", "seeds")
AXES = ("model", "optimizer", "seq_len", "batch_size")
SETTINGS = ("momentum", "initial", "rng", "dtype", "record", "measures")
MOST_SEEDS = 1_000_000
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
NUMBER_OF_SEEDS = whole(
    1, MOST_SEEDS, says=f"how many seeds (1 to {MOST_SEEDS}), or a list", remedy="write e.g. 10"
)

_SIZES = {"seq_len": 128, "batch_size": 128, "dtype": "float32"}
_SYN_MEDIUM: dict[str, Any] = {
    "data": ["syn_medium 1", "syn_medium 3", "syn_medium 5", "syn_medium 10"],
    "rates": {"lr_z": [0.5, 1.0, 2.0, 3.0], "ratio": [1, 2, 5, 10]},
    "steps": 100,
    "seeds": 10,
    "optimizer": "momentum",
    "momentum": 0.9,
    "initial": "random",
    **_SIZES,
    "rng": "counter",  # drawn fastest, and alike on any device
}
_PAIRS = {"pairs": [[0.1, 0.1], [0.5, 0.5], [1.0, 1.0]]}
NAMED: dict[str, dict[str, Any]] = {
    "fig5": {
        "data": ["syn_small"],
        "rates": _PAIRS,
        "steps": 100,
        "seeds": 20,
        "optimizer": "adam",
        **_SIZES,
    },
    **dict.fromkeys(("fig6", "fig11", "fig12"), _SYN_MEDIUM),
}
"""The paper's grids: Figs. 6, 11 and 12 read different measures off the same 640 runs. They name
their settings.
"""


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
            _check_axis(name, values)
        checked_rates(*zip(*self.rates, strict=True))
        checked_seeds(self.seeds)
        STARTS("initial", self.initial)
        _ = self._momentum
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
        """List the dimensions that all of a sweep's arrays have, with their values; model is one if
        it was given.
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


def load_grid(name: str, *, seeds: int | None = None, rng: str | None = None) -> Grid:
    """Load the grid of a figure, one of :data:`NAMED`, or of a YAML file.

    ``seeds``, how many from 1 on, and ``rng`` take the place of the grid's own.
    """
    changes = {key: value for key, value in (("seeds", seeds), ("rng", rng)) if value is not None}
    if name in NAMED:
        return grid_of(NAMED[name] | changes, Path())
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        rule = f"a grid is one of {', '.join(NAMED)}, or a .yaml file"
        raise BadInput(f"grid {path}", rule, f"correct the name; for a file of your own {EXAMPLE}")
    content = files.read(path, example=EXAMPLE)
    with nullcontext() if changes else files.inside(path):
        return grid_of(content | changes if isinstance(content, dict) else content, path.parent)


def grid_of(content: Any, folder: Path) -> Grid:
    """Make the grid that a mapping of keys to values describes; class files are looked for in
    ``folder``.
    """
    content = Entry(
        "a grid",
        content,
        (*REQUIRED, *AXES, *SETTINGS),
        required=REQUIRED,
        example=EXAMPLE,
    ).values
    optional = {key: content[key] for key in SETTINGS if key in content}
    optional |= {f"{key}s": tuple(_axis(content, key)) for key in AXES if key in content}
    if "measures" in optional:
        kept = optional["measures"]
        optional["measures"] = tuple(kept) if isinstance(kept, list) else (kept,)
    if "batch_sizes" in optional:
        optional["batch_sizes"] = tuple(
            None if size == "expectation" else size for size in optional["batch_sizes"]
        )
    return Grid(
        data={name: _classes(name, folder) for name in _axis(content, "data")},
        rates=_rates(content["rates"]),
        steps=content["steps"],
        seeds=_seeds(content["seeds"]),
        **optional,
    )


def _axis(content: dict[str, Any], key: str) -> list[Any]:
    values = content[key] if isinstance(content[key], list) else [content[key]]
    for value in values:
        if isinstance(value, list | dict) or value is None:
            raise BadInput(
                f"{key} = {shown(value)}", f"{key} is a value or a list of values", EXAMPLE
            )
    _check_axis(key, values)
    return values


def _check_axis(name: str, values: Sequence[Any]) -> None:
    Rule(bool, "an axis of a grid has at least one value", "give it one")(
        name, checked_list(name, values)
    )
    check_differ(name, values)


def _classes(name: Any, folder: Path) -> SequenceClasses:
    if name == "syn_small":
        return syn_small()
    if syn_medium_name := re.fullmatch(r"syn_medium (\d{1,20})", str(name)):
        return syn_medium(int(syn_medium_name[1]))
    if Path(str(name)).suffix not in files.KINDS:
        rule = (
            "data are syn_small, syn_medium m (with m query tokens), or a .yaml or .json file of "
            "classes"
        )
        raise BadInput(f"data = {shown(name)}", rule, "correct the name")
    return SequenceClasses.load(folder / name)


def _rates(content: Any) -> tuple[tuple[float, float], ...]:
    keys = set(content) if isinstance(content, dict) else set()
    if keys == {"pairs"}:
        pairs = checked_list("rates: pairs", content["pairs"])
        for pair in pairs:
            PAIR("a pair of rates", pair)
        points = [{"lr_y": lr_y, "lr_z": lr_z} for lr_y, lr_z in pairs]
    elif len(keys) == 2 and keys < {"lr_y", "lr_z", "ratio"}:
        axes = {key: _axis(content, key) for key in content}
        points = [
            dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())
        ]
    else:
        raise BadInput(
            f"rates = {shown(content)}", "rates has two of lr_y, lr_z and ratio, or pairs", EXAMPLE
        )
    for point in points:
        for name, value in point.items():
            RATE(name, value)
        if "lr_y" not in point:
            point["lr_y"] = point["lr_z"] * point["ratio"]
        if "lr_z" not in point:
            point["lr_z"] = point["lr_y"] / point["ratio"]
    return tuple((float(point["lr_y"]), float(point["lr_z"])) for point in points)


def _seeds(seeds: Any) -> tuple[int, ...]:
    if isinstance(seeds, list):
        return tuple(seeds)
    NUMBER_OF_SEEDS("seeds", seeds)
    return tuple(range(1, seeds + 1))
