"""Files are written whole or not at all, and what was computed isn't lost, whatever the disk and its file system do."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.base import files
from scansnap_core.base.rules import PATH
from tests.data.properties import full_disk
from tests.refusing import refuses


def no_hard_links(*_: Any, **__: Any) -> None:
    """Stand for exFAT, and for CIFS and FUSE in part."""
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    files.save(path, "before")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    files.save(tmp_path / "link", b"after")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"after", 0o640)
    monkeypatch.setattr(os, "fsync", full_disk)
    with refuses("file …/a.txt: No space left on device", "the file can be written"):
        files.save(path, "too much")
    assert path.read_text() == "after"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt", "link"]


@pytest.mark.parametrize("link", [os.link, no_hard_links])
def test_a_name_that_was_taken_meanwhile_is_left_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: Any
) -> None:
    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "run.nc"
    path.write_text("another's")
    with refuses("file …/run.nc", "another process wrote it meanwhile, and it is never overwritten") as refused:
        files.save(path, b"mine", new=True)
    assert path.read_text() == "another's"
    (kept,) = set(tmp_path.iterdir()) - {path}
    assert (kept.read_bytes(), str(kept) in str(refused.value)) == (b"mine", True)


@pytest.mark.parametrize("link", [os.link, no_hard_links])
def test_what_is_tried_before_the_work_is_done_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: Any
) -> None:
    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "run.nc"
    files.try_new(path)
    assert names(tmp_path) == []
    files.save(path, b"mine", new=True)
    assert (names(tmp_path), path.read_bytes()) == (["run.nc"], b"mine")
    with refuses("file …/run.nc", "a stored run is never overwritten", "name another file"):
        files.try_new(path)
    assert (names(tmp_path), path.read_bytes()) == (["run.nc"], b"mine")


def test_a_file_has_the_permissions_of_any_new_one(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    for new in (False, True):
        files.save(tmp_path / f"{new}.nc", b"mine", new=new)
        assert (tmp_path / f"{new}.nc").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_processes_left_is_in_nobodys_way(tmp_path: Path) -> None:
    """In a container each process has the number that the one before had."""
    (tmp_path / f".run.nc.{os.getpid()}.partial").write_text("another's")
    files.save(tmp_path / "run.nc", b"mine", new=True)
    assert names(tmp_path) == [f".run.nc.{os.getpid()}.partial", "run.nc"]


@pytest.mark.parametrize("new", [False, True])
def test_a_complete_partial_file_is_never_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: bool) -> None:
    monkeypatch.setattr(os, "link", no_hard_links)
    monkeypatch.setattr(Path, "replace", no_hard_links)
    with refuses(
        "file …/run.nc: Operation not permitted",
        "the file can be written",
        "what was to be stored is kept: rename …/.run.nc.….partial",
    ) as refused:
        files.save(tmp_path / "run.nc", b"mine", new=new)
    (kept,) = tmp_path.iterdir()
    assert (kept.read_bytes(), str(kept) in str(refused.value)) == (b"mine", True)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="/dev/shm is Linux's")
def test_a_folder_below_dev_is_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder, "run.nc")
        files.save(path, b"mine", new=True)
        with refuses("file …/run.nc", "another process wrote it meanwhile, and it is never overwritten"):
            files.save(path, b"another's", new=True)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full_disk)
            with refuses("file …/run.nc: No space left on device", "the file can be written"):
                files.save(path, b"much more")
        assert path.read_bytes() == b"mine"


def test_devices_and_pipes_are_written_to_as_they_are(tmp_path: Path) -> None:
    files.save(Path("/dev/null"), "nothing")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    files.save(pipe, "something")
    reader.join()
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == (["something"], True)
    files.save(Path("/dev/stdout"), "")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("loop", "file …/loop: Too many levels of symbolic links", "the file can be written"),
        ("loop/a", "file …/loop/a: Too many levels of symbolic links", "the file can be written"),
        ("a\0b", "file = PosixPath('…", PATH.says),
        ("x" * 300, f"file …/{'x' * 300}: File name too long", "the file can be written"),
        ("nowhere/a", "file …/nowhere/a: No such file or directory", "the file can be written"),
    ],
)
def test_a_name_that_cannot_be_a_files_is_refused(tmp_path: Path, name: str, value: str, rule: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for use in (lambda path: files.save(path, "a"), lambda path: files.save(path, "a", new=True), files.try_new):
        with refuses(value, rule):
            use(tmp_path / name)
    for use in (lambda path: files.save(path, "a"), lambda path: files.save(path, "a", new=True)):
        with refuses(f"file {tmp_path}: Is a directory", "the file can be written"):
            use(tmp_path / ".")
    with refuses(f"file {tmp_path}", "a stored run is never overwritten"):
        files.try_new(tmp_path / ".")
    assert names(tmp_path) == ["loop"]


def test_a_result_whose_place_has_gone_is_kept_in_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spare"))
    with refuses(
        "file …/gone/run.nc: No such file or directory",
        "the file can be written",
        "the result is kept in …/spare/…-run.nc: move it to its place",
    ) as refused:
        files.keep(tmp_path / "gone" / "run.nc", b"mine", new=True)
    (kept,) = (tmp_path / "spare").iterdir()
    assert (kept.read_bytes(), str(kept) in str(refused.value)) == (b"mine", True)


def test_a_result_without_any_place_waits_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make_room(_: float) -> None:
        naps.append(len(naps))
        if len(naps) == 3:
            (tmp_path / "later").mkdir()

    naps: list[int] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr(time, "sleep", make_room)
    files.keep(tmp_path / "later" / "run.nc", b"mine", new=True)
    assert names(tmp_path / "later") == ["run.nc"]
    said = f"scansnap: file {tmp_path / 'later' / 'run.nc'}: No such file or directory: the result waits in memory"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(said)
