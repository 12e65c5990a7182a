"""Small texts."""

from __future__ import annotations

import numpy as np

from scansnap_core.text.corpus import Corpus


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
