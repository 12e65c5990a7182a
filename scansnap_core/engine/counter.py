"""Random numbers by counter: sample b of step t depends on the seed, t and b alone, wherever and whenever it's drawn.

Philox-4x32-10 turns a counter of four words and a key of two into four random words, all of 32 bits (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", SC11). Here a seed is a key, and a counter is (block, sample, step,
:data:`TOKENS` or :data:`CLASS`). A sample takes one word for its class and one for each of its T - 1 tokens.

All is done in integers, so :class:`Counter`, in PyTorch on any device, and :mod:`scansnap_core.engine.kernel`,
compiled for a CPU, give the same counts. A token's probability is P(l|n) to within 2^-31, so that one of less may never
be drawn; a class's is P(n) to within 2^-32. A sample takes time in proportion to T.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from scansnap_core.data.compact import Compact
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses
from scansnap_core.engine.draws import Fresh

if TYPE_CHECKING:
    from torch import Tensor

WORD = 0xFFFFFFFF
"""The largest word."""
TOKENS, CLASS = 0, 1
"""The last word of a counter: what a sample's random words are for."""
AHEAD = 2**18
"""How many words are drawn at a time, if a step takes less: what a device is told then does for several steps."""


def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """The four random words of a counter and a key: of int64 numbers, or int64 tensors that broadcast.

    A product of two words takes 64 bits. In int64 it wraps around, and its shifted upper half keeps the sign, which the
    mask takes off; so the same lines serve Python's integers, Numba and PyTorch.

    Examples
    --------
    >>> [f"{word:08x}" for word in philox(0, 0, 0, 0, 0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    for _ in range(10):
        first, second = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c2 = ((second >> 32) & WORD) ^ c1 ^ k0, ((first >> 32) & WORD) ^ c3 ^ k1
        c1, c3 = second & WORD, first & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c0, c1, c2, c3


def key_of(seed: int) -> tuple[int, int]:
    """A seed's two words, the lower one first."""
    return seed & WORD, seed >> 32


def cuts_of(compact: Compact) -> tuple[Ints, Ints]:
    """Where a random word turns from one token of a class to the next.

    Returns
    -------
    places, cuts
        Each class's tokens, ascending, as places on the L, shape (K, S), and the S - 1 words from which on the next of
        them is meant, ascending, shape (K, S - 1). A class of fewer tokens has 2^32 in place of cuts, which no word
        reaches.
    """
    own = [np.flatnonzero(row) for row in compact.probs]
    size = max(map(len, own))
    places, cuts = np.zeros((len(own), size), np.int64), np.full((len(own), size - 1), WORD + 1)
    for n, held in enumerate(own):
        places[n, : len(held)] = held
        below = np.cumsum(compact.probs[n, held])[:-1]
        cuts[n, : len(below)] = np.clip(np.rint(below * (WORD + 1)), 1, WORD)
    return places, cuts


def class_cuts_of(classes: SequenceClasses) -> Ints:
    """The K - 1 words from which on a random word means the next class, ascending: of 1/K and of any other P(n)."""
    if classes.is_uniform:  # the word times K, over 2^32
        return -(-np.arange(1, classes.num_classes) * (WORD + 1) // classes.num_classes)
    return np.rint(classes.frequencies.cumsum()[:-1] * (WORD + 1)).astype(np.int64)


class Counter:
    """Samples by counter, in PyTorch: of step after step, drawn on the device where they're used.

    Parameters
    ----------
    classes, seeds, batch_size, seq_len
        As :class:`~scansnap_core.engine.draws.Fresh` takes them.
    device
        Where tensors lie.
    """

    def __init__(
        self,
        classes: SequenceClasses,
        seeds: list[int],
        batch_size: int,
        seq_len: float,
        device: str = "cpu",
    ) -> None:
        import torch  # a second, which a sweep on a CPU does without

        def placed(array: Any) -> Tensor:
            return torch.tensor(array, device=device)

        self._fresh = Fresh(classes, seeds, batch_size=0, seq_len=math.inf)
        self._seeds, self._seq_len, self._class_cuts = len(seeds), seq_len, placed(class_cuts_of(classes))
        self._keys = placed([key_of(seed) for seed in seeds]).reshape(-1, 1, 2).unbind(-1)
        self._samples = torch.arange(batch_size, device=device)
        self._probs = placed(classes.compact.probs)
        self._places, self._cuts = map(placed, cuts_of(classes.compact))
        self._step = 0
        self._ahead: Iterator[tuple[Tensor, Tensor]] = iter(())

    def initial(self, tokens: Ints) -> tuple[Floats, Floats]:
        """As :class:`~scansnap_core.engine.draws.Fresh` draws them."""
        return self._fresh.initial(tokens)

    def batch(self) -> tuple[Tensor, Tensor]:
        """The next B samples of every seed, on the device."""
        following = next(self._ahead, None)
        if following is None:
            self._ahead = zip(*self._following(), strict=True)
            following = next(self._ahead)
        self._step += 1
        return following

    def state(self) -> list[str]:
        """How many steps were drawn."""
        return [str(self._step)] * self._seeds

    def resume(self, states: list[str]) -> None:
        """Go on after so many."""
        self._step, self._ahead = int(states[0]), iter(())

    def _following(self) -> tuple[Tensor, Tensor]:
        """Classes (N, S, B) and token frequencies (N, S, B, L) of the next N steps."""
        import torch

        num_context = self._seq_len - 1 if math.isfinite(self._seq_len) else 1
        blocks = torch.arange(math.ceil(num_context / 4), device=self._probs.device)
        num_steps = max(1, AHEAD // (4 * len(blocks) * self._seeds * len(self._samples)))
        steps = torch.arange(self._step, self._step + num_steps, device=blocks.device)[:, None, None]
        chosen = philox(0, self._samples, steps, CLASS, *self._keys)[0]
        classes = torch.searchsorted(self._class_cuts, chosen, right=True)
        if math.isinf(self._seq_len):
            return classes, self._probs[classes]
        sample, step, k0, k1 = (each.unsqueeze(-1) for each in (self._samples, steps, *self._keys))
        words = torch.stack(philox(blocks, sample, step, TOKENS, k0, k1), dim=-1).flatten(-2)
        words = words[..., : int(num_context)].contiguous()
        drawn = self._places[classes].gather(-1, torch.searchsorted(self._cuts[classes], words, right=True))
        counts = self._probs.new_zeros(*classes.shape, self._probs.shape[1])
        return classes, counts.scatter_add_(-1, drawn, counts.new_ones(()).expand(drawn.shape)) / num_context
