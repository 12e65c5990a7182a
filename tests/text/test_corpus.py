"""WikiText is found in the first place that holds it, and whatever isn't it is refused; on a corpus of a few lines."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scansnap_core.text import corpus as corpus_module
from scansnap_core.text.corpus import UNCHANGED, UNK, Corpus, load_corpus, local_corpus
from tests.data.properties import refusal_of
from tests.refusing import refuses
from tests.text.tiny import KNOWN, NAME, TEST, TEXTS, TRAIN, VALIDATION, hugging_face, rows, write

pytestmark = pytest.mark.usefixtures("cache")


def marked(folder: Path, mark: str) -> Path:
    """A corpus whose training text says where it lies; that text has no known checksum."""
    return write(folder, TEXTS | {"train": TRAIN.replace("cat", mark)})


def spelled(corpus: Corpus, numbers: np.ndarray) -> str:
    return " ".join(corpus.words[number] for number in numbers)


# -- the words ------------------------------------------------------------------------------------------------------


def test_words_and_numbers(tmp_path: Path) -> None:
    corpus = load_corpus(NAME, write(tmp_path / "data"))
    assert corpus.words == ("<unk>", "the", ",", "<eos>", "cat", "dog")
    assert corpus.vocab_size == 6
    expected = "the cat , the cat <unk> <unk> cat <unk> <unk> the dog , the <unk> dog , <unk> dog <eos>"
    assert spelled(corpus, corpus.train) == f"<unk> <unk> <unk> <eos> <eos> {expected}"
    assert spelled(corpus, corpus.validation) == "<unk> <unk> <unk> <eos> <eos> the dog <unk> the <unk> <eos>"
    assert corpus.train.dtype == corpus.validation.dtype == np.int64
    assert (corpus.name, corpus.trained_on) == (NAME, "train")
    assert corpus.sha256.keys() == {"train", "validation"}
    assert corpus.sha256["validation"] == hashlib.sha256(VALIDATION.encode()).hexdigest()


def test_without_the_training_text_the_test_split_is_trained_on(tmp_path: Path) -> None:
    corpus = load_corpus(NAME, write(tmp_path / "data", {"validation": VALIDATION, "test": TEST}))
    assert corpus.trained_on == "test"
    assert corpus.words == ("<unk>", "é", "<eos>")
    assert spelled(corpus, corpus.train) == "<eos> <unk> é <unk> é <unk> é <unk> é <unk> <eos> <eos>"
    assert spelled(corpus, corpus.validation).count("<unk>") == 8
    assert corpus.sha256.keys() == {"test", "validation"}


def test_both_styles_of_file_names_and_the_test_split_is_not_needed(tmp_path: Path) -> None:
    texts = {"train": TRAIN, "validation": VALIDATION}
    one, other = (load_corpus(NAME, write(tmp_path / str(style), texts, style)) for style in (0, 1))
    assert one.words == other.words
    assert one.sha256 == other.sha256
    assert (one.train == other.train).all()
    assert (one.validation == other.validation).all()


# -- the places -----------------------------------------------------------------------------------------------------


def test_places_in_order(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def load() -> object:
        calls.append(1)
        return {split: rows(text) for split, text in (TEXTS | {"train": TRAIN.replace("cat", "net")}).items()}

    monkeypatch.setitem(sys.modules, "datasets", hugging_face(load))
    given, variable = marked(tmp_path / "given", "arg"), marked(tmp_path / "variable", "env")
    marked(cache / NAME, "kept")

    monkeypatch.setenv("SCANSNAP_DATA", str(variable))
    assert "arg" in load_corpus(NAME, given).words
    assert "env" in load_corpus(NAME).words
    monkeypatch.setenv("SCANSNAP_DATA", "")
    assert "kept" in load_corpus(NAME).words
    monkeypatch.delenv("SCANSNAP_DATA")
    assert "kept" in load_corpus(NAME).words
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SCANSNAP_DATA", str(tmp_path / "empty"))
    assert "kept" in load_corpus(NAME).words
    assert calls == []
    assert [entry.name for entry in cache.iterdir()] == [NAME]  # what is there is read without a lock
    for file in (cache / NAME).iterdir():
        file.unlink()
    assert "net" in load_corpus(NAME).words
    assert "net" in load_corpus(NAME).words
    assert calls == [1]


def test_without_a_download(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> object:
        raise AssertionError("it asked for a download")

    monkeypatch.setitem(sys.modules, "datasets", hugging_face(load))
    assert local_corpus(NAME) is None
    marked(cache / NAME, "kept")
    assert "kept" in getattr(local_corpus(NAME), "words", ())
    variable = marked(tmp_path / "variable", "env")
    monkeypatch.setenv("SCANSNAP_DATA", str(variable))
    assert "env" in getattr(local_corpus(NAME), "words", ())
    (variable / "valid.txt").unlink()
    with refuses(
        "folder …/variable: no valid.txt",
        "a corpus is a text to train on (train, or test in its place) and one to evaluate on (valid)",
    ):
        local_corpus(NAME)
    for read in (load_corpus, local_corpus):
        with refuses("name = 'ptb'", "the choices are wikitext-2, wikitext-103", "use one of them"):
            read("ptb")


def test_a_folder_may_hold_a_folder_for_each_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked(tmp_path / "data" / NAME, "two")
    marked(tmp_path / "data" / "wikitext-103", "large")
    monkeypatch.setitem(corpus_module.KNOWN, "wikitext-103", KNOWN)
    monkeypatch.setenv("SCANSNAP_DATA", str(tmp_path / "data"))
    for folder in (None, str(tmp_path / "data")):
        assert "two" in load_corpus(NAME, folder).words
        assert "large" in load_corpus("wikitext-103", folder).words
    marked(tmp_path / "data", "flat")
    assert "two" in load_corpus(NAME).words
    for file in (tmp_path / "data" / NAME).iterdir():
        file.unlink()
    assert "flat" in load_corpus(NAME).words


def test_a_given_folder_is_the_only_place(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SCANSNAP_DATA", str(write(tmp_path / "variable")))
    write(cache / NAME)
    message = (
        f"folder {tmp_path / 'empty'}: no text of {NAME}: it holds train.txt, test.txt, valid.txt, or a folder {NAME} "
        "that does; check the path, or name no folder so that the other places are tried"
    )
    assert refusal_of(load_corpus, NAME, tmp_path / "empty") == message
    with refuses(
        "folder .: no text of wikitext-2", "it holds train.txt, test.txt, valid.txt, or a folder wikitext-2 that does"
    ):
        load_corpus(NAME, "")
    load_corpus(NAME)  # control


def test_a_named_folder_that_is_none(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("words")
    write(cache / NAME)
    for path, reason in (("nowhere", "No such file or directory"), ("file", "Not a directory")):
        with refuses(f"folder {tmp_path / path}: {reason}", "a folder that is named as a corpus' place can be read"):
            load_corpus(NAME, tmp_path / path)
        monkeypatch.setenv("SCANSNAP_DATA", str(tmp_path / path))
        with refuses(f"folder {tmp_path / path}: {reason}", "a folder that is named as a corpus' place can be read"):
            load_corpus(NAME)


# -- refused --------------------------------------------------------------------------------------------------------


def put(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def keep(*names: str) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        for path in folder.iterdir():
            if path.name not in names:
                path.unlink()

    return damage


def turn_into_a_folder(folder: Path) -> None:
    (folder / "valid.txt").unlink()
    (folder / "valid.txt").mkdir()


def turn_into_a_dead_link(folder: Path) -> None:
    (folder / "train.txt").rename(folder / "moved")
    (folder / "train.txt").symlink_to("gone")


TEXT = f"a split is a file of UTF-8 text; {UNCHANGED}"
CORPUS = f"a corpus is a text to train on (train, or test in its place) and one to evaluate on (valid); {UNCHANGED}"
COUNTED = "words, counting the end of each line"
OTHER = VALIDATION.replace("dog", "cat").encode()
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated training text": (
        lambda folder: os.truncate(folder / "train.txt", len(TRAIN) - 6),
        f"file FOLDER/train.txt: 24 {COUNTED}: wikitext-2's train split has 25; {UNCHANGED}",
    ),
    "truncated validation text": (
        put("valid.txt", VALIDATION[:9].encode()),
        f"file FOLDER/valid.txt: 4 {COUNTED}: wikitext-2's validation split has 11; {UNCHANGED}",
    ),
    "another validation text of the same length": (
        put("valid.txt", OTHER),
        "file FOLDER/valid.txt: it has other words: wikitext-2's validation split has those of the distribution; "
        f"{UNCHANGED}",
    ),
    "no UTF-8": (
        put("train.txt", TRAIN.replace("cat", "c\xe4t").encode("latin-1")),
        f"file FOLDER/train.txt: it isn't UTF-8 text: {TEXT}",
    ),
    "a folder": (turn_into_a_folder, f"file FOLDER/valid.txt: Is a directory: {TEXT}"),
    "a lost training text": (turn_into_a_dead_link, f"file FOLDER/train.txt: No such file or directory: {TEXT}"),
    "no validation text": (keep("train.txt", "test.txt"), f"folder FOLDER: no valid.txt: {CORPUS}"),
    "only the validation text": (keep("valid.txt"), f"folder FOLDER: no test.txt: {CORPUS}"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "data")
    load_corpus(NAME, folder)  # control
    do, message = DAMAGES[damage]
    do(folder)
    assert refusal_of(load_corpus, NAME, folder) == message.replace("FOLDER", str(folder))
    monkeypatch.setenv("SCANSNAP_DATA", str(folder))
    assert refusal_of(load_corpus, NAME) == message.replace("FOLDER", str(folder))


@pytest.mark.parametrize(
    ("text", "how", "rule"),
    [
        (TEST[:8], "5 words, counting the end of each line", "wikitext-2's test split has 12"),
        (TEST.replace("cat", "dog"), "it has other words", "wikitext-2's test split has those of the distribution"),
    ],
)
def test_a_damaged_test_split_where_it_is_trained_on(text: str, how: str, rule: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "data", {"validation": VALIDATION, "test": TEST})
    load_corpus(NAME, folder)  # control
    put("test.txt", text.encode())(folder)
    with refuses(f"file {folder / 'test.txt'}: {how}", rule):
        load_corpus(NAME, folder)


def test_fewer_words() -> None:
    texts = np.array([0, 1, 1, 3, 3, 3, 4]), np.array([4, 2, 0, 3])
    whole = Corpus("topics", ("a", "b", UNK, "c", "d"), *texts, "generated", sha256={})
    small = whole.limited(3)
    assert small.words == ("b", UNK, "c")
    assert small.train.tolist() == [1, 0, 0, 2, 2, 2, 1]
    assert small.validation.tolist() == [1, 1, 1, 2]
    assert whole.limited(5).words == whole.words
    assert whole.limited(5).train.tolist() == whole.train.tolist()
    # of words that are as frequent the first stay
    assert whole.limited(4).words == ("a", "b", UNK, "c")
    for vocab_size in (1, 6):
        with refuses(f"vocab_size = {vocab_size}", "it lies between 2 and the corpus' 5 words"):
            whole.limited(vocab_size)
