"""Time the Transformer's training on text against the machine's matrix rate: ``python -m benchmarks.text``.

The text is generated, with as many words as WikiText-2's test split has. The floor is what a step's matrix products
alone would take at the rate of a large square product on the same threads. Seconds depend on the machine; the ratio,
measured in one process, much less.
"""

from __future__ import annotations

import argparse
import os
import resource

import numpy as np
import torch

from benchmarks.training import matmul_rate, seconds
from scansnap_core.text.corpus import Corpus
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import Training

VOCAB_SIZE = 7_266
TEXT = 50_000
WARM_UP = 3
"""Steps before the clock starts."""


def operations(settings: Settings, vocab_size: int) -> int:
    """Of a step's matrix products: each is made once forward and twice backward."""
    d, tokens = settings.embedding, settings.batch_size * settings.context
    layer = 4 * d * d + 2 * d * settings.hidden + 2 * settings.context * d
    return 3 * 2 * tokens * (settings.layers * layer + d * vocab_size)


def zipfian(vocab_size: int) -> Corpus:
    """Independent words, as frequent as Zipf's law has them: the cost of a step doesn't depend on what they say."""
    frequency = 1 / np.arange(1, vocab_size + 1)
    words = np.random.default_rng(0).choice(vocab_size, size=TEXT, p=frequency / frequency.sum())
    names = tuple(map(str, range(vocab_size)))
    return Corpus("topics", names, words, words[: TEXT // 10], "generated", {})


def main() -> None:
    """Print tokens a second, memory and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--vocab-size", type=int, default=VOCAB_SIZE)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = Settings(layers=options.layers, steps=options.steps, every=options.steps)
    corpus, device = zipfian(options.vocab_size), torch.device(options.device)
    list(Training(corpus, Settings(layers=options.layers, steps=WARM_UP), device).snapshots())
    before = matmul_rate(options.device)
    snapshots = Training(corpus, settings, device).snapshots()
    at_start = seconds(lambda: next(snapshots))
    # the last interval holds all steps, and a snapshot, which costs as much as the first one
    took = seconds(lambda: next(snapshots)) - at_start
    rate = max(before, matmul_rate(options.device))
    tokens, gflop = settings.batch_size * settings.context, operations(settings, corpus.vocab_size) / 1e9
    floor = gflop * 1e9 / rate * options.steps
    print(f"{options.layers} layers, M = {corpus.vocab_size:,}, {options.steps} steps of {tokens} tokens, float32")
    print(
        f"{options.threads} threads: {took / options.steps:.3f} s a step, {tokens * options.steps / took:,.0f} tokens/s"
    )
    print(f"a snapshot: {at_start:.2f} s")
    print(f"floor {floor / options.steps:.3f} s: {gflop:.1f} Gflop at {rate / 1e9:.0f} Gflop/s; ", end="")
    print(f"{took / floor:.1f} floors")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if device.type == "cuda":
        print(f"on the GPU {torch.cuda.max_memory_allocated() / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
