"""Where a training's random numbers come from: fresh, in the authors' order, by counter, or none
(the expectation).

A source serves all seeds of one class system at once. ``initial`` gives Y (S, L, O) and Z (S, Q, L)
at random, and ``batch`` the next batch: classes (S, B) and token frequencies q (S, B, L), for S
seeds on the axes of :class:`~scansnap_core.data.probabilities.Compact`. What a seed draws depends
on that seed alone, not on its neighbours. ``state`` and ``resume`` say where each seed's random
numbers stand, as text, so that another source goes on from there.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from scansnap_core.data.probabilities import Compact
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses
from scansnap_core.engine.settings import RANDOM, Settings

if TYPE_CHECKING:
    import torch

WORD = 0xFFFFFFFF
"""The largest word."""
TOKENS = 0
CLASS = 1
"""The last word of a counter says for which purpose random words are drawn."""


class Fresh:
    """Each seed has a generator of NumPy's, which draws classes by P(n), then multinomial token
    counts.

    A seed may be a list of integers, of which NumPy makes one. ``seq_len`` is T, the query
    included.
    """

    def __init__(
        self,
        classes: SequenceClasses,
        seeds: Sequence[int | list[int]],
        batch_size: int,
        seq_len: float,
    ) -> None:
        """Make a generator for each seed, so that its draws don't depend on the others.

        Nothing is drawn yet. A batch will have ``batch_size`` samples of T = ``seq_len`` tokens,
        a float because it may be infinite. A seed is what NumPy's ``default_rng`` takes.
        """
        self._classes = classes
        self._batch_size = batch_size
        self._seq_len = seq_len
        self._rngs = [np.random.default_rng(seed) for seed in seeds]

    def initial(self, tokens: Ints) -> tuple[Floats, Floats]:
        """Draw Y (S, L, M) and Z (S, Q, L) for the L ``tokens``, uniformly in ±1/sqrt(M).

        Tokens that a class holds draw from the seed's generator, the others from one that is
        spawned from it. So a variant, which reads further tokens, begins with the plain model's
        numbers on those that both have.
        """
        compact = self._classes.compact
        M = self._classes.vocab_size
        Q = len(compact.queries)
        bound = 1 / math.sqrt(M)
        held = np.isin(tokens, compact.tokens)
        Y = np.empty((len(self._rngs), len(tokens), M))
        Z = np.empty((len(self._rngs), Q, len(tokens)))
        for seed, rng in enumerate(self._rngs):
            for generator, part in ((rng, held), (rng.spawn(1)[0], ~held)):
                Y[seed, part] = generator.uniform(-bound, bound, (part.sum(), M))
                Z[seed][:, part] = generator.uniform(-bound, bound, (Q, part.sum()))
        return Y, Z

    def batch(self) -> tuple[Ints, Floats]:
        """Draw the next B samples of every seed: classes (S, B), and token frequencies q (S, B, L).

        A sample has T - 1 contextual tokens, so q is their counts over T - 1; at T = infinity it is
        P(.|n).
        """
        compact = self._classes.compact
        drawn = np.stack([self._classes.draw(self._batch_size, rng) for rng in self._rngs])
        if math.isinf(self._seq_len):
            return drawn, compact.probs[drawn]
        num_context = int(self._seq_len) - 1
        probs = compact.drawn[1]
        counts = np.stack(
            [
                rng.multinomial(num_context, probs[n])
                for rng, n in zip(self._rngs, drawn, strict=True)
            ]
        )
        return drawn, compact.spread(drawn, counts / num_context)

    def state(self) -> list[str]:
        """Return the states of NumPy's bit generators, as JSON."""
        return [json.dumps(rng.bit_generator.state) for rng in self._rngs]

    def resume(self, states: list[str]) -> None:
        """Take over states that :meth:`state` returned."""
        for rng, state in zip(self._rngs, states, strict=True):
            rng.bit_generator.state = json.loads(state)


class Expectation(Fresh):
    """The mean at T = infinity: a batch is every class once, with its exact token frequencies.

    The classes have the weights P(n).
    """

    def __init__(self, classes: SequenceClasses, seeds: Sequence[int]) -> None:
        # It draws initial values alone, and no batch.
        super().__init__(classes, seeds, batch_size=0, seq_len=math.inf)
        self._every = np.tile(np.arange(classes.num_classes), (len(seeds), 1))
        self._q = np.tile(classes.compact.probs, (len(seeds), 1, 1))

    def batch(self) -> tuple[Ints, Floats]:
        """Return the K classes, one sample each."""
        return self._every, self._q

    def state(self) -> list[str]:
        """Return no random state, because nothing is drawn after the initial values."""
        return [""] * len(self._q)

    def resume(self, states: list[str]) -> None:
        """Restore nothing, because there is no random state."""


class Replay:
    """Draw in the order of the authors' code.

    Their run with seed s calls random.seed(s) and torch.manual_seed(s + 2). First it initialises
    the decoder's M x M layer by default, and then that of attention. Then it draws sample by sample
    a class, by ``random.choice``, and T - 1 contextual tokens, by ``torch.multinomial`` over the
    class's support. Both generators are private, so that replaying leaves the global ones alone.
    """

    def __init__(
        self, classes: SequenceClasses, seeds: Sequence[int], batch_size: int, seq_len: float
    ) -> None:
        """Seed Python's and PyTorch's generators as the authors' runs do, and draw both layers,
        which come before any sample.
        """
        import torch  # a second, which nothing else in a sweep on a CPU needs

        self._classes = classes
        self._batch_size = batch_size
        self._num_context = int(seq_len) - 1
        self._generators = [
            (random.Random(seed), torch.Generator().manual_seed(seed + 2)) for seed in seeds
        ]
        self._supports = [np.flatnonzero(row) for row in classes.compact.probs]
        rows = zip(classes.compact.probs, self._supports, strict=True)
        self._weights = [
            torch.tensor(row[held], dtype=torch.float32, device="cpu") for row, held in rows
        ]
        self._layers = [
            (self._layer(generator), self._layer(generator)) for _, generator in self._generators
        ]

    def _layer(self, generator: torch.Generator) -> np.ndarray:
        """Draw the weight of an M x M layer as ``torch.nn.Linear`` does, [output, input]."""
        import torch

        weight = torch.empty(
            self._classes.vocab_size, self._classes.vocab_size, dtype=torch.float32, device="cpu"
        )
        torch.nn.init.kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
        return weight.numpy()

    def initial(self, tokens: Ints) -> tuple[Floats, Floats]:
        """Return the two layers' default initialisation, on the rows and columns that can move."""
        # weight[out, in] of the decoder is Y[in, out]; weight[m, l] of attention is Z[m, l].
        Y = np.stack([decoder.T[tokens] for decoder, _ in self._layers])
        places = np.ix_(self._classes.compact.queries, tokens)
        Z = np.stack([attention[places] for _, attention in self._layers])
        return Y.astype(np.float64), Z.astype(np.float64)

    def batch(self) -> tuple[Ints, Floats]:
        """Draw the next B samples of every seed: classes (S, B), and token frequencies q (S, B, L).

        It goes seed by seed and sample by sample, because the order is the authors'.
        """
        import torch

        size = (len(self._generators), self._batch_size)
        K = range(self._classes.num_classes)
        drawn = np.empty(size, np.int64)
        q = np.zeros((*size, len(self._classes.compact.tokens)))
        for seed, (python, generator) in enumerate(self._generators):
            for b in range(self._batch_size):
                n = drawn[seed, b] = python.choice(K)
                weights = self._weights[n]
                places = torch.multinomial(
                    weights, self._num_context, replacement=True, generator=generator
                )
                q[seed, b, self._supports[n]] = (
                    np.bincount(places, minlength=len(weights)) / self._num_context
                )
        return drawn, q

    def state(self) -> list[str]:
        """Return the states of Python's and torch's generators, as JSON."""
        return [
            json.dumps([python.getstate(), torchs.get_state().tolist()])
            for python, torchs in self._generators
        ]

    def resume(self, states: list[str]) -> None:
        """Take over states that :meth:`state` returned."""
        import torch

        for (python, generator), state in zip(self._generators, states, strict=True):
            (version, numbers, gauss), held = json.loads(state)
            python.setstate((version, tuple(numbers), gauss))
            generator.set_state(torch.tensor(held, dtype=torch.uint8, device="cpu"))


# -- By counter: sample b of step t depends on the seed, t and b alone -----------------------------
#
# Philox-4x32-10 turns a counter of four words and a key of two into four random words, all of 32
# bits (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11). A seed is a key, and a
# counter is (block, sample, step, TOKENS or CLASS). A sample takes one word for its class and one
# for each of its T - 1 tokens. All is done in integers, so Counter, in PyTorch on any device, and
# the compiled scansnap_core.engine.compiled_draws give the same counts. A token's probability is
# P(l|n) to within 2^-31, so that one of less may never be drawn; a class's is P(n) to within 2^-32.


def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Turn a counter and a key into four random words.

    All are int64 numbers, or int64 tensors that broadcast. A product of two words takes 64 bits. In
    int64 it wraps around, and its shifted upper half keeps the sign, which the mask removes. So the
    same lines serve Python's integers, Numba and PyTorch.

    Examples
    --------
    >>> [f"{word:08x}" for word in philox(0, 0, 0, 0, 0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    # Ten rounds of Philox-4x32: two products, whose halves are mixed with the other words and the
    # key, which then moves on. The constants are the authors'.
    for _ in range(10):
        first = c0 * 0xD2511F53
        second = c2 * 0xCD9E8D57
        c0 = ((second >> 32) & WORD) ^ c1 ^ k0
        c2 = ((first >> 32) & WORD) ^ c3 ^ k1
        c1 = second & WORD
        c3 = first & WORD
        k0 = (k0 + 0x9E3779B9) & WORD
        k1 = (k1 + 0xBB67AE85) & WORD
    return c0, c1, c2, c3


def key_of(seed: int) -> tuple[int, int]:
    """Split a seed into two words, the lower one first."""
    return seed & WORD, seed >> 32


def cuts_of(compact: Compact) -> tuple[Ints, Ints]:
    """Find the random words from which on a word means the next token of a class.

    Returns each class's tokens, ascending, as places on the L, shape (K, S), and the cuts, shape
    (K, S - 1): from each cut on, a word means the next token. A class with fewer tokens has 2^32,
    which no word reaches, in place of the missing cuts.
    """
    own = [np.flatnonzero(row) for row in compact.probs]
    size = max(map(len, own))
    places = np.zeros((len(own), size), np.int64)
    cuts = np.full((len(own), size - 1), WORD + 1)
    for n, held in enumerate(own):
        places[n, : len(held)] = held
        below = np.cumsum(compact.probs[n, held])[:-1]
        cuts[n, : len(below)] = np.clip(np.rint(below * (WORD + 1)), 1, WORD)
    return places, cuts


def class_cuts_of(classes: SequenceClasses) -> Ints:
    """Find the K - 1 words from which on a random word means the next class, ascending."""
    if classes.is_uniform:  # the word times K, over 2^32
        return -(-np.arange(1, classes.num_classes) * (WORD + 1) // classes.num_classes)
    return np.rint(classes.frequencies.cumsum()[:-1] * (WORD + 1)).astype(np.int64)


class Counter(Fresh):
    """PyTorch draws samples by counter, on the device where they're used.

    ``seq_len`` is T, the query included. Initial values are drawn as :class:`Fresh` does.
    """

    def __init__(
        self,
        classes: SequenceClasses,
        seeds: Sequence[int],
        batch_size: int,
        seq_len: float,
        device: str = "cpu",
    ) -> None:
        """Put the seeds' keys, and the cuts by which random words mean classes and tokens, on the
        device.
        """
        import torch  # a second, which a sweep on a CPU does without

        def placed(array: Any) -> torch.Tensor:
            """Copy an array to the device."""
            return torch.tensor(array, device=device)

        super().__init__(classes, seeds, batch_size, seq_len)
        self._class_cuts = placed(class_cuts_of(classes))
        self._keys = placed([key_of(seed) for seed in seeds]).reshape(-1, 1, 2).unbind(-1)
        self._samples = torch.arange(batch_size, device=device)
        self._probs = placed(classes.compact.probs)
        self._places, self._cuts = map(placed, cuts_of(classes.compact))
        # Both are tensors: a GPU can count on by itself, and it multiplies by 1/n where Python
        # divides by n.
        self._step = placed(0)
        self._num_context = placed(np.float64(seq_len - 1))

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
        """Draw the next B samples of every seed, on the device: classes, shape (S, B), and token
        frequencies q, shape (S, B, L).

        The random words are a function of the seed's key, the sample's number, the step and the
        block of tokens, so that nothing depends on what was drawn before.
        """
        import torch

        step = self._step.clone()
        self._step += 1
        chosen = philox(0, self._samples, step, CLASS, *self._keys)[0]
        classes = torch.searchsorted(self._class_cuts, chosen, right=True)
        if math.isinf(self._seq_len):
            return classes, self._probs[classes]
        num_context = int(self._seq_len) - 1
        # A block gives four words, and a token takes one.
        blocks = torch.arange(math.ceil(num_context / 4), device=self._probs.device)
        sample = self._samples.unsqueeze(-1)
        k0, k1 = [key.unsqueeze(-1) for key in self._keys]
        words = torch.stack(philox(blocks, sample, step, TOKENS, k0, k1), dim=-1).flatten(-2)
        words = words[..., :num_context].contiguous()

        # Words become tokens by the class's cuts, and tokens are counted.
        which = torch.searchsorted(self._cuts[classes], words, right=True)
        drawn = self._places[classes].gather(-1, which)
        counts = self._probs.new_zeros(*classes.shape, self._probs.shape[1])
        counts.scatter_add_(-1, drawn, counts.new_ones(()).expand(drawn.shape))
        return classes, counts / self._num_context  # T - 1 as a tensor: see __init__

    def state(self) -> list[str]:
        """Return how many steps were drawn, for each seed."""
        return [str(int(self._step))] * len(self._rngs)

    def resume(self, states: list[str]) -> None:
        """Go on after the number of steps that :meth:`state` returned."""
        # All seeds are at the same step.
        self._step.fill_(int(states[0]))


Draws = Fresh | Replay


def draws_of(classes: SequenceClasses, settings: Settings) -> Draws:
    """Make the source of the batches that the settings ask for; a run that goes on gets those
    that follow.

    Without a batch size that is the expectation, and else what ``rng`` names. Initial values come
    from it too.
    """
    if settings.batch_size is None:
        return Expectation(classes, settings.seeds)
    given = classes, settings.seeds, settings.batch_size, settings.seq_len
    source: Draws
    if settings.rng == "counter":
        source = Counter(*given, settings.device)
    else:
        source = Replay(*given) if settings.rng == "replay" else Fresh(*given)
    if isinstance(settings.initial, xr.Dataset):
        source.resume(settings.initial[RANDOM].values.tolist())
    return source
