"""WikiText as word numbers: where it is found, how it is known to be whole, and its vocabulary."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.base.rules import one_of, takes, whole

with needs("text"):
    import platformdirs

UNK = "<unk>"
EOS = "<eos>"
VARIABLE = "SCANSNAP_DATA"
REPOSITORY = "Salesforce/wikitext"
BLANK = " \n"  # as in the distribution
RAREST = 3
"""The least number of times that a word must occur in the training text to have its own number."""
FILE_NAMES: Mapping[str, tuple[str, str]] = {
    "train": ("train.txt", "wiki.train.tokens"),
    "test": ("test.txt", "wiki.test.tokens"),
    "validation": ("valid.txt", "wiki.valid.tokens"),
}
"""The names that the file of a split may have. A download writes the first, in this order."""
UNCHANGED = (
    "put the distribution's files there, or delete what is in the cache, so that it is "
    "downloaded again"
)


class Known(NamedTuple):
    """The number of words in a split, with <eos> at each line's end, and the SHA-256 of the words
    if known.
    """

    num_tokens: int
    sha256: str | None = None


# WikiText-2 is the beginning of WikiText-103's training text, with the same validation and test
# texts.
_SHARED = {
    "validation": Known(
        217_646, "f23171c70990a08e46712bc7010204d25504a5e829dd64da77c492e9662d6c4a"
    ),
    "test": Known(245_569, "0be791a42497fdb14b9b366a71eb2e87839b639c9c359b3a901d2415e6128e86"),
}
KNOWN: dict[str, Mapping[str, Known]] = {
    "wikitext-2": {"train": Known(2_088_628), **_SHARED},
    "wikitext-103": {"train": Known(103_227_021), **_SHARED},
}


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text to train on and a text to evaluate on, as word numbers."""

    name: str
    """``"wikitext-2"`` or ``"wikitext-103"``; ``"topics"`` where the text is generated."""
    words: tuple[str, ...]
    """``words[i]`` is word number i; ``<unk>`` and ``<eos>`` are among them."""
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    """Word numbers in the order of the text, ``<eos>`` at the end of each line."""
    trained_on: str
    """The split that ``train`` is: ``"train"``, ``"test"`` where that split is absent, or
    ``"generated"``.
    """
    sha256: Mapping[str, str]
    """The checksums of the files that were read, by split."""

    @property
    def vocab_size(self) -> int:
        """Return the number of words, M."""
        return len(self.words)

    def limited(self, vocab_size: int) -> Corpus:
        """Keep this many of the most frequent words, ``<unk>`` among them, in their order; others
        become ``<unk>``.
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
        return replace(
            self, words=words, train=number[self.train], validation=number[self.validation]
        )


@takes(name=one_of(KNOWN))
def load_corpus(name: str = "wikitext-2", folder: str | Path | None = None) -> Corpus:
    """Read WikiText, word by word, from the first place that holds it.

    These are the folder given here, and no other if one is; the folder that the environment
    variable ``SCANSNAP_DATA`` names; the user's cache; a download through Hugging Face
    ``datasets``, which fills the cache. A folder holds ``train.txt``, ``valid.txt`` and
    ``test.txt`` (or ``wiki.train.tokens`` and so on), or a folder of the corpus' name that does.
    Where the training text is absent, the test split is trained on and ``trained_on`` says so.

    The vocabulary comes from the text that is trained on: the words that it holds at least three
    times (in the full corpora: all words), most frequent first, ties in alphabetical order. All
    others, in both texts, are ``<unk>``.
    """
    if folder is None:
        return _read(name, _at_hand(name) or _downloaded(name))
    if found := _find(name, Path(folder)):
        return _read(name, found)
    raise BadInput(
        f"folder {Path(folder)}: no text of {name}",
        f"it holds {_wanted()[0]}, or a folder {name} that does",
        "check the path, or name no folder so that the other places are tried",
    )


@takes(name=one_of(KNOWN))
def local_corpus(name: str = "wikitext-2") -> Corpus | None:
    """Read a corpus as :func:`load_corpus` does, but without a download; None if no place here has
    it.
    """
    found = _at_hand(name)
    return _read(name, found) if found else None


def _at_hand(name: str) -> dict[str, Path]:
    """Find the files by split, in the first place on this machine that has any."""
    variable = os.environ.get(VARIABLE)
    if variable and (found := _find(name, Path(variable))):
        return found
    cached = _find(name, _cache()) if (_cache() / name).is_dir() else {}
    return cached if "validation" in cached else {}  # a download writes it last


def _find(name: str, folder: Path) -> dict[str, Path]:
    """Find the files by split, in a folder of the corpus' name within this one, or else in this
    one; empty where it has none of them.
    """

    def within(folder: Path) -> dict[str, Path]:
        """Find them in one folder."""
        # A link that leads nowhere counts: a lost training text may not turn into training on the
        # test split unnoticed.
        present = {entry.name for entry in folder.iterdir()}
        found = {
            split: [folder / name for name in names if name in present]
            for split, names in FILE_NAMES.items()
        }
        return {split: paths[0] for split, paths in found.items() if paths}

    try:
        return (within(folder / name) if (folder / name).is_dir() else {}) or within(folder)
    except OSError as error:
        rule = "a folder that is named as a corpus' place can be read"
        remedy = "check the path that --data or"
        raise BadInput(
            f"folder {folder}: {error.strerror}", rule, f"{remedy} {VARIABLE} names"
        ) from None


def _cache() -> Path:
    """Return this package's folder in the user's cache."""
    return platformdirs.user_cache_path("scansnap")


def _downloaded(name: str) -> dict[str, Path]:
    """Fill the cache through Hugging Face ``datasets``, each file whole or not at all, and return
    the files by split.

    Where that fails it raises BadInput, which names all places that were looked at.
    """
    folder = _cache() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        rule = "a downloaded corpus is kept there"
        remedy = "make it writable, or name a folder that holds the corpus"
        raise BadInput(f"cache {folder}: {error.strerror}", rule, remedy) from None
    try:
        import datasets

        splits = datasets.load_dataset(REPOSITORY, f"{name}-v1")
        texts = {
            split: [
                row["text"].rstrip("\n") + "\n" if row["text"] else BLANK for row in splits[split]
            ]
            for split in FILE_NAMES
        }
    except Exception as error:  # whatever a library makes of a missing network
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        wanted, also = _wanted()
        raise BadInput(
            f"corpus {name}: not in {VARIABLE} ({os.environ.get(VARIABLE) or 'not set'}), not in "
            f"the cache ({folder}), not from Hugging Face ({reason})",
            f"one of these holds {wanted}, or {also} (without train, test is trained on)",
            f"put the files into a folder and name it with --data or {VARIABLE}, or put them "
            "into the cache, or pip install datasets where there is a network",
        ) from None
    for split, lines in texts.items():
        files.save(folder / FILE_NAMES[split][0], "".join(lines))
    return _find(name, _cache())


def _wanted() -> tuple[str, str]:
    """List the files' names in each of the two styles."""
    first_names, second_names = zip(*FILE_NAMES.values(), strict=True)
    return ", ".join(first_names), ", ".join(second_names)


def _read(name: str, found: Mapping[str, Path]) -> Corpus:
    """Read the text to train on, ``train`` or where there is none ``test``, and the validation
    text.
    """
    trained_on = "train" if "train" in found else "test"
    folder = next(iter(found.values())).parent
    if missing := [
        FILE_NAMES[split][0] for split in (trained_on, "validation") if split not in found
    ]:
        rule = (
            "a corpus is a text to train on (train, or test in its place) and one to evaluate on "
            "(valid)"
        )
        raise BadInput(f"folder {folder}: no {', '.join(missing)}", rule, UNCHANGED)
    paths = {split: found[split] for split in (trained_on, "validation")}
    counts = {split: _checked(name, split, path) for split, path in paths.items()}
    words = _vocabulary(counts[trained_on])
    numbers = {word: number for number, word in enumerate(words)}

    def numbered(path: Path) -> NDArray[np.int64]:
        """Number the words line by line: a list of all words would take gigabytes on
        WikiText-103.
        """
        return np.fromiter(
            (numbers.get(word, numbers[UNK]) for line in _lines(path) for word in line),
            dtype=np.int64,
        )

    train = numbered(paths[trained_on])
    validation = numbered(paths["validation"])
    sha256 = {split: hashlib.sha256(path.read_bytes()).hexdigest() for split, path in paths.items()}
    return Corpus(name, words, train, validation, trained_on, sha256)


def _checked(name: str, split: str, path: Path) -> Counter[str]:
    """Count the words of a split's file; raise BadInput unless they are the split's, by their
    number and, where it is known, their checksum.

    The checksum is of the words and not of the file, so that other line ends and spaces pass.
    """
    counts: Counter[str] = Counter()
    hashed = hashlib.sha256()
    for words in _lines(path):
        counts.update(words)
        hashed.update(" ".join([*words, ""]).encode())
    known = KNOWN[name][split]
    whose = f"{name}'s {split} split"
    if counts.total() != known.num_tokens:
        value = f"file {path}: {counts.total():,} words, counting the end of each line"
        raise BadInput(value, f"{whose} has {known.num_tokens:,}", UNCHANGED)
    if known.sha256 not in (None, hashed.hexdigest()):
        raise BadInput(
            f"file {path}: it has other words", f"{whose} has those of the distribution", UNCHANGED
        )
    return counts


def _lines(path: Path) -> Iterator[list[str]]:
    """Yield the words of each line of a file, <eos> the last; BadInput if it can't be read."""
    try:
        with path.open(encoding="utf8") as file:
            for line in file:
                yield [*line.split(), EOS]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        raise BadInput(
            f"file {path}: {reason}", "a split is a file of UTF-8 text", UNCHANGED
        ) from None


def _vocabulary(counts: Counter[str]) -> tuple[str, ...]:
    """List the words that get a number: those seen `RAREST` times or more, most frequent first.

    <unk> has the count of all others, and so its place.
    """
    frequent = Counter(
        {word: count for word, count in counts.items() if count >= RAREST and word != UNK}
    )
    frequent[UNK] = counts.total() - frequent.total()
    return tuple(sorted(frequent, key=lambda word: (-frequent[word], word)))
