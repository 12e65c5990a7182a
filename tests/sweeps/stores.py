"""A small store without any training, run as a program so that it can be killed: ``python -m tests.sweeps.stores``.

It writes twelve blocks of numbers that depend on the block alone, prints a line for each that it computes, and kills
itself at the place that it is told.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from scansnap_core.storage import store
from scansnap_core.storage.store import Journal, Layout, Variable, writing

LABELS = xr.Dataset(
    coords={"data": ["a", "b"], "seed": np.arange(6), "class": np.arange(3), "lr_y": ("rate", [0.5, 1])}
)
LAYOUT = Layout(
    labels=LABELS,
    variables={
        "entropy": Variable(("data", "seed", "rate", "class"), "float32", {"units": "nats"}),
        "diverged_at": Variable(("data", "seed", "rate"), "int64", {"units": "steps"}),
    },
    block_sizes={"data": 1, "seed": 1, "rate": 2},
)
CONFIGURATION: dict[str, Any] = {"lr_y": [0.5, 1], "steps": 100, "data": {"a": "1", "b": "2"}, "rng": "fresh"}
PROVENANCE = {"command": "scansnap sweep", "commit": "abc"}


def never(*_: Any) -> bool:
    return False


def values(block: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([seed, block])
    entropy = rng.normal(size=(1, 1, 2, 3)).astype(np.float32)
    # a block of nothing but fill values must be on the disk too
    return {
        "entropy": np.full_like(entropy, np.nan) if block == 7 else entropy,
        "diverged_at": rng.integers(-1, 9, size=(1, 1, 2)),
    }


def fill(path: Path, seed: int = 0, configuration: dict[str, Any] = CONFIGURATION, limit: int = 99) -> list[int]:
    """Write what the store lacks, up to a number of blocks, and return which were computed."""
    computed = []
    with writing(path, LAYOUT, configuration, PROVENANCE) as target:
        for block in [block for block in range(LAYOUT.num_blocks) if block not in target.finished][:limit]:
            print(block, flush=True)
            computed.append(block)
            target.write(block, values(block, seed))
    return computed


def dies(owner: Any, name: str, before: Callable[..., bool] = never, after: Callable[..., bool] = never) -> None:
    """Let a function kill the process before or after a call for which that holds."""
    whole = getattr(owner, name)

    def mortal(*arguments: Any, **more: Any) -> Any:
        if before(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        found = whole(*arguments, **more)
        if after(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, mortal)


def at_a_chunk(file: Path) -> bool:
    return file.parent.name == "entropy" and file.name == "0.5.0.0"


def in_a_chunk(file: Path) -> bool:
    return at_a_chunk(file) and file.rename(file.with_suffix(".1234.partial")).exists()


def at_a_record(journal: Journal, record: dict[str, Any]) -> bool:
    return record.get("block") == 5


def in_a_record(journal: Journal, record: dict[str, Any]) -> bool:
    return at_a_record(journal, record) and journal._path.write_bytes(journal._path.read_bytes()[:-40]) > 0


PLACES: dict[str, Callable[[], None]] = {
    "creation": lambda: dies(store, "_create", after=lambda *_: True),
    "middle of creation": lambda: dies(zarr, "open_group", before=lambda *_: True),
    "chunk": lambda: dies(store, "_sha256", before=in_a_chunk),
    "between chunks": lambda: dies(store, "_sha256", before=at_a_chunk),
    "record": lambda: dies(Journal, "append", after=in_a_record),
    "after a record": lambda: dies(Journal, "append", after=at_a_record),
}


def files(path: Path) -> dict[str, bytes]:
    """Every file of a folder and what it holds."""
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


if __name__ == "__main__":
    PLACES[sys.argv[2]]()
    fill(Path(sys.argv[1]))
