"""A download fills the cache whole or not at all, and what was kept is compared with its checksums ever after."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from scansnap_core import BadInput
from scansnap_core.text import splits
from scansnap_core.text.corpus import load_corpus
from tests.sweeps.processes import start, wait_for
from tests.text.tiny import KNOWN, NAME, TEST, TEXTS, TRAIN, VALIDATION, hugging_face, rows, write

WORDS = "<unk> the , <eos> cat dog\n"
FILES = {"train.txt": TRAIN, "valid.txt": VALIDATION, "test.txt": TEST}


def served(texts: dict[str, str] | None = None) -> dict[str, list[dict[str, str]]]:
    return {split: rows(text) for split, text in (TEXTS | (texts or {})).items()}


def visible(cache: Path) -> list[str]:
    """What the cache holds, but for the lock."""
    return sorted(entry.name for entry in cache.iterdir() if entry.name != f".{NAME}.lock")


@pytest.fixture
def online(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    return lambda load: monkeypatch.setitem(sys.modules, "datasets", hugging_face(load))


Online = Callable[[Callable[[], object]], None]


def no_network(error: BaseException) -> Callable[[], object]:
    def load() -> object:
        raise error

    return load


def test_a_download_is_the_distribution_and_is_kept(cache: Path, online: Online, tmp_path: Path) -> None:
    online(served)
    corpus = load_corpus(NAME)
    assert {name: (cache / NAME / name).read_bytes().decode() for name in FILES} == FILES
    assert visible(cache) == [NAME]
    online(no_network(AssertionError("a second download")))
    for again in (load_corpus(NAME), load_corpus(NAME, cache), load_corpus(NAME, write(tmp_path / "data"))):
        assert again.words == corpus.words
        assert again.sha256 == corpus.sha256
        np.testing.assert_array_equal(again.train, corpus.train)
    kept = json.loads((cache / NAME / splits.CHECKSUMS).read_text())
    assert [kept[name] for name in ("train.txt", "valid.txt")] == list(corpus.sha256.values())
    assert kept["test.txt"] == KNOWN["test"].sha256


# -- no data and no network -----------------------------------------------------------------------------------------


class OfflineModeIsEnabled(ConnectionError):
    pass


def broken_rows() -> Iterator[dict[str, str]]:
    yield from rows(VALIDATION)[:2]
    raise OfflineModeIsEnabled("lost\nthere")


FAILURES: dict[str, tuple[Callable[[], object], str]] = {
    "no network": (no_network(OfflineModeIsEnabled("no hub")), "OfflineModeIsEnabled: no hub"),
    "several lines": (no_network(RuntimeError("a\n  b\n\nc")), "RuntimeError: a b c"),
    "a long story": (no_network(RuntimeError("no " * 999)), f"RuntimeError: {'no ' * 61}no…"),
    "a full disk of its own": (no_network(OSError(errno.ENOSPC, "No space")), "OSError: [Errno 28] No space"),
    "a broken installation": (
        no_network(ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")),
        "ModuleNotFoundError: No module named 'pyarrow'",
    ),
    "no such split": (lambda: {"train": rows(TRAIN)}, "KeyError: 'validation'"),
    "no text": (lambda: served() | {"test": [{"words": ""}]}, "KeyError: 'text'"),
    "a loss in the middle": (lambda: served() | {"validation": broken_rows()}, "OfflineModeIsEnabled: lost there"),
    "a truncated split": (
        lambda: served() | {"validation": rows(VALIDATION)[:2]},
        "its validation split has 5 tokens where 11 are known",
    ),
    "another training text": (lambda: served({"train": TEST}), "its train split has 12 tokens where 25 are known"),
}


def refusal(cache: Path, reason: str, variable: str = "not set") -> str:
    return (
        f"corpus {NAME}: not in SCANSNAP_DATA ({variable}), not in the cache ({cache / NAME}), not from Hugging Face "
        f"({reason}): one of these holds train.txt, valid.txt, test.txt, or wiki.train.tokens, wiki.valid.tokens, "
        "wiki.test.tokens (without train, test is trained on); put the files into a folder and name it with --data or "
        "SCANSNAP_DATA, or put them into the cache, or pip install datasets where there is a network"
    )


@pytest.mark.parametrize("failure", FAILURES)
def test_whatever_fails_there_is_one_message_and_nothing_is_kept(failure: str, cache: Path, online: Online) -> None:
    load, reason = FAILURES[failure]
    online(load)
    with pytest.raises(BadInput) as caught:
        load_corpus(NAME)
    assert str(caught.value) == refusal(cache, reason)
    assert caught.value.__suppress_context__
    assert visible(cache) == []
    online(served)
    load_corpus(NAME)  # control


def test_without_the_package(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput) as caught:
        load_corpus(NAME)
    assert str(caught.value) == refusal(cache, "the package datasets isn't installed")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SCANSNAP_DATA", str(tmp_path / "empty"))
    with pytest.raises(BadInput) as caught:
        load_corpus(NAME)
    assert str(caught.value) == refusal(cache, "the package datasets isn't installed", str(tmp_path / "empty"))


def test_an_interruption_is_not_swallowed(cache: Path, online: Online) -> None:
    online(no_network(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        load_corpus(NAME)
    assert visible(cache) == []


# -- a cache that can't be trusted ----------------------------------------------------------------------------------

# the same words as the distribution, but not the same spaces
SPACED = {split: text.replace(" the", "  the") for split, text in TEXTS.items()}


def change(name: str, old: str, new: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        content = (folder / name).read_text(encoding="utf8")
        assert old in content
        (folder / name).write_text(content.replace(old, new), encoding="utf8")

    return damage


def overwrite(name: str, content: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return damage


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "another training text of the same length": (change("train.txt", "cat", "rat"), "train.txt: its sha256 is"),
    "another validation text of the same length": (change("valid.txt", "dog", "hog"), "valid.txt: its sha256 is"),
    "a truncated text": (change("train.txt", "dog \n", "dog"), "train.txt: its sha256 is"),
    "lost words": (change("train.txt", "cat", ""), "train.txt: 22 tokens, counting the end of each line"),
    "a lost training text": (lambda folder: (folder / "train.txt").unlink(), f"{NAME}: no train.txt"),
    "a lost validation text": (lambda folder: (folder / "valid.txt").unlink(), f"{NAME}: no valid.txt"),
    "truncated checksums": (overwrite(splits.CHECKSUMS, b'{"train.txt": '), f"{splits.CHECKSUMS}: it isn't valid JSON"),
    "checksums that aren't UTF-8": (
        overwrite(splits.CHECKSUMS, b'{"train.txt": "\xe4"}'),
        f"{splits.CHECKSUMS}: it isn't valid JSON",
    ),
    "no checksums": (overwrite(splits.CHECKSUMS, b"{}"), f"{splits.CHECKSUMS}: it isn't a mapping of file names"),
    "checksums of another kind": (overwrite(splits.CHECKSUMS, b'{"train.txt": 1}'), "checksums.json: it isn't a mapp"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("texts", [TEXTS, SPACED], ids=["the distribution", "other spaces"])
def test_a_damaged_cache_is_refused(texts: dict[str, str], damage: str, cache: Path, online: Online) -> None:
    online(lambda: served(texts))
    load_corpus(NAME)
    load_corpus(NAME)  # control
    do, message = DAMAGES[damage]
    do(cache / NAME)
    with pytest.raises(BadInput) as caught:
        load_corpus(NAME)
    assert message in str(caught.value)
    remedy = f"; delete the folder {cache / NAME}, so that it is downloaded again"
    assert str(caught.value).endswith(remedy)
    assert "\n" not in str(caught.value)


def test_control_other_spaces_pass_by_the_checksums_of_the_download_alone(cache: Path, online: Online) -> None:
    online(lambda: served(SPACED))
    load_corpus(NAME)
    (cache / NAME / splits.CHECKSUMS).unlink()
    with pytest.raises(BadInput, match=r"valid\.txt: its sha256 is"):
        load_corpus(NAME)


# -- killed, twice at once, unwritable ------------------------------------------------------------------------------


def test_killed_in_the_middle_it_leaves_nothing_that_is_trusted(cache: Path, online: Online, tmp_path: Path) -> None:
    process = start("tests.text.tiny", cache, tmp_path / "log", "kill")
    output, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    assert output == ""
    assert visible(cache) == [f".{NAME}.new"]
    assert {"train.txt", "valid.txt"} <= {file.name for file in (cache / f".{NAME}.new").iterdir()}
    with pytest.raises(BadInput, match="not from Hugging Face"):
        load_corpus(NAME)
    online(served)
    assert load_corpus(NAME).trained_on == "train"
    assert visible(cache) == [NAME]


def test_two_at_once_download_once(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = start("tests.text.tiny", cache, log, "wait")
    wait_for(log.exists, first)
    second = start("tests.text.tiny", cache, log)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(2)
    assert not (cache / NAME).exists()
    (tmp_path / "go on").touch()
    for process in (first, second):
        output, errors = process.communicate()
        assert (output, errors) == (WORDS, "")
    assert log.read_text() == "in the middle\n"
    assert visible(cache) == [NAME]


def test_a_full_disk(cache: Path, online: Online, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    online(served)
    message = (
        f"cache {cache / NAME}: No space left on device: a downloaded corpus is kept there; make it writable, with "
        "room for the corpus, or name a folder that holds the corpus"
    )
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", full)
        with pytest.raises(BadInput) as caught:
            load_corpus(NAME)
    assert str(caught.value) == message
    assert visible(cache) == []
    load_corpus(NAME)  # control


def test_a_cache_that_is_no_folder(cache: Path, online: Online) -> None:
    online(served)
    cache.parent.joinpath("file").touch()
    cache.symlink_to("file/cache")
    with pytest.raises(BadInput, match=r"cache .*/wikitext-2: File exists: a downloaded corpus is kept there"):
        load_corpus(NAME)
