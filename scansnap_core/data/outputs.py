"""The outputs of a model: one for each next token, and one that stands for all tokens that are no next token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scansnap_core.data.checks import check_places, checked_size, checked_tokens, fix

OTHERS = -1
"""The label of the output that stands for all tokens that are no next token."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """The O outputs of a model, each a column of Y: what they stand for, and which one each class's next token is.

    From Y(0) = 0 the columns of the M - K tokens that are no next token stay equal, so one column with the multiplicity
    M - K holds them all exactly: :meth:`lumped`. From other starts every token has its own column: :meth:`separate`.

    Examples
    --------
    >>> from scansnap_core.data.outputs import Outputs
    >>> outputs = Outputs.lumped([5, 3], vocab_size=10)
    >>> outputs.labels.tolist(), outputs.multiplicity.tolist()
    ([5, 3, -1], [1.0, 1.0, 8.0])
    >>> outputs.targets.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    labels: NDArray[np.int64]
    """The token that each column stands for, or :data:`OTHERS`, shape (O,)."""
    multiplicity: NDArray[np.float64]
    """How many tokens each column stands for, shape (O,)."""
    columns: NDArray[np.int64]
    """The column of each class's next token, shape (K,)."""

    def __post_init__(self) -> None:
        fix(self.labels, self.multiplicity, self.columns)

    @classmethod
    def lumped(cls, next_of: ArrayLike, vocab_size: float) -> Outputs:
        """Next tokens in the order of their classes, then one column for all other tokens, if there are any.

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
        """One column a token of the vocabulary. Parameters and errors as in :meth:`lumped`."""
        vocab_size = _checked(vocab_size)
        tokens = checked_tokens("next_of", next_of, vocab_size, distinct=True)
        check_places("one output for every token", vocab_size)
        return cls(np.arange(vocab_size), np.ones(vocab_size), tokens)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def targets(self) -> NDArray[np.float64]:
        """x_{T+1} of every class as one-hot rows, shape (K, O); an array of its own at every call."""
        check_places("one-hot rows", len(self.columns) * len(self))
        return np.asarray(self.columns[:, None] == np.arange(len(self)), dtype=np.float64)


def _checked(vocab_size: Any) -> int:
    whole = isinstance(vocab_size, float | np.floating) and vocab_size % 1 == 0  # NaN and inf leave NaN
    return checked_size("vocab_size", int(vocab_size) if whole else vocab_size)
