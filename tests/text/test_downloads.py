"""A download fills the cache with whole files, and what is there is compared with what is known ever after."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from scansnap_core import BadInput
from scansnap_core.base import files
from scansnap_core.text.corpus import load_corpus, local_corpus
from tests.data.properties import full_disk
from tests.refusing import refuses
from tests.text.tiny import NAME, TEST, TEXTS, TRAIN, VALIDATION, hugging_face, rows, write

FILES = {"train.txt": TRAIN, "valid.txt": VALIDATION, "test.txt": TEST}
Online = Callable[[Callable[[], object]], None]


def served(texts: dict[str, str] | None = None) -> dict[str, list[dict[str, str]]]:
    return {split: rows(text) for split, text in (TEXTS | (texts or {})).items()}


@pytest.fixture
def online(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Online:
    return lambda load: monkeypatch.setitem(sys.modules, "datasets", hugging_face(load))


def no_network(error: BaseException) -> Callable[[], object]:
    def load() -> object:
        raise error

    return load


def test_a_download_is_the_distribution_and_is_kept(cache: Path, online: Online, tmp_path: Path) -> None:
    online(served)
    corpus = load_corpus(NAME)
    assert {name: (cache / NAME / name).read_bytes().decode() for name in FILES} == FILES
    assert {file.name for file in (cache / NAME).iterdir()} == FILES.keys()
    online(no_network(AssertionError("a second download")))
    for again in (load_corpus(NAME), load_corpus(NAME, cache), load_corpus(NAME, write(tmp_path / "data"))):
        assert again.words == corpus.words
        assert again.sha256 == corpus.sha256
        np.testing.assert_array_equal(again.train, corpus.train)


def test_words_count_and_spaces_do_not(cache: Path, online: Online) -> None:
    online(lambda: served({split: text.replace(" the", "  the") for split, text in TEXTS.items()}))
    assert load_corpus(NAME).trained_on == "train"
    valid = cache / NAME / "valid.txt"
    valid.write_text(valid.read_text().replace("dog", "hog"))
    with refuses(
        "file …/cache/wikitext-2/valid.txt: it has other words",
        "wikitext-2's validation split has those of the distribution",
        "put the distribution's files there, or delete what is in the cache, so that it is downloaded again",
    ):
        load_corpus(NAME)


def broken_rows() -> Iterator[dict[str, str]]:
    yield from rows(VALIDATION)[:2]
    raise ConnectionError("lost\nthere")


FAILURES: dict[str, tuple[Callable[[], object], str]] = {
    "no network": (no_network(ConnectionError("no hub")), "ConnectionError: no hub"),
    "a long story": (no_network(RuntimeError("no\n" * 999)), f"RuntimeError: {'no ' * 62}"),
    "a full disk of its own": (no_network(OSError(errno.ENOSPC, "No space")), "OSError: [Errno 28] No space"),
    "no such split": (lambda: {"train": rows(TRAIN)}, "KeyError: 'test'"),
    "no text": (lambda: served() | {"test": [{"words": ""}]}, "KeyError: 'text'"),
    "a loss in the middle": (lambda: served() | {"validation": broken_rows()}, "ConnectionError: lost there"),
}


@pytest.mark.parametrize("failure", [*FAILURES, "no package"])
def test_whatever_fails_there_is_one_message_and_nothing_is_kept(failure: str, cache: Path, online: Online) -> None:
    load, reason = FAILURES.get(failure, (None, "ModuleNotFoundError: import of datasets halted; None in sys.modules"))
    if load is not None:
        online(load)
    with pytest.raises(BadInput) as caught:
        load_corpus(NAME)
    assert str(caught.value) == (
        f"corpus {NAME}: not in SCANSNAP_DATA (not set), not in the cache ({cache / NAME}), not from Hugging Face "
        f"({reason}): one of these holds train.txt, test.txt, valid.txt, or wiki.train.tokens, wiki.test.tokens, "
        "wiki.valid.tokens (without train, test is trained on); put the files into a folder and name it with --data or "
        "SCANSNAP_DATA, or put them into the cache, or pip install datasets where there is a network"
    )
    assert caught.value.__suppress_context__
    assert list((cache / NAME).iterdir()) == []
    online(served)
    load_corpus(NAME)  # control


@pytest.mark.parametrize("saved", [0, 1, 2])
def test_a_cache_that_a_kill_left_in_the_middle_is_filled_again(
    saved: int, cache: Path, online: Online, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, content: str) -> None:
        if len(list(path.parent.iterdir())) == saved:
            raise KeyboardInterrupt
        write_whole(path, content)

    write_whole = files.save
    online(served)
    with monkeypatch.context() as patch:
        patch.setattr(files, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            load_corpus(NAME)
    assert len(list((cache / NAME).iterdir())) == saved
    assert local_corpus(NAME) is None
    assert load_corpus(NAME).trained_on == "train"
    assert local_corpus(NAME) is not None


def test_a_full_disk(cache: Path, online: Online, monkeypatch: pytest.MonkeyPatch) -> None:
    online(served)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with refuses("file …/cache/wikitext-2/train.txt: No space left on device", "the file can be written"):
            load_corpus(NAME)
    load_corpus(NAME)  # control


def test_a_cache_that_is_no_folder(cache: Path, online: Online) -> None:
    online(no_network(AssertionError("a download that can't be kept")))
    cache.parent.joinpath("file").touch()
    cache.symlink_to("file/cache")
    with refuses(
        "cache …/cache/wikitext-2: Not a directory",
        "a downloaded corpus is kept there",
        "make it writable, or name a folder that holds the corpus",
    ):
        load_corpus(NAME)
