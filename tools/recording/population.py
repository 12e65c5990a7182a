"""What attention does on the population of class systems, and the worst systems that a search
finds.

``measure`` goes through the first systems of every stratum, and writes ``population.nc``. ``worst``
looks for the worst systems (:mod:`tools.recording.population_search`), and writes
``population_worst.nc``. ``train`` trains fewer systems of every stratum by SGD, and writes
``population_sgd.nc``.
"""

import argparse
import json
import math
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr
from tqdm import tqdm

from scansnap_core import IntegrationFailed, SequenceClasses, audit, predict, transition
from scansnap_core.base import files
from scansnap_core.data.population import STRATA, System, system
from scansnap_core.law import memory
from scansnap_core.storage.provenance import provenance
from scansnap_core.theory import outcomes
from scansnap_core.theory.outcomes import FLOWS, MARKS
from tools.recording.population_search import search

COUNT = 40
LEAST_SIZE = 1e-4
"""Our law is tried where the gradient moves some token by at least this; below, its solver
resolves rounding noise.
"""
TRAINED = 6
"""So many systems of every stratum are trained by SGD."""
MOST_STEPS = 300
"""A system is trained if it is at t_0 after at most so many steps."""
RUNS = 16
SEQ_LENGTHS = (8.0, 128.0, math.inf)
BATCHES = (1, 8, 128)
"""At infinite T the largest is replaced by the exact mean over the classes, a full batch."""
OTHERS = ("law (10)", "update (26)", "our law")
"""What the gradient is compared with."""


def our_law(classes: SequenceClasses, ratio: float, marks: tuple[float, ...] = MARKS) -> np.ndarray:
    """Predict z by our law, shape (times, Q, L).

    At its own absolute tolerance, 1e-16, its solver resolves rounding noise where a class shares no
    token, which takes minutes. Here z is 1e-4 or more, so 1e-13 is enough.
    """
    t_0 = transition(classes.num_classes, classes.vocab_size, 1.0)[1]
    with warnings.catch_warnings(), patch.object(memory, "ATOL", 1e-13):
        warnings.simplefilter("ignore")
        return np.asarray(
            predict(
                classes, 1.0, ratio, np.array(marks) * t_0, optimizer="flow", exact=False
            ).Z.values
        )


def measured(drawn: System) -> dict[str, np.ndarray]:
    """The outcomes of every flow on a system, and how the gradient compares with the others."""
    classes = drawn.classes
    paths = {name: outcomes.path_of(classes, drawn.ratio, name) for name in FLOWS}
    found: dict[str, np.ndarray] = {}
    for field in outcomes.Outcome._fields:
        of_flows = [getattr(outcomes.outcome(classes, Z), field) for Z in paths.values()]
        found[field] = np.stack(of_flows)
    attention_moves = found["size"][list(FLOWS).index("gradient"), -1] > LEAST_SIZE
    paths["our law"] = (
        our_law(classes, drawn.ratio)
        if attention_moves
        else np.full_like(paths["gradient"], np.nan)
    )
    for field in outcomes.Comparison._fields:
        of_others = [
            getattr(outcomes.compare(classes, paths["gradient"], paths[name]), field)
            for name in OTHERS
        ]
        found[field] = np.stack(of_others)
    return found


def measure(path: Path) -> None:
    """Measure the first systems of every stratum."""
    size = (len(STRATA), COUNT)
    shapes = dict.fromkeys(outcomes.Outcome._fields, ("flow", FLOWS)) | dict.fromkeys(
        outcomes.Comparison._fields, ("other", OTHERS)
    )
    values = {
        field: np.full((*size, len(names), len(MARKS)), np.nan)
        for field, (_, names) in shapes.items()
    }
    about: dict[str, np.ndarray] = {
        name: np.zeros(size) for name in ("num_classes", "vocab_size", "ratio", "lambda_1")
    }
    inside = np.zeros(size, dtype=bool)
    for place in tqdm(list(np.ndindex(size))):
        drawn = system(list(STRATA)[place[0]], place[1])
        classes = drawn.classes
        about["num_classes"][place] = classes.num_classes
        about["vocab_size"][place] = classes.vocab_size
        about["ratio"][place] = drawn.ratio
        about["lambda_1"][place] = np.abs(classes.eigenvalues).max()
        inside[place] = all(each.holds for each in audit(classes) if each.name.startswith("2"))
        try:
            found = measured(drawn)
        except IntegrationFailed as error:
            print(f"{drawn.name}: {error}")
            continue
        for field, value in found.items():
            values[field][place] = value
    variables: dict[str, Any] = {
        field: (("stratum", "number", axis, "mark"), values[field])
        for field, (axis, _) in shapes.items()
    }
    variables |= {name: (("stratum", "number"), value) for name, value in about.items()}
    variables["inside"] = (("stratum", "number"), inside)
    coords = {
        "stratum": list(STRATA),
        "number": np.arange(COUNT),
        "flow": list(FLOWS),
        "other": list(OTHERS),
    }
    _write(path, xr.Dataset(variables, coords={**coords, "mark": list(MARKS)}), "measure")


def _quick(stratum: str) -> list[int]:
    """The numbers of the first systems of a stratum that are at t_0 after few steps."""
    numbers: list[int] = []
    number = 0
    while len(numbers) < TRAINED:
        drawn = system(stratum, number)
        if outcomes.steps_to_t_0(drawn.classes, drawn.ratio) <= MOST_STEPS:
            numbers.append(number)
        number += 1
    return numbers


def train(path: Path) -> None:
    """Train the first systems of every stratum that need few steps by SGD, up to t_0."""
    chosen = np.array([_quick(stratum) for stratum in STRATA])
    size = (len(STRATA), TRAINED, len(SEQ_LENGTHS), len(BATCHES))
    names = (*outcomes.OverRuns._fields, "cosine")
    values = {name: np.full(size, np.nan) for name in names}
    for place in tqdm(list(np.ndindex(size[:2]))):
        drawn = system(list(STRATA)[place[0]], int(chosen[place]))
        law10 = outcomes.path_of(drawn.classes, drawn.ratio, "law (10)", (1.0,))
        for setting in np.ndindex(size[2:]):
            seq_len = SEQ_LENGTHS[setting[0]]
            is_full = math.isinf(seq_len) and setting[1] == len(BATCHES) - 1
            batch_size = None if is_full else BATCHES[setting[1]]
            seeds = range(1 if is_full else RUNS)
            Z = outcomes.trained(drawn.classes, drawn.ratio, seq_len, batch_size, seeds)
            found = outcomes.over_runs(drawn.classes, Z)._asdict()
            mean = Z.mean(axis=0)[None]
            found["cosine"] = outcomes.compare(drawn.classes, mean, law10).cosine[0]
            for name, value in found.items():
                values[name][(*place, *setting)] = value
    axes = ("stratum", "place", "seq_len", "batch_size")
    coords = {
        "stratum": list(STRATA),
        "place": np.arange(TRAINED),
        "seq_len": list(SEQ_LENGTHS),
        "batch_size": list(BATCHES),
    }
    variables: dict[str, Any] = {name: (axes, value) for name, value in values.items()}
    variables["number"] = (axes[:2], chosen)
    trained = xr.Dataset(variables, coords=coords)
    trained.attrs["runs"] = RUNS
    _write(path, trained, "train")


def _write(path: Path, result: xr.Dataset, stage: str) -> None:
    source: dict[str, Any] = provenance(f"python -m tools.recording.population {stage} {path.name}")
    source["written"] = datetime.now(UTC).isoformat(timespec="seconds")
    result.attrs["source"] = json.dumps(source)
    files.keep(path, result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("measure", "worst", "train"))
    parser.add_argument("file", type=Path, help="what to write")
    options = parser.parse_args()
    stages: dict[str, Callable[[Path], None]] = {
        "measure": measure,
        "worst": lambda path: _write(path, search(), "worst"),
        "train": train,
    }
    stages[options.stage](options.file)
