"""Small texts: one under WikiText-2's name, with a Hugging Face that serves it; run as a program, it downloads.

::

    python -m tests.text.tiny CACHE LOG [kill | wait]
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from unittest import mock

import numpy as np
import platformdirs

from scansnap_core.text import splits
from scansnap_core.text.corpus import Corpus, load_corpus

NAME = "wikitext-2"
TRAIN = " = Cats = \n \n the cat , the cat and a cat sat on the dog , the <unk> dog , a dog \n"
VALIDATION = " = Dogs = \n \n the dog and the emu \n"
TEST = " \n a é <unk> é <unk> é <unk> é cat \n \n"
TEXTS = {"train": TRAIN, "validation": VALIDATION, "test": TEST}


def known(split: str, num_tokens: int) -> splits.Known:
    text = TEXTS[split]
    return splits.Known(num_tokens, None if split == "train" else hashlib.sha256(text.encode()).hexdigest())


KNOWN: Mapping[str, splits.Known] = {
    "train": known("train", 3 + 19 + 3),
    "validation": known("validation", 3 + 5 + 3),
    "test": known("test", 9 + 3),
}


def write(folder: Path, texts: Mapping[str, str] = TEXTS, style: int = 0) -> Path:
    """A folder with these splits, in one of the two styles of file names."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, text in texts.items():
        (folder / splits.FILE_NAMES[split][style]).write_bytes(text.encode())
    return folder


def rows(text: str) -> list[dict[str, str]]:
    """A split as Hugging Face serves it: the blank lines are empty."""
    return [{"text": line if line.strip() else ""} for line in text.splitlines(keepends=True)]


def hugging_face(load: Callable[[], object]) -> ModuleType:
    """A module in place of ``datasets``."""

    def load_dataset(path: str, name: str) -> object:
        assert (path, name) == ("Salesforce/wikitext", f"{NAME}-v1")
        return load()

    module = ModuleType("datasets")
    vars(module)["load_dataset"] = load_dataset
    return module


def small_corpus(train: int = 900, validation: int = 200, vocab_size: int = 30) -> Corpus:
    """Words that follow one another in a circle, now and then by chance."""
    rng = np.random.default_rng(7)
    text = (np.arange(train + validation) + (rng.random(train + validation) < 0.2).cumsum()) % vocab_size
    return Corpus(
        name="topics",
        words=tuple(f"w{i}" for i in range(vocab_size)),
        train=text[:train],
        validation=text[train:],
        trained_on="generated",
        sha256={},
    )


def _main(cache: Path, log: Path, disturbance: str = "") -> None:
    def validation() -> Iterator[dict[str, str]]:
        with log.open("a") as file:
            file.write("in the middle\n")
        yield from rows(VALIDATION)[:2]
        if disturbance == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while disturbance == "wait" and not log.with_name("go on").exists():
            time.sleep(0.01)
        yield from rows(VALIDATION)[2:]

    served = {"train": rows(TRAIN), "validation": validation(), "test": rows(TEST)}
    with (
        mock.patch.dict(splits.KNOWN, {NAME: KNOWN}),
        mock.patch.dict(sys.modules, datasets=hugging_face(lambda: served)),
        mock.patch.object(platformdirs, "user_cache_path", return_value=cache),
    ):
        print(*load_corpus(NAME).words)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
