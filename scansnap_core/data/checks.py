"""The rules of class systems: rows of probabilities, tokens of a vocabulary, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import Rule, check_numbers, is_real, shown, whole

SUM_TOLERANCE = 1e-6
"""A class's probabilities may sum to 1 within this, because decimal fractions in files are rounded."""
SAME_FREQUENCY = 1e-12
"""Frequencies within this of 1/K, relatively, count as uniform, because they were divided by a sum."""
MOST_PLACES = 10**8
"""An array holds at most so many numbers, 0.8 GB."""
MOST_TOKENS = 2**62
"""The largest M: tokens are numbered in 64 bits."""
SIZE = whole(1, MOST_TOKENS, says="an integer in 1..2^62", example=30)
GENERATOR = Rule(
    lambda rng: isinstance(rng, np.random.Generator), "a NumPy generator draws", "pass np.random.default_rng(0)"
)
PROBABILITY = Rule(  # the sum of a class's probabilities finds those between 1 and 2, which rounding may make
    lambda value: is_real(value) and not abs(value) > 2,
    "a probability is a number in [0, 1]",
    "write a decimal with a point, such as 0.25",
)


def check_places(what: str, places: int) -> None:
    """Raise BadInput for an array of more numbers than are held in memory."""
    if places > MOST_PLACES:
        raise BadInput(
            f"{what} of {places:.3g} numbers",
            f"an array in memory holds {MOST_PLACES:.0e} of them at most",
            "use fewer classes or tokens",
        )


def fix(array: NDArray[Any], *more: NDArray[Any]) -> NDArray[Any]:
    """Make arrays read-only, and return the first one."""
    for each in (array, *more):
        each.flags.writeable = False
    return array


def checked_frequencies(values: Any, num_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(n) as given, and divided by its sum; None and nearly uniform ones become exactly 1/K. Or BadInput."""
    uniform = fix(np.full(num_classes, 1 / num_classes))
    if values is None:
        return uniform, uniform
    rule, remedy = "a list of positive finite numbers", "pass e.g. [0.8, 0.2], or leave them out"
    given = check_numbers("frequencies", values, above=0, rule=rule, remedy=remedy, dims=1).copy()
    with np.errstate(over="ignore"):
        total = given.sum()
    if given.size != num_classes or not abs(total - 1) <= SUM_TOLERANCE:
        raise BadInput(
            f"{given.size} frequencies that sum to {total:.9g}",
            f"P(n) is one probability for each of K = {num_classes} classes, and they sum to 1",
            "divide the classes' weights by their sum",
        )
    if np.allclose(given / total, uniform, rtol=SAME_FREQUENCY, atol=0):
        return uniform, uniform
    return fix(given), fix(given / total)


def checked_probs(probs: ArrayLike | Any, class_names: Sequence[Any]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return P(l|n) as given, and with rows that sum to 1 as exactly as floats can, both sparse; or raise BadInput.

    Parameters
    ----------
    probs
        Shape (K, M), dense or sparse.
    class_names
        The names by which messages call the classes; empty if they have none.
    """
    given = _matrix(probs)
    num_classes, vocab_size = given.shape
    if num_classes > vocab_size:
        raise BadInput(
            f"K = {num_classes} classes over M = {vocab_size} tokens",
            "next tokens are tokens, so K <= M",
            "enlarge the vocabulary, or check that rows are classes and columns are tokens",
        )
    normalised = given.copy()
    for n in range(num_classes):
        row = normalised.data[normalised.indptr[n] : normalised.indptr[n + 1]]
        name = repr(class_names[n]) if n < len(class_names) else n
        if row.size == 0:
            raise BadInput(
                f"class {name} holds no token",
                "every class gives some token a positive probability",
                "remove the class or give it tokens",
            )
        bad = row[~np.isfinite(row) | (row < 0)]
        if bad.size:
            raise BadInput(
                f"class {name} has the probability {bad[0]}",
                "probabilities are finite and not negative",
                "correct the entry",
            )
        if not abs(row.sum() - 1) <= SUM_TOLERANCE:
            raise BadInput(
                f"class {name} sums to {row.sum():.9g}",
                f"the probabilities of a class sum to 1 (within {SUM_TOLERANCE:g})",
                "divide the class's weights by their sum",
            )
        row /= row.sum()
    for matrix in (given, normalised):
        fix(matrix.data, matrix.indices, matrix.indptr)
    return given, normalised


def _matrix(probs: Any, name: str = "probs", rule: str = "P(l|n) is a matrix of numbers") -> sparse.csr_array:
    try:
        dense = None if sparse.issparse(probs) else np.asarray(probs)
        kind = (probs if dense is None else dense).dtype.kind
        if kind == "c":
            raise TypeError("complex numbers")
        matrix = sparse.csr_array(probs if dense is None else dense.astype(np.float64))
        matrix = matrix.astype(np.float64, copy=True)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise BadInput(
            f"{name}: {' '.join(str(error).split())}",
            rule,
            f"pass one row of M {'probabilities' if name == 'probs' else name} a class",
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise BadInput(
            f"{name} of shape {matrix.shape}",
            "P(l|n) has shape (K, M) with K and M at least 1",
            f"pass one row of M {'probabilities' if name == 'probs' else name} a class",
        )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def without_count(name: str | int) -> BadInput:
    """Make the refusal of a class whose counts are all 0."""
    seen = "every class was seen with some token"
    return BadInput(f"class {name} without a count", seen, "remove the class or count its tokens")


def shares_of_rows(counts: Any) -> sparse.csr_array:
    """Divide each row by its sum, shape (K, M), sparse; raise BadInput unless it is a matrix of counts."""
    matrix = _matrix(counts, "counts", "each class has one count for each of M tokens, shape (K, M)")
    bad = matrix.data[~np.isfinite(matrix.data) | (matrix.data < 0)]
    if bad.size:
        raise BadInput(f"counts hold {bad[0]:g}", "counts are finite and not negative", "correct the entry")
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    if not totals.all():
        raise without_count(int(np.argmin(totals)))
    matrix.data /= np.repeat(totals, np.diff(matrix.indptr))
    return matrix


def checked_tokens(
    name: str, tokens: ArrayLike, vocab_size: int, *, num_classes: int | None = None, distinct: bool = False
) -> NDArray[np.int64]:
    """Make an array of one token per class, shape (K,), in 0..M-1 and with ``distinct`` all different; or BadInput."""
    try:
        array = np.asarray(tokens)
    except (TypeError, ValueError, RuntimeError):  # ragged lists
        array = np.array(None)
    if array.ndim != 1 or not array.size or array.size != (num_classes or array.size) or array.dtype.kind not in "iu":
        raise BadInput(
            f"{name} of shape {array.shape} and type {array.dtype}",
            "one integer token a class" + (f", K = {num_classes}" if num_classes else ""),
            "pass a list of K token indices",
        )
    outside = array[(array < 0) | (array >= vocab_size)]
    if outside.size:
        raise BadInput(
            f"{name} holds {outside[0]}",
            f"tokens are numbered 0..{vocab_size - 1} (M = {vocab_size})",
            "count tokens from 0, or enlarge the vocabulary",
        )
    if distinct and len(np.unique(array)) < len(array):
        rule = "a class is named by its next token, so next tokens are distinct"
        remedy = "merge the classes that share a next token, or give each its own"
        raise BadInput(f"{name} = {shown(array.tolist())}", rule, remedy)
    return fix(array.astype(np.int64))


def checked_numbering(tokens: ArrayLike, vocab_size: int) -> NDArray[Any]:
    """Make an array, of any shape, of tokens in 0..M-1 or -1 (all that are no next token); or raise BadInput."""
    try:
        array = np.asarray(tokens)
    except (TypeError, ValueError, RuntimeError):  # ragged lists
        array = np.array(None)
    outside = array[(array < -1) | (array >= vocab_size)] if array.dtype.kind in "iu" else np.array([])
    if (array.size and array.dtype.kind not in "iu") or outside.size:
        raise BadInput(
            f"tokens hold {outside[0]}" if outside.size else f"tokens = {shown(tokens)}",
            f"tokens are numbered 0..{vocab_size - 1} (M = {vocab_size}), and -1 stands for the others",
            "pass their numbers, e.g. classes.tokens",
        )
    return array.astype(np.int64)
