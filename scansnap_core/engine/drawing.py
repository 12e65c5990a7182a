"""The samples of one seed, compiled for a CPU: by counter, and in the authors' order.

Both have random numbers that mean tokens, in ascending order of the class's cuts, and count those between two cuts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scansnap_core.data.sequences import Ints, SequenceClasses
from scansnap_core.engine import counter
from scansnap_core.engine.compiling import compiled_for_cpu
from scansnap_core.engine.counter import CLASS, TOKENS, WORD, class_cuts_of, cuts_of, key_of
from scansnap_core.engine.draws import Replay
from scansnap_core.extras import needs

with needs("sweeps"):
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
        cuts = cuts_of(classes.compact)[1]
        self._num_cuts, self._cuts = (cuts <= WORD).sum(axis=1), cuts.astype(np.uint32)
        self._class_cuts = class_cuts_of(classes)

    def steps(self, first: int, q: np.ndarray) -> Ints:
        """Fill q (steps, B, S') with the token frequencies of the steps from the first on, and return the classes.

        The S' places are those of a class's support, ascending, and then any number of places that stay 0.
        """
        drawn, counts = np.empty(q.shape[:2], np.int64), np.zeros(q.shape, np.int32)
        finite = math.isfinite(self._seq_len)
        num_context = int(self._seq_len) - 1 if finite else 0
        key = key_of(self._seed)
        _draw(*key, first, num_context, self._class_cuts, self._cuts, self._num_cuts, drawn, counts)
        if finite:
            np.divide(counts, num_context, out=q, casting="same_kind")
        else:
            for n, row in enumerate(self._classes.compact.probs):
                q[drawn == n, : np.count_nonzero(row)] = row[row > 0]
        return drawn


class CompiledReplay:
    """Samples in the authors' order, of T > 2, sorted by class in each step.

    Parameters
    ----------
    classes
        The data.
    source
        Of one seed. Its random numbers are used.
    seq_len
        As the source has it.
    """

    def __init__(self, classes: SequenceClasses, source: Replay, seq_len: float) -> None:
        self._source, self._num_context = source, int(seq_len) - 1
        own = [row[row > 0].astype(np.float32) for row in classes.compact.probs]
        self._num_cuts = np.array([len(weights) - 1 for weights in own])
        self._cuts = np.zeros((len(own), self._num_cuts.max()))
        for n, weights in enumerate(own):
            below = np.cumsum(weights)
            # what lies above the sum in float32 means the next token
            self._cuts[n, : len(weights) - 1] = np.nextafter((below / below[-1])[:-1], 2, dtype=np.float64)

    def steps(self, q: np.ndarray) -> Ints:
        """As :meth:`CompiledCounter.steps`, of the steps that follow."""
        drawn, counts = np.empty(q.shape[:2], np.int64), np.zeros(q.shape, np.int32)
        for step in range(len(q)):
            first = 0
            for n, numbers in self._source.uniforms():
                end = first + len(n)
                drawn[step, first:end] = n
                _tally(n, numbers, self._cuts, self._num_cuts, counts[step, first:end])
                first = end
        order = np.argsort(drawn, axis=1, kind="stable")
        sorted_counts = np.take_along_axis(counts, order[..., None], axis=1)
        np.divide(sorted_counts, self._num_context, out=q, casting="same_kind")
        return np.take_along_axis(drawn, order, axis=1)


@compiled_for_cpu
def _draw(
    k0: Any, k1: Any, first: Any, num_context: Any, class_cuts: Any, cuts: Any, num_cuts: Any, drawn: Any, counts: Any
) -> None:  # pragma: no cover
    """The classes, ascending in each step, and the token counts of as many steps and samples as there's room for."""
    words = np.zeros((num_context + 3) // 4 * 4, np.uint32)
    of_sample, place = np.empty(drawn.shape[1], np.int64), np.empty(len(num_cuts) + 1, np.int64)
    for row in range(drawn.shape[0]):
        step = first + row
        place[:] = 0
        for b in range(of_sample.size):
            n = np.searchsorted(class_cuts, _philox(0, b, step, CLASS, k0, k1)[0], side="right")
            of_sample[b] = n
            place[n + 1] += 1
        for n in range(len(num_cuts)):
            place[n + 1] += place[n]
        for b in range(of_sample.size):
            n = of_sample[b]
            sample = place[n]
            place[n] += 1
            drawn[row, sample] = n
            for block in range(words.size // 4):
                w0, w1, w2, w3 = _philox(block, b, step, TOKENS, k0, k1)
                words[4 * block], words[4 * block + 1], words[4 * block + 2], words[4 * block + 3] = w0, w1, w2, w3
            words[num_context:] = 0  # below every cut
            _count(words, num_context, cuts[n, : num_cuts[n]], counts[row, sample])


@compiled_for_cpu
def _tally(n: Any, numbers: Any, cuts: Any, num_cuts: Any, counts: Any) -> None:  # pragma: no cover
    """The token counts of samples of the classes n."""
    for b in range(n.size):
        _count(numbers[b], numbers.shape[1], cuts[n[b], : num_cuts[n[b]]], counts[b])


@compiled_for_cpu
def _count(numbers: Any, size: Any, cuts: Any, counts: Any) -> None:  # pragma: no cover
    """How many of a sample's numbers lie between one cut and the next."""
    left = size
    for s in range(cuts.size):
        above = _above(numbers, cuts[s])
        counts[s] = left - above
        left = above
    counts[cuts.size] = left


@compiled_for_cpu
def _above(numbers: Any, cut: Any) -> Any:  # pragma: no cover
    """How many numbers aren't below a cut: as many at a time as a vector holds."""
    found = 0
    for place in range(numbers.size):  # by places: Numba's loop over values is no vector's
        found += numbers[place] >= cut
    return found
