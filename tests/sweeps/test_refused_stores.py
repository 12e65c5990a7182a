"""What isn't the store that was begun is refused, and left untouched."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from scansnap_core import BadInput
from scansnap_core.storage.journal import Journal
from scansnap_core.storage.store import JOURNAL, read, writing
from tests.sweeps.stores import CONFIGURATION, LAYOUT, PROVENANCE, files, fill, values


def refused(path: Path, message: str, configuration: dict[str, Any] = CONFIGURATION) -> None:
    before = files(path)
    with pytest.raises(BadInput) as caught:
        fill(path, configuration=configuration)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"store {path}")
    assert files(path) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 200}, "steps = 100, asked for is 200: a store holds one configuration; give the command that began"),
        ({"data": {"a": "1", "b": "3"}}, 'data = {"a": "1", "b": "2"}, asked for is {"a": "1", "b": "3"}'),
        ({"momentum": 0.9}, "momentum = null, asked for is 0.9"),
        ({"lr_y": [x / 10 for x in range(1, 99)]}, "lr_y = [0.5, 1], asked for is [0.1, 0.2, 0.3,"),
    ],
)
def test_another_configuration(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    fill(tmp_path / "a.zarr", limit=4)
    refused(tmp_path / "a.zarr", message, CONFIGURATION | change)


def test_other_code_of_the_same_version(tmp_path: Path, undisturbed: Path) -> None:
    path, other = tmp_path / "a.zarr", {"code": "2" * 16}
    fill(path, limit=4, configuration=CONFIGURATION | {"code": "1" * 16})
    message = 'code = "1111111111111111", asked for is "2222222222222222": a store holds one configuration; give the '
    remedy = "command that began it, to the code of commit abc (the finished blocks stay), or name another store"
    refused(path, message + remedy, CONFIGURATION | other)
    assert fill(path, configuration=CONFIGURATION | {"code": "1" * 16}) == list(range(4, 12))
    xr.testing.assert_equal(read(path), read(undisturbed))
    fill(tmp_path / "older.zarr", limit=4)
    refused(tmp_path / "older.zarr", 'code = null, asked for is "2222222222222222"', CONFIGURATION | other)


def flip(name: str, at: int = 30) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = bytearray((path / name).read_bytes())
        content[at] ^= 1
        (path / name).write_bytes(content)

    return damage


def cut(name: str, size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path / name, size)


def cut_records(count: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        lines = (path / JOURNAL).read_bytes().splitlines(keepends=True)
        (path / JOURNAL).write_bytes(b"".join(lines[:-count]))

    return damage


def swap(path: Path) -> None:
    a, b = path / "entropy" / "0.0.0.0", path / "entropy" / "0.1.0.0"
    content = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(content)


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a flipped bit": (flip("entropy/0.2.0.0"), "entropy/0.2.0.0 fails its checksum"),
    "a truncated chunk": (cut("entropy/0.2.0.0", 10), "entropy/0.2.0.0 fails its checksum"),
    "an empty chunk": (cut("diverged_at/0.2.0", 0), "diverged_at/0.2.0 fails its checksum"),
    "a lost chunk": (lambda path: (path / "entropy/0.2.0.0").unlink(), "entropy/0.2.0.0 is missing"),
    "swapped chunks": (swap, "entropy/0.0.0.0 fails its checksum"),
    "a lost array": (lambda path: shutil.rmtree(path / "entropy"), "entropy/.zarray is missing"),
    "labels": (flip("seed/0"), "seed/0 fails its checksum"),
    "truncated metadata": (cut(".zmetadata", 100), ".zmetadata fails its checksum"),
    "provenance": (flip(".zattrs"), ".zattrs fails its checksum"),
    "a record": (flip(JOURNAL, at=1200), f"of {JOURNAL} fails its checksum"),
    "lost records": (cut_records(2), f"{JOURNAL} lacks 2 blocks whose chunks are there"),
    "an empty journal": (cut(JOURNAL, 0), f"{JOURNAL} has lost its beginning"),
    "a torn beginning": (cut(JOURNAL, 50), f"{JOURNAL} has lost its beginning"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    fill(path, limit=8)
    do, message = DAMAGES[damage]
    do(path)
    refused(path, message)
    refused(path, "a store is as it was written; restore a copy of it, or name another store")
    with pytest.raises(BadInput, match="blocks" if damage == "lost records" else "as it was written"):
        read(path)


def rewrite(path: Path, number: int, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a record of the journal, with the checksum that belongs to it."""
    records = Journal(path / JOURNAL).records
    change(records[number])
    (path / JOURNAL).unlink()
    for record in records:
        Journal(path / JOURNAL).append(record)


@pytest.mark.parametrize(
    ("number", "change"),
    [
        *((0, {key: None}) for key in ("configuration", "num_blocks", "sha256")),
        *((4, {key: None}) for key in ("commit", "sha256")),
        *((4, {"block": block}) for block in (-1, 12, "4", True, None, 1.5)),
        *((4, {"sha256": {name: "a"}}) for name in ("", "/etc/passwd", "a/../../b", "a\0", "a" * 5000)),
        (0, {"num_blocks": "12"}),
    ],
)
def test_a_record_that_no_store_wrote(number: int, change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    fill(path)
    rewrite(path, number, lambda record: record.update(change))
    refused(path, f"line {number + 1} of {JOURNAL} is no record of a store: a store is as it was written")
    with pytest.raises(BadInput, match="is no record of a store"):
        read(path)


def test_a_journal_of_another_number_of_blocks(tmp_path: Path) -> None:
    fill(tmp_path / "a.zarr", limit=2)
    rewrite(tmp_path / "a.zarr", 0, lambda record: record.update(num_blocks=13))
    refused(tmp_path / "a.zarr", f"{JOURNAL} doesn't count 12 blocks")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"shape": [6]', '"shape": [10000000000000]', "arrays of 80,000,000,0"),
        ('"dtype": "<i8"', '"dtype": "words"', "its arrays can't be read"),
        ('"filters": null', '"filters": [{"id": "pickle"}]', "its arrays can't be read"),
        ('"metadata": {', '"metadata": 3, "b": {', "its arrays can't be read"),
    ],
)
def test_metadata_that_no_store_wrote(old: str, new: str, message: str, tmp_path: Path) -> None:
    """Its checksums agree, its arrays don't fit into memory or can't be read."""
    path = tmp_path / "a.zarr"
    fill(path)
    metadata = path / ".zmetadata"
    text = metadata.read_text()
    assert old in text
    metadata.write_text(text.replace(old, new))
    checksum = hashlib.sha256(metadata.read_bytes()).hexdigest()
    rewrite(path, 0, lambda record: record["sha256"].update({".zmetadata": checksum}))
    with pytest.raises(BadInput, match=message):
        read(path)


def test_a_pickle_in_place_of_labels_runs_nothing(tmp_path: Path) -> None:
    """Its checksums agree. numcodecs 0.16.5 and older unpickle it."""
    path, trace = tmp_path / "a.zarr", tmp_path / "trace"
    fill(path)
    consolidated = json.loads((path / ".zmetadata").read_text())
    labels = consolidated["metadata"]["data/.zarray"]
    labels |= {"dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}], "compressor": None}
    changed = {".zmetadata": json.dumps(consolidated).encode(), "data/0": pickle.dumps(Touch(trace))}
    for name, content in changed.items():
        (path / name).write_bytes(content)
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in changed.items()}
    rewrite(path, 0, lambda record: record["sha256"].update(checksums))
    with pytest.raises(BadInput, match="its arrays can't be read"):
        read(path)
    assert not trace.exists()
    pickle.loads(changed["data/0"])
    assert trace.exists()


class Touch:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_an_unfinished_store_is_not_read(tmp_path: Path) -> None:
    fill(tmp_path / "a.zarr", limit=8)
    with pytest.raises(BadInput, match="8 of 12 blocks: a store is read when its blocks are finished; give the comm"):
        read(tmp_path / "a.zarr")


def test_a_block_written_twice_is_one_block(tmp_path: Path, undisturbed: Path) -> None:
    path = tmp_path / "a.zarr"
    with writing(path, LAYOUT, CONFIGURATION, PROVENANCE) as target:
        for block in [*range(11), 3]:
            target.write(block, values(block))
    with pytest.raises(BadInput, match="11 of 12 blocks: a store is read when its blocks are finished"):
        read(path)
    assert fill(path) == [11]
    xr.testing.assert_identical(read(path), read(undisturbed))


def test_a_path_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "precious").write_text("words")
    (tmp_path / "file.zarr").write_text("words")
    before = files(tmp_path)
    for name in ("notes", "file.zarr"):
        for use in (fill, read):
            with pytest.raises(BadInput, match=f"{name}: a store is a folder that holds {JOURNAL}; name another"):
                use(tmp_path / name)
    with pytest.raises(BadInput, match="nowhere: a store is a folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"no/a\.zarr: No such file or directory: a store can be written; name another"):
        fill(tmp_path / "no" / "a.zarr")
    with pytest.raises(BadInput, match=r"a\.zarr: Not a directory: a store can be written"):
        fill(tmp_path / "file.zarr" / "a.zarr")
    assert files(tmp_path) == before
