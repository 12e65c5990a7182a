"""Unseen systems: what the law and the paper's formulas predict of random class systems, then what
the gradient does.

``predict`` draws the systems and writes ``unseen_predicted.nc``; only then does ``integrate`` write
``unseen.nc``, with the true flow on all of them and SGD on a handful. It names the digest of the
predictions that it found.
"""

import argparse
import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core import train
from scansnap_core.base import files
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.law import trials
from scansnap_core.storage.provenance import provenance
from scansnap_core.theory.solving import IntegrationFailed
from tools.recording.real_text import RESULTS

SEED = 2023
COUNT = 64
TAUS = np.logspace(0, 4, 5)
RATIOS = (1e-3, 1e-2, 0.1, 1.0, 10.0)
TRAINED = 6
TRAINED_TAUS = (10, 100, 1000)
TRAINED_RATIOS = (0.01, 1.0)
LR_Y = 0.5
SEEDS = 4
AXES = ("system", "ratio", "tau", "token")
PREDICTIONS = RESULTS / "unseen_predicted.nc"


def predict() -> None:
    """Draw the systems and write what is predicted of them."""
    systems = trials.systems(SEED, COUNT)
    found = {
        "law": (AXES, _over(systems, trials.law)),
        "quasi_static": (AXES, _over(systems, trials.quasi_static)),
        "num_classes": ("system", [each.num_classes for each in systems]),
        "vocab_size": ("system", [each.vocab_size for each in systems]),
        "num_queries": ("system", [len(each.compact.queries) for each in systems]),
        "lambda_1": ("system", [float(each.eigenvalues[0]) for each in systems]),
    }
    _write(found, "predict", PREDICTIONS, seed=SEED)


def integrate() -> None:
    """Integrate the true gradient flow, train a handful, and write both beside the digest of the
    predictions.
    """
    digest = hashlib.sha256(PREDICTIONS.read_bytes()).hexdigest()
    systems = trials.systems(SEED, COUNT)
    small = sorted(range(COUNT), key=lambda number: systems[number].num_classes)[:TRAINED]
    sgd = np.stack(
        [
            np.stack([_trained(systems[number], ratio) for ratio in TRAINED_RATIOS])
            for number in small
        ]
    )
    found = {
        "true_flow": (AXES, _over(systems, trials.true_flow)),
        "sgd": (("trained", "trained_ratio", "seed", "trained_tau", "token"), sgd),
        "trained": ("trained", small),
        "trained_ratio": ("trained_ratio", list(TRAINED_RATIOS)),
        "trained_tau": ("trained_tau", list(TRAINED_TAUS)),
    }
    _write(
        found, "integrate", RESULTS / "unseen.nc", foretold_sha256=digest, lr_y=LR_Y, batch_size=128
    )


def _over(systems: list[SequenceClasses], z_of: Callable[..., np.ndarray]) -> np.ndarray:
    """Compute z of all systems and ratios; NaN where the solver gave up."""
    values = np.full((len(systems), len(RATIOS), len(TAUS), len(trials.TOKENS)), np.nan)
    for number, classes in enumerate(systems):
        for place, ratio in enumerate(RATIOS):
            try:
                values[number, place] = z_of(classes, ratio, TAUS)
            except IntegrationFailed as error:
                print(f"system {number}, eta_Z/eta_Y = {ratio:g}: {error}")
    return values


def _trained(classes: SequenceClasses, ratio: float) -> np.ndarray:
    """z of SGD at T = infinity, shape (seeds, taus, tokens)."""
    marks = [round(classes.num_classes * tau / LR_Y) for tau in TRAINED_TAUS]
    Z = train(
        classes,
        lr_y=LR_Y,
        lr_z=ratio * LR_Y,
        steps=marks[-1],
        seeds=range(SEEDS),
        batch_size=128,
        seq_len=np.inf,
        record=marks,
        device="cpu",
    ).Z.isel(rate=0)
    query, columns = trials.positions(classes)
    return Z.isel(query=query).transpose("seed", "recorded", "token").values[..., columns]


def _write(found: dict[str, Any], stage: str, path: Path, **attributes: Any) -> None:
    source: dict[str, Any] = provenance(f"python -m tools.recording.unseen {stage}") | attributes
    source["written"] = datetime.now(UTC).isoformat(timespec="seconds")
    coords = {"ratio": list(RATIOS), "tau": TAUS, "token": list(trials.TOKENS)}
    result = xr.Dataset(found, coords=coords, attrs={"source": json.dumps(source)})
    files.keep(path, result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("predict", "integrate"))
    {"predict": predict, "integrate": integrate}[parser.parse_args().stage]()
