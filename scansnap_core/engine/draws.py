"""Where a training's random numbers come from: fresh, replayed in the authors' order, or none (the expectation).

A source serves all seeds of one class system at once. ``initial`` gives Y (S, L, O) and Z (S, Q, L) at random, and
``batch`` the next batch: classes (S, B) and token frequencies q (S, B, L), for S seeds on the axes of
:class:`~scansnap_core.data.sequences.Compact`. What a seed draws depends on that seed alone, never on its neighbours.
"""

from __future__ import annotations

import math
import random
from typing import Protocol

import numpy as np
import torch

from scansnap_core.data.sequences import Floats, Ints, SequenceClasses


class Draws(Protocol):
    """A source of initial parameters and batches."""

    def initial(self) -> tuple[Floats, Floats]:
        """Y (S, L, M) and Z (S, Q, L), each entry uniform in ±1/sqrt(M): a linear layer's default."""

    def batch(self) -> tuple[Ints, Floats]:
        """Classes (S, B) and token frequencies (S, B, L)."""


class Fresh:
    """NumPy's generators, one a seed: classes uniformly, then multinomial token counts."""

    def __init__(self, classes: SequenceClasses, seeds: list[int], batch_size: int, seq_len: float) -> None:
        self._classes, self._batch_size, self._seq_len = classes, batch_size, seq_len
        self._rngs = [np.random.default_rng(seed) for seed in seeds]

    def initial(self) -> tuple[Floats, Floats]:
        """Drawn from each seed's generator, Y first."""
        compact, M = self._classes.compact, self._classes.vocab_size
        L, Q, bound = len(compact.tokens), len(compact.queries), 1 / math.sqrt(M)
        pairs = [(rng.uniform(-bound, bound, (L, M)), rng.uniform(-bound, bound, (Q, L))) for rng in self._rngs]
        return np.stack([Y for Y, _ in pairs]), np.stack([Z for _, Z in pairs])

    def batch(self) -> tuple[Ints, Floats]:
        """The next B samples of every seed."""
        samples = [self._classes.sample(rng, self._batch_size, self._seq_len) for rng in self._rngs]
        return np.stack([classes for classes, _ in samples]), np.stack([q for _, q in samples])


class Expectation:
    """Every class once with its exact frequencies: the gradient of the expected objective at T = infinity."""

    def __init__(self, classes: SequenceClasses, seeds: list[int]) -> None:
        self._fresh = Fresh(classes, seeds, batch_size=0, seq_len=math.inf)
        self._classes = np.tile(np.arange(classes.num_classes), (len(seeds), 1))
        self._q = np.tile(classes.compact.probs, (len(seeds), 1, 1))

    def initial(self) -> tuple[Floats, Floats]:
        """As :class:`Fresh` draws them."""
        return self._fresh.initial()

    def batch(self) -> tuple[Ints, Floats]:
        """The K classes, one sample each."""
        return self._classes, self._q


class Replay:
    """The order in which the authors' runs draw: a run with seed s uses random.seed(s) and torch.manual_seed(s + 2).

    First the decoder's and then the attention's M x M layer with its default initialisation; then, sample by sample,
    a class by ``random.choice`` and its T - 1 contextual tokens by ``torch.multinomial`` over the class's support.
    Both generators are private here, so that replaying leaves the global ones alone.
    """

    def __init__(self, classes: SequenceClasses, seeds: list[int], batch_size: int, seq_len: float) -> None:
        self._classes, self._batch_size, self._num_context = classes, batch_size, int(seq_len) - 1
        self._pythons = [random.Random(seed) for seed in seeds]
        self._torches = [torch.Generator().manual_seed(seed + 2) for seed in seeds]
        compact = classes.compact
        self._columns = [torch.from_numpy(np.flatnonzero(row)) for row in compact.probs]
        self._weights = [torch.from_numpy(row[row > 0]).float() for row in compact.probs]
        layers = [(self._layer(generator), self._layer(generator)) for generator in self._torches]
        # weight[out, in] of the decoder is Y[in, out]; weight[m, l] of the attention is Z[m, l]
        self._Y = np.stack([decoder.T[compact.tokens] for decoder, _ in layers])
        self._Z = np.stack([attention[np.ix_(compact.queries, compact.tokens)] for _, attention in layers])

    def _layer(self, generator: torch.Generator) -> Floats:
        weight = torch.empty(self._classes.vocab_size, self._classes.vocab_size)
        torch.nn.init.kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
        return weight.double().numpy()

    def initial(self) -> tuple[Floats, Floats]:
        """The two layers' default initialisation, on the rows and columns that can move."""
        return self._Y, self._Z

    def batch(self) -> tuple[Ints, Floats]:
        """The next B samples of every seed."""
        samples = [self._one(*generators) for generators in zip(self._pythons, self._torches, strict=True)]
        return np.stack([classes for classes, _ in samples]), np.stack([q for _, q in samples])

    def _one(self, python: random.Random, generator: torch.Generator) -> tuple[Ints, Floats]:
        classes = np.empty(self._batch_size, dtype=np.int64)
        q = np.zeros((self._batch_size, len(self._classes.compact.tokens)))
        for b in range(self._batch_size):
            classes[b] = n = python.choice(range(self._classes.num_classes))
            drawn = torch.multinomial(self._weights[n], self._num_context, replacement=True, generator=generator)
            q[b] = np.bincount(self._columns[n][drawn].numpy(), minlength=q.shape[1]) / self._num_context
        return classes, q
