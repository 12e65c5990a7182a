"""A small store without any training, run as a program so that it can be killed: ``python -m tests.sweeps.stores``.

It writes twelve blocks of numbers that depend on the block alone, prints a line for each that it computes, and kills
itself at the place that it is told.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from scansnap_core.storage import store
from scansnap_core.storage.journal import Journal
from scansnap_core.storage.store import Layout, Variable, writing

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


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_creation() -> None:
    def create_and_die(*arguments: Any) -> None:
        create(*arguments)
        die()

    create = store._create
    patch(store, "_create", create_and_die)


def die_in_the_middle_of_creation() -> None:
    def open_and_die(*_: Any, **__: Any) -> None:
        die()

    patch(zarr, "open_group", open_and_die)


def die_between_chunks() -> None:
    def hash_and_die(file: Path) -> str:
        if file.parent.name == "entropy" and file.name == "0.5.0.0":
            die()
        return sha256(file)

    sha256 = store._sha256
    patch(store, "_sha256", hash_and_die)


def die_in_a_chunk() -> None:
    def hash_and_die(file: Path) -> str:
        if file.parent.name == "entropy" and file.name == "0.5.0.0":
            file.rename(file.with_suffix(".1234.partial"))
            die()
        return sha256(file)

    sha256 = store._sha256
    patch(store, "_sha256", hash_and_die)


def die_in_a_record() -> None:
    def append_half_and_die(self: Journal, record: dict[str, Any]) -> None:
        append(self, record)
        if record.get("block") == 5:
            content = self._path.read_bytes()
            self._path.write_bytes(content[:-40])
            die()

    append = Journal.append
    patch(Journal, "append", append_half_and_die)


def die_after_a_record() -> None:
    def append_and_die(self: Journal, record: dict[str, Any]) -> None:
        append(self, record)
        if record.get("block") == 5:
            die()

    append = Journal.append
    patch(Journal, "append", append_and_die)


def patch(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)


PLACES = {
    "creation": die_in_creation,
    "middle of creation": die_in_the_middle_of_creation,
    "chunk": die_in_a_chunk,
    "between chunks": die_between_chunks,
    "record": die_in_a_record,
    "after a record": die_after_a_record,
}


def files(path: Path) -> dict[str, bytes]:
    """Every file of a folder and what it holds."""
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


if __name__ == "__main__":
    PLACES[sys.argv[2]]()
    fill(Path(sys.argv[1]))
