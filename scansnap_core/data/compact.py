"""The axes that gradient descent can move."""

from __future__ import annotations

from dataclasses import dataclass

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
