"""Train the Transformer of Figures 7 and 10 with another clip, on less text and at a falling rate.

``text_dependence.nc`` holds the loss, and the entropy and speed of attention, of five seeds each.
"""

import argparse
import dataclasses
import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from tqdm import tqdm

from scansnap_core.base import files
from scansnap_core.storage.provenance import provenance
from scansnap_core.text.corpus import Corpus, load_corpus
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import Training

RESULTS = Path(__file__).parents[2] / "results"
VOCAB_SIZE = 2000
STEPS = 250
SEEDS = range(5)
CASES = [
    {"lr": 1.0, "clip": 2.5},
    {"lr": 5.0, "falls": True},
    {"lr": 5.0, "text": 0.25},
    {"lr": 1.0, "text": 0.25},
    {"lr": 5.0, "clip": 0.1},
]
"""Beside the recorded trainings at the rates 1 and 5, clip 0.5, on the whole text at a constant
rate (``text.nc``).
"""
KEPT = ("loss", "entropy", "speed")


def followed(corpus: Corpus, case: dict[str, Any], seed: int) -> xr.Dataset:
    """Train once, and return what is kept at every snapshot."""
    settings = Settings(lr=case["lr"], clip=case.get("clip", 0.5), steps=STEPS, seed=seed)
    part = dataclasses.replace(
        corpus, train=corpus.train[: round(len(corpus.train) * case.get("text", 1.0))]
    )
    training = Training(part, settings, torch.device("cpu"))
    rows = []
    for number, values in training.snapshots():
        rows.append({name: float(values[name].ravel()[0]) for name in KEPT})
        if case.get("falls"):  # by equal parts, at every snapshot, to 0 at the end
            left = 1 - settings.snapshots[number] / settings.steps
            training.optimizer.param_groups[0]["lr"] = settings.lr * left
    found = {name: ("step", [row[name] for row in rows]) for name in KEPT}
    return xr.Dataset(found, coords={"step": settings.snapshots})


def record(folder: Path | None) -> None:
    """Run all and write the file."""
    torch.set_num_threads(1)
    source: dict[str, Any] = provenance("python -m tools.recording.text_dependence") | {
        "device": "cpu",
        "threads": "1",
    }
    corpus = load_corpus("wikitext-2", folder).limited(VOCAB_SIZE)
    source |= {
        "date": datetime.now(UTC).date().isoformat(),
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
    }
    source |= {"sha256": dict(corpus.sha256), "vocab_size": VOCAB_SIZE, "steps": STEPS}
    asked = list(itertools.product(CASES, SEEDS))
    followed_runs = [followed(corpus, case, seed) for case, seed in tqdm(asked)]
    of_case = [
        xr.concat(followed_runs[at : at + len(SEEDS)], dim="seed")
        for at in range(0, len(asked), len(SEEDS))
    ]
    runs = xr.concat(of_case, dim="run").assign_coords(seed=list(SEEDS))
    default = {"clip": 0.5, "text": 1.0, "falls": False}
    names = dict.fromkeys(itertools.chain(*CASES))
    labels = {name: ("run", [(default | case)[name] for case in CASES]) for name in names}
    result = runs.assign_coords(labels).assign_attrs(source=json.dumps(source))
    files.keep(RESULTS / "text_dependence.nc", result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="the corpus' folder; default: where scansnap text train looks"
    )
    record(parser.parse_args().data)
