"""Group classes that behave identically, so that one of each group is integrated.

Two classes are of one *type* if they are equally frequent, hold the common tokens with the same
probabilities, have the same probabilities of their distinct tokens in some order, and share their
query with the same number of classes of each type. From Y(0) = Z(0) = 0 their logits stay equal
under the flow and under each law, so one stands for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scansnap_core.base.rules import Rule, takes
from scansnap_core.data.inputs import check_places
from scansnap_core.data.sequences import CLASSES, Floats, Ints, SequenceClasses

DIGITS = 12
"""Probabilities that agree to this many decimals count as equal. Further digits are what rounding
does to a row whose sum is 1.
"""


@dataclass(frozen=True, eq=False)
class Types:
    """A class system, grouped into types.

    There are K classes of T types, C common tokens, at most D distinct tokens a class, and Q
    queries of R kinds.

    Attributes
    ----------
    of_class, size
        The type of each class, (K,), and how many classes are of each type, (T,).
    others
        How many other classes of type j there are for a class of type i, (T, T).
    common, distinct
        P(l|n) of a class of each type over the common tokens, (T, C), and its distinct ones,
        descending and filled up with zeros, (T, D).
    paces
        K P(n) of a class of each type, (T,): how often it is seen, relative to the mean class.
    of_query, query, asking
        The kind of each query, (Q,), and of each type's query, (T,); how many classes of each type
        ask by kind, (R, T).
    common_columns, distinct_columns
        Where the common tokens, (C,), and each class's distinct tokens, (K, D) with -1 for none,
        stand among the tokens of ``classes.compact``.
    num_tokens, vocab_size
        L, the tokens that some class holds, and M.
    """

    of_class: Ints
    size: Floats
    others: Floats
    common: Floats
    distinct: Floats
    paces: Floats
    of_query: Ints
    query: Ints
    asking: Floats
    common_columns: Ints
    distinct_columns: Ints
    num_tokens: int
    vocab_size: int
    _query_row: Ints

    @property
    def rest(self) -> int:
        """M - K, the outputs that are no class."""
        return self.vocab_size - len(self.of_class)

    def overlaps(self, common: Floats) -> Floats:
        """Compute f_n^T f_n' of a class of type i and another of type j, shape (T, T).

        Only common tokens matter: ``common`` is f on them, shape (T, C). Where type i is type j and
        holds one class, there are no two classes, and the value is 0.
        """
        return np.where(self.others > 0, common @ common.T, 0.0)

    def per_query(self, common: Floats, distinct: Floats) -> Floats:
        """Spread values by type over all queries and tokens, as Z has them.

        Values on common tokens (R, C) and on distinct tokens (T, D) give an array (Q, L), which is
        0 where no class with this query holds the token.
        """
        Z = np.zeros((len(self.of_query), self.num_tokens))
        Z[:, self.common_columns] = common[self.of_query]

        # Each distinct token has one class, and so one query.
        held = self.distinct_columns >= 0
        rows = np.repeat(self._query_row, held.sum(axis=1))
        Z[rows, self.distinct_columns[held]] = distinct[self.of_class][held]
        return Z

    def by_type(self, Z: Floats) -> tuple[Floats, Floats]:
        """Average Z of shape (Q, L) over all queries and classes that are alike.

        It undoes :meth:`per_query`: the arrays have the shapes (R, C) and (T, D).
        """
        held = self.distinct_columns >= 0
        distinct = np.where(held, Z[self._query_row[:, None], self.distinct_columns], 0.0)
        common = mean_by(self.of_query, Z[:, self.common_columns])
        return common, mean_by(self.of_class, distinct)


def mean_by(group: Ints, rows: Floats) -> Floats:
    """Average rows by group: (N, D) rows with their groups (N,) give (groups, D)."""
    count = np.bincount(group)
    total = np.zeros((len(count), rows.shape[1]))
    np.add.at(total, group, rows)
    return total / count[:, None]


TYPES = Rule(
    lambda value: isinstance(value, Types), "the law is one of types", "pass types_of(classes)"
)


@takes(classes=CLASSES)
def types_of(classes: SequenceClasses, apart: Sequence[int] = ()) -> Types:
    """Find the types of a class system.

    Parameters
    ----------
    classes
        The class system.
    apart
        Classes, by number from 0 on, that each get a type of their own, even if others are like
        them.

    Examples
    --------
    >>> from scansnap_core import with_overlap
    >>> classes = with_overlap(5, 100, 0.3)
    >>> types_of(classes).size, types_of(classes, apart=[3]).size
    (array([5.]), array([4., 1.]))
    """
    probs = classes.sparse_probs
    is_common = np.bincount(probs.indices) > 1
    common_columns = np.flatnonzero(is_common)
    check_places("P(l|n) of the common tokens", classes.num_classes * len(common_columns))
    common = np.asarray(probs[:, common_columns].toarray())
    distinct, places = _distinct(probs, ~is_common)

    # First the kind of each class by itself: its probabilities and how often it is seen.
    label = np.zeros((classes.num_classes, 1))
    label[list(apart), 0] = np.arange(1, len(apart) + 1)
    rows = np.round(np.hstack([common, distinct, classes.paces[:, None], label]), DIGITS)
    _, kind = np.unique(rows, axis=0, return_inverse=True)

    # Then the kind of each query: the sorted list of the kinds of classes that ask with it. These
    # lists differ in length, so they are compared as text.
    _, query_row = np.unique(classes.query_of, return_inverse=True)
    by_query_and_kind = np.lexsort((kind, query_row))
    asked = np.split(kind[by_query_and_kind], np.cumsum(np.bincount(query_row))[:-1])
    _, of_query = np.unique([str(kinds.tolist()) for kinds in asked], return_inverse=True)

    # A type is a kind of query together with a kind of class. Types are defined by the types that
    # share the query, and this ends the circle: all classes of one query have its kind, so to count
    # their kinds is to count their types.
    both = np.column_stack([of_query[query_row], kind])
    pairs, first, of_class = np.unique(both, axis=0, return_index=True, return_inverse=True)

    # How many classes of each type ask with a query of each kind, counted on one example of it.
    _, example = np.unique(of_query, return_index=True)
    asking = np.stack(
        [np.bincount(of_class[query_row == query], minlength=len(pairs)) for query in example]
    )
    size = np.bincount(of_class).astype(np.float64)
    return Types(
        of_class=of_class,
        size=size,
        others=size - np.eye(len(pairs)),
        common=common[first],
        distinct=distinct[first],
        paces=classes.paces[first],
        of_query=of_query,
        query=pairs[:, 0],
        asking=asking.astype(np.float64),
        common_columns=common_columns,
        distinct_columns=places,
        num_tokens=len(is_common),
        vocab_size=classes.vocab_size,
        _query_row=query_row,
    )


def _distinct(probs: sparse.csr_array, is_distinct: NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """Return each class's distinct probabilities, descending, and their columns, shapes (K, D).

    Classes with fewer than D distinct tokens are filled up with 0, and with the column -1.
    """
    coo = probs.tocoo()
    kept = is_distinct[coo.col]
    row = coo.row[kept]
    column = coo.col[kept]
    value = coo.data[kept]
    order = np.lexsort((column, -np.round(value, DIGITS), row))
    row = row[order]
    column = column[order]
    value = value[order]

    # The slot of each token in its class's row: its place in the list, less where the class begins.
    held = np.bincount(row)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(held) - held, held)
    values = np.zeros((probs.shape[0], int(held.max(initial=0))))
    places = np.full(values.shape, -1, dtype=np.int64)
    values[row, slot] = value
    places[row, slot] = column
    return values, places
