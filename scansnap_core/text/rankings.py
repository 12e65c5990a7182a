"""What explains which words gain attention: rank correlations over words, with intervals and controls.

They take arrays over words, so the gains can be z of the paper's model or the content scores of a standard
Transformer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats

from scansnap_core.bad_input import BadInput
from scansnap_core.text.samples import Floats

RESAMPLES = 1999
CONFIDENCE = 0.95


def spearman(x: ArrayLike, y: ArrayLike, axis: int = -1) -> Floats:
    """Spearman's rank correlation along an axis; the other axes broadcast."""
    return _pearson(stats.rankdata(x, axis=axis), stats.rankdata(y, axis=axis), axis)


def partial_spearman(x: ArrayLike, y: ArrayLike, given: ArrayLike, axis: int = -1) -> Floats:
    """The rank correlation of x and y that is left when the ranks of ``given`` are taken out of both, linearly."""
    a, b, c = (stats.rankdata(values, axis=axis) for values in (x, y, given))
    ab, ac, bc = _pearson(a, b, axis), _pearson(a, c, axis), _pearson(b, c, axis)
    return (ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2))


def explain(
    gains: ArrayLike, scores: Mapping[str, ArrayLike], rng: np.random.Generator, given: str | None = None
) -> xr.Dataset:
    """Rank correlations of gains with scores over the same words.

    The interval says how the correlation would scatter over other words like these; it doesn't hold what another
    training or another text would change.

    Parameters
    ----------
    gains
        z_l, or any score whose order matters, shape (words,).
    scores
        What may explain them, by name; each of shape (words,).
    given
        One of the names: what is taken out of the others (partial correlation). Its own row stays as it is.

    Returns
    -------
    xarray.Dataset
        Over ``score``: ``rho``; ``low`` and ``high``, the 95 % bootstrap interval (percentiles) over words;
        ``chance``, the control: the 95 % point of abs(rho) with the gains dealt to the words at random, and ``p``,
        the share of such deals that reach abs(rho).

    Raises
    ------
    BadInput
        Fewer than four words, shapes that differ, a value that isn't finite, or ``given`` is no score.
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
    if given is not None and given not in columns:
        raise BadInput(f"given = {given!r}", f"the scores are {', '.join(columns)}", "name one of them")
    rows = [
        _one(z, values, columns[given] if given not in (None, name) else None, rng) for name, values in columns.items()
    ]
    names = ("rho", "low", "high", "chance", "p")
    return xr.Dataset(
        {name: ("score", list(values)) for name, values in zip(names, zip(*rows, strict=True), strict=True)},
        coords={"score": list(columns)},
        attrs={"words": z.size, "given": given or "", "resamples": RESAMPLES},
    )


def _one(z: Floats, score: Floats, given: Floats | None, rng: np.random.Generator) -> tuple[float, ...]:
    fixed = (score,) if given is None else (score, given)

    def statistic(x: Floats, y: Floats, *rest: Floats, axis: int = -1) -> Floats:
        return partial_spearman(x, y, rest[0], axis) if rest else spearman(x, y, axis)

    def dealt(gains: Floats, axis: int = -1) -> Floats:
        return statistic(gains, *fixed, axis=axis)

    options = {"n_resamples": RESAMPLES, "vectorized": True, "rng": rng}
    interval = stats.bootstrap(
        (z, *fixed), statistic, paired=True, method="percentile", confidence_level=CONFIDENCE, **options
    ).confidence_interval
    test = stats.permutation_test((z,), dealt, permutation_type="pairings", **options)
    chance = np.quantile(np.abs(test.null_distribution), CONFIDENCE)
    return float(test.statistic), float(interval.low), float(interval.high), float(chance), float(test.pvalue)


def _pearson(a: Floats, b: Floats, axis: int) -> Floats:
    a, b = (values - values.mean(axis=axis, keepdims=True) for values in (a, b))
    return (a * b).sum(axis=axis) / np.sqrt((a**2).sum(axis=axis) * (b**2).sum(axis=axis))
