"""Exact probabilities of how often things are drawn: the binomial and multinomial laws behind Lemmas 10-12 and 18."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy
from scipy.stats import binom

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import Floats
from scansnap_core.rules import check_numbers, is_real, shown, whole

Ints = NDArray[np.int64]


def log_tails(draws: int, p: float) -> tuple[Floats, Floats]:
    """ln P(count <= k) and ln P(count >= k) for k = 0..draws, each of shape (draws + 1,).

    Summed in log space, so that a tail far below the smallest float keeps its digits.

    Parameters
    ----------
    draws, p
        The number of independent draws and the probability that one of them counts.
    """
    whole(0)("draws", draws)
    if not is_real(p) or not 0 <= p <= 1:
        raise BadInput(f"p = {shown(p)}", "a probability lies in [0, 1]", "pass e.g. 0.5")
    log_pmf = binom.logpmf(np.arange(draws + 1), draws, p)
    return np.logaddexp.accumulate(log_pmf), np.logaddexp.accumulate(log_pmf[::-1])[::-1]


def log_miss(draws: int, p: float, center: int, distances: Ints) -> Floats:
    """ln P(|count - center| >= distance), shape of ``distances``.

    Parameters
    ----------
    center
        A whole number, such as the paper's ceil(N P(n)).
    distances
        Whole numbers of at least 1.
    """
    below, above = log_tails(draws, p)
    low, high = center - distances, center + distances
    # mutant: Where low is negative, the entry that was looked up is replaced.
    left = np.where(low >= 0, below[np.clip(low, 0, draws)], -np.inf)
    # mutant: A distance is 1 at least and the center isn't negative, so high is 1 at least.
    right = np.where(high <= draws, above[np.clip(high, 0, draws)], -np.inf)
    return np.asarray(np.logaddexp(left, right))


def log_deviations(draws: int, p: float) -> tuple[Floats, Floats]:
    """Deviations d = |count/draws - p| for count = 0..draws, and ln P(|count/draws - p| >= d), each (draws + 1,).

    Parameters
    ----------
    draws, p
        As in :func:`log_tails`; at least one draw.

    Examples
    --------
    >>> d, logs = log_deviations(2, 0.5)
    >>> d, np.exp(logs).round(12)
    (array([0.5, 0. , 0.5]), array([0.5, 1. , 0.5]))
    """
    whole()("draws", draws)
    counts = np.arange(draws + 1)
    d = np.abs(counts / draws - p)
    far_first = np.argsort(-d)
    summed = np.logaddexp.accumulate(binom.logpmf(counts, draws, p)[far_first])
    as_far = np.searchsorted(-d[far_first], -d + 1e-12, side="right")  # how many deviate as much, up to rounding
    return d, np.minimum(summed[as_far - 1], 0.0)


def all_within(draws: int, probs: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """P(low_n <= N_n <= high_n for every n at once), for multinomial counts N_n of ``draws`` draws.

    Independent Poisson counts of means ``draws * probs``, given that they add up to ``draws``, are multinomial. So the
    probability is one entry of a convolution of K windows. It is exact to about 1e-13, absolutely.

    Parameters
    ----------
    probs, low, high
        Shape (K,); the probabilities sum to 1. Bounds may lie outside 0..draws.

    Raises
    ------
    BadInput
        If the probabilities don't sum to 1.
    """
    whole(0)("draws", draws)
    rule = "probabilities are not negative"
    weights = check_numbers("probs", probs, least=0, rule=rule, remedy="pass e.g. [0.5, 0.5]", dims=1)
    # mutant: Near 1 a float lies a multiple of 2^-53 from 1, which 1e-9 isn't, so the two are never equal.
    if abs(weights.sum() - 1) > 1e-9:
        raise BadInput(
            value=f"probs sum to {weights.sum():.9g}",
            rule="every draw falls into one of the classes",
            remedy="divide the probabilities by their sum, or add the missing class",
        )
    first = np.clip(np.broadcast_to(low, weights.shape), 0, None)
    last = np.clip(np.broadcast_to(high, weights.shape), None, draws)
    if np.any(first > last) or not first.sum() <= draws <= last.sum():
        return 0.0
    # mutant: One count more than any window holds is never looked up.
    counts = np.arange(last.max() + 1)
    pmf = {weight: _poisson(counts, draws * weight) for weight in np.unique(weights)}
    sums = np.ones(1)
    for weight, a, b in zip(weights, first, last, strict=True):
        # mutant: The cut only saves time; sums past draws reach no entry that is returned.
        sums = np.convolve(sums, pmf[weight][a : b + 1])[: draws + 1]
    return float(sums[draws - first.sum()] / _poisson(draws, draws))


def _poisson(counts: ArrayLike, mean: float) -> Floats:
    """``scipy.stats.poisson.pmf`` to the last bit, without its checks, which take ten times as long."""
    return np.asarray(np.exp(xlogy(counts, mean) - gammaln(np.add(counts, 1)) - mean))
