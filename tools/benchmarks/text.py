"""Time the Transformer's training on text against the machine's matrix rate: ``python -m
tools.benchmarks.text``.

The text is generated, with as many words as WikiText-2's test split has. After each step a large
square product is made on the same threads, so that whoever else works on the machine slows both.
The floor is what a step's matrix products alone would take at that product's rate: the least step
is divided by the floor at the least product, and the median step by the floor at the median
product. One thread's seconds are its own, of a processor; several threads' are the clock's. Seconds
depend on the machine; the ratios much less.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from scansnap_core.text.corpus import Corpus
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import Training
from tools.benchmarks.training import seconds

VOCAB_SIZE = 7_266
TEXT = 50_000
WARM_UP = 3
"""Steps before the clock starts."""
SQUARE = 2048
"""Rows of the square product."""


def operations(settings: Settings, vocab_size: int) -> int:
    """Of a step's matrix products: each is made once forward and twice backward."""
    d = settings.embedding
    tokens = settings.batch_size * settings.context
    layer = 4 * d * d + 2 * d * settings.hidden + 2 * settings.context * d
    return 3 * 2 * tokens * (settings.layers * layer + d * vocab_size)


def zipfian(vocab_size: int) -> Corpus:
    """Draw independent words with frequencies by Zipf's law: the cost of a step doesn't depend on
    what they say.
    """
    frequency = 1 / np.arange(1, vocab_size + 1)
    words = np.random.default_rng(0).choice(vocab_size, size=TEXT, p=frequency / frequency.sum())
    names = tuple(map(str, range(vocab_size)))
    return Corpus("topics", names, words, words[: TEXT // 10], "generated", {})


def in_turns(
    training: Training, steps: int, size: int, clock: Callable[[], float]
) -> NDArray[np.float64]:
    """Time steps, and a square product of that size after each: (2, steps), in seconds."""
    device = training.model.positions.device
    a = torch.rand(size, size, device=device)
    found = np.empty((2, steps))
    with training._lent_generators():
        for step in range(-WARM_UP, steps):
            start = clock()
            training._step(step + WARM_UP).item()  # waits for the device
            between = clock()
            (a @ a)[0, 0].item()
            if step >= 0:
                found[:, step] = between - start, clock() - between
    return found


def main() -> None:
    """Print tokens a second, memory and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--vocab-size", type=int, default=VOCAB_SIZE)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = Settings(layers=options.layers, steps=options.steps, every=options.steps)
    corpus = zipfian(options.vocab_size)
    device = torch.device(options.device)
    clock = time.thread_time if device.type == "cpu" and options.threads == 1 else time.perf_counter
    training = Training(corpus, settings, device)
    snapshot = seconds(lambda: next(training.snapshots()))
    step, product = in_turns(training, options.steps, SQUARE, clock)
    tokens = settings.batch_size * settings.context
    gflop = operations(settings, corpus.vocab_size) / 1e9
    floor = product * gflop / (2 * SQUARE**3 / 1e9)
    print(
        f"{options.layers} layers, M = {corpus.vocab_size:,}, {options.steps} steps of {tokens} "
        "tokens, float32"
    )
    quartiles = ", ".join(f"{value:.1f}" for value in 1000 * np.quantile(step, [0.25, 0.5, 0.75]))
    print(
        f"{options.threads} threads, ms a step: least {1000 * step.min():.1f}, quartiles "
        f"{quartiles}; ",
        end="",
    )
    print(f"{tokens / np.median(step):,.0f} tokens/s; a snapshot: {snapshot:.2f} s")
    for name, of in (("least", np.min), ("median", np.median)):
        print(
            f"{name} step over the floor at the {name} product, {1000 * of(floor):.1f} ms: ", end=""
        )
        print(f"{of(step) / of(floor):.2f} floors")
    quartiles = ", ".join(f"{value:.2f}" for value in np.quantile(step / floor, [0.25, 0.5, 0.75]))
    print(f"each step over the floor at the product after it, quartiles: {quartiles} floors")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if device.type == "cuda":
        print(f"on the GPU {torch.cuda.max_memory_allocated() / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
