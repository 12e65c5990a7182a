"""Labelled results in Zarr that survive a kill: written block by block, continued, and refused when they don't fit.

A store is a Zarr group that any reader of Zarr opens, with two files more: a lock, which the kernel frees when its
process dies, and a :class:`~scansnap_core.storage.journal.Journal`. The journal's first record holds the configuration
and the checksums of labels and metadata. Then comes one record a block with the checksums of its chunks, appended when
they are written. So a block is finished when its record is, and a block that was cut short is written again.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core.bad_input import BadInput
from scansnap_core.extras import needs
from scansnap_core.rules import as_path, is_whole, memory
from scansnap_core.storage.journal import Damaged, Journal

with needs("sweeps"):
    import zarr
    from filelock import FileLock, Timeout
    from zarr.errors import ZarrUserWarning

JOURNAL, LOCK = "blocks.journal", ".lock"
ANOTHER = "name another store"
UNREADABLE = (AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)
"""Zarr and xarray raise these at metadata that no store wrote."""
LONGEST_SHOWN = 60
LONGEST_NAME = 100  # characters of a file's name


@dataclass(frozen=True)
class Variable:
    """An array of a store: its dimensions, those that blocks divide first, its type and its attributes."""

    dims: tuple[str, ...]
    dtype: str
    attrs: Mapping[str, str]


@dataclass(frozen=True)
class Layout:
    """A layout says what a store holds, and in which blocks.

    Parameters
    ----------
    labels
        The coordinates, without data variables. All dimensions have their labels there.
    variables
        The arrays by name.
    block_sizes
        The dimensions that blocks divide, in order, and how many labels of each a block holds. Blocks are numbered in
        C order.
    """

    labels: xr.Dataset
    variables: Mapping[str, Variable]
    block_sizes: Mapping[str, int]

    @property
    def block_counts(self) -> tuple[int, ...]:
        """Count the blocks along each of the dimensions that blocks divide."""
        return tuple(-(-self.labels.sizes[dim] // size) for dim, size in self.block_sizes.items())

    @property
    def num_blocks(self) -> int:
        """Count the blocks."""
        return math.prod(self.block_counts)

    def position(self, block: int) -> tuple[int, ...]:
        """Find where a block stands along each of the dimensions that blocks divide."""
        return tuple(int(at) for at in np.unravel_index(block, self.block_counts))


class Store:
    """A store that is open for writing; :func:`writing` opens it."""

    def __init__(self, path: Path, layout: Layout, commit: str) -> None:
        self._path, self._layout, self._commit, self._journal = path, layout, commit, Journal(path / JOURNAL)
        # a block of NaN is on the disk too, so that every finished block has its chunks
        self._arrays = {
            name: zarr.open_array(path / name, mode="r+").with_config({"write_empty_chunks": True})
            for name in layout.variables
        }

    @property
    def finished(self) -> set[int]:
        """Return the numbers of the blocks that are written."""
        return {record["block"] for record in self._journal.records[1:]}

    def write(self, block: int, values: Mapping[str, np.ndarray]) -> None:
        """Write one block: its part of every array, then its record in the journal.

        Raises
        ------
        BadInput
            The disk is full, or the store can't be written. Finished blocks stay as they are.
        """
        sizes, position = self._layout.block_sizes.values(), self._layout.position(block)
        region = tuple(slice(at * size, (at + 1) * size) for at, size in zip(position, sizes, strict=True))
        checksums = {}
        try:
            for name, variable in self._layout.variables.items():
                self._arrays[name][region] = values[name]
                whole = (0,) * (len(variable.dims) - len(position))
                chunk = f"{name}/{'.'.join(map(str, position + whole))}"
                checksums[chunk] = _sha256(self._path / chunk)
            self._journal.append({"block": block, "commit": self._commit, "sha256": checksums})
        except OSError as error:
            raise BadInput(
                value=f"store {self._path}: {error.strerror or error}",
                rule="every block can be written",
                remedy="make room and give the same command again: the finished blocks stay",
            ) from None


@contextmanager
def writing(
    path: str | Path, layout: Layout, configuration: Mapping[str, Any], provenance: Mapping[str, str]
) -> Iterator[Store]:
    """Create a store, or go on with one of the same configuration, and hold its lock meanwhile.

    Parameters
    ----------
    path
        The folder.
    layout
        What it holds; the configuration decides it.
    configuration
        All that decides the results, as JSON values by name; ``code`` is a digest of the program.
    provenance
        Attributes that say where the results come from. A store keeps those it was created with; its journal keeps
        the ``commit`` of every block.

    Raises
    ------
    BadInput
        The path is no store, another process writes to it, it holds another configuration, or it was damaged. Nothing
        is changed then.
    """
    path = as_path("store", path)
    asked = json.loads(json.dumps(configuration))
    commit = provenance.get("commit", "")
    if path.exists():
        _check_is_store(path)
        with _locked(path, path):
            _check_continuable(path, layout, asked)
            yield Store(path, layout, commit)
        return
    staging = path.absolute().with_name(f".{path.absolute().name}.new")
    try:
        staging.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    with _locked(staging, path):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ZarrUserWarning)  # the lock isn't Zarr's
                _create(staging, layout, asked, provenance)
            staging.rename(path)  # the lock goes along
        except OSError as error:
            raise _unwritable(path, error) from None
        yield Store(path, layout, commit)


def read(path: str | Path) -> xr.Dataset:
    """Read a finished store into memory and compare it with its checksums. ``commit`` names all that wrote blocks.

    Raises
    ------
    BadInput
        The path is no store, or the store was damaged or isn't finished.
    """
    path = as_path("store", path)
    _check_is_store(path)
    journal = _checked(path)
    finished, num_blocks = len({record["block"] for record in journal.records[1:]}), journal.records[0]["num_blocks"]
    if finished < num_blocks:
        raise BadInput(
            value=f"store {path}: {finished} of {num_blocks} blocks",
            rule="a store is read when its blocks are finished",
            remedy="give the command that began it again",
        )
    result = _loaded(path)
    commits = dict.fromkeys(record["commit"] for record in journal.records[1:])
    return result.assign_attrs(commit=", ".join(commits)) if any(commits) else result


def _loaded(path: Path) -> xr.Dataset:
    """Load all arrays of a store whose checksums are right; its metadata may still be unreadable."""
    try:
        needed = sum(array.nbytes for _, array in zarr.open_group(path, mode="r").arrays())
        if needed <= memory():
            return xr.open_zarr(path, consolidated=True, chunks=None).load()
    except UNREADABLE as error:
        problem = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise _damaged(path, f"its arrays can't be read ({problem})") from None
    raise BadInput(
        value=f"store {path}: arrays of {needed:,} bytes",
        rule=f"all is held in memory, here {memory():,} bytes",
        remedy="open it with xarray.open_zarr and take a part, or restore a copy of it",
    )


def values(path: Path, name: str) -> np.ndarray:
    """Read one array of a store that this process has just written, without comparing checksums again."""
    return np.asarray(zarr.open_array(path / name, mode="r")[...])


def _check_is_store(path: Path) -> None:
    if not (path / JOURNAL).is_file():
        raise BadInput(value=f"{path}", rule=f"a store is a folder that holds {JOURNAL}", remedy=ANOTHER)


@contextmanager
def _locked(folder: Path, path: Path) -> Iterator[None]:
    try:
        lock = FileLock(folder / LOCK).acquire(blocking=False)
    except Timeout:
        raise BadInput(
            value=f"store {path}", rule="one process writes a store at a time", remedy=f"wait for it, or {ANOTHER}"
        ) from None
    except OSError as error:
        raise _unwritable(path, error) from None
    with lock:
        yield


def _create(folder: Path, layout: Layout, configuration: dict[str, Any], provenance: Mapping[str, str]) -> None:
    """Write all but the blocks. What a killed process left of an earlier attempt goes first."""
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != LOCK:
            entry.unlink()
    attrs = {**provenance, "configuration": json.dumps(configuration)}
    # format 2, because text labels and consolidated metadata aren't part of format 3's specification yet
    layout.labels.assign_attrs(attrs).to_zarr(folder, mode="a", consolidated=False, zarr_format=2)
    group = zarr.open_group(folder, mode="r+")
    for name, variable in layout.variables.items():
        sizes = layout.labels.sizes
        group.create_array(
            name,
            shape=tuple(sizes[dim] for dim in variable.dims),
            chunks=tuple(layout.block_sizes.get(dim, sizes[dim]) for dim in variable.dims),
            dtype=variable.dtype,
            fill_value=np.nan if np.dtype(variable.dtype).kind == "f" else None,
            attributes={**variable.attrs, "_ARRAY_DIMENSIONS": list(variable.dims)},
        )
    zarr.consolidate_metadata(folder)
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != LOCK)
    Journal(folder / JOURNAL).append(
        {
            "configuration": configuration,
            "num_blocks": layout.num_blocks,
            "sha256": {file.relative_to(folder).as_posix(): _sha256(file) for file in files},
        }
    )


def _check_continuable(path: Path, layout: Layout, asked: dict[str, Any]) -> None:
    journal = _checked(path)
    held = journal.records[0]["configuration"]
    for key in sorted(held.keys() | asked.keys()):
        if held.get(key) != asked.get(key):
            commit = zarr.open_group(path, mode="r").attrs.get("commit", "unknown")
            again = f", to the code of commit {commit} (the finished blocks stay)" if key == "code" else ""
            raise BadInput(
                value=f"store {path}: {key} = {_short(held.get(key))}, asked for is {_short(asked.get(key))}",
                rule="a store holds one configuration",
                remedy=f"give the command that began it{again}, or {ANOTHER}",
            )
    if journal.records[0]["num_blocks"] != layout.num_blocks:
        raise _damaged(path, f"{JOURNAL} doesn't count {layout.num_blocks} blocks")
    known = {file for record in journal.records for file in record["sha256"]}
    found = {file: file.relative_to(path).as_posix() for name in layout.variables for file in (path / name).iterdir()}
    partial = [file for file in found if file.suffix == ".partial"]
    unknown = [file.name for file, name in found.items() if name not in known and file not in partial]
    # a kill leaves at most one block without its record
    blocks = {tuple(name.split(".")[: len(layout.block_sizes)]) for name in unknown}
    if len(blocks) > 1:
        raise _damaged(path, f"{JOURNAL} lacks {len(blocks)} blocks whose chunks are there")
    for file in partial:
        file.unlink()


def _checked(path: Path) -> Journal:
    """Return the journal, after comparing every file that it names with its checksum."""
    try:
        journal = Journal(path / JOURNAL)
    except Damaged as error:
        raise _damaged(path, str(error)) from None
    if not journal.records:
        raise _damaged(path, f"{JOURNAL} has lost its beginning")
    for number, record in enumerate(journal.records, start=1):
        if not _is_record(record, None if number == 1 else journal.records[0]["num_blocks"]):
            raise _damaged(path, f"line {number} of {JOURNAL} is no record of a store")
        for file, checksum in record["sha256"].items():
            if not (path / file).is_file():
                raise _damaged(path, f"{file} is missing")
            if _sha256(path / file) != checksum:
                raise _damaged(path, f"{file} fails its checksum")
    return journal


def _is_record(record: dict[str, Any], num_blocks: int | None) -> bool:
    """Tell whether a record has the keys and types of a block's, or of the first one if ``num_blocks`` is None."""
    files = record.get("sha256")
    if not isinstance(files, dict) or not all(map(_is_inside, files)):
        return False
    if num_blocks is None:
        return isinstance(record.get("configuration"), dict) and is_whole(record.get("num_blocks"))
    block: Any = record.get("block")
    return is_whole(block) and 0 <= block < num_blocks and isinstance(record.get("commit"), str)


def _is_inside(file: str) -> bool:
    """Tell whether the name of a file may be one that a store wrote."""
    parts = file.split("/")
    return file.isprintable() and ".." not in parts and bool(parts[0]) and max(map(len, parts)) <= LONGEST_NAME


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def _damaged(path: Path, what: str) -> BadInput:
    return BadInput(
        value=f"store {path}: {what}", rule="a store is as it was written", remedy=f"restore a copy of it, or {ANOTHER}"
    )


def _unwritable(path: Path, error: OSError) -> BadInput:
    return BadInput(value=f"store {path}: {error.strerror or error}", rule="a store can be written", remedy=ANOTHER)
