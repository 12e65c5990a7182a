"""Where a training's random numbers come from: fresh, replayed in the authors' order, or none (the expectation).

Those by counter, which a device draws itself, stand in :mod:`scansnap_core.engine.counter`.

A source serves all seeds of one class system at once. ``initial`` gives Y (S, L, O) and Z (S, Q, L) at random, and
``batch`` the next batch: classes (S, B) and token frequencies q (S, B, L), for S seeds on the axes of
:class:`~scansnap_core.data.compact.Compact`. What a seed draws depends on that seed alone, never on its neighbours.
``state`` and ``resume`` say where each seed's random numbers stand, as text, so that another source goes on from there.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from scansnap_core.data.sequences import Floats, Ints, SequenceClasses

if TYPE_CHECKING:
    import torch

AT_ONCE = 2**16
"""How many numbers are replayed at a time, if a sample takes less."""


class Draws(Protocol):
    """A source of initial parameters and batches."""

    def initial(self, tokens: Ints) -> tuple[Floats, Floats]:
        """Y (S, L, M) and Z (S, Q, L), each entry uniform in ±1/sqrt(M): a linear layer's default.

        The L tokens, ascending, are those that some class holds, or these and the query tokens.
        """

    def batch(self) -> tuple[Any, Any]:
        """Classes (S, B) and token frequencies (S, B, L): arrays of NumPy, or tensors on the training's device."""

    def state(self) -> list[str]:
        """Where each seed's random numbers stand."""

    def resume(self, states: list[str]) -> None:
        """Go on where other random numbers stood."""


class Fresh:
    """NumPy's generators, one a seed: classes by P(n), then multinomial token counts."""

    def __init__(
        self, classes: SequenceClasses, seeds: Sequence[int | list[int]], batch_size: int, seq_len: float
    ) -> None:
        self._classes, self._batch_size, self._seq_len = classes, batch_size, seq_len
        self._rngs = [np.random.default_rng(seed) for seed in seeds]

    def initial(self, tokens: Ints) -> tuple[Floats, Floats]:
        """Drawn from each seed's generator, Y first; other tokens' values from one that is spawned off it."""
        compact, M = self._classes.compact, self._classes.vocab_size
        Q, bound = len(compact.queries), 1 / math.sqrt(M)
        held = np.isin(tokens, compact.tokens)
        Y, Z = np.empty((len(self._rngs), len(tokens), M)), np.empty((len(self._rngs), Q, len(tokens)))
        for seed, rng in enumerate(self._rngs):
            for generator, part in ((rng, held), (rng.spawn(1)[0], ~held)):
                Y[seed, part] = generator.uniform(-bound, bound, (part.sum(), M))
                Z[seed][:, part] = generator.uniform(-bound, bound, (Q, part.sum()))
        return Y, Z

    def batch(self) -> tuple[Ints, Floats]:
        """The next B samples of every seed."""
        compact = self._classes.compact
        drawn = np.stack([self._classes.draw(self._batch_size, rng) for rng in self._rngs])
        if math.isinf(self._seq_len):
            return drawn, compact.probs[drawn]
        num_context, probs = int(self._seq_len) - 1, compact.drawn[1]
        counts = np.stack([rng.multinomial(num_context, probs[n]) for rng, n in zip(self._rngs, drawn, strict=True)])
        return drawn, compact.spread(drawn, counts / num_context)

    def state(self) -> list[str]:
        """The states of NumPy's bit generators, as JSON."""
        return [json.dumps(rng.bit_generator.state) for rng in self._rngs]

    def resume(self, states: list[str]) -> None:
        """Take over such states."""
        for rng, state in zip(self._rngs, states, strict=True):
            rng.bit_generator.state = json.loads(state)


class Expectation:
    """Every class once with its exact token frequencies, to be weighed by P(n): what's expected at T = infinity."""

    def __init__(self, classes: SequenceClasses, seeds: list[int]) -> None:
        self._fresh = Fresh(classes, seeds, batch_size=0, seq_len=math.inf)
        self._classes = np.tile(np.arange(classes.num_classes), (len(seeds), 1))
        self._q = np.tile(classes.compact.probs, (len(seeds), 1, 1))

    def initial(self, tokens: Ints) -> tuple[Floats, Floats]:
        """As :class:`Fresh` draws them."""
        return self._fresh.initial(tokens)

    def batch(self) -> tuple[Ints, Floats]:
        """The K classes, one sample each."""
        return self._classes, self._q

    def state(self) -> list[str]:
        """Nothing is drawn after the initial values."""
        return [""] * len(self._q)

    def resume(self, states: list[str]) -> None:
        """Nothing depends on them."""


class Replay:
    """The order in which the authors' runs draw: a run with seed s uses random.seed(s) and torch.manual_seed(s + 2).

    First the decoder's and then the attention's M x M layer with its default initialisation; then, sample by sample,
    a class by ``random.choice`` and its T - 1 contextual tokens by ``torch.multinomial`` over the class's support.
    Both generators are private here, so that replaying leaves the global ones alone.
    """

    def __init__(self, classes: SequenceClasses, seeds: list[int], batch_size: int, seq_len: float) -> None:
        self._classes, self._batch_size, self._num_context = classes, batch_size, int(seq_len) - 1
        import torch  # a second, which nothing else in a sweep on a CPU needs

        self._pythons = [random.Random(seed) for seed in seeds]
        self._torches = [torch.Generator().manual_seed(seed + 2) for seed in seeds]
        own = [np.flatnonzero(row) for row in classes.compact.probs]
        self._sizes = np.array(list(map(len, own)))
        self._columns = np.zeros((len(own), self._sizes.max()), np.int64)
        self._weights = torch.zeros(self._columns.shape)
        for n, held in enumerate(own):
            self._columns[n, : len(held)] = held
            self._weights[n, : len(held)] = torch.from_numpy(classes.compact.probs[n, held])
        size = max(1, AT_ONCE // max(self._num_context, len(classes.compact.tokens)))
        self._parts = [slice(first, first + size) for first in range(0, batch_size, size)]
        self._layers = [(self._layer(generator), self._layer(generator)) for generator in self._torches]

    def _layer(self, generator: torch.Generator) -> np.ndarray:
        import torch

        weight = torch.empty(self._classes.vocab_size, self._classes.vocab_size)
        torch.nn.init.kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
        return weight.numpy()

    def initial(self, tokens: Ints) -> tuple[Floats, Floats]:
        """The two layers' default initialisation, on the rows and columns that can move."""
        # weight[out, in] of the decoder is Y[in, out]; weight[m, l] of the attention is Z[m, l]
        Y = np.stack([decoder.T[tokens] for decoder, _ in self._layers])
        rows = np.ix_(self._classes.compact.queries, tokens)
        return Y.astype(np.float64), np.stack([attention[rows] for _, attention in self._layers]).astype(np.float64)

    def batch(self) -> tuple[Ints, Floats]:
        """The next B samples of every seed."""
        samples = [self._one(*generators) for generators in zip(self._pythons, self._torches, strict=True)]
        return np.stack([classes for classes, _ in samples]), np.stack([q for _, q in samples])

    def state(self) -> list[str]:
        """The states of Python's and torch's generators, as JSON."""
        pairs = zip(self._pythons, self._torches, strict=True)
        return [json.dumps([python.getstate(), generator.get_state().tolist()]) for python, generator in pairs]

    def resume(self, states: list[str]) -> None:
        """Take over such states."""
        import torch

        for python, generator, state in zip(self._pythons, self._torches, states, strict=True):
            (version, numbers, gauss), held = json.loads(state)
            python.setstate((version, tuple(numbers), gauss))
            generator.set_state(torch.tensor(held, dtype=torch.uint8))

    def _one(self, python: random.Random, generator: torch.Generator) -> tuple[Ints, Floats]:
        n, L = self._chosen(python), len(self._classes.compact.tokens)
        q = np.empty((len(n), L))
        for part in self._parts:
            cells = self._columns[n[part, None], self._drawn(n[part], generator)]
            cells += L * np.arange(len(cells))[:, None]
            q[part] = np.bincount(cells.ravel(), minlength=q[part].size).reshape(-1, L) / self._num_context
        return n, q

    def _chosen(self, python: random.Random) -> Ints:
        classes = range(self._classes.num_classes)
        return np.array([python.choice(classes) for _ in range(self._batch_size)], dtype=np.int64)

    def _drawn(self, n: Ints, generator: torch.Generator) -> Ints:
        """Places on the supports of the classes n, shape (N, T - 1)."""
        import torch

        def drawn(weights: torch.Tensor) -> Ints:
            places: Ints = torch.multinomial(weights, self._num_context, replacement=True, generator=generator).numpy()
            return places

        if self._num_context > 1:
            return drawn(self._weights[torch.from_numpy(n)])
        # a single token takes a random number for each weight, those of 0 too
        return np.stack([drawn(self._weights[each, : self._sizes[each]]) for each in n])
