"""Small texts: one under WikiText-2's name, with a Hugging Face that serves it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import numpy as np

from scansnap_core.text.corpus import FILE_NAMES, Corpus, Known

NAME = "wikitext-2"
TRAIN = " = Cats = \n \n the cat , the cat and a cat sat on the dog , the <unk> dog , a dog \n"
VALIDATION = " = Dogs = \n \n the dog and the emu \n"
TEST = " \n a é <unk> é <unk> é <unk> é cat \n \n"
TEXTS = {"train": TRAIN, "validation": VALIDATION, "test": TEST}


def hashed(*lines: str) -> str:
    return hashlib.sha256("".join(f"{line} <eos> ".lstrip() for line in lines).encode()).hexdigest()


KNOWN: Mapping[str, Known] = {
    "train": Known(3 + 19 + 3),
    "validation": Known(3 + 5 + 3, hashed("= Dogs =", "", "the dog and the emu")),
    "test": Known(9 + 3, hashed("", "a é <unk> é <unk> é <unk> é cat", "")),
}


def write(folder: Path, texts: Mapping[str, str] = TEXTS, style: int = 0) -> Path:
    """A folder with these splits, in one of the two styles of file names."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, text in texts.items():
        (folder / FILE_NAMES[split][style]).write_bytes(text.encode())
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
    words = tuple(f"w{i}" for i in range(vocab_size))
    return Corpus("topics", words, text[:train], text[train:], "generated", sha256={})
