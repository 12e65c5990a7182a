"""Run a grid's blocks, here or on a Dask cluster, into a store."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import xarray as xr

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.base.progress import progress_bar
from scansnap_core.base.rules import FLAG, PATH, Rule, takes
from scansnap_core.engine.compiled import num_threads
from scansnap_core.engine.settings import checked_device
from scansnap_core.storage.provenance import program, provenance
from scansnap_core.storage.store import writing
from scansnap_core.sweeps.blocks import Block, blocks, layout_of, placed
from scansnap_core.sweeps.grids import Grid

CONNECT_SECONDS = 20

Results = Iterator[tuple[Block, dict[str, xr.DataArray]]]
GRID = Rule(
    lambda value: isinstance(value, Grid),
    "a sweep runs a Grid",
    "load one with load_grid('my.yaml')",
)


@takes(grid=GRID, out=PATH, progress=FLAG)
def run(
    grid: Grid,
    out: str | Path,
    *,
    device: str = "auto",
    scheduler: str | None = None,
    command: str = "",
    progress: bool = False,
) -> None:
    """Run what a store still lacks of a grid.

    Parameters
    ----------
    grid
        The runs.
    out
        The store, new or begun by the same configuration. Only this process writes to it.
    device
        "auto" (a GPU where this process finds one; on a cluster the CPU), "cpu" or "cuda".
    scheduler
        The address of a Dask scheduler, such as ``tcp://host:8786``; without it everything is
        computed here.
    command
        What is recorded as having been run.
    progress
        Show a progress bar in a terminal or a notebook; elsewhere print a line a minute to standard
        error.

    Raises
    ------
    BadInput
        The store isn't one of this grid (see :func:`scansnap_core.storage.store.writing`), the disk
        doesn't hold the runs, the device or scheduler isn't there.
    """
    out = Path(out)
    if scheduler is not None and device == "auto":
        device = "cpu"
    if scheduler is not None and progress:
        print(
            f"scansnap: waiting up to {CONNECT_SECONDS} s for a Dask scheduler at {scheduler}",
            file=sys.stderr,
        )
    if scheduler is None or device != "cuda":  # whether workers have a GPU, they say
        device = checked_device(device)
    layout = layout_of(grid)
    free = shutil.disk_usage(
        next(parent for parent in out.absolute().parents if parent.exists())
    ).free
    if not out.exists() and layout.num_bytes > free:
        value = f"{grid.num_runs:,} runs, up to {layout.num_bytes / 1e6:,.2f} MB"
        rule = f"the disk of {out} holds them"
        raise BadInput(
            value, f"{rule}: {free / 1e6:,.2f} MB are free", "take fewer runs, or another disk"
        )
    configuration = grid.configuration() | program() | {"device": device}
    with writing(out, layout, configuration, provenance(command)) as store:
        finished = store.finished
        done = sum(block.num_runs for block in blocks(grid, device) if block.number in finished)
        left = (block for block in blocks(grid, device) if block.number not in finished)
        with progress_bar(None, progress, total=grid.num_runs, initial=done, unit="run") as bar:
            for block, values in (
                _in_this_process(left) if scheduler is None else _on_cluster(left, scheduler)
            ):
                store.write(block.number, placed(values, layout))
                bar.update(block.num_runs)


def _in_this_process(blocks: Iterator[Block]) -> Results:
    """Compute blocks one after the other in this process; threads share a block's rates."""
    with ThreadPoolExecutor(num_threads()) as threads:
        for block in blocks:
            yield block, block.compute(threads)


def _on_cluster(blocks: Iterator[Block], scheduler: str) -> Results:
    """Compute blocks on the workers of a Dask scheduler, and yield each as it comes back.

    An address at which none answers, or one that goes away, is :class:`BadInput`.
    """
    with needs("cluster"):
        from distributed import CancelledError, Client, KilledWorker, as_completed
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        remedy = "start it with dask scheduler, and workers with dask worker ADDRESS"
        raise BadInput(
            f"scheduler {scheduler}: {error}", "a Dask scheduler answers at the address", remedy
        ) from None
    with client:
        expected = program()
        given = {client.submit(compute_as, expected, block, pure=False): block for block in blocks}
        for future in as_completed(given, loop=client.loop):
            try:
                values = future.result()
            except (CancelledError, KilledWorker) as error:
                rule = "scheduler and workers live until the sweep is done"
                remedy = (
                    "look at their logs and give the same command again: the finished blocks stay"
                )
                raise BadInput(f"scheduler {scheduler}: {error}", rule, remedy) from None
            yield given.pop(future), values


def compute_as(expected: dict[str, str], block: Block) -> dict[str, xr.DataArray]:
    """Compute a block on a worker: :class:`BadInput` unless the worker runs the program that the
    store names.
    """
    for name, version in program().items():
        if version != expected[name]:
            rule = f"workers run the program of the store, here {expected[name]}"
            raise BadInput(
                f"a worker with {name} {version}",
                rule,
                "install the same on all, and start them anew",
            )
    return block.compute()
