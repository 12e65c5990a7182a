"""Run a grid's blocks, here or on a Dask cluster, into a store."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import xarray as xr

from scansnap_core.bad_input import BadInput
from scansnap_core.engine.arguments import checked_device
from scansnap_core.engine.compiled import num_threads
from scansnap_core.extras import needs
from scansnap_core.progress import progress_bar
from scansnap_core.rules import FLAG, as_path, shown
from scansnap_core.storage.provenance import program, provenance
from scansnap_core.storage.store import Layout, writing
from scansnap_core.sweeps.blocks import Block, blocks, layout_of, num_bytes, placed
from scansnap_core.sweeps.grids import Grid

AHEAD = 1000
"""A cluster is given so many blocks before the first of them comes back."""
AT_ONCE = 3
"""So many blocks are computed at a time here."""
CONNECT_SECONDS = 20

Results = Iterator[tuple[Block, dict[str, xr.DataArray]]]


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
        The address of a Dask scheduler, such as ``tcp://host:8786``; without it everything is computed here.
    command
        What is recorded as having been run.
    progress
        Show a progress bar, where there is a terminal or a notebook to show it in.

    Raises
    ------
    BadInput
        No grid; the store isn't one of this grid (see :func:`scansnap_core.storage.store.writing`), the disk doesn't
        hold the runs, the device or scheduler isn't there.
    """
    if not isinstance(grid, Grid):
        raise BadInput(f"grid = {shown(grid)}", "a sweep runs a Grid", "make one, or load it with load_grid('my.yaml')")
    out = as_path("out", out)
    FLAG("progress", progress)
    if scheduler is not None and device == "auto":
        device = "cpu"
    if scheduler is not None and progress:
        print(f"scansnap: waiting up to {CONNECT_SECONDS} s for a Dask scheduler at {scheduler}", file=sys.stderr)
    if scheduler is None or device != "cuda":  # whether workers have a GPU, they say
        device = checked_device(device)
    layout = layout_of(grid)
    if not out.exists():
        _check_room(out, grid, layout, share=1.0)
    configuration = grid.configuration() | program(Block.__module__) | {"device": device}
    with writing(out, layout, configuration, provenance(command)) as store:
        finished = store.finished
        _check_room(out, grid, layout, share=1 - len(finished) / layout.num_blocks)
        done = sum(block.num_runs for block in blocks(grid, device) if block.number in finished)
        left = (block for block in blocks(grid, device) if block.number not in finished)
        with progress_bar(None, progress, total=grid.num_runs, initial=done, unit="run") as bar:
            for block, values in _here(left) if scheduler is None else _on_cluster(left, scheduler):
                store.write(block.number, placed(values, layout))
                bar.update(block.num_runs)


def _check_room(out: Path, grid: Grid, layout: Layout, share: float) -> None:
    needed = share * num_bytes(grid, layout)
    folder = next(parent for parent in out.absolute().parents if parent.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise BadInput(
            value=f"{grid.num_runs:,} runs, up to {needed / 1e6:,.2f} MB",
            rule=f"the disk of {out} holds them: {free / 1e6:,.2f} MB are free",
            remedy="take fewer runs, or another disk",
        )


def _here(blocks: Iterator[Block]) -> Results:
    """Compute some blocks at a time: while one trains, another is measured. Their rates share the threads."""
    with ThreadPoolExecutor(AT_ONCE) as conductors, ThreadPoolExecutor(num_threads()) as threads:
        begun: deque[tuple[Block, Future[dict[str, xr.DataArray]] | None]] = deque()
        try:
            for block in itertools.chain(blocks, itertools.repeat(None, AT_ONCE)):
                if block is not None:  # PyTorch shares out its work itself
                    begun.append((block, conductors.submit(block.compute, threads) if block.is_compiled else None))
                if begun and (block is None or len(begun) > AT_ONCE):
                    first, values = begun.popleft()
                    yield first, first.compute() if values is None else values.result()
        finally:  # whoever interrupts waits for no more than what a thread is at
            threads.shutdown(wait=False, cancel_futures=True)
            conductors.shutdown(wait=False, cancel_futures=True)


def _on_cluster(blocks: Iterator[Block], scheduler: str) -> Results:
    with needs("cluster"):
        from distributed import CancelledError, Client, KilledWorker, as_completed
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BadInput(
            value=f"scheduler {scheduler}: {error}",
            rule="a Dask scheduler answers at the address",
            remedy="start it with dask scheduler, and workers with dask worker ADDRESS",
        ) from None
    expected = program(Block.__module__)
    with client:
        given = {}
        futures = as_completed(loop=client.loop)
        for block in itertools.islice(blocks, AHEAD):
            future = client.submit(compute_as, expected, block, pure=False)
            given[future.key] = block
            futures.add(future)
        for future in futures:
            try:
                values = future.result()
            except (CancelledError, KilledWorker) as error:
                raise BadInput(
                    value=f"scheduler {scheduler}: {error}",
                    rule="scheduler and workers live until the sweep is done",
                    remedy="look at their logs and give the same command again: the finished blocks stay",
                ) from None
            yield given.pop(future.key), values
            for block in itertools.islice(blocks, 1):
                future = client.submit(compute_as, expected, block, pure=False)
                given[future.key] = block
                futures.add(future)


def compute_as(expected: dict[str, str], block: Block) -> dict[str, xr.DataArray]:
    """Compute a block on a worker, if the worker runs the program that the store names.

    Raises
    ------
    BadInput
        It has other versions, or other code.
    """
    for name, version in program(Block.__module__).items():
        if version != expected[name]:
            raise BadInput(
                value=f"a worker with {name} {version}",
                rule=f"workers run the program of the store, here {expected[name]}",
                remedy="install the same on all of them, and start them anew",
            )
    return block.compute()
