"""A store is continued to the last bit after a kill anywhere, and refused, untouched, where it doesn't fit."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from scansnap_core import BadInput, store
from scansnap_core.journal import Damaged, Journal
from scansnap_core.store import JOURNAL, read, writing
from tests.sweeps.stores import CONFIGURATION, LAYOUT, PLACES, PROVENANCE, files, fill, values

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("undisturbed") / "a.zarr"
    assert fill(path) == list(range(12))
    return path


def killed(path: Path, place: str) -> list[int]:
    """Which blocks a process computed that was killed there."""
    program = [sys.executable, "-m", "tests.sweeps.stores", str(path), place]
    done = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [int(block) for block in done.stdout.split()]


# -- what it holds --------------------------------------------------------------------------------------------------


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


def test_edge_blocks_may_be_smaller(tmp_path: Path) -> None:
    layout = store.Layout(LAYOUT.labels, LAYOUT.variables, {"data": 1, "seed": 4, "rate": 2})
    whole = np.random.default_rng(0).normal(size=(2, 6, 2, 3)).astype(np.float32)
    steps = np.arange(24).reshape(2, 6, 2)
    with writing(tmp_path / "a.zarr", layout, CONFIGURATION, PROVENANCE) as target:
        for block in range(layout.num_blocks):
            data, part = layout.position(block)[:2]
            seeds = slice(4 * part, 4 * part + 4)
            target.write(block, {"entropy": whole[data, None, seeds], "diverged_at": steps[data, None, seeds]})
    result = read(tmp_path / "a.zarr")
    np.testing.assert_array_equal(result.entropy, whole)
    np.testing.assert_array_equal(result.diverged_at, steps)


# -- killed and continued -------------------------------------------------------------------------------------------


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


def test_control_other_values_are_not_the_same(tmp_path: Path, undisturbed: Path) -> None:
    path = tmp_path / "a.zarr"
    killed(path, "between chunks")
    fill(path, seed=1)
    assert files(path).keys() == files(undisturbed).keys()
    assert files(path) != files(undisturbed)


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


# -- refused --------------------------------------------------------------------------------------------------------


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


def test_what_is_missing_is_nan_to_any_reader_and_a_zero_is_a_zero(tmp_path: Path) -> None:
    zeros = np.zeros((1, 1, 2, 3), dtype=np.float32)
    with writing(tmp_path / "a.zarr", LAYOUT, CONFIGURATION, PROVENANCE) as target:
        target.write(8, values(8) | {"entropy": zeros})
    entropy = xr.open_zarr(tmp_path / "a.zarr", chunks=None).entropy
    assert (entropy.isel(data=1, seed=2) == 0).all()
    assert np.isnan(entropy).sum() == entropy.size - zeros.size


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


def test_two_writers(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    message = "a.zarr: one process writes a store at a time; wait for it, or name another store"
    with writing(path, LAYOUT, CONFIGURATION, PROVENANCE) as target:
        target.write(0, values(0))
        with pytest.raises(BadInput, match=message):
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
        with pytest.raises(BadInput, match="one process writes a store at a time"):
            fill(path)
        create(*arguments)

    create = store._create
    monkeypatch.setattr(store, "_create", create_meanwhile)
    assert fill(path) == list(range(12))


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Path) -> None:
    path = tmp_path / "a.zarr"

    def full(self: Any, *_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(zarr, "open_group", full)
        with pytest.raises(BadInput, match="No space left on device: a store can be written; name another store"):
            fill(path)
    assert not path.exists()
    fill(path, limit=3)
    before = read_finished(path)
    message = "No space left on device: every block can be written; make room and give the same command again: the fin"
    for owner, name in ((zarr.Array, "__setitem__"), (Journal, "append")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full)
            with pytest.raises(BadInput, match=message):
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
from scansnap_core.journal import Journal
journal = Journal(Path(sys.argv[1]))
journal.append({"block": 0})
size = Path(sys.argv[1]).stat().st_size
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
try:
    journal.append({"block": 1})
except OSError as error:
    print(error.strerror, Path(sys.argv[1]).stat().st_size - size, len(journal.records))
"""
    path = tmp_path / "journal"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large 0 1\n"
    assert Journal(path).records == [{"block": 0}]


def test_a_journal_drops_a_torn_record_and_refuses_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert Journal(path).records == []
    for block in range(3):
        Journal(path).append({"block": block})
    whole = path.read_bytes()
    assert whole.splitlines()[0] == b'a33671bb {"block": 0}'  # the CRC-32 is gzip's
    path.write_bytes(whole[:-3])
    journal = Journal(path)
    assert journal.records == [{"block": 0}, {"block": 1}]
    journal.append({"block": 2})
    assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b'"block": 1', b'"block": 7'))
    with pytest.raises(Damaged, match="line 2 of journal fails its checksum"):
        Journal(path)
