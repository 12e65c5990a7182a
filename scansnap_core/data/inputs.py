"""Check what a user gives for a class system: arrays of numbers, names, and tables by name (made
arrays).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import (
    Rule,
    check_differ,
    check_not_masked,
    checked_numbers,
    number,
    shown,
    whole,
)

SUM_TOLERANCE = 1e-6
"""A class's probabilities may sum to 1 within this, because decimal fractions in files are
rounded.
"""
SAME_FREQUENCY = 1e-12
"""Frequencies within this of 1/K, relatively, count as uniform, because they were divided by a
sum.
"""
MOST_PLACES = 10**8
"""The most numbers in an array: 0.8 GB."""
OTHERS = -1
OTHERS_NAME = "(others)"
"""The label of the output that stands for all tokens that are no next token, and its name among
named tokens.
"""
RESERVED = re.compile(r"#\d+|\(others\)")

SIZE = whole(1, 2**62, says="an integer in 1..2^62", example=30)  # tokens are numbered in 64 bits
GENERATOR = Rule(
    lambda rng: isinstance(rng, np.random.Generator),
    "a NumPy generator draws",
    "pass np.random.default_rng(0)",
)
SHARE = number(
    least=0,
    says="a finite number, not negative",
    remedy="write a decimal with a point, such as 0.25",
)
_CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""Unicode's categories of what is no text: control characters, halves of characters, ends of
lines and paragraphs.
"""
_TURNS = {*map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))}
"""These turn the direction of the text that follows a name, too."""
_UNSEEN = ("Cf", "Zs")
"""Categories of what is text, such as the joiner within a Persian word, and can't be seen by
itself.
"""


def _is_name(name: Any) -> bool:
    """Tell whether a name can be read where it is printed, and taken for no label of an output."""
    if not isinstance(name, str) or RESERVED.fullmatch(name):
        return False
    kinds = {unicodedata.category(character) for character in name}
    return not kinds & {*_CONTROLS} and not _TURNS & {*name} and not kinds <= {*_UNSEEN}


NAME = Rule(
    _is_name,
    f"a name is text without control characters, neither blank nor {OTHERS_NAME} nor # with a "
    "number",
    "write e.g. 'sea', in quotes where YAML would read a number, and a decimal with a point",
)
TABLE = Rule(
    lambda value: isinstance(value, Mapping), "a mapping by name", 'pass e.g. {"and": 1.0}'
)
CLASSES_BY_NAME = Rule(
    lambda value: isinstance(value, Mapping) and bool(value),
    "classes map names to the probabilities of tokens by name, and there is at least one",
    'pass e.g. {"sea": {"and": 0.4, "wave": 0.6}}',
)


def check_places(what: str, places: int) -> None:
    """Raise BadInput for an array of more numbers than are held in memory."""
    if places > MOST_PLACES:
        held = f"an array in memory holds {MOST_PLACES:.0e} of them at most"
        raise BadInput(f"{what} of {places:.3g} numbers", held, "use fewer classes or tokens")


def fix(array: NDArray[Any], *more: NDArray[Any]) -> NDArray[Any]:
    """Make arrays read-only, and return the first one."""
    for each in (array, *more):
        each.flags.writeable = False
    return array


# -- arrays: each function returns what it checked, or raises BadInput -----------------------------


def checked_frequencies(
    values: Any, num_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(n), shape (K,), as given, and divided by its sum.

    Both are exactly 1/K for None, and for frequencies that differ from 1/K by rounding alone:
    uniform classes are asked for by that.
    """
    uniform = fix(np.full(num_classes, 1 / num_classes))
    if values is None:
        return uniform, uniform
    rule = "a list of positive finite numbers"
    remedy = "pass e.g. [0.8, 0.2], or leave them out"
    given = checked_numbers("frequencies", values, above=0, rule=rule, remedy=remedy, dims=1).copy()
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


def checked_probs(
    probs: ArrayLike | Any, class_names: Sequence[str]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return P(l|n), (K, M), as given, and with rows that sum to 1 as exactly as floats can,
    both sparse.
    """
    given = _matrix("probs", probs)
    K, M = given.shape
    if K > M:
        raise BadInput(
            f"K = {K} classes over M = {M} tokens",
            "next tokens are tokens, so K <= M",
            "enlarge the vocabulary, or check that rows are classes and columns are tokens",
        )
    # Each row is summed as it would be alone, so that a sum doesn't depend on other rows.
    sums = np.array([row.sum() for row in np.split(given.data, given.indptr[1:-1])])
    if (wrong := np.flatnonzero(~(np.abs(sums - 1) <= SUM_TOLERANCE))).size:
        value = f"class {_called(wrong[0], class_names)} sums to {sums[wrong[0]]:.9g}"
        rule = f"the probabilities of a class sum to 1 (within {SUM_TOLERANCE:g})"
        raise BadInput(value, rule, "divide the class's weights by their sum")
    normalised = given.copy()
    normalised.data /= np.repeat(sums, np.diff(given.indptr))
    for matrix in (given, normalised):
        fix(matrix.data, matrix.indices, matrix.indptr)
    return given, normalised


def shares_of(counts: Any) -> sparse.csr_array:
    """Divide each row of counts, (K, M), by its sum; return a sparse matrix, or raise BadInput for
    a row without a count.
    """
    matrix = _matrix("counts", counts)
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    if not totals.all():
        value = f"class {np.argmin(totals)} without a count"
        raise BadInput(
            value, "every class was seen with some token", "remove the class or count its tokens"
        )
    matrix.data /= np.repeat(totals, np.diff(matrix.indptr))
    return matrix


def _called(n: Any, class_names: Sequence[str]) -> str:
    """Return what messages call class n: its name, or its number."""
    return repr(class_names[n]) if n < len(class_names) else str(n)


def _matrix(name: str, values: Any) -> sparse.csr_array:
    """Copy a matrix (K, M) of numbers that aren't negative, dense or sparse, into a sparse one
    without entries of 0; raise BadInput for anything else.
    """
    rule = "each class has a row of M finite numbers, none negative: shape (K, M)"
    remedy = "pass one row of M numbers for each class"
    is_sparse = sparse.issparse(values)
    dense = (
        values
        if is_sparse
        else checked_numbers(name, values, least=0, rule=rule, remedy=remedy, dims=2)
    )
    matrix = sparse.csr_array(dense)
    checked_numbers(name, matrix.data, least=0, rule=rule, remedy=remedy)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise BadInput(f"{name} of shape {matrix.shape}", rule, remedy)
    matrix = matrix.astype(np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def checked_tokens(
    name: str, tokens: ArrayLike, vocab_size: int, *, least: int = 0, num_classes: int | None = None
) -> NDArray[np.int64]:
    """Return tokens in ``least``..M-1 as an array of any shape; with ``num_classes`` one token
    for each class.
    """
    check_not_masked(name, tokens)
    try:
        array = np.asarray(tokens)
    except (TypeError, ValueError, RuntimeError):  # ragged lists
        array = np.array(None)
    rule = f"tokens are integers in {least}..{vocab_size - 1} (M = {vocab_size})"
    if array.size and array.dtype.kind not in "iu":
        raise BadInput(f"{name} = {shown(tokens)}", rule, "pass a list of them")
    if (outside := array[(array < least) | (array >= vocab_size)]).size:
        raise BadInput(
            f"{name} holds {outside[0]}", rule, "count tokens from 0, or enlarge the vocabulary"
        )
    if num_classes is not None and array.shape != (num_classes,):
        raise BadInput(
            f"{name} of shape {array.shape}",
            f"one token for each of K = {num_classes} classes",
            "pass a list of K",
        )
    return array.astype(np.int64)


def checked_next(
    next_of: ArrayLike, vocab_size: int, num_classes: int | None = None
) -> NDArray[np.int64]:
    """Return the next token of each class: at least one, and all different."""
    tokens = checked_tokens("next_of", next_of, vocab_size, num_classes=num_classes)
    if tokens.ndim != 1 or not tokens.size or len(np.unique(tokens)) < len(tokens):
        rule = (
            "a list of one token for each class, all different, because a class is named by its "
            "next token"
        )
        remedy = "merge the classes that share a next token, or give each its own"
        raise BadInput(f"next_of = {shown(tokens.tolist())}", rule, remedy)
    return fix(tokens)


# -- names -----------------------------------------------------------------------------------------


def checked_names(what: str, names: Any) -> tuple[str, ...]:
    """Return names as text, or raise BadInput unless they are a list of names, all different."""
    try:
        if isinstance(names, str | Mapping):
            raise TypeError
        given = tuple(names)
    except TypeError:  # also an array's without an axis
        raise BadInput(
            f"{what} = {shown(names)}", "a list of names", 'pass e.g. ["sea", "sky"]'
        ) from None
    for name in given:
        NAME(f"a name of {what}", name)
    check_differ(what, given)
    return tuple(str(name) for name in given)


def labels(tokens: NDArray[np.int64], names: Sequence[str]) -> NDArray[Any]:
    """Return the names of tokens, ``#7`` for the token 7 if it has none; without any names their
    numbers.
    """
    if not names:
        return np.asarray(tokens)
    called = {OTHERS: OTHERS_NAME}
    found = [
        called.get(t) or (names[t] if t < len(names) else f"#{t}")
        for t in np.ravel(tokens).tolist()
    ]
    return np.array(found).reshape(np.shape(tokens))


# -- tables by name --------------------------------------------------------------------------------


def in_order(what: str, by_class: Any, classes: Sequence[str]) -> list[Any]:
    """Return the values of a mapping by class name, in the order of the classes.

    It raises BadInput that calls the mapping ``what``, unless it has one value for each class.
    """
    TABLE(what, by_class)
    known = set(classes)
    if wrong := [
        name for name in [*by_class, *classes] if name not in known or name not in by_class
    ]:
        rule = f"one value for each of the classes {', '.join(classes)}"[:120]
        raise BadInput(f"{what} of {shown(wrong[0])}", rule, "add or correct the name")
    return [by_class[name] for name in classes]


def entries(
    rows: Iterable[tuple[str, Any]], column: Callable[[str, Any], int]
) -> tuple[list[float], tuple[Any, Any]]:
    """Go through tables of numbers by token: return the numbers, and the row and the column of
    each.

    ``rows`` has what messages call each table, and the table. ``column`` takes what messages call a
    token, and the token; it checks it, and returns its number.
    """
    data = []
    places = []
    for n, (where, row) in enumerate(rows):
        TABLE(where, row)
        for token, value in row.items():
            places.append((n, column(f"a token of {where}", token)))
            SHARE(f"{where}: value of {shown(token)}", value)
            data.append(float(value))
    of_rows, of_columns = np.array(places, dtype=np.int64).reshape(-1, 2).T
    return data, (of_rows, of_columns)


def named_classes(
    rows: Mapping[str, Any],
    *,
    query_of: Any,
    next_of: Any = None,
    tokens: Any = (),
    vocab_size: int | None = None,
    frequencies: Any = None,
) -> dict[str, Any]:
    """Number classes by name: the arguments of
    :class:`~scansnap_core.data.sequences.SequenceClasses`.

    ``rows`` has the probability of each token, or its count, by class; the other arguments are as
    in :meth:`~scansnap_core.data.sequences.SequenceClasses.from_dicts`. The names ``tokens`` are
    numbered first, in this order. All others follow in the order in which they are first mentioned:
    class by class, then query tokens, then next tokens.
    """
    CLASSES_BY_NAME("classes", rows)
    names = checked_names("classes", list(rows))
    TABLE("next_of", next_of := {} if next_of is None else next_of)
    number = {name: i for i, name in enumerate(checked_names("tokens", tokens))}

    def column(what: str, token: Any) -> int:
        """Return a token's number; a name that is mentioned for the first time gets the next."""
        NAME(what, token)
        return number.setdefault(token, len(number))

    data, places = entries(((f"class {name!r}", rows[name]) for name in names), column)
    queries = dict.fromkeys(names, query_of) if isinstance(query_of, str) else query_of
    query_numbers = [column("query_of", token) for token in in_order("query_of", queries, names)]
    next_numbers = [
        column("next_of", token)
        for token in in_order("next_of", {name: name for name in names} | dict(next_of), names)
    ]
    SIZE("vocab_size", M := len(number) if vocab_size is None else vocab_size)
    if len(number) > M:
        raise BadInput(
            f"{len(number)} names of tokens over M = {M} tokens",
            "every name is a token of the vocabulary",
            f"raise vocab_size to {len(number)} or more, or leave it out",
        )
    return {
        "probs": sparse.csr_array((data, places), shape=(len(names), M), dtype=np.float64),
        "query_of": query_numbers,
        "next_of": next_numbers,
        "token_names": tuple(number),
        "class_names": names,
        "frequencies": None if frequencies is None else in_order("frequencies", frequencies, names),
    }
