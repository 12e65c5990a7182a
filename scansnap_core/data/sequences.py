"""Sequence classes (Sec. 3.2): P(l|n), psi, token kinds, overlaps, and samples of token counts.

A sequence enters the model only through its token counts, because there is no positional encoding. So a sample of
class n is its class and ``q = counts / (T - 1)``; as T grows, q becomes P(.|n), and T = infinity is the same code
with q = P.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.data.checks import checked_probs, checked_tokens
from scansnap_core.data.outputs import Outputs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SequenceClasses:
    """K sequence classes over a vocabulary of M tokens.

    Parameters
    ----------
    probs
        P(l|n), shape (K, M): one row a class, dense or SciPy sparse. Rows sum to 1.
    query_of
        psi, shape (K,): the query token m = psi(n) of each class, in 0..M-1.
    next_of
        The next token (label) of each class, shape (K,), in 0..M-1 and distinct. Default 0..K-1, the paper's n in [K].

    Raises
    ------
    BadInput
        Probabilities that are negative, not finite, don't sum to 1 or have the wrong shape; an empty class; K > M;
        psi or a next token out of range; two classes with one next token.
    """

    def __init__(self, probs: ArrayLike | Any, query_of: ArrayLike, next_of: ArrayLike | None = None) -> None:
        self._probs = checked_probs(probs)
        self.num_classes, self.vocab_size = K, M = self._probs.shape
        self.query_of = checked_tokens("query_of", query_of, M, num_classes=K)
        labels = np.arange(K) if next_of is None else next_of
        self.next_of = checked_tokens("next_of", labels, M, num_classes=K, distinct=True)

    def __repr__(self) -> str:
        return f"SequenceClasses(K={self.num_classes}, M={self.vocab_size}, queries={len(np.unique(self.query_of))})"

    # -- tokens ------------------------------------------------------------------------------------------------

    @property
    def probs(self) -> Floats:
        """P(l|n) as a dense array, shape (K, M)."""
        return self._probs.toarray()

    def support(self, n: int) -> Ints:
        """The tokens l with P(l|n) > 0, ascending."""
        return self._probs.indices[self._probs.indptr[n] : self._probs.indptr[n + 1]].astype(np.int64)

    @cached_property
    def tokens(self) -> Ints:
        """The tokens that some class holds: the only rows of Y and columns of Z that ever move."""
        return np.unique(self._probs.indices).astype(np.int64)

    @cached_property
    def num_holders(self) -> Ints:
        """|Omega(l)| for every token l, shape (M,): in how many classes it occurs."""
        return np.bincount(self._probs.indices, minlength=self.vocab_size).astype(np.int64)

    @cached_property
    def sparse_probs(self) -> sparse.csr_array:
        """P(l|n) over :attr:`tokens` alone, SciPy sparse, shape (K, L)."""
        # slicing columns would allocate an array of size M
        columns = np.searchsorted(self.tokens, self._probs.indices)
        shape = (self.num_classes, len(self.tokens))
        return sparse.csr_array((self._probs.data, columns, self._probs.indptr), shape=shape)

    @property
    def common_tokens(self) -> Ints:
        """G_CT: the tokens with |Omega(l)| > 1."""
        return self.tokens[np.bincount(self.sparse_probs.indices) > 1]

    def distinct_tokens(self, n: int) -> Ints:
        """G_DT(n): the tokens that occur in class n alone."""
        support = self.support(n)
        return np.setdiff1d(support, self.common_tokens, assume_unique=True)

    # -- overlaps ----------------------------------------------------------------------------------------------

    @cached_property
    def E(self) -> Floats:
        """E = F^T F - I at Z = 0, shape (K, K): the overlaps f_n^T f_n' of the l2-normalised classes (Assumption 2)."""
        probs = self.sparse_probs
        norms = np.sqrt(probs.multiply(probs).sum(axis=1))
        F = sparse.csr_array(probs.multiply(1 / np.asarray(norms).reshape(-1, 1)))
        overlaps = (F @ F.T).toarray()
        np.fill_diagonal(overlaps, 0.0)
        return overlaps

    @cached_property
    def eigenvalues(self) -> Floats:
        """The eigenvalues of E, ordered as in the paper: |lambda_1| >= |lambda_2| >= ..."""
        values = np.linalg.eigvalsh(self.E)
        return np.asarray(values[np.argsort(-np.abs(values), kind="stable")], dtype=np.float64)

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs of a model that starts at Y(0) = 0: the K next tokens, and one for all other tokens."""
        return Outputs.lumped(self.next_of, self.vocab_size)

    # -- samples -----------------------------------------------------------------------------------------------

    @cached_property
    def compact(self) -> Compact:
        """The same classes on the axes that can move; see :class:`Compact`."""
        queries, query_row = np.unique(self.query_of, return_inverse=True)
        return Compact(self.tokens, self.sparse_probs.toarray(), queries, query_row.astype(np.int64))

    def sample(self, rng: np.random.Generator, batch_size: int, seq_len: float) -> tuple[Ints, Floats]:
        """Draw a batch: classes uniformly, then T - 1 contextual tokens i.i.d. from P(.|n).

        Returns
        -------
        classes, q
            The class of each sample, shape (B,), and its token frequencies over :attr:`tokens`, shape (B, L).
            With ``seq_len = inf`` the frequencies are P itself.
        """
        classes = rng.integers(self.num_classes, size=batch_size)
        probs = self.compact.probs[classes]
        if math.isinf(seq_len):
            return classes, probs
        num_context = int(seq_len) - 1
        return classes, rng.multinomial(num_context, probs) / num_context


@dataclass(frozen=True)
class Compact:
    """The rows and columns of Y and Z that gradient descent can move.

    Rows of Y and columns of Z outside every support, and rows of Z that are no class's query, have zero gradient
    (Lemma 1), so a run needs only L tokens and Q queries, exactly.
    """

    tokens: Ints
    """The L tokens that some class holds, shape (L,)."""
    probs: Floats
    """P(l|n) over those tokens, shape (K, L)."""
    queries: Ints
    """The Q distinct query tokens, shape (Q,)."""
    query_row: Ints
    """Where each class's query stands in ``queries``, shape (K,)."""
