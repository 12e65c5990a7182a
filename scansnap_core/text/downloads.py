"""The cache of downloaded corpora: a folder in it is whole, or isn't there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.extras import needs
from scansnap_core.text.splits import CHECKSUMS, FILE_NAMES, KNOWN, Text, find

with needs("text"):
    import platformdirs
    from filelock import FileLock

REPOSITORY = "Salesforce/wikitext"
BLANK = " \n"  # as in the distribution
LONGEST_REASON = 200


class Unavailable(Exception):
    """Why a corpus couldn't be downloaded, in one line."""

    def __init__(self, reason: str) -> None:
        line = " ".join(reason.split())
        super().__init__(line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…")


def cache() -> Path:
    """The folder that holds a folder for each downloaded corpus."""
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
