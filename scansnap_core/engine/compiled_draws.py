"""Draw samples by counter with compiled code, for a CPU.

:class:`~scansnap_core.engine.draws.Counter` draws the same on any device, with PyTorch, and is the
reference to test against; how a random word becomes a class or a token stands beside it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scansnap_core.data.sequences import Ints, SequenceClasses
from scansnap_core.engine.draws import CLASS, TOKENS, WORD, class_cuts_of, cuts_of, key_of, philox
from scansnap_core.engine.kernel import IN_ORDER, compiled_for_cpu, part

# Numba stores machine code by the time of the file that it's compiled from. So after a change of
# philox, which becomes a part of `draw`, this file has to be saved anew.
_philox = part(inline="always")(philox)


class ByCounter:
    """Draw one seed's samples as :class:`~scansnap_core.engine.draws.Counter` does, sorted by
    class.

    ``seq_len`` is T, the query included; at infinity only the classes are drawn.
    """

    def __init__(self, classes: SequenceClasses, seed: int, seq_len: float) -> None:
        """Prepare the cuts by which a random word means a class, or a token of a class."""
        self._classes = classes
        self._key = key_of(seed)
        self._seq_len = seq_len
        cuts = cuts_of(classes.compact)[1]
        # A class with fewer tokens than the largest has cuts that no word reaches; they don't
        # count.
        self._num_cuts = (cuts <= WORD).sum(axis=1)
        self._cuts = cuts.astype(np.uint32)
        self._class_cuts = class_cuts_of(classes)

    def steps(self, first: int, q: np.ndarray) -> Ints:
        """Fill q (steps, B, S), given as zeros, with the token frequencies of the steps from
        ``first`` on: counts over T - 1, or P(.|n) at T = infinity.

        The S places are those of a class's support, ascending; further places stay 0. Returns the
        classes, shape (steps, B).
        """
        drawn = np.empty(q.shape[:2], np.int64)
        counts = np.zeros(q.shape, np.int32)
        finite = math.isfinite(self._seq_len)
        num_context = int(self._seq_len) - 1 if finite else 0
        draw(
            *self._key,
            first,
            num_context,
            self._class_cuts,
            self._cuts,
            self._num_cuts,
            drawn,
            counts,
        )
        if finite:
            np.divide(counts, num_context, out=q, casting="same_kind")
        else:
            for n, row in enumerate(self._classes.compact.probs):
                q[drawn == n, : np.count_nonzero(row)] = row[row > 0]
        return drawn


@compiled_for_cpu
def draw(
    k0: Any,
    k1: Any,
    first: Any,
    num_context: Any,
    class_cuts: Any,
    cuts: Any,
    num_cuts: Any,
    drawn: Any,
    counts: Any,
) -> None:  # pragma: no cover
    """Fill ``drawn`` with classes, ascending in each step, and ``counts`` with token counts.

    Parameters
    ----------
    k0, k1, first, num_context
        The seed's words, the first step and T - 1.
    class_cuts, cuts, num_cuts
        A random word chooses a class by its place among ``class_cuts``, and a token by its place
        among the class's first ``num_cuts`` cuts.
    drawn, counts
        Filled: shapes (steps, B) and (steps, B, S).
    """
    words = np.zeros((num_context + 3) // 4 * 4, np.uint32)
    of_sample = np.empty(drawn.shape[1], np.int64)
    place = np.empty(len(num_cuts) + 1, np.int64)
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
                words[4 * block] = w0
                words[4 * block + 1] = w1
                words[4 * block + 2] = w2
                words[4 * block + 3] = w3
            words[num_context:] = 0  # These are below every cut.
            left = num_context
            for s in range(num_cuts[n]):
                above = _above(words, cuts[n, s])
                counts[row, sample, s] = left - above
                left = above
            counts[row, sample, num_cuts[n]] = left


@part(fastmath=IN_ORDER)
def _above(words: Any, cut: Any) -> Any:  # pragma: no cover
    """Count the words that aren't below a cut, as many at a time as a vector holds."""
    found = 0
    # Numba doesn't vectorise a loop over values, but one over places.
    for place in range(words.size):
        found += words[place] >= cut
    return found
