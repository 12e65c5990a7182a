"""The axes of Y and Z that gradient descent can move: tokens and queries, and the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scansnap_core.data.checks import SIZE, check_places, checked_tokens, fix

OTHERS = -1
"""The label of the output that stands for all tokens that are no next token."""


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
    """The place of each class's query in ``queries``, shape (K,)."""

    def __post_init__(self) -> None:
        fix(self.tokens, self.queries)  # the other two go to PyTorch, which warns of arrays that it may not write to

    @cached_property
    def drawn(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Each class's own tokens, as places on the L tokens, and their probabilities, both of shape (K, W).

        Counts drawn on these W places equal those drawn on all L from the same random numbers, because a multinomial
        draw spends nothing on an outcome of probability 0 unless it is the last, which gets the rest. W is one more
        than the largest support; shorter rows begin with zeros.
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
        """Spread values on the W places of :attr:`drawn`, (..., W) for classes (...), over the L tokens, (..., L)."""
        on_tokens = np.zeros((*classes.shape, self.probs.shape[1]))
        starts = np.arange(0, on_tokens.size, self.probs.shape[1]).reshape(*classes.shape, 1)
        # a row that was filled up names its first place again, and the last value written there stays
        on_tokens.ravel()[self.drawn[0][classes] + starts] = values
        return on_tokens


@dataclass(frozen=True, eq=False)
class Outputs:
    """The O outputs of a model, each a column of Y that stands for one token or for several.

    From Y(0) = 0 the columns of the M - K tokens that are no next token stay equal, so one column with the multiplicity
    M - K holds them all exactly: :meth:`lumped`. From other starts every token has its own column: :meth:`separate`.

    Examples
    --------
    >>> from scansnap_core.data.axes import Outputs
    >>> outputs = Outputs.lumped([5, 3], vocab_size=10)
    >>> outputs.labels.tolist(), outputs.multiplicity.tolist()
    ([5, 3, -1], [1.0, 1.0, 8.0])
    >>> outputs.targets.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    labels: NDArray[np.int64]
    """The token that each column stands for, or :data:`OTHERS`, shape (O,)."""
    multiplicity: NDArray[np.float64]
    """The number of tokens that each column stands for, shape (O,)."""
    columns: NDArray[np.int64]
    """The column of each class's next token, shape (K,)."""

    def __post_init__(self) -> None:
        fix(self.labels, self.multiplicity, self.columns)

    @classmethod
    def lumped(cls, next_of: ArrayLike, vocab_size: float) -> Outputs:
        """Make a column for each next token, in the order of their classes, and one for all other tokens, if any.

        Parameters
        ----------
        next_of
            The next token of each class, shape (K,), distinct and in 0..M-1.
        vocab_size
            M, a whole number.

        Raises
        ------
        BadInput
            M is no whole number, or next tokens are not distinct integers in 0..M-1.
        """
        vocab_size = _checked(vocab_size)
        tokens = checked_tokens("next_of", next_of, vocab_size, distinct=True)
        K = len(tokens)
        rest = [OTHERS] if vocab_size > K else []
        multiplicity = np.array([1.0] * K + [vocab_size - K] * len(rest))
        return cls(np.append(tokens, np.array(rest, dtype=np.int64)), multiplicity, np.arange(K))

    @classmethod
    def separate(cls, next_of: ArrayLike, vocab_size: float) -> Outputs:
        """Make one column per token of the vocabulary. Parameters and errors as in :meth:`lumped`."""
        vocab_size = _checked(vocab_size)
        tokens = checked_tokens("next_of", next_of, vocab_size, distinct=True)
        check_places("one output for every token", vocab_size)
        return cls(np.arange(vocab_size), np.ones(vocab_size), tokens)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def targets(self) -> NDArray[np.float64]:
        """x_{T+1} of every class as one-hot rows, shape (K, O); every call makes a new array."""
        check_places("one-hot rows", len(self.columns) * len(self))
        return np.asarray(self.columns[:, None] == np.arange(len(self)), dtype=np.float64)


def _checked(vocab_size: Any) -> int:
    whole = isinstance(vocab_size, float | np.floating) and vocab_size % 1 == 0  # NaN and inf leave NaN
    SIZE("vocab_size", vocab_size := int(vocab_size) if whole else vocab_size)
    return int(vocab_size)
