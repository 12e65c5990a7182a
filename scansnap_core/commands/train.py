"""``scansnap train FILE`` and ``scansnap sweep GRID``: train on a user's classes, or a grid of
runs, and store it.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import MOST_VALUES
from scansnap_core.commands import CLASS_FILE, DEVICE, GOES_ON, REQUIRED, NewFile, command
from scansnap_core.commands.audit import listed
from scansnap_core.engine.names import MODELS, MOMENTUM, OPTIMIZERS
from scansnap_core.sweeps.defaults import in_a_line

if TYPE_CHECKING:
    import xarray as xr

    from scansnap_core.data.sequences import SequenceClasses

DONE = 0
DIVERGED = 1
BATCH_SIZE = 128
KEPT = {"command", "command_line", "when_stopped", "file", "out", "expectation"}
"""All options but these go to ``train`` by their names."""


@command(
    "train",
    "train on a class system and store the runs",
    CLASS_FILE,
    ("--lr-y RATE...", float, "eta_Y, one or several", REQUIRED),
    ("--lr-z RATE...", float, "eta_Z, paired with them", REQUIRED),
    ("--steps N", int, "updates to make", REQUIRED),
    ("--out FILE", Path, "the NetCDF file to write", REQUIRED),
    ("--seeds LIST", str, "such as 0,1,2 or 0-9", "0"),
    ("--batch-size B", int, f"samples an update (default: {BATCH_SIZE})"),
    ("--expectation", bool, "the expected gradient in place of batches (with --seq-len inf)"),
    ("--seq-len T", float, "tokens with the query, or inf", 128),
    (
        "--optimizer NAME",
        str,
        f"{', '.join(OPTIMIZERS)}, or module:class such as torch.optim:AdamW",
        "sgd",
    ),
    ("--model NAME", str, f"{', '.join(MODELS)} with a number H or W, or module:function", "plain"),
    ("--momentum MU", float, f"of the optimizer momentum (default: {MOMENTUM})"),
    ("--initial NAME", str, "zero or random", "zero"),
    ("--record N", int, "keep Y and Z every N steps (default: start and end)"),
    ("--rng NAME", str, "fresh, replay or counter", "fresh"),
    DEVICE,
    ("--dtype NAME", str, "float64 or float32", "float64"),
)
def run(options: argparse.Namespace) -> int:
    """Train the 1-layer transformer on a class system and store the runs as NetCDF; 1 if a run
    diverged.
    """
    from scansnap_core.data.sequences import SequenceClasses

    classes = SequenceClasses.load(options.file)
    seeds = _seeds(options.seeds)
    if options.expectation and options.batch_size is not None:
        rule = "the expected gradient takes no batches"
        remedy = "leave one of the two out"
        raise BadInput(f"--batch-size {options.batch_size} with --expectation", rule, remedy)
    batch_size = BATCH_SIZE if options.batch_size is None else options.batch_size
    out = NewFile(options)

    from scansnap_core.engine.training import TrainingDiverged, train

    asked = {name: value for name, value in vars(options).items() if name not in KEPT}
    asked |= {"seeds": seeds, "batch_size": None if options.expectation else batch_size}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TrainingDiverged)
        result = train(classes, **asked, progress=True)
    out.store(result)

    lines, undefined = _summary(result, classes)
    print(lines)
    print(f"stored in {options.out}")
    for warning in caught:
        print(f"scansnap: {warning.message}", file=sys.stderr)
    if undefined:
        print(
            f"scansnap: no entropy of {undefined} runs: no attention is left on distinct tokens",
            file=sys.stderr,
        )
    return DIVERGED if undefined or (result.diverged_at >= 0).any() else DONE


@command(
    "sweep",
    "train a grid of runs and store their results",
    (
        "GRID",
        str,
        f"fig5, fig6, fig11, fig12, or a .yaml file, which says otherwise or has {in_a_line()}",
    ),
    ("--out STORE", Path, "the folder to write, such as fig6.zarr", REQUIRED),
    ("--seeds N", int, "seeds 1 to N, in place of the grid's"),
    ("--rng NAME", str, "fresh, replay or counter, in place of the grid's"),
    DEVICE,
    ("--scheduler ADDRESS", str, "a Dask scheduler, such as tcp://host:8786"),
    when_stopped=GOES_ON,
)
def sweep(options: argparse.Namespace) -> int:
    """Train a grid of runs and store their results as Zarr; interrupted, the same command goes on
    where it was.
    """
    import xarray as xr

    from scansnap_core.sweeps.grid_files import load_grid
    from scansnap_core.sweeps.running import run as run_grid

    grid = load_grid(options.grid, seeds=options.seeds, rng=options.rng)
    how = {
        "device": options.device,
        "scheduler": options.scheduler,
        "command": options.command_line,
    }
    run_grid(grid, options.out, **how, progress=True)
    diverged = int(
        (xr.open_zarr(options.out, consolidated=True, chunks=None).diverged_at >= 0).sum()
    )
    print(f"{grid.num_runs} runs stored in {options.out}")
    if diverged:
        print(
            f"scansnap: {diverged} of them turned NaN: diverged_at says when; use smaller rates",
            file=sys.stderr,
        )
    return DIVERGED if diverged else DONE


def _seeds(text: str) -> list[int]:
    """Read the option's text, such as "0,1,2" or "0-9" or both, as a list of seeds; BadInput if it
    is none, or a list too long.
    """
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        rule = "seeds are integers or ascending ranges"
        if match is None:
            raise BadInput(f"--seeds {text}", rule, "pass e.g. 0,1,2 or 0-9")
        first = int(match[1])
        last = int(match[2] or match[1])
        if first > last:
            raise BadInput(f"--seeds {text}", rule, "pass e.g. 0,1,2 or 0-9")
        if len(seeds) + last - first >= MOST_VALUES:
            raise BadInput(
                f"--seeds {text}",
                f"there are at most {MOST_VALUES:,} of them",
                "use several trainings",
            )
        seeds += range(first, last + 1)
    return seeds


def _summary(result: xr.Dataset, classes: SequenceClasses) -> tuple[str, int]:
    """Write a line for each run, with its final loss and the entropy of attention by class at the
    end, in nats; and count the runs that didn't diverge and have no entropy.
    """
    import numpy as np

    from scansnap_core.theory import measures

    with np.errstate(invalid="ignore"):  # a diverged run has no attention
        attention = measures.attention(result.Z.isel(recorded=-1), classes)
        entropy = measures.entropy(attention, classes)
    own = [n for n in range(classes.num_classes) if len(classes.distinct_tokens(n))]
    entropy = entropy.isel({"class": own})
    undefined = int(
        (
            entropy.isnull().any(set(entropy.dims) - {"seed", "rate"}) & (result.diverged_at < 0)
        ).sum()
    )
    which = "head and " * ("head" in entropy.dims) + "class"
    which += "" if len(own) == classes.num_classes else f" that has any ({listed(own)})"
    lines = [
        f"final loss, and by {which} the entropy of attention over its distinct tokens, in nats"
    ]
    for seed in range(result.sizes["seed"]):
        for rate in range(result.sizes["rate"]):
            one = result.isel(seed=seed, rate=rate)
            name = f"seed {int(one.seed)}, lr_y {float(one.lr_y):g}, lr_z {float(one.lr_z):g}"
            loss = float(one.loss.isel(step=-1)) + 0.0  # shows -0 as 0
            lines.append(
                f"{name}: {loss:.4g}; {listed(entropy.isel(seed=seed, rate=rate).values.ravel())}"
            )
    return "\n".join(lines), undefined
