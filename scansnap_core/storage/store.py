"""Labelled results in Zarr that survive a kill: written block by block, continued, and refused when
they don't fit.

A store is a Zarr group that any reader of Zarr opens, with two files more: a lock, which the kernel
frees when its process dies, and a :class:`Journal`. The journal's first record holds the
configuration and the checksums of labels and metadata. Then comes one record a block with the
checksums of its chunks, appended when they are written. So a block is finished when its record is,
and a block that was cut short is written again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.base.rules import PATH, memory, shown

with needs("sweeps"):
    import zarr
    from filelock import FileLock, Timeout
    from zarr.abc.buffer import Buffer
    from zarr.errors import ZarrUserWarning
    from zarr.storage import LocalStore

JOURNAL = "blocks.journal"
LOCK = ".lock"
ANOTHER = "name another store"
FILE_SYSTEM_BLOCK = 4096
"""The least number of bytes that a file takes on a disk."""


class Journal:
    """Records, one a line: the CRC-32 of the JSON in hexadecimal, then the JSON.

    A record counts from the moment its line is complete. So a process killed while it writes one
    leaves the journal as it was before, and the next one to append cuts the torn line off. A
    complete line that isn't what was written raises ValueError.
    """

    def __init__(self, path: Path) -> None:
        """Read the records of a file, or begin with none; a last line without an end doesn't
        count.
        """
        content = path.read_bytes() if path.exists() else b""
        self._path = path
        self._size = content.rfind(b"\n") + 1
        self.records: list[dict[str, Any]] = []
        for number, line in enumerate(content[: self._size].splitlines(), start=1):
            checksum, _, text = line.partition(b" ")
            if checksum != _crc(text):
                raise ValueError(f"line {number} of {path.name} fails its checksum")
            self.records.append(json.loads(text))

    def append(self, record: dict[str, Any]) -> None:
        """Add a record, whole or not at all: OSError on a full disk."""
        text = json.dumps(record, sort_keys=True).encode()
        line = _crc(text) + b" " + text + b"\n"
        with self._path.open("ab", buffering=0) as file:
            file.truncate(self._size)
            if file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(line)
        self.records.append(record)


def _crc(text: bytes) -> bytes:
    """Return the CRC-32 of a line's JSON, as eight hexadecimal digits."""
    return f"{zlib.crc32(text):08x}".encode()


@dataclass(frozen=True)
class Variable:
    """An array of a store: its dimensions, those that blocks divide first, its type and its
    attributes.
    """

    dims: tuple[str, ...]
    dtype: str
    attrs: Mapping[str, str]


@dataclass(frozen=True)
class Layout:
    """A layout says what a store holds, and in which blocks; these are numbered in C order."""

    labels: xr.Dataset
    """The coordinates, without data variables. All dimensions have their labels there."""
    variables: Mapping[str, Variable]
    block_sizes: Mapping[str, int]
    """The dimensions that blocks divide, in order, and how many labels of each a block holds."""

    @property
    def block_counts(self) -> tuple[int, ...]:
        """Count the blocks along each of the dimensions that blocks divide."""
        return tuple(-(-self.labels.sizes[dim] // size) for dim, size in self.block_sizes.items())

    @property
    def num_blocks(self) -> int:
        """Count the blocks."""
        return math.prod(self.block_counts)

    @property
    def num_bytes(self) -> int:
        """Bound the bytes that it takes on a disk: numbers barely compress, and files have a
        least size.
        """
        sizes = self.labels.sizes
        arrays = self.variables.values()
        numbers = sum(
            np.dtype(each.dtype).itemsize * math.prod(sizes[dim] for dim in each.dims)
            for each in arrays
        )
        # Every block has one file for each array, and one record.
        return numbers + (len(arrays) + 1) * self.num_blocks * FILE_SYSTEM_BLOCK

    def position(self, block: int) -> tuple[int, ...]:
        """Find where a block stands along each of the dimensions that blocks divide."""
        return tuple(int(at) for at in np.unravel_index(block, self.block_counts))


class _Folder(LocalStore):
    """A folder on any file system: Zarr's own asks for hard links, which the one writer under
    its lock can spare.
    """

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Write a key that isn't there."""
        if not (self.root / key).exists():
            await self.set(key, value)


class Store:
    """A store that is open for writing; :func:`writing` opens it."""

    def __init__(self, path: Path, layout: Layout, commit: str) -> None:
        """Open the arrays and the journal of a store that is there; ``commit`` goes into each
        record.
        """
        self._path = path
        self._layout = layout
        self._commit = commit
        self._journal = Journal(path / JOURNAL)
        # A block of NaN is on the disk too, so that every finished block has its chunks.
        self._arrays = {
            name: zarr.open_array(path / name, mode="r+").with_config({"write_empty_chunks": True})
            for name in layout.variables
        }

    @property
    def finished(self) -> set[int]:
        """Return the numbers of the blocks that are written."""
        return {record["block"] for record in self._journal.records[1:]}

    def write(self, block: int, values: Mapping[str, np.ndarray]) -> None:
        """Write one block: its part of every array, then its record in the journal. On a full
        disk nothing is lost.
        """
        sizes = self._layout.block_sizes.values()
        position = self._layout.position(block)
        region = tuple(
            slice(at * size, (at + 1) * size) for at, size in zip(position, sizes, strict=True)
        )
        checksums = {}
        remedy = "make room and give the same command again: the finished blocks stay"
        with _writable(self._path, "every block can be written", remedy):
            for name, variable in self._layout.variables.items():
                self._arrays[name][region] = values[name]
                whole = (0,) * (len(variable.dims) - len(position))
                chunk = f"{name}/{'.'.join(map(str, position + whole))}"
                checksums[chunk] = _sha256(self._path / chunk)
            self._journal.append({"block": block, "commit": self._commit, "sha256": checksums})


@contextmanager
def writing(
    path: Path, layout: Layout, configuration: Mapping[str, Any], provenance: Mapping[str, str]
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
        Attributes that say where the results come from. A store keeps those it was created with;
        its journal keeps the ``commit`` of every block.

    Raises
    ------
    BadInput
        The path is no store, another process writes to it, it holds another configuration, or it
        was damaged. Nothing is changed then.
    """
    asked = json.loads(json.dumps(configuration))
    commit = provenance.get("commit", "")
    if path.exists():
        _check_is_store(path)
        with _locked(path, path):
            _check_continuable(path, layout, asked)
            yield Store(path, layout, commit)
        return
    staging = path.absolute().with_name(f".{path.absolute().name}.new")
    with _writable(path):
        staging.mkdir(exist_ok=True)
    with _locked(staging, path):
        with _writable(path), warnings.catch_warnings():
            warnings.simplefilter("ignore", ZarrUserWarning)  # the lock isn't Zarr's
            _create(staging, layout, asked, provenance)
            staging.rename(path)  # the lock goes along
        yield Store(path, layout, commit)


def read(path: str | Path) -> xr.Dataset:
    """Read a finished store into memory and compare it with its checksums. ``commit`` names all
    that wrote blocks.
    """
    PATH("store", path)
    path = Path(path)
    _check_is_store(path)
    journal = _checked(path)
    finished = len({record["block"] for record in journal.records[1:]})
    num_blocks = journal.records[0]["num_blocks"]
    if finished < num_blocks:
        rule = "a store is read when its blocks are finished"
        raise _refused(
            path, f"{finished} of {num_blocks} blocks", rule, "give the command that began it again"
        )
    needed = sum(array.nbytes for _, array in zarr.open_group(path, mode="r").arrays())
    there = memory()
    if needed > there:
        remedy = "open it with xarray.open_zarr and take a part"
        raise _refused(
            path,
            f"arrays of {needed:,} bytes",
            f"all is held in memory, here {there:,} bytes",
            remedy,
        )
    result = xr.open_zarr(path, consolidated=True, chunks=None).load()
    types = {name: array.dtype for name, array in zarr.open_group(path, mode="r").arrays()}
    whole = {
        name: result[name].astype(types[name])
        for name in result.data_vars
        if types[name].kind == "i"
    }
    # xarray reads integers as floats where some may be missing; here none is.
    result = result.assign(whole)
    commits = dict.fromkeys(record["commit"] for record in journal.records[1:])
    return result.assign_attrs(commit=", ".join(commits)) if any(commits) else result


def _check_is_store(path: Path) -> None:
    """Raise BadInput unless the path is a folder with a journal."""
    if not os.path.isfile(path / JOURNAL):  # pathlib's raises where a name is too long
        raise BadInput(f"{path}", f"a store is a folder that holds {JOURNAL}", ANOTHER)


@contextmanager
def _locked(folder: Path, path: Path) -> Iterator[None]:
    """Hold the lock in ``folder`` meanwhile, or raise BadInput that names the store ``path`` if
    another process holds it.
    """
    with _writable(path):
        try:
            lock = FileLock(folder / LOCK).acquire(blocking=False)
        except Timeout:
            remedy = f"wait for it, or {ANOTHER}"
            raise BadInput(
                f"store {path}", "one process writes a store at a time", remedy
            ) from None
    with lock:
        yield


def _create(
    folder: Path, layout: Layout, configuration: dict[str, Any], provenance: Mapping[str, str]
) -> None:
    """Write all but the blocks into a folder: labels, empty arrays, and the journal's first record.

    What a killed process left of an earlier attempt goes first. The record is written last, with a
    checksum of every file, so that a folder with a journal is complete.
    """
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != LOCK:
            entry.unlink()
    attrs = {**provenance, "configuration": json.dumps(configuration)}
    # Format 2, because text labels and consolidated metadata aren't part of format 3's
    # specification yet.
    target = _Folder(folder)
    layout.labels.assign_attrs(attrs).to_zarr(target, mode="a", consolidated=False, zarr_format=2)
    group = zarr.open_group(target, mode="r+")
    for name, variable in layout.variables.items():
        sizes = layout.labels.sizes
        group.create_array(
            name,
            shape=tuple(sizes[dim] for dim in variable.dims),
            chunks=tuple(layout.block_sizes.get(dim, sizes[dim]) for dim in variable.dims),
            dtype=variable.dtype,
            fill_value=_missing(np.dtype(variable.dtype)),
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


def _missing(dtype: np.dtype[Any]) -> Any:
    """Return what stands in blocks that aren't written: readers of Zarr show it as NaN, which no
    result is.
    """
    if dtype.kind == "i":
        return np.iinfo(dtype).min
    return np.nan if dtype.kind == "f" else None


def _check_continuable(path: Path, layout: Layout, asked: dict[str, Any]) -> None:
    """Raise BadInput unless a store is undamaged and holds the configuration that is asked for;
    then remove what a killed process left of a block.
    """
    held = _checked(path).records[0]["configuration"]
    for key in sorted(held.keys() | asked.keys()):
        if held.get(key) != asked.get(key):
            commit = zarr.open_group(path, mode="r").attrs.get("commit", "unknown")
            again = (
                f", to the code of commit {commit} (the finished blocks stay)"
                if key == "code"
                else ""
            )
            what = f"{key} = {shown(held.get(key))}, asked for is {shown(asked.get(key))}"
            remedy = f"give the command that began it{again}, or {ANOTHER}"
            raise _refused(path, what, "a store holds one configuration", remedy)
    for name in layout.variables:
        for cut_short in (path / name).glob("*.partial"):
            cut_short.unlink()


def _checked(path: Path) -> Journal:
    """Return a store's journal, after comparing every file that it names with its checksum.

    A line or a file that isn't what was written is BadInput.
    """
    try:
        journal = Journal(path / JOURNAL)
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    if not journal.records:
        raise _damaged(path, f"{JOURNAL} has lost its beginning")
    for file, checksum in (each for record in journal.records for each in record["sha256"].items()):
        if not (path / file).is_file():
            raise _damaged(path, f"{file} is missing")
        if _sha256(path / file) != checksum:
            raise _damaged(path, f"{file} fails its checksum")
    return journal


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@contextmanager
def _writable(
    path: Path, rule: str = "a store can be written", remedy: str = ANOTHER
) -> Iterator[None]:
    """Turn an OSError, such as that of a full disk, into BadInput that names the store."""
    try:
        yield
    except OSError as error:
        raise _refused(path, error.strerror or str(error), rule, remedy) from None


def _refused(path: Path, what: str, rule: str, remedy: str) -> BadInput:
    return BadInput(f"store {path}: {what}", rule, remedy)


def _damaged(path: Path, what: str) -> BadInput:
    return _refused(
        path, what, "a store is as it was written", f"restore a copy of it, or {ANOTHER}"
    )
