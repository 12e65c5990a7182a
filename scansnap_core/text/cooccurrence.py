"""Common and distinct words of real contexts, told apart by counts.

On text the paper's definition, |Omega(l)| = 1, would call every rare word distinct: seen once, it
has one next word. So a word's distinctness is how far the next words that it goes with, P(n|l),
depart from P(n), less what chance alone makes of so few counts; and its label comes from a test.
The counts are of *contexts that hold the word*, so that a word repeated in one context is one piece
of evidence. If next words had nothing to do with contexts, the contexts of a word would be a draw
without replacement from all samples; that is the null hypothesis here.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import sparse, special, stats

from scansnap_core.base.bad_input import BadInput
from scansnap_core.data.probabilities import Floats, Ints
from scansnap_core.text.samples import Samples

COMMON = "common"
UNDECIDED = "undecided"
DISTINCT = "distinct"
TOLERANCE = 0.05
LEVEL = 0.05
"""The departure, in nats, up to which a word still counts as common; and the false discovery rate
of each label.
"""


def contexts_with(samples: Samples) -> Ints:
    """Count N[l, n], the contexts of next word n that hold word l, shape (L, K)."""
    present = sparse.csr_array((samples.q > 0).astype(np.int64))
    classes = sparse.csr_array(np.eye(len(samples.next_words), dtype=np.int64)[samples.target])
    return np.asarray((present.T @ classes).toarray())


def divergence(table: Ints, totals: Ints) -> Floats:
    """Compute sum_n P(n|l) ln(P(n|l)/P(n)) of each row, the Kullback-Leibler divergence, in nats;
    shape (...).

    Parameters
    ----------
    table
        N[l, n], shape (..., K); rows that are not all 0.
    totals
        The number of samples of each next word, shape (K,); P(n) is their share.
    """
    given = table / table.sum(axis=-1, keepdims=True)
    return special.rel_entr(given, totals / totals.sum()).sum(axis=-1)


def chance_divergence(sizes: Ints, totals: Ints) -> Floats:
    """Compute the exact mean of :func:`divergence` under the null hypothesis; shape (words,).

    A word in s contexts shows next word n in k of them, and k is hypergeometric. For large s the
    mean is near (K - 1)/(2 s) (1 - s/N). ``sizes`` has s of each word, shape (words,); ``totals``
    as in :func:`divergence`.
    """
    N = totals.sum()
    P = totals / totals.sum()
    result = np.empty(len(sizes))
    for s in np.unique(sizes):
        k = np.arange(min(s, totals.max()) + 1)
        chances = stats.hypergeom.pmf(k, N, totals[:, None], s)
        mean = (chances * special.xlogy(k, k)).sum() / s  # of sum_n (k/s) ln k
        result[sizes == s] = mean - np.log(s) - special.xlogy(P, P).sum()
    return result


def independence_pvalues(
    table: Ints, totals: Ints, rng: np.random.Generator, draws: int = 9999
) -> Floats:
    """Test by Monte Carlo that next words don't depend on a word: p-values of the G-test, shape
    (words,).

    Chi-squared's tail is far off for expected counts below 5, which most words have. A draw deals
    the next words to the contexts at random, and a word in s contexts gets the first s of them:
    each word's p-value is exact, and words share their draws. None is below 1/(draws + 1).
    Arguments as in :func:`divergence`.
    """
    K = len(totals)
    dealt = np.repeat(np.arange(len(totals)), totals)
    sizes, which = np.unique(table.sum(axis=1), return_inverse=True)
    between = np.searchsorted(sizes, np.arange(len(dealt)), side="right") * K
    # Ties count as draws that reach the observed value, whatever rounding does to them.
    observed = divergence(table, totals) * (1 - 1e-9) - 1e-12
    reached = np.ones(len(table))
    for _ in range(draws):
        pieces = np.bincount(between + rng.permutation(dealt), minlength=(len(sizes) + 1) * K)
        counts = pieces.reshape(-1, K)[: len(sizes)].cumsum(axis=0)
        reached += divergence(counts, totals)[which] >= observed
    return reached / (draws + 1)


def departure_pvalues(table: Ints, totals: Ints, tolerance: float) -> Floats:
    """Test that next words depart from P(n) by ``tolerance`` nats or more: p-values, shape
    (words,).

    G is then nearly noncentral chi-squared. Because contexts are drawn without replacement, G is
    multiplied by the share of the samples that don't contain the word. This makes a given G
    stronger evidence. Arguments as in :func:`divergence`.
    """
    sizes = table.sum(axis=1)
    N = totals.sum()
    evidence = 2 * sizes / np.maximum(1 - sizes / N, 1 / N)
    return stats.ncx2.cdf(
        evidence * divergence(table, totals), len(totals) - 1, evidence * tolerance
    )


def describe(samples: Samples, rng: np.random.Generator, *, least: int = 20) -> xr.Dataset:
    """Describe every word that occurs in enough contexts by its frequency, its distinctness and a
    label.

    A word in fewer than ``least`` contexts is left out; if none is in so many, it raises
    :class:`BadInput`.

    Returns
    -------
    xarray.Dataset
        Over ``word``, the word numbers, ascending: ``contexts``, in how many samples; ``frequency``
        P(l), the share of contextual positions; ``distinctness``, the divergence of P(n|l) from
        P(n) less its mean by chance, in nats; ``next`` the next word with the largest P(n|l)/P(n),
        of several the first of ``samples.next_words``; ``p_independent`` and ``p_apart``, p-values
        of "next words don't depend on it" and of "they depart by ``TOLERANCE`` or more";
        ``label``: common where the second is refuted, else distinct where the first is, else
        undecided.
    """
    table = contexts_with(samples)
    kept = table.sum(axis=1) >= least
    if not kept.any():
        raise BadInput(
            f"least = {least}",
            f"no word is in so many of the {len(samples.target)} contexts",
            "pass a smaller `least`",
        )
    table = table[kept]
    totals = np.bincount(samples.target, minlength=len(samples.next_words))
    sizes = table.sum(axis=1)
    observed = divergence(table, totals)
    p_independent = independence_pvalues(table, totals, rng)
    p_apart = departure_pvalues(table, totals, TOLERANCE)
    label = np.full(len(table), UNDECIDED, dtype="<U9")
    label[stats.false_discovery_control(p_independent) <= LEVEL] = DISTINCT
    label[stats.false_discovery_control(p_apart) <= LEVEL] = COMMON
    return xr.Dataset(
        {
            "contexts": ("word", sizes, {"units": "samples"}),
            "frequency": (
                "word",
                (samples.weight @ samples.q)[kept],
                {"units": "share of positions"},
            ),
            "distinctness": (
                "word",
                observed - chance_divergence(sizes, totals),
                {"units": "nats"},
            ),
            "next": (
                "word",
                samples.next_words[np.argmax(table / totals, axis=1)],
                {"units": "word"},
            ),
            "p_independent": ("word", p_independent),
            "p_apart": ("word", p_apart),
            "label": ("word", label),
        },
        coords={"word": samples.words[kept]},
        attrs={"least": least, "tolerance": TOLERANCE, "level": LEVEL},
    )
