"""WikiText as word numbers: where it is found, and its vocabulary."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scansnap_core.bad_input import BadInput
from scansnap_core.text.downloads import Unavailable, cache, download
from scansnap_core.text.splits import FILE_NAMES, KNOWN, UNK, Text, find, lines, read_verified

VARIABLE = "SCANSNAP_DATA"
RAREST = 3
"""How often a word occurs in the training text if it has a number of its own."""


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


def load_corpus(name: str = "wikitext-2", folder: str | Path | None = None) -> Corpus:
    """WikiText, word by word, from the first place that holds it.

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
    if name not in KNOWN:
        raise BadInput(
            value=f"corpus {name!r}", rule=f"the corpora are {' and '.join(KNOWN)}", remedy="use one of them"
        )
    trained_on, train, validation = read_verified(name, _found(name, folder))
    words = _vocabulary(train.counts)
    return Corpus(
        name=name,
        words=words,
        train=_numbered(train, words),
        validation=_numbered(validation, words),
        trained_on=trained_on,
        sha256={trained_on: train.sha256, "validation": validation.sha256},
    )


def _found(name: str, folder: str | Path | None) -> dict[str, Path]:
    """The files by split, in the first place that has any."""
    wanted, also = (", ".join(names) for names in zip(*FILE_NAMES.values(), strict=True))
    if folder is not None:
        if files := find(name, Path(folder)):
            return files
        raise BadInput(
            value=f"folder {Path(folder)}: no text of {name}",
            rule=f"it holds {wanted}, or a folder {name} that does",
            remedy="check the path, or name no folder so that the other places are tried",
        )
    variable = os.environ.get(VARIABLE)
    if variable and (files := find(name, Path(variable))):
        return files
    if os.path.exists(cache()) and (files := find(name, cache())):
        return files
    try:
        download(name)
    except Unavailable as reason:
        raise BadInput(
            value=f"corpus {name}: not in {VARIABLE} ({variable or 'not set'}), not in the cache ({cache() / name}), "
            f"not from Hugging Face ({reason})",
            rule=f"one of these holds {wanted}, or {also} (without train, test is trained on)",
            remedy=f"put the files into a folder and name it with --data or {VARIABLE}, or put them into the cache, or "
            "pip install datasets where there is a network",
        ) from None
    return find(name, cache())


def _vocabulary(counts: Counter[str]) -> tuple[str, ...]:
    frequent = Counter({word: count for word, count in counts.items() if count >= RAREST and word != UNK})
    frequent[UNK] = counts.total() - frequent.total()
    return tuple(sorted(frequent, key=lambda word: (-frequent[word], word)))


def _numbered(text: Text, words: tuple[str, ...]) -> NDArray[np.int64]:
    """Word numbers, filled line by line: a list of all words would take gigabytes on WikiText-103."""
    numbers = {word: number for number, word in enumerate(words)}
    unknown = numbers[UNK]
    each = (numbers.get(word, unknown) for line in lines(text.path) for word in line)
    return np.fromiter(each, dtype=np.int64, count=text.counts.total())
