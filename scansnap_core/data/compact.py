"""The axes that gradient descent can move."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scansnap_core.data.checks import fix


@dataclass(frozen=True, eq=False)
class Compact:
    """The rows and columns of Y and Z that gradient descent can move.

    Rows of Y and columns of Z outside every support, and rows of Z that are no class's query, have zero gradient
    (Lemma 1), so a run needs only L tokens and Q queries, exactly.
    """

    tokens: NDArray[np.int64]
    """The L tokens that some class holds, shape (L,)."""
    probs: NDArray[np.float64]
    """P(l|n) over those tokens, shape (K, L)."""
    queries: NDArray[np.int64]
    """The Q distinct query tokens, shape (Q,)."""
    query_row: NDArray[np.int64]
    """Where each class's query stands in ``queries``, shape (K,)."""

    def __post_init__(self) -> None:
        fix(self.tokens, self.queries)  # the other two go to PyTorch, which warns of arrays that it may not write to

    @cached_property
    def drawn(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places on the L tokens, and their probabilities, in which a class's counts are drawn, each of shape (K, W).

        A multinomial draw takes outcome after outcome, spends nothing on one of probability 0 unless it is the last,
        and gives the last what is left. So drawn here, from the same random numbers, counts are what they are on all
        L places. W is one more than the largest support; zeros that fill up a row stand in front.
        """
        num_tokens = self.probs.shape[1]
        own = [np.flatnonzero(row) for row in self.probs]
        ends = [places if places[-1] == num_tokens - 1 else np.append(places, num_tokens - 1) for places in own]
        width = max(map(len, ends))
        places = np.zeros((len(own), width), np.int64)
        probs = np.zeros((len(own), width))
        for n, end in enumerate(ends):
            places[n, width - len(end) :], probs[n, width - len(end) :] = end, self.probs[n, end]
        fix(places, probs)
        return places, probs

    def spread(self, classes: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What :attr:`drawn` has on W places of these classes' rows, (..., W) for classes (...), on the L tokens."""
        on_tokens = np.zeros((*classes.shape, self.probs.shape[1]))
        starts = np.arange(0, on_tokens.size, self.probs.shape[1]).reshape(*classes.shape, 1)
        # of a place that stands twice the last one stays: what fills up a row stands in front
        on_tokens.ravel()[self.drawn[0][classes] + starts] = values
        return on_tokens
