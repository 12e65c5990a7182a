"""Classes that gradient descent treats alike, and the tokens that move alike in them.

Two classes are of one *type* if they are equally frequent, hold the common tokens with the same probabilities, have the
same probabilities of their distinct tokens in some order, and share their query with as many classes of each type. From
Y(0) = Z(0) = 0 the flow never tells them apart, so one of them stands for all: a thousand classes as in Syn-Large are
one type.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scansnap_core.data.checks import check_places
from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses

Ints = NDArray[np.int64]

DIGITS = 12
"""Probabilities that agree to so many decimals count as equal; further digits are rounding of a row's sum."""


@dataclass(frozen=True, eq=False)
class Types:
    """A class system by types: T types over C common tokens, R kinds of queries, at most D distinct tokens a class.

    Attributes
    ----------
    of_class
        The type of each class, shape (K,).
    size
        How many classes are of each type, shape (T,).
    others
        How many classes of type j a class of type i sees beside itself, shape (T, T).
    common, distinct
        P(l|n) of a class of each type over the common tokens, (T, C), and its distinct ones, descending and filled up
        with zeros, (T, D).
    of_query
        The kind of each query, shape (Q,); ``query`` is that of each type's query, shape (T,).
    paces
        K P(n) of a class of each type, shape (T,): how often it is seen, over the mean class.
    asking
        How many classes of each type ask with a query of each kind, shape (R, T).
    common_columns, distinct_columns
        Where the common tokens, (C,), and each class's distinct tokens, (K, D) with -1 for none, stand among the
        tokens of ``classes.compact``.
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

    @property
    def rest(self) -> int:
        """M - K, the outputs that are no class."""
        return self.vocab_size - len(self.of_class)

    def per_query(self, common: Floats, distinct: Floats) -> Floats:
        """Values (R, C) and (T, D) on all queries and tokens, shape (Q, L), as Z has them; 0 where no class asks."""
        Z = np.zeros((len(self.of_query), self.num_tokens))
        Z[:, self.common_columns] = common[self.of_query]
        held = self.distinct_columns >= 0
        Z[np.repeat(self._query_row, held.sum(axis=1)), self.distinct_columns[held]] = distinct[self.of_class][held]
        return Z

    _query_row: Ints


def types_of(classes: SequenceClasses) -> Types:
    """The types of a class system."""
    CLASSES("classes", classes)
    probs = classes.sparse_probs
    # mutant: The tokens are those that some class holds.
    is_common = np.bincount(probs.indices) > 1
    common_columns = np.flatnonzero(is_common)
    K = classes.num_classes
    check_places("P(l|n) of the common tokens", K * len(common_columns))
    common = np.asarray(probs[:, common_columns].toarray())
    distinct, places = _distinct(probs, ~is_common)

    rows = np.round(np.hstack([common, distinct, classes.paces[:, None]]), DIGITS)
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    _, query_row = np.unique(classes.query_of, return_inverse=True)
    asked = sparse.csr_array((np.ones(K), (query_row, kind)))
    _, of_query = np.unique(_rows_as_text(asked), return_inverse=True)
    pairs, first, of_class = np.unique(
        np.column_stack([of_query[query_row], kind]), axis=0, return_index=True, return_inverse=True
    )
    _, example = np.unique(of_query, return_index=True)  # one query of each kind
    asking = np.zeros((len(example), len(pairs)))
    for row, query in enumerate(example):
        np.add.at(asking[row], of_class[query_row == query], 1)
    size = np.bincount(of_class).astype(np.float64)
    return Types(
        of_class=of_class.astype(np.int64),
        size=size,
        others=size - np.eye(len(pairs)),
        common=common[first],
        distinct=distinct[first],
        paces=classes.paces[first],
        of_query=of_query.astype(np.int64),
        query=pairs[:, 0].astype(np.int64),
        asking=asking,
        common_columns=common_columns,
        distinct_columns=places,
        num_tokens=len(is_common),
        vocab_size=classes.vocab_size,
        _query_row=query_row.astype(np.int64),
    )


def _distinct(probs: sparse.csr_array, is_distinct: NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """Each class's distinct probabilities, descending, and their columns, -1 for none; shapes (K, D)."""
    coo = probs.tocoo()
    kept = is_distinct[coo.col]
    row, column, value = coo.row[kept], coo.col[kept], coo.data[kept]
    order = np.lexsort((column, -np.round(value, DIGITS), row))
    row, column, value = row[order], column[order], value[order]
    held = np.bincount(row)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(held) - held, held)
    values = np.zeros((probs.shape[0], int(held.max(initial=0))))
    places = np.full(values.shape, -1, dtype=np.int64)
    values[row, slot], places[row, slot] = value, column
    return values, places


def _rows_as_text(counts: sparse.csr_array) -> list[str]:
    """One text for each row, equal where rows are, without making the rows dense."""
    counts.sum_duplicates()
    cuts = itertools.pairwise(counts.indptr)
    return [f"{counts.indices[i:j].tolist()} {counts.data[i:j].tolist()}" for i, j in cuts]
