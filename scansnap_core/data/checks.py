"""What sequence classes are held to: rows of probabilities, and tokens of a vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.bad_input import BadInput

SUM_TOLERANCE = 1e-6
"""How far a class's probabilities may sum from 1 before they are refused (decimal fractions in files are rounded)."""


def checked_probs(probs: ArrayLike | Any) -> sparse.csr_array:
    """P(l|n) as a sparse matrix whose rows sum to 1 exactly, or BadInput."""
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


def checked_tokens(
    name: str, tokens: ArrayLike, vocab_size: int, *, num_classes: int | None = None, distinct: bool = False
) -> NDArray[np.int64]:
    """One token a class, shape (K,), in 0..M-1 and with ``distinct`` no two alike, or BadInput."""
    array = np.asarray(tokens)
    if array.ndim != 1 or not array.size or array.size != (num_classes or array.size) or array.dtype.kind not in "iu":
        raise BadInput(
            value=f"{name} of shape {array.shape} and type {array.dtype}",
            rule="one integer token a class" + (f", K = {num_classes}" if num_classes else ""),
            remedy="pass a list of K token indices",
        )
    outside = array[(array < 0) | (array >= vocab_size)]
    if outside.size:
        raise BadInput(
            value=f"{name} holds {outside[0]}",
            rule=f"tokens are numbered 0..{vocab_size - 1} (M = {vocab_size})",
            remedy="count tokens from 0, or enlarge the vocabulary",
        )
    if distinct and len(np.unique(array)) < len(array):
        raise BadInput(
            value=f"{name} = {array.tolist()}",
            rule="a class is named by its next token, so next tokens are distinct",
            remedy="merge the classes that share a next token, or give each its own",
        )
    return array.astype(np.int64)
