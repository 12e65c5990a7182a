"""The paper's class systems, and classes with a chosen overlap.

Tokens are numbered in the authors' order: common tokens, the distinct tokens class by class, query
tokens, next tokens.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import checked_numbers, number, takes, whole
from scansnap_core.data.inputs import SIZE, check_places
from scansnap_core.data.sequences import SequenceClasses

NUM_COMMON = 10
DISTINCT_WEIGHTS = np.linspace(0.1, 1.0, 10)
"""The unnormalised weights of a class's ten distinct tokens in Syn-Small and Syn-Medium; a common
token weighs 1.
"""

OVERLAP = number(
    least=0,
    below=1,
    says="probabilities are not negative, so an overlap lies in [0, 1)",
    remedy="choose 0 <= rho < 1",
)


def syn_small() -> SequenceClasses:
    """Make Syn-Small (Sec. 8, Fig. 4 and 5): K = 2 classes, 10 common tokens, 10 distinct tokens a
    class.

    The paper says M = 30; the authors' runs give each query and each next token an index of its
    own, so M = 34 here, as their first loss ln 34 shows. Each class has its own query token.

    Examples
    --------
    >>> syn_small()
    SequenceClasses(K=2, M=34, queries=2)
    """
    return _shared_and_distinct(num_classes=2, classes_per_query=1)


@takes(
    num_queries=whole(
        says="Syn-Medium has at least one query token", remedy="use 1, 3, 5 or 10 as in the paper"
    )
)
def syn_medium(num_queries: int) -> SequenceClasses:
    """Make Syn-Medium (Sec. 8, Fig. 6, 11, 12): m query tokens with 2 next tokens each, M = 10 + 23
    m.

    Parameters
    ----------
    num_queries
        m; the paper's last/next 1/2, 3/6, 5/10, 10/20 are m = 1, 3, 5, 10.

    Examples
    --------
    >>> syn_medium(10)
    SequenceClasses(K=20, M=240, queries=10)
    """
    check_places("P(l|n)", 2 * num_queries * (NUM_COMMON + len(DISTINCT_WEIGHTS)))
    return _shared_and_distinct(num_classes=2 * num_queries, classes_per_query=2)


@takes(num_classes=SIZE, vocab_size=SIZE)
def syn_large(num_classes: int, vocab_size: int) -> SequenceClasses:
    """Make classes like Syn-Medium's, two per query token, in any number and in any larger
    vocabulary.

    Parameters
    ----------
    num_classes, vocab_size
        K and M, integers with K >= 1 and M >= 10 + 11 K + K/2 (rounded up) for the common,
        distinct, next and query tokens.

    Examples
    --------
    >>> syn_large(1000, 50_272)
    SequenceClasses(K=1000, M=50272, queries=500)
    """
    num_classes = int(num_classes)
    vocab_size = int(vocab_size)
    needed = NUM_COMMON + (len(DISTINCT_WEIGHTS) + 1) * num_classes + -(-num_classes // 2)
    _check_room(num_classes, vocab_size, needed, NUM_COMMON + len(DISTINCT_WEIGHTS))
    return _shared_and_distinct(num_classes, classes_per_query=2, vocab_size=vocab_size)


@takes(num_classes=whole(2), vocab_size=SIZE, rho=OVERLAP)
def with_overlap(
    num_classes: int,
    vocab_size: int,
    rho: float,
    *,
    distinct_weights: ArrayLike = DISTINCT_WEIGHTS,
) -> SequenceClasses:
    """Make classes with f_n^T f_n' = rho at Z = 0 for every pair n != n': Assumption 2 is met or
    broken at will.

    One common token (0), one query token for all classes, and a block of distinct tokens a class. E
    = rho (11^T - I), so lambda_1 = (K - 1) rho and every other eigenvalue is -rho: Assumption 2
    holds exactly for 6/sqrt(M) <= rho < 1/(K(K-1)) and M >> K^2.

    Parameters
    ----------
    num_classes, vocab_size
        K and M, with K >= 2 and M >= 2 + K * len(distinct_weights).
    rho
        The overlap, 0 <= rho < 1. With rho = 0 the common token vanishes.
    distinct_weights
        Unnormalised probabilities of a class's distinct tokens, the same in every class.

    Examples
    --------
    >>> with_overlap(3, 10_000, 0.1).E.round(3).tolist()
    [[0.0, 0.1, 0.1], [0.1, 0.0, 0.1], [0.1, 0.1, 0.0]]
    """
    num_classes = int(num_classes)
    vocab_size = int(vocab_size)
    rule = "a list of positive finite numbers"
    remedy = "pass e.g. [1, 2, 3]"
    weights = checked_numbers(
        "distinct_weights", distinct_weights, above=0, rule=rule, remedy=remedy, dims=1
    )
    needed = 2 + num_classes * weights.size
    _check_room(num_classes, vocab_size, needed, 1 + weights.size)
    # f_common^2 = rho needs p^2 / (p^2 + |w|^2) = rho
    common = math.sqrt(rho / (1 - rho)) * float(np.linalg.norm(weights))
    probs = _blocks(np.array([common]), weights, num_classes, vocab_size)
    query = needed - 1
    return SequenceClasses(probs, np.full(num_classes, query))


def _check_room(num_classes: int, vocab_size: int, needed: int, held: int) -> None:
    """Raise BadInput unless all tokens find room in the vocabulary, and those that each class holds
    in memory.
    """
    if vocab_size < needed:
        rule = f"M >= {needed} for the common, distinct, query and next tokens"
        raise BadInput(
            f"K = {num_classes}, M = {vocab_size}",
            rule,
            "enlarge the vocabulary or use fewer tokens",
        )
    check_places("P(l|n)", num_classes * held)


def _shared_and_distinct(
    num_classes: int, classes_per_query: int, vocab_size: int | None = None
) -> SequenceClasses:
    """Make classes like Syn-Small's and Syn-Medium's, in the authors' order of tokens.

    All hold the 10 common tokens, and each has 10 distinct tokens of its own. ``classes_per_query``
    successive classes share a query token. M is by default just large enough.
    """
    first_query = NUM_COMMON + num_classes * len(DISTINCT_WEIGHTS)
    query_of = first_query + np.arange(num_classes) // classes_per_query
    first_next = query_of[-1] + 1
    probs = _blocks(
        np.ones(NUM_COMMON), DISTINCT_WEIGHTS, num_classes, vocab_size or first_next + num_classes
    )
    return SequenceClasses(probs, query_of, next_of=first_next + np.arange(num_classes))


def _blocks(
    common: np.ndarray, distinct: np.ndarray, num_classes: int, vocab_size: int
) -> sparse.csr_array:
    """Make P(l|n), (K, M), of classes with the same weights: ``common`` on the first tokens, and
    ``distinct`` on a block of tokens of each class's own, block after block.
    """
    own = np.arange(num_classes)[:, None] * len(distinct) + np.arange(len(distinct))
    columns = np.hstack([np.tile(np.arange(len(common)), (num_classes, 1)), len(common) + own])
    weights = np.hstack([common, distinct])
    rows = np.repeat(np.arange(num_classes), len(weights))
    data = np.tile(weights / weights.sum(), num_classes)
    return sparse.csr_array((data, (rows, columns.ravel())), shape=(num_classes, vocab_size))
