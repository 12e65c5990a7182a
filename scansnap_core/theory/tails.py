"""Exact probabilities of how often things are drawn: the binomial and multinomial laws behind
Lemmas 10-12 and 18.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, poisson

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import checked_numbers, number, takes, whole
from scansnap_core.data.sequences import Floats, Ints

CHANCE = number(least=0, most=1, says="a probability lies in [0, 1]", remedy="pass e.g. 0.5")


@takes(draws=whole(0), p=CHANCE)
def log_tails(draws: int, p: float) -> tuple[Floats, Floats]:
    """Compute ln P(count <= k) and ln P(count >= k) for k = 0..draws, where ``draws`` independent
    draws count with probability p each.

    Both have shape (draws + 1,). They are summed in log space, so that a tail far below the
    smallest float keeps its digits.
    """
    log_pmf = binom.logpmf(np.arange(draws + 1), draws, p)
    return np.logaddexp.accumulate(log_pmf), np.logaddexp.accumulate(log_pmf[::-1])[::-1]


def log_miss(draws: int, p: float, center: int, distances: Ints) -> Floats:
    """Compute ln P(|count - center| >= distance) for whole distances of at least 1, in their shape.

    The center is a whole number, such as the paper's ceil(N P(n)).
    """
    below, above = log_tails(draws, p)
    low = center - distances
    high = center + distances
    # An index outside of 0..draws is clipped, and what stands there is replaced.
    left = np.where(low >= 0, below[np.clip(low, 0, draws)], -np.inf)
    right = np.where(high <= draws, above[np.clip(high, 0, draws)], -np.inf)
    return np.asarray(np.logaddexp(left, right))


@takes(draws=whole(), p=CHANCE)
def log_deviations(draws: int, p: float) -> tuple[Floats, Floats]:
    """Compute deviations d = |count/draws - p| for count = 0..draws, and ln P(|count/draws - p| >=
    d), each (draws + 1,).

    Examples
    --------
    >>> d, logs = log_deviations(2, 0.5)
    >>> d, np.exp(logs).round(12)
    (array([0.5, 0. , 0.5]), array([0.5, 1. , 0.5]))
    """
    counts = np.arange(draws + 1)
    d = np.abs(counts / draws - p)
    far_first = np.argsort(-d)
    summed = np.logaddexp.accumulate(binom.logpmf(counts, draws, p)[far_first])
    # How many counts deviate as much or more; equal deviations may differ by rounding.
    as_far = np.searchsorted(-d[far_first], -d + 1e-12, side="right")
    return d, np.minimum(summed[as_far - 1], 0.0)


@takes(draws=whole(0))
def all_within(draws: int, probs: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Compute P(low_n <= N_n <= high_n for every n at once), for multinomial counts N_n of
    ``draws`` draws.

    Independent Poisson counts of means ``draws * probs``, given that they add up to ``draws``, are
    multinomial. So the probability is one entry of a convolution of K windows. It is exact to about
    1e-13, absolutely.

    Parameters
    ----------
    probs, low, high
        Shape (K,); the probabilities sum to 1. Bounds may lie outside 0..draws.
    """
    rule = "probabilities are not negative"
    weights = checked_numbers(
        "probs", probs, least=0, rule=rule, remedy="pass e.g. [0.5, 0.5]", dims=1
    )
    if abs(weights.sum() - 1) > 1e-9:
        rule = "every draw falls into one of the classes"
        remedy = "divide them by their sum, or add the missing class"
        raise BadInput(f"probs sum to {weights.sum():.9g}", rule, remedy)
    first = np.clip(np.broadcast_to(low, weights.shape), 0, None)
    last = np.clip(np.broadcast_to(high, weights.shape), None, draws)
    if np.any(first > last) or not first.sum() <= draws <= last.sum():
        return 0.0
    counts = np.arange(last.max() + 1)
    pmf = {weight: poisson.pmf(counts, draws * weight) for weight in np.unique(weights)}
    sums = np.ones(1)
    for weight, a, b in zip(weights, first, last, strict=True):
        # The cut only saves time: sums past draws reach no entry that is returned.
        sums = np.convolve(sums, pmf[weight][a : b + 1])[: draws + 1]
    return float(sums[draws - first.sum()] / poisson.pmf(draws, draws))
