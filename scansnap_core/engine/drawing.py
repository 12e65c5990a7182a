"""The samples of :class:`~scansnap_core.engine.counter.Counter` of one seed, compiled for a CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scansnap_core.data.sequences import Ints, SequenceClasses
from scansnap_core.engine import counter
from scansnap_core.engine.counter import CLASS, TOKENS, WORD, cuts_of, key_of
from scansnap_core.extras import COVERAGE, needs, without

with needs("sweeps"), without(COVERAGE):
    from numba import njit

_philox = njit(nogil=True, inline="always")(counter.philox)


class CompiledCounter:
    """Samples by counter of one seed, sorted by class in each step.

    Parameters
    ----------
    classes, seed, batch_size, seq_len
        As :class:`~scansnap_core.engine.counter.Counter` takes them.
    """

    def __init__(self, classes: SequenceClasses, seed: int, batch_size: int, seq_len: float) -> None:
        self._classes, self._seed, self.batch_size, self._seq_len = classes, seed, batch_size, seq_len
        self._cuts = cuts_of(classes.compact)[1]

    def steps(self, first: int, q: np.ndarray) -> Ints:
        """Fill q (steps, B, S') with the token frequencies of the steps from the first on, and return the classes.

        The S' places are those of a class's support, ascending, and then any number of places that stay 0.
        """
        drawn, counts = np.empty(q.shape[:2], np.int64), np.zeros(q.shape, np.int32)
        finite = math.isfinite(self._seq_len)
        num_context = int(self._seq_len) - 1 if finite else 0
        _draw(*key_of(self._seed), first, num_context, self._classes.num_classes, self._cuts, drawn, counts)
        if finite:
            np.divide(counts, num_context, out=q, casting="same_kind")
        else:
            for n, row in enumerate(self._classes.compact.probs):
                q[drawn == n, : np.count_nonzero(row)] = row[row > 0]
        return drawn


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    k0: Any, k1: Any, first: Any, num_context: Any, num_classes: Any, cuts: Any, drawn: Any, counts: Any
) -> None:  # pragma: no cover
    """The classes, ascending in each step, and the token counts of as many steps and samples as there's room for."""
    words = np.zeros((num_context + 3) // 4 * 4, np.uint32)
    of_sample, place = np.empty(drawn.shape[1], np.int64), np.empty(num_classes + 1, np.int64)
    for row in range(drawn.shape[0]):
        step = first + row
        place[:] = 0
        for b in range(of_sample.size):
            n = _philox(0, b, step, CLASS, k0, k1)[0] * num_classes >> 32
            of_sample[b] = n
            place[n + 1] += 1
        for n in range(num_classes):
            place[n + 1] += place[n]
        for b in range(of_sample.size):
            n = of_sample[b]
            sample = place[n]
            place[n] += 1
            drawn[row, sample] = n
            _count(b, step, k0, k1, num_context, cuts[n], words, counts[row, sample])


@njit(nogil=True, cache=True, error_model="numpy")
def _count(
    b: Any, step: Any, k0: Any, k1: Any, num_context: Any, cuts: Any, words: Any, counts: Any
) -> None:  # pragma: no cover
    """How many of a sample's words lie between one cut and the next."""
    for block in range(words.size // 4):
        w0, w1, w2, w3 = _philox(block, b, step, TOKENS, k0, k1)
        words[4 * block], words[4 * block + 1], words[4 * block + 2], words[4 * block + 3] = w0, w1, w2, w3
    words[num_context:] = 0  # below every cut
    left, s = num_context, 0
    while s < cuts.size and cuts[s] <= WORD:
        above = _above(words, np.uint32(cuts[s]))
        counts[s] = left - above
        left, s = above, s + 1
    counts[s] = left


@njit(nogil=True, cache=True, error_model="numpy")
def _above(words: Any, cut: Any) -> Any:  # pragma: no cover
    """How many words aren't below a cut: sixteen at a time."""
    found = 0
    for place in range(words.size):  # by places: Numba's loop over values is no vector's
        found += words[place] >= cut
    return found
