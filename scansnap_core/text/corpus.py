"""WikiText as word numbers: where it is found, and its vocabulary."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scansnap_core.bad_input import BadInput
from scansnap_core.extras import needs
from scansnap_core.rules import one_of, whole
from scansnap_core.text.splits import CHECKSUMS, FILE_NAMES, KNOWN, UNK, Text, find, lines, read_verified

with needs("text"):
    import platformdirs
    from filelock import FileLock

VARIABLE = "SCANSNAP_DATA"
REPOSITORY = "Salesforce/wikitext"
BLANK = " \n"  # as in the distribution
LONGEST_REASON = 200
RAREST = 3
"""A word has a number of its own if it occurs so often in the training text."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text to train on and a text to evaluate on, as word numbers.

    Attributes
    ----------
    name : str
        ``"wikitext-2"`` or ``"wikitext-103"``; ``"topics"`` where the text is generated.
    words : tuple of str
        ``words[i]`` is word number i; ``<unk>`` and ``<eos>`` are among them.
    train, validation : ndarray of int64, shape (N,)
        Word numbers in the order of the text, ``<eos>`` at the end of each line.
    trained_on : str
        The split that ``train`` is: ``"train"``, ``"test"`` where that split is absent, or ``"generated"``.
    sha256 : mapping of str to str
        The checksums of the files that were read, by split.
    """

    name: str
    words: tuple[str, ...]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    trained_on: str
    sha256: Mapping[str, str]

    @property
    def vocab_size(self) -> int:
        """The number of words, M."""
        return len(self.words)

    def limited(self, vocab_size: int) -> Corpus:
        """Keep the most frequent words of the training text, for smaller runs; all others become ``<unk>``.

        Parameters
        ----------
        vocab_size
            How many words stay, ``<unk>`` among them. They keep their order.

        Raises
        ------
        BadInput
            The corpus hasn't that many, or fewer than 2 are asked for.
        """
        says = f"it lies between 2 and the corpus' {self.vocab_size:,} words"
        whole(2, self.vocab_size, says=says, remedy="choose one of these")("vocab_size", vocab_size)
        counts = np.bincount(self.train, minlength=self.vocab_size)
        unknown = self.words.index(UNK)
        counts[unknown] = len(self.train)  # it stays in any case
        kept = np.sort(np.argsort(-counts, kind="stable")[:vocab_size])
        number = np.full(self.vocab_size, np.searchsorted(kept, unknown))
        number[kept] = np.arange(vocab_size)
        words = tuple(self.words[old] for old in kept)
        return replace(self, words=words, train=number[self.train], validation=number[self.validation])


def load_corpus(name: str = "wikitext-2", folder: str | Path | None = None) -> Corpus:
    """Read WikiText, word by word, from the first place that holds it.

    These are the folder given here, and no other if one is; the folder that the environment variable ``SCANSNAP_DATA``
    names; the user's cache; a download through Hugging Face ``datasets``, which fills the cache. A folder holds
    ``train.txt``, ``valid.txt`` and ``test.txt`` (or ``wiki.train.tokens`` and so on), or a folder of the corpus'
    name that does. Where the training text is absent, the test split is trained on and ``trained_on`` says so.

    The vocabulary comes from the text that is trained on: the words that it holds at least three times, which in the
    full corpora are all, most frequent first and ties alphabetically. All others, in both texts, are ``<unk>``.

    Parameters
    ----------
    name
        ``"wikitext-2"`` or ``"wikitext-103"``.
    folder
        Where to look.

    Raises
    ------
    BadInput
        The name is unknown, no place holds the corpus, or a file is missing, can't be read or isn't the split's.
    """
    one_of(KNOWN)("corpus", name)
    if folder is None:
        return _read(name, _at_hand(name) or _downloaded(name))
    if files := find(name, Path(folder)):
        return _read(name, files)
    raise BadInput(
        f"folder {Path(folder)}: no text of {name}",
        f"it holds {_wanted()[0]}, or a folder {name} that does",
        "check the path, or name no folder so that the other places are tried",
    )


def local_corpus(name: str = "wikitext-2") -> Corpus | None:
    """Read a corpus without a download, from ``SCANSNAP_DATA`` or the cache; None if neither has it.

    Parameters
    ----------
    name
        ``"wikitext-2"`` or ``"wikitext-103"``.

    Raises
    ------
    BadInput
        The name is unknown, or what is there is refused.
    """
    one_of(KNOWN)("corpus", name)
    files = _at_hand(name)
    return _read(name, files) if files else None


def _read(name: str, files: Mapping[str, Path]) -> Corpus:
    trained_on, train, validation = read_verified(name, files)
    words = _vocabulary(train.counts)
    return Corpus(
        name=name,
        words=words,
        train=_numbered(train, words),
        validation=_numbered(validation, words),
        trained_on=trained_on,
        sha256={trained_on: train.sha256, "validation": validation.sha256},
    )


def _at_hand(name: str) -> dict[str, Path]:
    """Find the files by split, in the first place on this machine that has any."""
    variable = os.environ.get(VARIABLE)
    if variable and (files := find(name, Path(variable))):
        return files
    return find(name, cache()) if os.path.exists(cache()) else {}


def _downloaded(name: str) -> dict[str, Path]:
    try:
        download(name)
    except Unavailable as reason:
        wanted, also = _wanted()
        raise BadInput(
            f"corpus {name}: not in {VARIABLE} ({os.environ.get(VARIABLE) or 'not set'}), not in the cache "
            f"({cache() / name}), not from Hugging Face ({reason})",
            f"one of these holds {wanted}, or {also} (without train, test is trained on)",
            f"put the files into a folder and name it with --data or {VARIABLE}, or put them into the cache, or "
            "pip install datasets where there is a network",
        ) from None
    return find(name, cache())


def _wanted() -> tuple[str, str]:
    """List the files' names, in either style."""
    one, other = (", ".join(names) for names in zip(*FILE_NAMES.values(), strict=True))
    return one, other


def _vocabulary(counts: Counter[str]) -> tuple[str, ...]:
    frequent = Counter({word: count for word, count in counts.items() if count >= RAREST and word != UNK})
    frequent[UNK] = counts.total() - frequent.total()
    return tuple(sorted(frequent, key=lambda word: (-frequent[word], word)))


def _numbered(text: Text, words: tuple[str, ...]) -> NDArray[np.int64]:
    """Number the words line by line: a list of all words would take gigabytes on WikiText-103."""
    numbers = {word: number for number, word in enumerate(words)}
    unknown = numbers[UNK]
    each = (numbers.get(word, unknown) for line in lines(text.path) for word in line)
    return np.fromiter(each, dtype=np.int64, count=text.counts.total())


class Unavailable(Exception):
    """A corpus couldn't be downloaded; the message says why, in one line."""

    def __init__(self, reason: str) -> None:
        line = " ".join(reason.split())
        super().__init__(line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…")


def cache() -> Path:
    """Return the folder that holds a folder for each downloaded corpus."""
    return platformdirs.user_cache_path("scansnap")


def download(name: str) -> None:
    """Download a corpus into the cache through Hugging Face ``datasets``.

    The files are written and counted in a folder beside, which then takes the corpus' name. What a killed process left
    there goes first. A second process waits for the first and takes what it left.

    Raises
    ------
    Unavailable
        ``datasets`` isn't installed, gave no text, or gave another one.
    BadInput
        The cache can't be written.
    """
    target, staging = cache() / name, cache() / f".{name}.new"
    try:
        cache().mkdir(parents=True, exist_ok=True)
        with FileLock(cache() / f".{name}.lock"):
            if find(name, cache()):
                return
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            try:
                _fill(staging, name)
                staging.rename(target)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise BadInput(
            f"cache {target}: {error.strerror or error}",
            "a downloaded corpus is kept there",
            "make it writable, with room for the corpus, or name a folder that holds the corpus",
        ) from None


def _fill(folder: Path, name: str) -> None:
    splits = _load(name)
    checksums = {}
    for split, (file_name, _) in FILE_NAMES.items():
        with (folder / file_name).open("w", encoding="utf8", newline="\n") as file:
            file.writelines(_lines(splits, split))
        text, expected = Text.read(folder / file_name), KNOWN[name][split].num_tokens
        if text.counts.total() != expected:
            raise Unavailable(f"its {split} split has {text.counts.total():,} tokens where {expected:,} are known")
        checksums[file_name] = text.sha256
    (folder / CHECKSUMS).write_text(json.dumps(checksums, indent=1), encoding="utf8")


def _load(name: str) -> Any:
    try:
        import datasets

        return datasets.load_dataset(REPOSITORY, f"{name}-v1")
    except Exception as error:  # whatever a library makes of a missing network
        missing = isinstance(error, ModuleNotFoundError) and error.name == "datasets"
        reason = "the package datasets isn't installed" if missing else f"{type(error).__name__}: {error}"
        raise Unavailable(reason) from None


def _lines(splits: Any, split: str) -> Iterator[str]:
    try:
        for row in splits[split]:
            yield row["text"].rstrip("\n") + "\n" if row["text"] else BLANK
    except Exception as error:
        raise Unavailable(f"{type(error).__name__}: {error}") from None
