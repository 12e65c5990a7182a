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

from scansnap_core.bad_input import BadInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SUM_TOLERANCE = 1e-6
"""How far a class's probabilities may sum from 1 before they are refused (decimal fractions in files are rounded)."""


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
        self._probs = _checked_probs(probs)
        self.num_classes, self.vocab_size = self._probs.shape
        self.query_of = _checked_tokens("query_of", query_of, self.num_classes, self.vocab_size)
        labels = np.arange(self.num_classes) if next_of is None else next_of
        self.next_of = _checked_tokens("next_of", labels, self.num_classes, self.vocab_size)
        if len(np.unique(self.next_of)) < self.num_classes:
            raise BadInput(
                value=f"next_of = {self.next_of.tolist()}",
                rule="a class is named by its next token, so next tokens are distinct",
                remedy="merge the classes that share a next token, or give each its own",
            )

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


def _checked_probs(probs: ArrayLike | Any) -> sparse.csr_array:
    try:
        matrix = sparse.csr_array(probs if sparse.issparse(probs) else np.asarray(probs, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise BadInput(
            value=f"probs: {error}",
            rule="P(l|n) is a matrix of numbers",
            remedy="pass one row of M probabilities a class",
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise BadInput(
            value=f"probs of shape {matrix.shape}",
            rule="P(l|n) has shape (K, M) with K and M at least 1",
            remedy="pass one row of M probabilities a class",
        )
    num_classes, vocab_size = matrix.shape
    if num_classes > vocab_size:
        raise BadInput(
            value=f"K = {num_classes} classes over M = {vocab_size} tokens",
            rule="next tokens are tokens, so K <= M",
            remedy="enlarge the vocabulary, or check that rows are classes and columns are tokens",
        )
    matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    for n in range(num_classes):
        row = matrix.data[matrix.indptr[n] : matrix.indptr[n + 1]]
        if row.size == 0:
            raise BadInput(
                value=f"class {n} holds no token",
                rule="every class gives some token a positive probability",
                remedy="remove the class or give it tokens",
            )
        bad = row[~np.isfinite(row) | (row < 0)]
        if bad.size:
            raise BadInput(
                value=f"class {n} has the probability {bad[0]}",
                rule="probabilities are finite and not negative",
                remedy="correct the entry",
            )
        if abs(row.sum() - 1) > SUM_TOLERANCE:
            raise BadInput(
                value=f"class {n} sums to {row.sum():.9g}",
                rule=f"the probabilities of a class sum to 1 (within {SUM_TOLERANCE:g})",
                remedy="divide the class's weights by their sum",
            )
        row /= row.sum()
    return matrix


def _checked_tokens(name: str, tokens: ArrayLike, num_classes: int, vocab_size: int) -> Ints:
    array = np.asarray(tokens)
    if array.shape != (num_classes,) or array.dtype.kind not in "iu":
        raise BadInput(
            value=f"{name} of shape {array.shape} and type {array.dtype}",
            rule=f"one integer token a class, K = {num_classes}",
            remedy="pass a list of K token indices",
        )
    outside = array[(array < 0) | (array >= vocab_size)]
    if outside.size:
        raise BadInput(
            value=f"{name} holds {outside[0]}",
            rule=f"tokens are numbered 0..{vocab_size - 1} (M = {vocab_size})",
            remedy="count tokens from 0, or enlarge the vocabulary",
        )
    return array.astype(np.int64)
