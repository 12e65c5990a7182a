"""A population of class systems, on which sentences about many systems are measured.

It has ten strata. :data:`STRATA` says what the systems of each one have in common, and
:data:`INSIDE` names those whose systems all satisfy Assumption 2. A system is drawn from its
stratum and number alone, so each can be drawn again without the others. With every system comes a
ratio of the learning rates.

A class is drawn by its attention at the start: f_n, of length 1, whose entries on common tokens
give the overlaps E. Then P(l|n) is f_nl divided by the sum of f_n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from scansnap_core.base.rules import one_of, takes, whole
from scansnap_core.data.datasets import syn_medium, syn_small
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses

STRATA = {
    "alike": (
        "classes that differ in their distinct tokens' names alone; one query, one common token"
    ),
    "unlike": (
        "each class has its own share of the common token, and its own distinct tokens; one query"
    ),
    "several queries": "unlike classes with two to four queries",
    "several common tokens": "unlike classes with two to four common tokens; one query",
    "unequal frequencies": "unlike classes whose P(n) differ by up to 30 times; one query",
    "near pairs": "unlike classes, two of which overlap by 0.7 to 0.99; one query",
    "a class apart": "unlike classes, one of which shares no token with the others; one query",
    "edges": (
        "unlike classes with the largest overlaps, or the smallest vocabulary, that "
        "Assumption 2 allows"
    ),
    "the paper's own data": "Syn-Small, and Syn-Medium with 1, 3, 5 and 10 queries",
    "outside": (
        "unlike classes whose overlaps are larger than Assumption 2 allows, in any "
        "vocabulary; one query"
    ),
}
"""The strata, and what their systems have in common."""
INSIDE = ("alike", "unlike", "several queries", "several common tokens", "edges")
"""The strata whose systems all satisfy Assumption 2."""

MOST_CLASSES = 12
MOST_CLASSES_ALIKE = 30
LARGEST_VOCABULARY = 1e9
LEAST_RATIO = 1e-3
LARGEST_RATIO = 10.0
"""eta_Z/eta_Y lies between these."""
MOST_TRIES = 10_000
"""So many draws are rejected before a stratum counts as empty; a few tens are needed at most."""


class System(NamedTuple):
    """A class system of the population, and the ratio of the learning rates that was drawn with
    it.
    """

    stratum: str
    """Its stratum, one of :data:`STRATA`."""
    number: int
    """Its number in the stratum, from 0 on."""
    classes: SequenceClasses
    """The sequence classes."""
    ratio: float
    """eta_Z/eta_Y."""

    @property
    def name(self) -> str:
        """Its stratum and number, as :func:`system` takes them."""
        return f"{self.stratum} {self.number}"


@takes(stratum=one_of(STRATA), number=whole(0), seed=whole(0))
def system(stratum: str, number: int, *, seed: int = 0) -> System:
    """Draw one system of the population.

    Parameters
    ----------
    stratum
        One of :data:`STRATA`.
    number
        Which of its systems, from 0 on. The paper's own data are five, which take turns; their
        ratio is drawn.
    seed
        Another seed gives another population.

    Returns
    -------
    System
        Its classes, and its ratio eta_Z/eta_Y. They are the same for the same stratum, number and
        seed, whatever else is drawn.

    Raises
    ------
    RuntimeError
        If none of ``MOST_TRIES`` draws has what defines the stratum.

    Examples
    --------
    >>> system("unlike", 3).classes
    SequenceClasses(K=5, M=508665170, queries=1)
    """
    # A stratum's place in STRATA is part of the seed: a new one belongs at the end.
    rng = np.random.default_rng([seed, list(STRATA).index(stratum), number])
    # First the ratio, because it must not depend on how many draws of classes are tried.
    ratio = log_uniform(LEAST_RATIO, LARGEST_RATIO, rng)
    if stratum == "the paper's own data":
        own = [syn_small(), *(syn_medium(num_queries) for num_queries in (1, 3, 5, 10))]
        return System(stratum, number, own[number % len(own)], ratio)

    for _ in range(MOST_TRIES):
        # None, if the classes don't have what defines the stratum.
        classes = _drawn(stratum, rng)
        if classes is not None:
            return System(stratum, number, classes, ratio)
    raise RuntimeError(f"no system of the stratum {stratum} was found in {MOST_TRIES:,} draws")


@takes(count=whole(), seed=whole(0))
def population(count: int, *, seed: int = 0) -> list[System]:
    """Draw the first ``count`` systems of every stratum, stratum by stratum.

    Examples
    --------
    >>> len(population(2))
    20
    """
    return [system(stratum, number, seed=seed) for stratum in STRATA for number in range(count)]


@takes(vocab_size=whole(), num_queries=whole())
def one_common_token(
    entries: Sequence[float],
    own_weights: Sequence[ArrayLike],
    vocab_size: int,
    num_queries: int = 1,
) -> SequenceClasses:
    """Make unlike classes with one common token: the family in which the worst systems are
    searched for.

    Parameters
    ----------
    entries
        Each class's entry of f_n on the common token, between 0 and 1. The product of two entries
        is the overlap of their classes. Two classes satisfy Assumption 2 for
        6/sqrt(M) <= rho < 1/2, if M >= 40.
    own_weights
        For each class positive weights of its own distinct tokens, of which only the proportions
        count.
    vocab_size
        M, large enough for the tokens, the next tokens and the queries.
    num_queries
        Classes take the queries in turn: 1 for a query of all classes, 2 for two classes with a
        query each.

    Examples
    --------
    >>> one_common_token((0.5, 0.6), ([1, 0.5], [1]), 1000, 2).E.round(3).tolist()
    [[0.0, 0.3], [0.3, 0.0]]
    """
    F = np.zeros((len(entries), 1 + sum(len(np.atleast_1d(own)) for own in own_weights)))
    first = 1
    for n, (entry, weights) in enumerate(zip(entries, own_weights, strict=True)):
        own = np.atleast_1d(np.asarray(weights, dtype=float))
        F[n, 0] = entry
        F[n, first : first + len(own)] = math.sqrt(1 - entry**2) * own / np.linalg.norm(own)
        first += len(own)
    return _classes(F, np.arange(len(entries)) % num_queries, vocab_size)


def _drawn(stratum: str, rng: np.random.Generator) -> SequenceClasses | None:
    """Draw a system of a stratum, as :data:`STRATA` describes it.

    It is None if a class would be left with next to no distinct tokens, or the system would need a
    larger vocabulary than the population has; then the caller draws again.
    """
    if stratum == "alike":
        K = round(log_uniform(2, MOST_CLASSES_ALIKE, rng))
    else:
        K = round(log_uniform(3 if stratum == "a class apart" else 2, MOST_CLASSES, rng))
    num_common = int(rng.integers(2, 5)) if stratum == "several common tokens" else 1

    # How large the overlaps are: Assumption 2 wants the largest eigenvalue of E below 1/K.
    top = log_uniform(0.05, 0.98, rng) / K
    if stratum == "edges":
        top = (1 - log_uniform(1e-4, 0.02, rng)) / K
    elif stratum == "outside":
        top = log_uniform(1.02, 0.9 * K, rng) / K

    if stratum == "alike":
        common = np.full((K, 1), math.sqrt(top / (K - 1)))
    else:
        common = _common_entries(K, num_common, top, rng)
    if np.linalg.norm(common, axis=1).max() > 0.999:
        return None

    F = _with_distinct_tokens(common, stratum == "alike", rng)
    if stratum == "near pairs":
        F[1] = _near(F, rng)
    elif stratum == "a class apart":
        F[-1, :num_common] = 0
        F[-1] /= np.linalg.norm(F[-1])

    query_number = np.zeros(K, np.int64)
    if stratum == "several queries":
        num_queries = int(rng.integers(2, min(K, 4), endpoint=True))
        query_number = np.concatenate(
            [np.arange(num_queries), rng.integers(num_queries, size=K - num_queries)]
        )

    vocab_size = _vocabulary(F, stratum, rng)
    if vocab_size is None:
        return None
    classes = _classes(F, query_number, vocab_size)
    if stratum == "unequal frequencies":
        weights = np.exp(rng.uniform(-math.log(30), 0, K))
        classes = classes.with_frequencies(weights / weights.sum())
    return classes


def _common_entries(K: int, num_common: int, top: float, rng: np.random.Generator) -> Floats:
    """Draw the entries of f_n on the common tokens, shape (K, C), such that the largest eigenvalue
    of E is ``top``.

    Classes hold the tokens in different sizes and shares. E is quadratic in the entries, so these
    are scaled by the root of ``top`` over the eigenvalue that they have.
    """
    sizes = np.exp(rng.uniform(math.log(0.1), 0, (K, 1)))
    split = rng.dirichlet(np.ones(num_common), K)
    common = sizes * split / np.linalg.norm(split, axis=1, keepdims=True)
    return np.asarray(common * math.sqrt(top / np.linalg.eigvalsh(_overlaps(common))[-1]))


def _with_distinct_tokens(common: Floats, alike: bool, rng: np.random.Generator) -> Floats:
    """Give each class one to four distinct tokens, with weights within a factor of 20; return all
    f_n, of length 1, shape (K, L).

    Common tokens come first, then the distinct tokens class by class. Alike classes have the same
    number of them, with the same weights.
    """
    K, num_common = common.shape
    counts = rng.integers(1, 5, size=(K,)).tolist()
    if alike:
        counts = [counts[0]] * K
    F = np.zeros((K, num_common + sum(counts)))
    F[:, :num_common] = common

    first = num_common
    weights = np.exp(rng.uniform(-math.log(20), 0, counts[0]))
    for n in range(K):
        if not alike:
            weights = np.exp(rng.uniform(-math.log(20), 0, counts[n]))
        rest = math.sqrt(1 - float((common[n] ** 2).sum()))
        F[n, first : first + counts[n]] = rest * weights / np.linalg.norm(weights)
        first += counts[n]
    return F


def _near(F: Floats, rng: np.random.Generator) -> Floats:
    """Draw a vector for the second class, shape (L,) and length 1, that overlaps with the first
    one's by 0.7 to 0.99.
    """
    overlap = rng.uniform(0.7, 0.99)
    # What is at a right angle to the first class has no negative entry: it's the second class's
    # distinct tokens.
    own = np.where(F[0] > 0, 0, F[1])
    own /= np.linalg.norm(own)
    return np.asarray(overlap * F[0] + math.sqrt(1 - overlap**2) * own)


def _vocabulary(F: Floats, stratum: str, rng: np.random.Generator) -> int | None:
    """Draw M, smaller ones more often; None if Assumption 2 asks for a larger one than the
    population has.

    Assumption 2 wants M >> K², and that E's eigenvalues have at least the size 6/sqrt(M).
    """
    K, num_held = F.shape
    least = max(10 * K**2, num_held + 2 * K + 4)
    if stratum not in ("outside", "near pairs", "a class apart"):
        # The smallest eigenvalue of E, in size, is at least 6/sqrt(M).
        smallest = float(np.abs(np.linalg.eigvalsh(_overlaps(F))).min())
        least = max(least, math.ceil((6 / max(smallest, 1e-9)) ** 2))
    if least > LARGEST_VOCABULARY:
        return None
    if stratum == "edges":
        return math.ceil(least * log_uniform(1.0001, 1.05, rng))
    # Half of the systems get the fourth part, in orders of magnitude, that lies next to the least
    # M: in a large vocabulary the gradient moves attention by next to nothing.
    orders = math.log(LARGEST_VOCABULARY / least)
    return math.ceil(least * math.exp(orders * rng.random() ** 2))


def _overlaps(F: Floats) -> Floats:
    """Compute E, shape (K, K): the products of different rows of F, and zeros on the diagonal."""
    products = F @ F.T
    np.fill_diagonal(products, 0)
    return np.asarray(products)


def _classes(F: Floats, query_number: Ints, vocab_size: int) -> SequenceClasses:
    """Make classes whose attention at the start is F; the queries are the vocabulary's last
    tokens.
    """
    probs = sparse.csr_array(F / F.sum(axis=1, keepdims=True))
    probs.resize((len(F), vocab_size))
    return SequenceClasses(probs, vocab_size - 1 - query_number)


def log_uniform(low: float, high: float, rng: np.random.Generator) -> float:
    """Draw a number between two, uniformly in its logarithm."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))
