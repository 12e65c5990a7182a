"""What a store holds, and that it is continued to the last bit after a kill anywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from scansnap_core.storage import store
from scansnap_core.storage.store import JOURNAL, Journal, read, writing
from tests.data.properties import full_disk
from tests.refusing import refuses
from tests.sweeps.stores import CONFIGURATION, LAYOUT, PLACES, PROVENANCE, files, fill, values

REPOSITORY = Path(__file__).parents[2]


def killed(path: Path, place: str) -> list[int]:
    """Run a process that is killed at this place, and list the blocks that it computed before."""
    program = [sys.executable, "-m", "tests.sweeps.stores", str(path), place]
    done = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [int(block) for block in done.stdout.split()]


def test_labels_values_and_provenance(undisturbed: Path) -> None:
    result = read(undisturbed)
    assert dict(result.sizes) == {"data": 2, "seed": 6, "rate": 2, "class": 3}
    assert result.attrs["command"] == "scansnap sweep"
    assert result.entropy.attrs["units"] == "nats"
    assert result.diverged_at.dtype == np.int64
    for block in range(12):
        one = result.sel(data="ab"[block // 6], seed=block % 6)
        for name, expected in values(block).items():
            np.testing.assert_array_equal(one[name], expected[0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xr.testing.assert_identical(xr.open_zarr(undisturbed, chunks=None).load(), result)


def test_commits_of_all_blocks_are_named(tmp_path: Path) -> None:
    fill(tmp_path / "a.zarr", limit=4)
    with writing(tmp_path / "a.zarr", LAYOUT, CONFIGURATION, PROVENANCE | {"commit": "def"}) as target:
        for block in range(4, 12):
            target.write(block, values(block))
    assert read(tmp_path / "a.zarr").attrs["commit"] == "abc, def"


def test_what_is_missing_is_nan_to_any_reader_and_a_zero_is_a_zero(tmp_path: Path) -> None:
    zeros = np.zeros((1, 1, 2, 3), dtype=np.float32)
    with writing(tmp_path / "a.zarr", LAYOUT, CONFIGURATION, PROVENANCE) as target:
        target.write(8, values(8) | {"entropy": zeros})
    found = xr.open_zarr(tmp_path / "a.zarr", chunks=None)
    assert (found.entropy.isel(data=1, seed=2) == 0).all()
    assert np.isnan(found.entropy).sum() == found.entropy.size - zeros.size
    np.testing.assert_array_equal(found.diverged_at.isel(data=1, seed=2), values(8)["diverged_at"][0, 0])
    assert np.isnan(found.diverged_at).sum() == found.diverged_at.size - 2


@pytest.mark.parametrize("place", PLACES)
def test_killed_and_continued_it_is_the_same_to_the_last_byte(place: str, tmp_path: Path, undisturbed: Path) -> None:
    path = tmp_path / "a.zarr"
    before = killed(path, place)
    finished = {"creation": 0, "middle of creation": 0, "after a record": 6}.get(place, 5)
    assert len(before) - finished <= 1
    assert path.exists() == ("creation" not in place)
    after = fill(path)
    assert after == list(range(finished, 12))
    assert files(path) == files(undisturbed)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zarr"]


def test_a_file_system_without_hard_links_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Path
) -> None:
    monkeypatch.setattr(os, "link", full_disk)
    fill(tmp_path / "a.zarr", limit=5)
    fill(tmp_path / "a.zarr")
    assert files(tmp_path / "a.zarr") == files(undisturbed)


def test_a_gap_is_filled(tmp_path: Path, undisturbed: Path) -> None:
    """A cluster's workers finish blocks in any order; which of them are there counts, not how many."""
    path, there = tmp_path / "a.zarr", [7, 0, 11, 4]
    with writing(path, LAYOUT, CONFIGURATION, PROVENANCE) as target:
        for block in there:
            target.write(block, values(block))
        assert target.finished == set(there)
    assert fill(path) == [block for block in range(12) if block not in there]
    xr.testing.assert_identical(read(path), read(undisturbed))
    chunks = {name: content for name, content in files(undisturbed).items() if name != JOURNAL}
    assert chunks.items() <= files(path).items()


def test_a_finished_store_is_left_alone(undisturbed: Path) -> None:
    before = files(undisturbed)
    assert fill(undisturbed) == []
    assert files(undisturbed) == before


def test_two_writers(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    message = "a.zarr: one process writes a store at a time; wait for it, or name another store"
    with writing(path, LAYOUT, CONFIGURATION, PROVENANCE) as target:
        target.write(0, values(0))
        with refuses("store …/a.zarr", "one process writes a store at a time", "wait for it, or name another store"):
            fill(path)
        # another process is refused just so, and one that dies with the lock doesn't keep it
        program = [sys.executable, "-c", "from tests.sweeps.stores import *; fill(Path(sys.argv[1]))", str(path)]
        done = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert message in done.stderr
    assert fill(path) == list(range(1, 12))


def test_two_creators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zarr"

    def create_meanwhile(*arguments: Any) -> None:
        with refuses("store …/a.zarr", "one process writes a store at a time"):
            fill(path)
        create(*arguments)

    create = store._create
    monkeypatch.setattr(store, "_create", create_meanwhile)
    assert fill(path) == list(range(12))


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Path) -> None:
    path = tmp_path / "a.zarr"
    with monkeypatch.context() as patch:
        patch.setattr(zarr, "open_group", full_disk)
        with refuses("store …/a.zarr: No space left on device", "a store can be written", "name another store"):
            fill(path)
    assert not path.exists()
    fill(path, limit=3)
    before = read_finished(path)
    for owner, name in ((zarr.Array, "__setitem__"), (Journal, "append")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full_disk)
            with refuses(
                "store …/a.zarr: No space left on device",
                "every block can be written",
                "make room and give the same command again: the finished blocks stay",
            ):
                fill(path)
        assert read_finished(path) == before
    assert fill(path) == list(range(3, 12))
    assert files(path) == files(undisturbed)


def read_finished(path: Path) -> dict[str, bytes]:
    """The chunks of finished blocks, and the journal."""
    named = [file for record in Journal(path / JOURNAL).records for file in record["sha256"]]
    return {file: (path / file).read_bytes() for file in [*named, JOURNAL]}


def test_a_journal_on_a_disk_that_is_full(tmp_path: Path) -> None:
    """What was written before the disk was full goes again, on a real limit of the file's size."""
    program = """
import resource, signal, sys
from pathlib import Path
from scansnap_core.storage.store import Journal
journal = Journal(Path(sys.argv[1]))
journal.append({"block": 0})
size = Path(sys.argv[1]).stat().st_size
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
try:
    journal.append({"block": 1})
except OSError as error:
    print(error.strerror, len(journal.records))
"""
    path = tmp_path / "journal"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "No space left on device 1\n"
    assert Journal(path).records == [{"block": 0}]
