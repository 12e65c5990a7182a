"""``scansnap text train``: train the standard Transformer on text and store what its attention did."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.text.settings import Settings

TRAINED, DIVERGED = 0, 1
CORPORA = ("wikitext-2", "wikitext-103", "topics")


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("text", help="real text and the standard Transformer")
    train = parser.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "train",
        help="train a Transformer on text and store what its attention did",
        description="Train a causal Transformer on text into a store; the same command goes on where it was stopped.",
    )
    default = Settings()
    train.add_argument(
        "--corpus", choices=CORPORA, default=CORPORA[0], help=f"default: {CORPORA[0]}; topics: generated"
    )
    train.add_argument("--data", type=Path, metavar="DIR", help="its folder (default: SCANSNAP_DATA, the cache)")
    train.add_argument("--vocab-size", type=int, metavar="M", help="keep only the most frequent words (default: all)")
    train.add_argument("--layers", type=int, default=default.layers, metavar="N", help=f"default: {default.layers}")
    train.add_argument("--lr", type=float, default=default.lr, metavar="RATE", help=f"default: {default.lr:g}")
    train.add_argument("--steps", type=int, default=default.steps, metavar="N", help=f"default: {default.steps}")
    train.add_argument("--out", type=Path, required=True, metavar="DIR", help="the store, new or begun by this command")
    train.add_argument("--every", type=int, default=default.every, metavar="N", help="steps between two snapshots")
    train.add_argument("--seed", type=int, default=default.seed, metavar="N", help=f"default: {default.seed}")
    train.add_argument(
        "--dropout", type=float, default=default.dropout, metavar="P", help=f"default: {default.dropout}"
    )
    train.add_argument("--no-positions", action="store_true", help="add no sinusoidal positions to the embedding")
    train.add_argument("--optimizer", default=default.optimizer, metavar="NAME", help="sgd, momentum or adam")
    train.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu or cuda (default: auto)")
    train.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Train, and sum up what the store holds; 1 if the loss didn't stay finite."""
    settings = Settings(
        layers=options.layers,
        lr=options.lr,
        steps=options.steps,
        every=options.every,
        seed=options.seed,
        dropout=options.dropout,
        positions=not options.no_positions,
        optimizer=options.optimizer,
    )
    if options.corpus == "topics" and options.data is not None:
        raise BadInput(f"--data {options.data}", "the corpus topics is generated", "leave --data out")

    import numpy as np

    from scansnap_core.storage.store import read
    from scansnap_core.text.corpus import load_corpus
    from scansnap_core.text.generator import topic_text
    from scansnap_core.text.recording import record

    corpus = topic_text().corpus if options.corpus == "topics" else load_corpus(options.corpus, options.data)
    if options.vocab_size is not None:
        corpus = corpus.limited(options.vocab_size)
    record(corpus, settings, options.out, device=options.device, command=options.command_line, progress=True)

    result = read(options.out)
    last = result.isel(snapshot=-1)
    print(f"trained on the {corpus.trained_on} split of {corpus.name}, {corpus.vocab_size:,} words")
    print("step, loss and by layer the entropy of attention, on the validation text, in nats")
    for one in (result.isel(snapshot=0), last):
        print(f"{int(one.step)}: {float(one.loss):.3f}; " + ", ".join(f"{value:.3f}" for value in one.entropy.values))
    print(f"stored in {options.out}")
    if np.isfinite(last.loss):
        return TRAINED
    first = int(result.step.values[~np.isfinite(result.loss.values)][0])
    print(f"scansnap: the loss is no longer finite from step {first} on; take a smaller --lr", file=sys.stderr)
    return DIVERGED
