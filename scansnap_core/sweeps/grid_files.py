"""Read a grid of runs from a YAML file, or by the name of one of the paper's figures.

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
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import Entry
from scansnap_core.base.rules import RATE, checked_list, shown, whole
from scansnap_core.data.datasets import syn_medium, syn_small
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.sweeps.grids import EXAMPLE, PAIR, Grid, check_axis

REQUIRED = ("data", "rates", "steps", "seeds")
AXES = ("model", "optimizer", "seq_len", "batch_size")
SETTINGS = ("momentum", "initial", "rng", "dtype", "record", "measures")
MOST_SEEDS = 1_000_000
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
    """Return a key's values, one or more of them: a single value is a list of one."""
    values = content[key] if isinstance(content[key], list) else [content[key]]
    for value in values:
        if isinstance(value, list | dict) or value is None:
            raise BadInput(
                f"{key} = {shown(value)}", f"{key} is a value or a list of values", EXAMPLE
            )
    check_axis(key, values)
    return values


def _classes(name: Any, folder: Path) -> SequenceClasses:
    """Make the class system of a name: one of the paper's, or that of a file in ``folder``."""
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
    """Return the pairs (eta_Y, eta_Z) of the key ``rates``.

    It has pairs, or two of eta_Y, eta_Z and their ratio eta_Y/eta_Z, all of which are combined.
    """
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
    """Return the seeds of a list, or as many as a number says, from 1 on."""
    if isinstance(seeds, list):
        return tuple(seeds)
    NUMBER_OF_SEEDS("seeds", seeds)
    return tuple(range(1, seeds + 1))
