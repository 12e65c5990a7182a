"""Grids as YAML files, and those of the paper by name.

::

    data: [syn_small, syn_medium 3, two_topics.yaml]   # m = 3 query tokens; a file of classes beside this one
    rates: {lr_z: [0.5, 1], ratio: [1, 2, 5]}          # a product of two of lr_y, lr_z and ratio = lr_y/lr_z
    # rates: {pairs: [[1, 1], [10, 1]]}                # or pairs [lr_y, lr_z]
    steps: 100
    seeds: 10                                          # 1..10, or a list
    optimizer: [sgd, momentum, adam]                   # from here on optional: a value, or a list as an axis
    seq_len: [32, 128]
    batch_size: 128                                    # or expectation, with seq_len: .inf
    momentum: 0.9
    initial: zero                                      # or random
    rng: fresh                                         # or replay, or counter
    dtype: float32                                     # or float64
    model: [plain, residual, "my_module:my_model"]     # an axis of variants; optimizers may be named like this too
    measures: [entropy, {name: recall, threshold: [0.1, 0.2]}, "my_module:my_measure"]
    record: 10                                         # take them every 10 steps, not at the end alone
"""

from __future__ import annotations

import itertools
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.data.class_files import load_classes
from scansnap_core.data.datasets import syn_medium, syn_small
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.rules import RATE, shown
from scansnap_core.sweeps.blocks import layout_of
from scansnap_core.sweeps.grids import Grid, check_axis

EXAMPLE = "see the example that python -m pydoc scansnap_core.sweeps.grid_files shows"
REQUIRED = ("data", "rates", "steps", "seeds")
AXES = ("model", "optimizer", "seq_len", "batch_size")
MOST_SEEDS = 1_000_000
SETTINGS = ("momentum", "initial", "rng", "dtype", "record")

_SYN_MEDIUM: dict[str, Any] = {
    "data": ["syn_medium 1", "syn_medium 3", "syn_medium 5", "syn_medium 10"],
    "rates": {"lr_z": [0.5, 1.0, 2.0, 3.0], "ratio": [1, 2, 5, 10]},
    "steps": 100,
    "seeds": 10,
    "optimizer": "momentum",
    "initial": "random",
    "rng": "counter",  # drawn fastest, and alike on any device
}
NAMED: dict[str, dict[str, Any]] = {
    "fig5": {
        "data": ["syn_small"],
        "rates": {"pairs": [[0.1, 0.1], [0.5, 0.5], [1.0, 1.0]]},
        "steps": 100,
        "seeds": 20,
        "optimizer": "adam",
    },
    "fig6": _SYN_MEDIUM,
    "fig11": _SYN_MEDIUM,
    "fig12": _SYN_MEDIUM,
}
"""The paper's grids: Figs. 6, 11 and 12 read different measures off the same 640 runs."""


def load_grid(name: str, *, seeds: int | None = None, rng: str | None = None) -> Grid:
    """Load the grid of a figure, such as ``fig6``, or of a YAML file.

    Parameters
    ----------
    name
        One of :data:`NAMED`, or the path of a file.
    seeds, rng
        In place of the grid's own: how many seeds from 1 on, and "fresh", "replay" or "counter".

    Raises
    ------
    BadInput
        The file can't be read, or doesn't describe a grid that can be run and measures that can be taken.
    """
    content = NAMED[name] if name in NAMED else _parsed(Path(name))
    changes = {key: value for key, value in (("seeds", seeds), ("rng", rng)) if value is not None}
    folder = Path() if name in NAMED else Path(name).parent
    with nullcontext() if name in NAMED or changes else files.inside(Path(name)):
        grid = grid_of({**content, **changes}, folder)
    if name not in NAMED:
        with files.inside(Path(name)):
            layout_of(grid)  # tries its measures
    return grid


def grid_of(content: dict[str, Any], folder: Path) -> Grid:
    """Make the grid that a mapping of keys to values describes; class files are looked for in ``folder``."""
    known = (*REQUIRED, *AXES, *SETTINGS, "measures")
    for key in content:
        if key not in known:
            raise BadInput(value=f"key {key!r}", rule=f"the known keys are {', '.join(known)}", remedy="correct it")
    for key in REQUIRED:
        if key not in content:
            raise BadInput(value=f"no key {key!r}", rule=f"a grid has {', '.join(REQUIRED)}", remedy=EXAMPLE)
    names = _axis(content, "data")
    optional: dict[str, Any] = {key: content[key] for key in SETTINGS if key in content}
    optional |= {f"{key}s": tuple(_axis(content, key)) for key in AXES if key in content}
    if "measures" in content:
        listed = content["measures"] if isinstance(content["measures"], list) else [content["measures"]]
        optional["measures"] = tuple(listed)
    if "batch_sizes" in optional:
        sizes = optional["batch_sizes"]
        optional["batch_sizes"] = tuple(None if size == "expectation" else size for size in sizes)
    return Grid(
        data={name: _classes(name, folder) for name in names},
        rates=_rates(content["rates"]),
        steps=content["steps"],
        seeds=_seeds(content["seeds"]),
        **optional,
    )


def _parsed(path: Path) -> dict[str, Any]:
    if path.suffix not in {".yaml", ".yml"}:
        raise BadInput(
            value=f"grid {path}",
            rule=f"a grid is one of {', '.join(NAMED)}, or a .yaml file",
            remedy=f"correct the name; for a file of your own {EXAMPLE}",
        )
    content = files.read(path, example=EXAMPLE)
    if not isinstance(content, dict):
        raise BadInput(value=f"file {path}: {shown(content)}", rule="a mapping of keys to values", remedy=EXAMPLE)
    return content


def _axis(content: dict[str, Any], key: str) -> list[Any]:
    values = content[key] if isinstance(content[key], list) else [content[key]]
    for value in values:
        if isinstance(value, list | dict) or value is None:
            raise BadInput(
                value=f"{key} = {shown(value)}", rule=f"{key} is a value or a list of values", remedy=EXAMPLE
            )
    check_axis(key, values)
    return values


def _classes(name: Any, folder: Path) -> SequenceClasses:
    if name == "syn_small":
        return syn_small()
    syn_medium_name = re.fullmatch(r"syn_medium (\d{1,20})", str(name))
    if syn_medium_name:
        return syn_medium(int(syn_medium_name[1]))
    if Path(str(name)).suffix not in {".yaml", ".yml", ".json"}:
        raise BadInput(
            value=f"data = {shown(name)}",
            rule="data are syn_small, syn_medium m (with m query tokens), or a .yaml or .json file of classes",
            remedy="correct the name",
        )
    return load_classes(folder / name)


def _rates(content: Any) -> tuple[tuple[float, float], ...]:
    keys = set(content) if isinstance(content, dict) else set()
    if keys == {"pairs"}:
        pairs = content["pairs"]
        if not isinstance(pairs, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
            raise BadInput(
                value=f"rates: pairs = {shown(pairs)}", rule="pairs is a list of [lr_y, lr_z]", remedy=EXAMPLE
            )
        for pair in pairs:
            _check_rates(lr_y=pair[:1], lr_z=pair[1:])
        return tuple((float(lr_y), float(lr_z)) for lr_y, lr_z in pairs)
    if len(keys) != 2 or not keys < {"lr_y", "lr_z", "ratio"}:
        raise BadInput(
            value=f"rates = {shown(content)}", rule="rates has two of lr_y, lr_z and ratio, or pairs", remedy=EXAMPLE
        )
    axes = {key: _axis(content, key) for key in content}
    _check_rates(**axes)
    points = [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]
    for point in points:
        if "lr_y" not in point:
            point["lr_y"] = point["lr_z"] * point["ratio"]
        if "lr_z" not in point:
            point["lr_z"] = point["lr_y"] / point["ratio"]
    return tuple((float(point["lr_y"]), float(point["lr_z"])) for point in points)


def _check_rates(**axes: list[Any]) -> None:
    for name, values in axes.items():
        for value in values:
            RATE(name, value)


def _seeds(seeds: Any) -> tuple[int, ...]:
    if isinstance(seeds, list):
        return tuple(seeds)
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= MOST_SEEDS:
        raise BadInput(
            value=f"seeds = {shown(seeds)}",
            rule=f"how many seeds (1 to {MOST_SEEDS}), or a list",
            remedy="write e.g. 10",
        )
    return tuple(range(1, seeds + 1))
