"""A store other than the one that was begun is refused, and left untouched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from scansnap_core.storage import store
from scansnap_core.storage.store import JOURNAL, read, writing
from tests.refusing import ANY, refuses
from tests.sweeps.stores import CONFIGURATION, LAYOUT, PROVENANCE, files, fill, values

ONE_CONFIGURATION = "a store holds one configuration"
AS_IT_WAS = "a store is as it was written"


def refused(path: Path, what: str, rule: str, remedy: str = ANY, configuration: dict[str, Any] = CONFIGURATION) -> None:
    before = files(path)
    with refuses(f"store {path}: {what}", rule, remedy):
        fill(path, configuration=configuration)
    assert files(path) == before


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"steps": 200}, "steps = 100, asked for is 200"),
        ({"data": {"a": "1", "b": "3"}}, "data = {'a': '1', 'b': '2'}, asked for is {'a': '1', 'b': '3'}"),
        ({"momentum": 0.9}, "momentum = None, asked for is 0.9"),
        ({"lr_y": [x / 10 for x in range(1, 99)]}, "lr_y = [0.5, 1], asked for is [0.1, 0.2, 0.3,…"),
    ],
)
def test_another_configuration(change: dict[str, Any], differs: str, tmp_path: Path) -> None:
    fill(tmp_path / "a.zarr", limit=4)
    remedy = "give the command that began it, or name another store"
    refused(tmp_path / "a.zarr", differs, ONE_CONFIGURATION, remedy, CONFIGURATION | change)


def test_other_code_of_the_same_version(tmp_path: Path, undisturbed: Path) -> None:
    path, other = tmp_path / "a.zarr", {"code": "2" * 16}
    fill(path, limit=4, configuration=CONFIGURATION | {"code": "1" * 16})
    differs = "code = '1111111111111111', asked for is '2222222222222222'"
    remedy = (
        "give the command that began it, to the code of commit abc (the finished blocks stay), or name another store"
    )
    refused(path, differs, ONE_CONFIGURATION, remedy, CONFIGURATION | other)
    assert fill(path, configuration=CONFIGURATION | {"code": "1" * 16}) == list(range(4, 12))
    xr.testing.assert_equal(read(path), read(undisturbed))


def flip(name: str, at: int = 30) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = bytearray((path / name).read_bytes())
        content[at] ^= 1
        (path / name).write_bytes(content)

    return damage


def cut(name: str, size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path / name, size)


def swap(path: Path) -> None:
    a, b = path / "entropy" / "0.0.0.0", path / "entropy" / "0.1.0.0"
    content = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(content)


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a flipped bit": (flip("entropy/0.2.0.0"), "entropy/0.2.0.0 fails its checksum"),
    "an empty chunk": (cut("diverged_at/0.2.0", 0), "diverged_at/0.2.0 fails its checksum"),
    "a lost chunk": (lambda path: (path / "entropy/0.2.0.0").unlink(), "entropy/0.2.0.0 is missing"),
    "swapped chunks": (swap, "entropy/0.0.0.0 fails its checksum"),
    "labels": (flip("seed/0"), "seed/0 fails its checksum"),
    "truncated metadata": (cut(".zmetadata", 100), ".zmetadata fails its checksum"),
    "provenance": (flip(".zattrs"), ".zattrs fails its checksum"),
    "a record": (flip(JOURNAL, at=1200), f"of {JOURNAL} fails its checksum"),
    "a torn beginning": (cut(JOURNAL, 50), f"{JOURNAL} has lost its beginning"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    fill(path, limit=8)
    do, what = DAMAGES[damage]
    do(path)
    refused(path, f"…{what}", AS_IT_WAS, "restore a copy of it, or name another store")
    with refuses(f"store {path}: …{what}", AS_IT_WAS):
        read(path)


def test_a_store_that_memory_doesnt_hold(undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "memory", lambda: 100)
    with refuses("store …/a.zarr: arrays of … bytes", "all is held in memory, here 100 bytes"):
        read(undisturbed)


def test_a_store_that_lost_its_last_records_computes_those_blocks_again(tmp_path: Path, undisturbed: Path) -> None:
    path = tmp_path / "a.zarr"
    fill(path, limit=8)
    lines = (path / JOURNAL).read_bytes().splitlines(keepends=True)
    (path / JOURNAL).write_bytes(b"".join(lines[:-2]))
    assert fill(path) == [6, 7, 8, 9, 10, 11]
    assert files(path) == files(undisturbed)


def test_a_block_written_twice_is_one_block(tmp_path: Path, undisturbed: Path) -> None:
    path = tmp_path / "a.zarr"
    with writing(path, LAYOUT, CONFIGURATION, PROVENANCE) as target:
        for block in [*range(11), 3]:
            target.write(block, values(block))
    with refuses("store …/a.zarr: 11 of 12 blocks", "a store is read when its blocks are finished"):
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
            with refuses(f"{tmp_path / name}", f"a store is a folder that holds {JOURNAL}"):
                use(tmp_path / name)
    with refuses("…/nowhere", f"a store is a folder that holds {JOURNAL}"):
        read(tmp_path / "nowhere")
    with refuses("store …/no/a.zarr: No such file or directory", "a store can be written", "name another store"):
        fill(tmp_path / "no" / "a.zarr")
    with refuses("store …/file.zarr/a.zarr: Not a directory", "a store can be written"):
        fill(tmp_path / "file.zarr" / "a.zarr")
    assert files(tmp_path) == before
