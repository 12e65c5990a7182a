"""What class systems are held to: rows of probabilities, tokens of a vocabulary, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import is_whole, shown

SUM_TOLERANCE = 1e-6
"""How far a class's probabilities may sum from 1 before they are refused (decimal fractions in files are rounded)."""
SAME_FREQUENCY = 1e-12
"""How far frequencies may differ from 1/K, relatively, and still count as uniform (they were divided by a sum)."""
MOST_PLACES = 10**8
"""Numbers that an array is asked to hold, at most: 0.8 GB."""
MOST_TOKENS = 2**62
"""M, at most: tokens are numbered in 64 bits."""


def checked_size(name: str, value: Any, *, least: int = 1, most: int = MOST_TOKENS) -> int:
    """An integer in least..most, or BadInput."""
    if not is_whole(value) or not least <= value <= most:
        raise BadInput(
            value=f"{name} = {shown(value)}", rule=f"an integer in {least}..{most}", remedy=f"pass e.g. {max(least, 3)}"
        )
    return int(value)


def check_places(what: str, places: int) -> None:
    """Raise BadInput for an array of more numbers than are held in memory."""
    if places > MOST_PLACES:
        raise BadInput(
            value=f"{what} of {places:.3g} numbers",
            rule=f"an array in memory holds {MOST_PLACES:.0e} of them at most",
            remedy="use fewer classes or tokens",
        )


def fix(array: NDArray[Any], *more: NDArray[Any]) -> NDArray[Any]:
    """Make arrays read-only; the first one is handed back."""
    for each in (array, *more):
        each.flags.writeable = False
    return array


def check_generator(rng: Any) -> None:
    """Raise BadInput for anything but a NumPy generator."""
    if not isinstance(rng, np.random.Generator):
        raise BadInput(
            value=f"rng = {shown(rng)}", rule="a NumPy generator draws", remedy="pass np.random.default_rng(0)"
        )


def checked_numbers(name: str, values: Any, *, dims: int, remedy: str = "") -> NDArray[np.float64]:
    """Positive finite numbers as an array of so many dimensions, or BadInput."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        array = np.array(np.nan)
    if array.ndim != dims or not array.size or not (np.isfinite(array).all() and (array > 0).all()):
        raise BadInput(
            value=f"{name} = {shown(values)}",
            rule="a positive finite number" if dims == 0 else "a list of positive finite numbers",
            remedy=remedy or ("pass e.g. 1.0" if dims == 0 else "pass e.g. [1, 2, 3]"),
        )
    return array


def checked_frequencies(values: Any, num_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(n) as given, and with the sum 1; or BadInput. Uniform ones, given or by default (None), are exactly 1/K."""
    uniform = fix(np.full(num_classes, 1 / num_classes))
    if values is None:
        return uniform, uniform
    given = checked_numbers("frequencies", values, dims=1, remedy="pass e.g. [0.8, 0.2], or leave them out").copy()
    with np.errstate(over="ignore"):
        total = given.sum()
    if given.size != num_classes or not abs(total - 1) <= SUM_TOLERANCE:
        raise BadInput(
            value=f"{given.size} frequencies that sum to {total:.9g}",
            rule=f"P(n) is one probability for each of K = {num_classes} classes, and they sum to 1",
            remedy="divide the classes' weights by their sum",
        )
    if np.allclose(given / total, uniform, rtol=SAME_FREQUENCY, atol=0):
        return uniform, uniform
    return fix(given), fix(given / total)


def checked_probs(probs: ArrayLike | Any, class_names: Sequence[Any]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """P(l|n) as it was given, and with rows that sum to 1 as exactly as floats can, both sparse; or BadInput.

    Parameters
    ----------
    probs
        Shape (K, M), dense or sparse.
    class_names
        What messages call the classes, where they have names; else empty.
    """
    given = _matrix(probs)
    num_classes, vocab_size = given.shape
    if num_classes > vocab_size:
        raise BadInput(
            value=f"K = {num_classes} classes over M = {vocab_size} tokens",
            rule="next tokens are tokens, so K <= M",
            remedy="enlarge the vocabulary, or check that rows are classes and columns are tokens",
        )
    normalised = given.copy()
    for n in range(num_classes):
        row = normalised.data[normalised.indptr[n] : normalised.indptr[n + 1]]
        name = repr(class_names[n]) if n < len(class_names) else n
        if row.size == 0:
            raise BadInput(
                value=f"class {name} holds no token",
                rule="every class gives some token a positive probability",
                remedy="remove the class or give it tokens",
            )
        bad = row[~np.isfinite(row) | (row < 0)]
        if bad.size:
            raise BadInput(
                value=f"class {name} has the probability {bad[0]}",
                rule="probabilities are finite and not negative",
                remedy="correct the entry",
            )
        if not abs(row.sum() - 1) <= SUM_TOLERANCE:
            raise BadInput(
                value=f"class {name} sums to {row.sum():.9g}",
                rule=f"the probabilities of a class sum to 1 (within {SUM_TOLERANCE:g})",
                remedy="divide the class's weights by their sum",
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
            value=f"{name}: {' '.join(str(error).split())}",
            rule=rule,
            remedy=f"pass one row of M {'probabilities' if name == 'probs' else name} a class",
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise BadInput(
            value=f"{name} of shape {matrix.shape}",
            rule="P(l|n) has shape (K, M) with K and M at least 1",
            remedy=f"pass one row of M {'probabilities' if name == 'probs' else name} a class",
        )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def shares_of_rows(counts: Any) -> sparse.csr_array:
    """Each row over its sum, shape (K, M), sparse; BadInput for what is no matrix of counts."""
    matrix = _matrix(counts, "counts", "each class has one count for each of M tokens, shape (K, M)")
    bad = matrix.data[~np.isfinite(matrix.data) | (matrix.data < 0)]
    if bad.size:
        raise BadInput(f"counts hold {bad[0]:g}", "counts are finite and not negative", "correct the entry")
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    if not totals.all():
        raise BadInput(
            value=f"class {int(np.argmin(totals))} without a count",
            rule="every class was seen with some token",
            remedy="remove the class or count its tokens",
        )
    matrix.data /= np.repeat(totals, np.diff(matrix.indptr))
    return matrix


def checked_tokens(
    name: str, tokens: ArrayLike, vocab_size: int, *, num_classes: int | None = None, distinct: bool = False
) -> NDArray[np.int64]:
    """One token a class, shape (K,), in 0..M-1 and with ``distinct`` no two alike, or BadInput."""
    try:
        array = np.asarray(tokens)
    except (TypeError, ValueError, RuntimeError):  # ragged lists
        array = np.array(None)
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
            value=f"{name} = {shown(array.tolist())}",
            rule="a class is named by its next token, so next tokens are distinct",
            remedy="merge the classes that share a next token, or give each its own",
        )
    return fix(array.astype(np.int64))


def checked_numbering(tokens: ArrayLike, vocab_size: int) -> NDArray[Any]:
    """Numbers of tokens in 0..M-1, or -1 for all that are no next token, of any shape; or BadInput."""
    try:
        array = np.asarray(tokens)
    except (TypeError, ValueError, RuntimeError):  # ragged lists
        array = np.array(None)
    outside = array[(array < -1) | (array >= vocab_size)] if array.dtype.kind in "iu" else np.array([])
    if (array.size and array.dtype.kind not in "iu") or outside.size:
        raise BadInput(
            value=f"tokens hold {outside[0]}" if outside.size else f"tokens = {shown(tokens)}",
            rule=f"tokens are numbered 0..{vocab_size - 1} (M = {vocab_size}), and -1 stands for the others",
            remedy="pass their numbers, e.g. classes.tokens",
        )
    return array.astype(np.int64)
