"""Unseen systems at finite T and with momentum: what the law predicts of random class systems, then
what SGD does.

``predict`` draws the systems and writes ``unseen_sgd_predicted.nc``, which was committed before
anything was trained; ``train`` writes ``unseen_sgd.nc`` and names the digest of the predictions
that it found.
"""

import argparse
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from scansnap_core import train
from scansnap_core.base import files
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.law import trials
from scansnap_core.storage.provenance import provenance
from scansnap_core.theory.solving import IntegrationFailed
from tools.recording.real_text import RESULTS

SEED = 2024
COUNT = 12
ARMS: dict[str, dict[str, float]] = {
    "T = 16": {"seq_len": 16},
    "T = 64": {"seq_len": 64},
    "T = 256": {"seq_len": 256},
    "momentum, T = 256": {"seq_len": 256, "momentum": 0.9},
    "momentum, T = inf": {"seq_len": np.inf, "momentum": 0.9},
}
MOST_WITH_MOMENTUM = 8
"""Classes; with more, the law with a mass takes minutes."""
RATIOS = (0.1, 1.0)
TAUS = (3.0, 10.0, 30.0)
PACE = 0.5
BATCH_SIZE = 128
SEEDS = 32
"""eta_Y over 1 - mu; and of each training."""
AXES = ("system", "ratio", "tau", "token")
PREDICTIONS = RESULTS / "unseen_sgd_predicted.nc"


def predict() -> None:
    """Draw the systems and write what is predicted of them."""
    systems = trials.systems(SEED, COUNT)
    law = np.full((len(ARMS), COUNT, len(RATIOS), len(TAUS), len(trials.TOKENS)), np.nan)
    quasi_static = np.full(law.shape[1:], np.nan)
    for number, classes in enumerate(tqdm(systems, disable=None)):
        for place, ratio in enumerate(RATIOS):
            for arm, how in enumerate(ARMS.values()):
                if takes_part(classes, how):
                    try:
                        law[arm, number, place] = trials.law(
                            classes, ratio, TAUS, lr_y=lr_y(how), **how
                        )
                    except IntegrationFailed as error:
                        print(f"system {number}, {how}, eta_Z/eta_Y = {ratio:g}: {error}")
            quasi_static[number, place] = trials.quasi_static(classes, ratio, TAUS)
    sizes = {
        "num_classes": ("system", [each.num_classes for each in systems]),
        "vocab_size": ("system", [each.vocab_size for each in systems]),
    }
    _write(
        {"law": (("arm", *AXES), law), "quasi_static": (AXES, quasi_static)} | sizes,
        "predict",
        PREDICTIONS,
    )


def trained() -> None:
    """Train all of them, and write the mean of z over seeds and its standard error."""
    digest = hashlib.sha256(PREDICTIONS.read_bytes()).hexdigest()
    z = np.full((2, len(ARMS), COUNT, len(RATIOS), len(TAUS), len(trials.TOKENS)), np.nan)
    for number, classes in enumerate(tqdm(trials.systems(SEED, COUNT), disable=None)):
        for arm, how in enumerate(ARMS.values()):
            if takes_part(classes, how):
                each = sgd(classes, how)
                z[:, arm, number] = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(SEEDS)
    axes = ("arm", *AXES)
    found = {"sgd": (axes, z[0]), "standard_error": (axes, z[1])}
    _write(found, "train", RESULTS / "unseen_sgd.nc", foretold_sha256=digest)


def takes_part(classes: SequenceClasses, how: dict[str, float]) -> bool:
    """Tell whether a system takes part in an arm: with momentum only systems with few classes
    do.
    """
    return "momentum" not in how or classes.num_classes <= MOST_WITH_MOMENTUM


def lr_y(how: dict[str, float]) -> float:
    """Choose eta_Y of the updates so that all arms learn equally fast."""
    return PACE * (1 - how.get("momentum", 0.0))


def sgd(classes: SequenceClasses, how: dict[str, float], num_seeds: int = SEEDS) -> np.ndarray:
    """Train with SGD and return z, shape (seeds, ratios, taus, tokens)."""
    rate = lr_y(how)
    momentum = how.get("momentum", 0.0)
    marks = np.round(trials.steps(classes, TAUS, lr_y=rate, momentum=momentum)).astype(int).tolist()
    options: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    found = train(
        classes,
        lr_y=rate,
        lr_z=[rate * ratio for ratio in RATIOS],
        steps=marks[-1],
        record=marks,
        seeds=range(num_seeds),
        batch_size=BATCH_SIZE,
        seq_len=how["seq_len"],
        device="cpu",
        **options,
    )
    query, columns = trials.positions(classes)
    return (
        found.Z.isel(query=query)
        .transpose("seed", "rate", "recorded", "token")
        .values[..., columns]
    )


def _write(found: dict[str, Any], stage: str, path: Path, **attributes: Any) -> None:
    source: dict[str, Any] = (
        provenance(f"python -m tools.recording.unseen_sgd {stage}") | attributes
    )
    source |= {"written": datetime.now(UTC).isoformat(timespec="seconds"), "seed": SEED}
    source |= {"lr_y": PACE, "batch_size": BATCH_SIZE, "seeds": SEEDS}
    coords = {
        "arm": list(ARMS),
        "ratio": list(RATIOS),
        "tau": list(TAUS),
        "token": list(trials.TOKENS),
    }
    result = xr.Dataset(found, coords=coords, attrs={"source": json.dumps(source)})
    files.keep(path, result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("predict", "train"))
    {"predict": predict, "train": trained}[parser.parse_args().stage]()
