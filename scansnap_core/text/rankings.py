"""Explain which words gain attention: rank correlations over words, with intervals and controls.

They take arrays over words, so the gains can be z of the paper's model or the content scores of a
standard Transformer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import one_of, optional
from scansnap_core.data.probabilities import Floats, Ints
from scansnap_core.text import yz
from scansnap_core.text.cooccurrence import COMMON, DISTINCT, UNDECIDED
from scansnap_core.text.samples import Samples

SCORES = ("frequency", "distinctness", "first force", "base-rate force")
"""The names of what may explain a gain."""

RESAMPLES = 1999
CONFIDENCE = 0.95


def spearman(x: ArrayLike, y: ArrayLike, axis: int = -1) -> Floats:
    """Compute Spearman's rank correlation along an axis; the other axes broadcast."""
    return np.asarray(
        stats.pearsonr(
            stats.rankdata(x, axis=axis), stats.rankdata(y, axis=axis), axis=axis
        ).statistic
    )


def partial_spearman(x: ArrayLike, y: ArrayLike, given: ArrayLike, axis: int = -1) -> Floats:
    """Compute the rank correlation of x and y, after the ranks of ``given`` are regressed out."""
    xy = spearman(x, y, axis)
    x_given = spearman(x, given, axis)
    y_given = spearman(y, given, axis)
    return (xy - x_given * y_given) / np.sqrt((1 - x_given**2) * (1 - y_given**2))


def explain(
    gains: ArrayLike,
    scores: Mapping[str, ArrayLike],
    rng: np.random.Generator,
    given: str | None = None,
) -> xr.Dataset:
    """Correlate the ranks of gains with those of scores over the same words.

    The interval says how the correlation would scatter over other words like these. It doesn't
    cover the scatter over other trainings or texts.

    Parameters
    ----------
    gains
        z_l, or any score whose order matters, shape (words,): four words or more, all finite.
    scores
        Possible explanations by name, each of shape (words,).
    given
        The name of a score that is taken out of the others (partial correlation). Its own row stays
        as it is.

    Returns
    -------
    xarray.Dataset
        Over ``score``: ``rho``; ``low`` and ``high``, the 95 % bootstrap interval (percentiles)
        over words; ``chance``, the control: the 95 % point of abs(rho) with the gains dealt to the
        words at random, and ``p``, the share of such deals that reach abs(rho).
    """
    z = np.asarray(gains, dtype=np.float64)
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    for name, values in {"gains": z, **columns}.items():
        if values.shape != z.shape or z.ndim != 1 or len(z) < 4 or not np.isfinite(values).all():
            raise BadInput(
                f"{name} of shape {values.shape}",
                f"one finite number for each of the {z.size} words, four words or more",
                "select the words on which all scores are known",
            )
    optional(one_of(columns))("given", given)
    regressed_out = {name: [] if given in (None, name) else [columns[given]] for name in columns}
    rows = [_one(z, [values, *regressed_out[name]], rng) for name, values in columns.items()]
    return xr.Dataset(
        {name: ("score", [row[name] for row in rows]) for name in rows[0]},
        coords={"score": list(columns)},
        attrs={"words": z.size, "given": given or "", "resamples": RESAMPLES},
    )


def scores(samples: Samples, described: xr.Dataset, vocab_size: int) -> dict[str, Floats]:
    """Compute possible explanations of a word's gain, by the names of :data:`SCORES`, each over
    ``described.word``.

    The forecasts are of the contexts of ``samples``, the training's.
    :func:`scansnap_core.text.cooccurrence.describe` described them, or others over the same words.
    """
    at = np.searchsorted(samples.words, described.word)
    forces = yz.first_force(samples, vocab_size), yz.first_force_from_base_rates(samples)
    values = (
        described.frequency.values,
        described.distinctness.values,
        *(force[at] for force in forces),
    )
    return dict(zip(SCORES, values, strict=True))


def follow(z: xr.DataArray, samples: Samples, described: xr.Dataset, vocab_size: int) -> xr.Dataset:
    """Rank the gains z (recorded, word) at each moment of one run of
    :func:`scansnap_core.text.yz.train_on`.

    The other arguments are as in :func:`scores`.

    Returns
    -------
    xarray.Dataset
        Over ``recorded``: ``rho`` (recorded, score), Spearman's rank correlation of z with each
        score; ``distinct_beyond_frequency``, that with distinctness given frequency; ``rising`` and
        ``mean`` (recorded, label), the share of a label's words with z > 0 and the mean of their z;
        ``order``, for distinct words: the rank correlation of z with P(l|n) among the words that
        point to one next word. NaN without such words.
    """
    gains = z.sel(word=described.word).transpose("recorded", "word").values
    known = scores(samples, described, vocab_size)
    label = described.label.values
    labels = (COMMON, UNDECIDED, DISTINCT)
    rising, mean = np.full((2, len(gains), len(labels)), np.nan)
    for place, name in enumerate(labels):
        if (label == name).any():
            rising[:, place] = (gains[:, label == name] > 0).mean(axis=1)
            mean[:, place] = gains[:, label == name].mean(axis=1)
    distinct = described.sel(word=described.word[label == DISTINCT])
    rows = np.searchsorted(samples.words, distinct.word)
    next_row = {int(word): row for row, word in enumerate(samples.next_words)}
    group = np.array([next_row[int(word)] for word in distinct["next"].values], dtype=np.int64)
    together = samples.probs[group, rows]
    return xr.Dataset(
        {
            "rho": (
                ("recorded", "score"),
                spearman(gains[:, None], np.stack(list(known.values()))),
            ),
            "distinct_beyond_frequency": (
                "recorded",
                partial_spearman(gains, known["distinctness"], known["frequency"]),
            ),
            "rising": (("recorded", "label"), rising),
            "mean": (("recorded", "label"), mean),
            "order": (
                "recorded",
                [order_within(row[label == DISTINCT], together, group) for row in gains],
            ),
        },
        coords={"recorded": z.recorded, "score": list(SCORES), "label": list(labels)},
    )


def order_within(x: Floats, y: Floats, group: Ints) -> float:
    """Correlate the ranks of x and y inside groups: ranks within each, less their mean, over all
    groups together.

    Equal values share their mean rank, so that the order in which they stand decides nothing. NaN
    if x or y differs within no group.
    """
    ranks = np.empty((2, len(group)))
    for members in (np.flatnonzero(group == name) for name in np.unique(group)):
        inside = [stats.rankdata(values[members]) for values in (x, y)]
        ranks[:, members] = np.array(inside) - (len(members) + 1) / 2
    if not ranks.any(axis=1).all():
        return float("nan")
    return float(stats.pearsonr(*ranks).statistic)


def _one(z: Floats, fixed: list[Floats], rng: np.random.Generator) -> dict[str, float]:
    """Correlate the ranks of z with those of a score, or with the first of two when the second is
    given; each has the shape (words,).

    Returns what :func:`explain` has in a row: ``rho``, its interval ``low`` to ``high``, ``chance``
    and ``p``.
    """

    def statistic(x: Floats, y: Floats, *rest: Floats, axis: int = -1) -> Floats:
        """Compute the rank correlation, or the partial one."""
        return partial_spearman(x, y, rest[0], axis) if rest else spearman(x, y, axis)

    def dealt(gains: Floats, axis: int = -1) -> Floats:
        """Compute the statistic with other gains at the words."""
        return statistic(gains, *fixed, axis=axis)

    # The interval draws words with replacement, all columns together. The control deals the gains
    # to the words at random, while the scores stay.
    options = {"n_resamples": RESAMPLES, "vectorized": True, "rng": rng}
    interval = stats.bootstrap(
        (z, *fixed),
        statistic,
        paired=True,
        method="percentile",
        confidence_level=CONFIDENCE,
        **options,
    ).confidence_interval
    test = stats.permutation_test((z,), dealt, permutation_type="pairings", **options)
    chance = np.quantile(np.abs(test.null_distribution), CONFIDENCE)
    found = {
        "rho": test.statistic,
        "low": interval.low,
        "high": interval.high,
        "chance": chance,
        "p": test.pvalue,
    }
    return {name: float(value) for name, value in found.items()}
