"""The order of classes: ``predict`` with a batch size against SGD in small batches, on random
systems held out.

The systems were drawn after the law was written, and the rule that announces its error, x²/2, was
fixed before: on others. Half of a system's settings have batches of 1, the others of 2 or 8; rates
go up to where the rule warns. SGD is at T = infinity, by the package's gradients, with the classes
of each batch drawn at random. Writes ``order.nc``.
"""

import argparse
import json
import math
import warnings
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from scansnap_core import PredictionOutOfRange, SequenceClasses, predict
from scansnap_core.base import files
from scansnap_core.law import trials
from scansnap_core.storage.provenance import provenance
from tools.recording.real_text import RESULTS

SEED = 907
COUNT = 60
MOST_CLASSES = 10
MOST_UPDATES = 400
TAUS = (2.0, 8.0, 30.0, 100.0)
BATCHES = (1, 1, 2, 8)
RATES = (0.2, 3.0)
RATIOS = (1e-3, 2.0)
"""eta_Y and eta_Z/eta_Y are drawn between these, uniformly in their logarithms."""
RUNS = 1500
FIELDS = (
    "system",
    "num_classes",
    "lr_y",
    "ratio",
    "batch_size",
    "updates",
    "full_error",
    "error",
    "noise",
)
TOLD = ("order", "step", "expected_error")


def settings() -> list[tuple[int, SequenceClasses, float, float, int]]:
    """Draw the systems with their rates and batch sizes."""
    rng = np.random.default_rng(SEED)
    found = []
    for number, classes in enumerate(trials.systems(SEED, COUNT)):
        lr_y = math.exp(rng.uniform(*np.log(RATES)))
        ratio = math.exp(rng.uniform(*np.log(RATIOS)))
        batch_size = int(rng.choice(BATCHES))
        if classes.num_classes <= MOST_CLASSES:
            found.append((number, classes, lr_y, ratio, batch_size))
    return found


def sgd(
    classes: SequenceClasses, lr_y: float, lr_z: float, marks: list[int], batch_size: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Train many runs; return the mean of Z at the marks and its standard error."""
    rng = np.random.default_rng((SEED, seed))
    batches = (
        rng.multinomial(batch_size, classes.frequencies, size=RUNS) / batch_size
        for _ in range(marks[-1])
    )
    kept = []
    for t, Z in enumerate(trials.descend(classes, batches, lr_y, lr_z), 1):
        if t in marks:
            kept.append((Z.mean(axis=0), Z.std(axis=0, ddof=1) / np.sqrt(RUNS)))
    mean, error = zip(*kept, strict=True)
    return np.stack(mean), np.stack(error)


def size(Z: np.ndarray) -> np.ndarray:
    """Measure the whole Z at each time."""
    return np.asarray(np.sqrt((Z**2).sum(axis=(1, 2))))


def measured() -> list[tuple[float, ...]]:
    """Predict every setting, then train it: rows of :data:`FIELDS` and :data:`TOLD`."""
    rows: list[tuple[float, ...]] = []
    for number, classes, lr_y, ratio, batch_size in tqdm(settings(), disable=None):
        K = classes.num_classes
        lr_z = lr_y * ratio
        marks = sorted({round(tau * K / lr_y) for tau in TAUS})
        marks = [t for t in marks if 2 <= t <= MOST_UPDATES]
        if not marks:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PredictionOutOfRange)
            full = predict(classes, lr_y, lr_z, marks).Z.values
            forecast = predict(classes, lr_y, lr_z, marks, batch_size=batch_size)
        mean, error = sgd(classes, lr_y, lr_z, marks, batch_size, number)
        whole = size(mean)
        off = size(full - mean) / whole, size(forecast.Z.values - mean) / whole, size(error) / whole
        measures = [forecast[name].values for name in TOLD]
        setting = (number, K, lr_y, ratio, batch_size)
        rows += [(*setting, *point) for point in zip(marks, *off, *measures, strict=True)]
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    found = measured()
    values: dict[str, Any] = {
        name: ("point", [row[i] for row in found]) for i, name in enumerate((*FIELDS, *TOLD))
    }
    source = provenance("python -m tools.recording.order") | {
        "seed": SEED,
        "systems": COUNT,
        "runs": RUNS,
    }
    result = xr.Dataset(values, attrs={"source": json.dumps(source)})
    files.save(RESULTS / "order.nc", result.to_netcdf(engine="h5netcdf"))
