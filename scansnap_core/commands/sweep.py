"""``scansnap sweep GRID --out STORE``: train a grid of runs into a Zarr store, continued where it was."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

SWEPT, DIVERGED = 0, 1


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "sweep",
        help="train a grid of runs and store their results",
        description="Train a grid of runs and store their results as labelled Zarr. Interrupted or killed, the same "
        "command goes on where it was.",
    )
    parser.add_argument("grid", metavar="GRID", help="fig5, fig6, fig11, fig12, or a .yaml file")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="STORE", help="the folder to write, such as fig6.zarr"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds 1 to N, in place of the grid's")
    parser.add_argument("--rng", metavar="NAME", help="fresh, replay or counter, in place of the grid's")
    parser.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu or cuda (default: auto)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Sweep, and say what was found; 1 if runs diverged."""
    from scansnap_core.storage.store import values
    from scansnap_core.sweeps.grids import load_grid
    from scansnap_core.sweeps.running import run as run_grid

    grid = load_grid(options.grid, seeds=options.seeds, rng=options.rng)
    run_grid(
        grid,
        options.out,
        device=options.device,
        scheduler=options.scheduler,
        command=options.command_line,
        progress=True,
    )
    diverged = int((values(options.out, "diverged_at") >= 0).sum())
    print(f"{grid.num_runs} runs stored in {options.out}")
    if diverged:
        print(f"scansnap: {diverged} of them turned NaN: diverged_at says when; use smaller rates", file=sys.stderr)
    return DIVERGED if diverged else SWEPT
