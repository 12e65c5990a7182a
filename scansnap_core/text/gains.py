"""Which words gain attention while (Y, Z) trains: ranks, shares and orders at each recorded moment."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats

from scansnap_core.text import forecast, rankings
from scansnap_core.text.cooccurrence import COMMON, DISTINCT, UNDECIDED
from scansnap_core.text.samples import Floats, Ints, Samples

SCORES = ("frequency", "distinctness", "first force", "base-rate force")
"""What may explain a gain."""


def scores(samples: Samples, described: xr.Dataset, vocab_size: int) -> dict[str, Floats]:
    """What may explain a word's gain, by the names of :data:`SCORES`, each over ``described.word``.

    Parameters
    ----------
    samples
        What is trained on; the forecasts are of its contexts.
    described
        From :func:`scansnap_core.text.cooccurrence.describe`, of the same samples or of others over the same words.
    vocab_size
        M.
    """
    at = np.searchsorted(samples.words, described.word)
    forces = forecast.first_force(samples, vocab_size), forecast.first_force_from_base_rates(samples)
    values = described.frequency.values, described.distinctness.values, *(force[at] for force in forces)
    return dict(zip(SCORES, values, strict=True))


def follow(z: xr.DataArray, samples: Samples, described: xr.Dataset, vocab_size: int) -> xr.Dataset:
    """How the gains rank at each moment of one run.

    Parameters
    ----------
    z
        One run's attention logits (recorded, word), as :func:`scansnap_core.text.yz.train_on` returns them.
    samples, described, vocab_size
        As in :func:`scores`.

    Returns
    -------
    xarray.Dataset
        Over ``recorded``: ``rho`` (recorded, score), Spearman's rank correlation of z with each score;
        ``distinct_beyond_frequency``, that with distinctness given frequency; ``rising`` and ``mean`` (recorded,
        label), the share of a label's words with z > 0 and the mean of their z; ``order``, for distinct words: the
        rank correlation of z with P(l|n) among the words that point to one next word. NaN without such words.
    """
    gains = z.sel(word=described.word).transpose("recorded", "word").values
    known = scores(samples, described, vocab_size)
    label, labels = described.label.values, (COMMON, UNDECIDED, DISTINCT)
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
            "rho": (("recorded", "score"), rankings.spearman(gains[:, None], np.stack(list(known.values())))),
            "distinct_beyond_frequency": (
                "recorded",
                rankings.partial_spearman(gains, known["distinctness"], known["frequency"]),
            ),
            "rising": (("recorded", "label"), rising),
            "mean": (("recorded", "label"), mean),
            "order": ("recorded", [order_within(row[label == DISTINCT], together, group) for row in gains]),
        },
        coords={"recorded": z.recorded, "score": list(SCORES), "label": list(labels)},
    )


def order_within(x: Floats, y: Floats, group: Ints) -> float:
    """The rank correlation of x and y inside groups: ranks within each, less their mean, correlated over all of them.

    Equal values share their mean rank, so that the order in which they stand decides nothing. NaN if x or y differs
    within no group.
    """
    ranks = np.empty((2, len(group)))
    for members in (np.flatnonzero(group == name) for name in np.unique(group)):
        inside = [stats.rankdata(values[members]) for values in (x, y)]
        ranks[:, members] = np.array(inside) - (len(members) + 1) / 2
    if not ranks.any(axis=1).all():
        return float("nan")
    return float(stats.pearsonr(*ranks).statistic)
