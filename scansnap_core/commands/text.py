"""``scansnap text train``: train the standard Transformer on text and store what its attention
did.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from scansnap_core.base.bad_input import BadInput
from scansnap_core.commands import DEVICE, GOES_ON, REQUIRED, command
from scansnap_core.text.settings import OPTIMIZERS, Settings

TRAINED = 0
DIVERGED = 1
CORPORA = ("wikitext-2", "wikitext-103", "topics")
DEFAULT = Settings()


@command(
    "text train",
    "train a Transformer on text and store what its attention did",
    ("--corpus", CORPORA, "the text; topics is generated", CORPORA[0]),
    ("--data DIR", Path, "its folder (default: SCANSNAP_DATA, the cache)"),
    ("--vocab-size M", int, "keep only the most frequent words (default: all)"),
    ("--layers N", int, "layers of the Transformer", DEFAULT.layers),
    ("--lr RATE", float, "learning rate", DEFAULT.lr),
    ("--steps N", int, "updates to make", DEFAULT.steps),
    ("--out DIR", Path, "the store, new or begun by this command", REQUIRED),
    ("--every N", int, "steps between two snapshots", DEFAULT.every),
    ("--seed N", int, "seed of the weights and batches", DEFAULT.seed),
    ("--dropout P", float, "probability of dropping a number", DEFAULT.dropout),
    ("--no-positions", bool, "add no sinusoidal positions to the embedding"),
    ("--optimizer NAME", str, ", ".join(OPTIMIZERS), DEFAULT.optimizer),
    DEVICE,
    when_stopped=GOES_ON,
)
def run(options: argparse.Namespace) -> int:
    """Train a causal Transformer on text into a store; the same command goes on where it was
    stopped.
    """
    options.positions = not options.no_positions
    named = {field.name for field in fields(Settings)} & vars(options).keys()
    settings = Settings(**{name: getattr(options, name) for name in named})
    if options.corpus == "topics" and options.data is not None:
        raise BadInput(
            f"--data {options.data}", "the corpus topics is generated", "leave --data out"
        )

    import numpy as np

    from scansnap_core.storage.store import read
    from scansnap_core.text.corpus import load_corpus
    from scansnap_core.text.generator import topic_text
    from scansnap_core.text.recording import record

    corpus = (
        topic_text().corpus
        if options.corpus == "topics"
        else load_corpus(options.corpus, options.data)
    )
    if options.vocab_size is not None:
        corpus = corpus.limited(options.vocab_size)
    record(
        corpus,
        settings,
        options.out,
        device=options.device,
        command=options.command_line,
        progress=True,
    )

    result = read(options.out)
    last = result.isel(snapshot=-1)
    print(f"trained on the {corpus.trained_on} split of {corpus.name}, {corpus.vocab_size:,} words")
    print("step, loss and by layer the entropy of attention, on the validation text, in nats")
    for one in (result.isel(snapshot=0), last):
        print(
            f"{int(one.step)}: {float(one.loss):.3f}; "
            + ", ".join(f"{value:.3f}" for value in one.entropy.values)
        )
    print(f"stored in {options.out}")
    if np.isfinite(last.loss):
        return TRAINED
    first = int(result.step.values[~np.isfinite(result.loss.values)][0])
    print(
        f"scansnap: the loss is no longer finite from step {first} on; take a smaller --lr",
        file=sys.stderr,
    )
    return DIVERGED
