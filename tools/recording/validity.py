"""How far predictions are off where the law leaves its range: ``predict`` against exact descent on
random systems.

``short``: sequences of T = 4 to 64, against full-batch descent on the mean over all token counts
that a sample can have. ``steps``: rates of 0.5 to 8 at T = infinity, against full-batch descent.
The first half of the systems set the tables of :mod:`scansnap_core.law.expected_error`; the
second was held out. Writes ``validity.nc``.
"""

import argparse
import json
import math
import warnings
from typing import Any

import numpy as np
import xarray as xr
from scipy import sparse
from scipy.special import gammaln
from tqdm import tqdm

from scansnap_core import (
    IntegrationFailed,
    PredictionOutOfRange,
    SequenceClasses,
    predict,
    train,
    with_overlap,
)
from scansnap_core.base import files
from scansnap_core.law import trials
from scansnap_core.storage.provenance import provenance
from tools.recording.real_text import RESULTS

SEEDS = {"short": 601, "steps": 603}
COUNTS = {"short": 16, "steps": 16}
LENGTHS = (4, 8, 16, 32, 64)
RATIOS = (0.01, 1.0)
PACE = 0.25
MARKS = (4, 12, 40, 120)
LONGEST = {3: 64, 4: 16}
"""T up to which all counts are gone through, by how many tokens a class holds."""
RATES = (0.5, 2.0, 8.0)
FAST = (0.1, 1.0, 10.0)
STEPS = (3, 10, 30, 100)
MOST_CLASSES = 8
MOST_WITH_MOMENTUM = 3
FIELDS = (
    "system",
    "seq_len",
    "lr_y",
    "lr_z",
    "momentum",
    "updates",
    "error",
    "expected_error",
    "shortness",
    "step",
)


def small(rng: np.random.Generator, number: int) -> SequenceClasses:
    """Two to five classes of three or four tokens: in turn overlaps below a half, above, unequal,
    and a near pair.
    """
    kind = number % 4
    K = int(rng.integers(2, 6))
    M = int(10 ** rng.uniform(2, 5))
    if kind < 2:
        low, high = ((0.03, 0.5), (0.5, 0.95))[kind]
        rho = (
            math.exp(rng.uniform(math.log(low), math.log(high)))
            if kind == 0
            else float(rng.uniform(low, high))
        )
        return with_overlap(K, M, rho, distinct_weights=rng.uniform(0.2, 1, 2))
    K = max(K, 3)
    P = np.zeros((K, 2 + 2 * K))
    for n in range(K):
        P[n, n % 2] = rng.uniform(0.1, 1)
        P[n, 2 + 2 * n : 4 + 2 * n] = rng.uniform(0.2, 1, 2)
    if kind == 3:  # the second class holds what the first does, and little of its own
        P[1] = 0
        P[1, [0, 2, 3]] = P[0, [0, 2, 3]] * rng.uniform(0.7, 1.3, 3)
        P[1, 4] = 0.3 * rng.uniform(0.5, 1) * P[0].max()
    probs = sparse.lil_array((K, M + 20))
    probs[:, : P.shape[1]] = P / P.sum(axis=1, keepdims=True)
    return SequenceClasses(sparse.csr_array(probs), query_of=[M + 19] * K)


def counts(total: int, tokens: int) -> np.ndarray:
    """List all counts of ``tokens`` tokens that sum to the total."""
    if tokens == 1:
        return np.full((1, 1), total)
    parts = [(first, counts(total - first, tokens - 1)) for first in range(total + 1)]
    return np.concatenate(
        [np.hstack([np.full((len(rest), 1), first), rest]) for first, rest in parts]
    )


def descent(classes: SequenceClasses, lr_y: float, lr_z: float, T: int) -> np.ndarray:
    """Compute Z at :data:`MARKS` of full-batch descent on the mean over all samples of length T."""
    compact = classes.compact
    outputs = classes.outputs
    K = classes.num_classes
    held = [np.flatnonzero(row) for row in compact.probs]
    samples = []
    for row, at in zip(compact.probs, held, strict=True):
        q = counts(T - 1, len(at)).astype(float)
        samples.append(
            (q / (T - 1), np.exp(gammaln(T) - gammaln(q + 1).sum(axis=1) + q @ np.log(row[at])))
        )
    Y = np.zeros((compact.probs.shape[1], len(outputs)))
    Z = np.zeros((len(compact.queries), compact.probs.shape[1]))
    found = []
    for step in range(1, MARKS[-1] + 1):
        dY = np.zeros_like(Y)
        dZ = np.zeros_like(Z)
        for n, (at, (q, weight)) in enumerate(zip(held, samples, strict=True)):
            row = compact.query_row[n]
            x = q * np.exp(Z[row, at] - Z[row, at].max())
            f = x / np.linalg.norm(x, axis=1, keepdims=True)
            logits = f @ Y[at] + np.log(outputs.multiplicity)
            alpha = np.exp(logits - logits.max(axis=1, keepdims=True))
            error = outputs.targets[n] - alpha / alpha.sum(axis=1, keepdims=True)
            g = error @ Y[at].T
            dY[at] += (f * weight[:, None]).T @ error / outputs.multiplicity
            dZ[row, at] += weight @ (f * (g - f * (f * g).sum(axis=1, keepdims=True)))
        Y = Y + lr_y / K * dY
        Z = Z + lr_z / K * dZ
        if step in MARKS:
            found.append(Z)
    return np.stack(found)


def against(
    classes: SequenceClasses, Z: np.ndarray, marks: tuple[int, ...], **how: Any
) -> list[tuple[float, ...]]:
    """Compare ``predict`` with ``Z``: its error of the whole z at each time, and its own measures
    of validity.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionOutOfRange)
        try:
            forecast = predict(classes, t=marks, **how)
        except IntegrationFailed as error:
            print(f"K = {classes.num_classes}, {how}: {error}")
            return []
    axes = (1, 2)
    off = np.linalg.norm(forecast.Z.values - Z, axis=axes) / np.linalg.norm(Z, axis=axes)
    return list(zip(marks, off, *(forecast[name].values for name in FIELDS[-3:]), strict=True))


def short() -> list[tuple[float, ...]]:
    """Measure ``predict`` against descent on short sequences: rows of :data:`FIELDS`."""
    rng = np.random.default_rng(SEEDS["short"])
    rows = []
    for number in tqdm(range(COUNTS["short"]), disable=None):
        classes = small(rng, number)
        lr_y = PACE * classes.num_classes
        longest = LONGEST[int((classes.compact.probs > 0).sum(axis=1).max())]
        for T, ratio in ((T, ratio) for T in LENGTHS if longest >= T for ratio in RATIOS):
            lr_z = lr_y * ratio
            forecast = against(
                classes, descent(classes, lr_y, lr_z, T), MARKS, seq_len=T, lr_y=lr_y, lr_z=lr_z
            )
            rows += [(number, T, lr_y, lr_z, 0.0, *row) for row in forecast]
    return rows


def steps() -> list[tuple[float, ...]]:
    """Measure ``predict`` against descent at large steps: rows of :data:`FIELDS`."""
    rows: list[tuple[float, ...]] = []
    for number, classes in enumerate(
        tqdm(trials.systems(SEEDS["steps"], COUNTS["steps"]), disable=None)
    ):
        if classes.num_classes > MOST_CLASSES:
            continue
        for lr_y, momentum in ((rate, mu) for mu in (0.0, 0.9) for rate in RATES):
            if momentum and (classes.num_classes > MOST_WITH_MOMENTUM or lr_y > 1):
                continue
            how: dict[str, Any] = (
                {"optimizer": "momentum", "momentum": momentum} if momentum else {}
            )
            rates = [lr_y * ratio for ratio in FAST]
            recipe = how | {
                "steps": STEPS[-1],
                "record": STEPS,
                "batch_size": None,
                "seq_len": np.inf,
                "device": "cpu",
            }
            Z = (
                train(classes, lr_y=lr_y, lr_z=rates, **recipe)
                .Z.isel(seed=0)
                .transpose("rate", ...)
                .values
            )
            for each, lr_z in zip(Z, rates, strict=True):
                forecast = against(classes, each, STEPS, lr_y=lr_y, lr_z=lr_z, **how)
                rows += [(number, np.inf, lr_y, lr_z, momentum, *row) for row in forecast]
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    arms = {"short": short(), "steps": steps()}
    values = {
        f"{arm}_{field}": (arm, [row[place] for row in rows])
        for arm, rows in arms.items()
        for place, field in enumerate(FIELDS)
    }
    source = provenance("python -m tools.recording.validity") | {"seeds": SEEDS, "systems": COUNTS}
    found = xr.Dataset(values, attrs={"source": json.dumps(source)})
    files.keep(RESULTS / "validity.nc", found.to_netcdf(engine="h5netcdf"))
