"""The splits of WikiText as files: their names, their known lengths and checksums, and the refusal of other files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scansnap_core.bad_input import BadInput

UNK, EOS = "<unk>", "<eos>"
CHECKSUMS = "checksums.json"

FILE_NAMES: Mapping[str, tuple[str, str]] = {
    "train": ("train.txt", "wiki.train.tokens"),
    "validation": ("valid.txt", "wiki.valid.tokens"),
    "test": ("test.txt", "wiki.test.tokens"),
}
"""The names that the file of a split may have; the cache uses the first."""


@dataclass(frozen=True)
class Known:
    """The number of tokens in a split's file, with <eos> at each line's end, and its checksum if known."""

    num_tokens: int
    sha256: str | None = None


# WikiText-2 is the beginning of WikiText-103's training text, with the same validation and test texts.
_SHARED = {
    "validation": Known(217_646, "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"),
    "test": Known(245_569, "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"),
}
KNOWN: dict[str, Mapping[str, Known]] = {
    "wikitext-2": {"train": Known(2_088_628), **_SHARED},
    "wikitext-103": {"train": Known(103_227_021), **_SHARED},
}


@dataclass(frozen=True)
class Text:
    """A split's file, how often each word occurs in it, <eos> included, and its checksum."""

    path: Path
    counts: Counter[str]
    sha256: str

    @classmethod
    def read(cls, path: Path) -> Text:
        """Count a file line by line.

        Raises
        ------
        BadInput
            The file can't be read, or isn't UTF-8 text.
        """
        counts: Counter[str] = Counter()
        for words in lines(path):
            counts.update(words)
        with path.open("rb") as file:
            return cls(path, counts, hashlib.file_digest(file, "sha256").hexdigest())


def lines(path: Path) -> Iterator[list[str]]:
    """Yield the words of each line, <eos> the last.

    Raises
    ------
    BadInput
        The file can't be read, or isn't UTF-8 text.
    """
    try:
        with path.open(encoding="utf8") as file:
            for line in file:
                yield [*line.split(), EOS]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        raise BadInput(f"file {path}: {reason}", "a split is a file of UTF-8 text", _remedy(path.parent)) from None


def find(name: str, folder: Path) -> dict[str, Path]:
    """Find the files of a corpus by split, in a folder of the corpus' name within this one, or else in this one.

    Raises
    ------
    BadInput
        The folder can't be listed.
    """
    try:
        return (_files(folder / name) if (folder / name).is_dir() else {}) or _files(folder)
    except OSError as error:
        raise BadInput(
            f"folder {folder}: {error.strerror}",
            "a folder that is named as a corpus' place can be read",
            "check the path that --data or SCANSNAP_DATA names",
        ) from None


def _files(folder: Path) -> dict[str, Path]:
    # A link that leads nowhere counts: a lost training text may not turn into training on the test split unnoticed.
    present = {entry.name for entry in folder.iterdir()}
    found = {split: [folder / name for name in names if name in present] for split, names in FILE_NAMES.items()}
    return {split: paths[0] for split, paths in found.items() if paths}


def read_verified(name: str, files: Mapping[str, Path]) -> tuple[str, Text, Text]:
    """Read the text to train on and the validation text, and check them; also return the split to train on.

    Training is on ``train``, or where there is none on ``test``.

    Raises
    ------
    BadInput
        A split is missing, can't be read, or isn't what is known of it.
    """
    folder = next(iter(files.values())).parent
    recorded = _recorded(folder)
    missing = sorted(recorded.keys() - {path.name for path in files.values()})
    if "validation" not in files:
        missing.append(FILE_NAMES["validation"][0])
    elif len(files) == 1:
        missing.append(f"{FILE_NAMES['train'][0]} or {FILE_NAMES['test'][0]}")
    if missing:
        raise BadInput(
            f"folder {folder}: no {', '.join(missing)}",
            "a corpus is a text to train on (train, or test in its place) and one to evaluate on (valid)",
            _remedy(folder),
        )
    trained_on = "train" if "train" in files else "test"
    texts = {}
    for split in (trained_on, "validation"):
        texts[split] = text = Text.read(files[split])
        known = KNOWN[name][split]
        _check(name, split, text, known.num_tokens, recorded.get(text.path.name, known.sha256))
    return trained_on, texts[trained_on], texts["validation"]


def _check(name: str, split: str, text: Text, num_tokens: int, sha256: str | None) -> None:
    whose = f"{name}'s {split} split"
    if text.counts.total() != num_tokens:
        raise BadInput(
            f"file {text.path}: {text.counts.total():,} tokens, counting the end of each line",
            f"{whose} has {num_tokens:,}",
            _remedy(text.path.parent),
        )
    if sha256 not in (None, text.sha256):
        raise BadInput(
            f"file {text.path}: its sha256 is {text.sha256}", f"that of {whose} is {sha256}", _remedy(text.path.parent)
        )


def _recorded(folder: Path) -> dict[str, str]:
    """Read the checksums that were kept with a download."""
    try:
        content = json.loads((folder / CHECKSUMS).read_bytes())
        if isinstance(content, dict) and content and all(isinstance(value, str) for value in content.values()):
            return content
        reason = "it isn't a mapping of file names to checksums"
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else "it isn't valid JSON"
    raise BadInput(f"file {folder / CHECKSUMS}: {reason}", "it holds the files' checksums", _remedy(folder))


def _remedy(folder: Path) -> str:
    if (folder / CHECKSUMS).exists():
        return f"delete the folder {folder}, so that it is downloaded again"
    return "put the files of the distribution there, unchanged"
