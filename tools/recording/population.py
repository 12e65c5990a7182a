"""What attention does on the population of class systems, and the worst systems that a search
finds.

``measure`` goes through the first systems of every stratum. ``search`` looks for the worst systems
of two classes inside Assumption 2, by SciPy's differential evolution. Both write a part of
``population.nc``'s numbers into a file of their own; ``join`` puts the two together.
``frequencies`` searches over the classes' frequencies and the time, too, and writes
``population_frequencies.nc``. ``train`` trains fewer systems of every stratum by SGD, and writes
``population_sgd.nc``.
"""

import argparse
import json
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr
from scipy.optimize import differential_evolution
from tqdm import tqdm

from scansnap_core import IntegrationFailed, SequenceClasses, audit, predict, transition
from scansnap_core.base import files
from scansnap_core.data.population import STRATA, System, system, two_classes
from scansnap_core.law import memory
from scansnap_core.storage.provenance import provenance
from scansnap_core.theory import outcomes
from scansnap_core.theory.outcomes import FLOWS, MARKS
from tools.recording.real_text import RESULTS

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

SMALLEST_M = 146
LARGEST_M = 1e9
"""Two classes satisfy Assumption 2 at some overlap from M = 145 on."""
POPULATION_SIZE = 8
GENERATIONS = 20
PARAMETERS = ("M", "entry_1", "entry_2", "weight_1", "weight_2", "ratio")
LARGEST_ENTRY = 0.999
"""No class of the search holds more of the common token, as an entry of f_n."""

CASES = {
    "factor, equal": ("least_times", 1, False),
    "factor, unequal": ("least_times", 1, True),
    "fall, one query": ("highest_common", 1, True),
    "fall, two queries": ("highest_common", 2, True),
}
"""The searches over frequencies and time: the objective, the number of queries, and whether the
classes may be unequally frequent.
"""
MOST_UNEQUAL = 30.0
"""One class is at most so many times as frequent as the other, as in the population."""
LATEST = 1000.0
"""The times searched go from t_0 to so many t_0."""
GENERATIONS_OF_CASES = 12
ENTRY_OF_CASES = 0.99999
"""``LARGEST_ENTRY`` of these searches: the worst pairs made by hand lie beyond 0.999."""


def our_law(classes: SequenceClasses, ratio: float, marks: tuple[float, ...] = MARKS) -> np.ndarray:
    """Predict z by our law, shape (times, Q, L).

    At its own absolute tolerance, 1e-16, its solver resolves rounding noise where a class shares no
    token, which takes minutes. Here z is 1e-4 or more, so 1e-13 is enough.
    """
    t_0 = transition(classes.num_classes, classes.vocab_size, 1.0)[1]
    with warnings.catch_warnings(), patch.object(memory, "ATOL", 1e-13):
        warnings.simplefilter("ignore")
        return np.asarray(
            predict(classes, 1.0, ratio, np.array(marks) * t_0, optimizer="flow").Z.values
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


def parameters_of(x: np.ndarray, largest_entry: float = LARGEST_ENTRY) -> dict[str, float]:
    """The parameters of two classes at a point of the unit cube; all of them satisfy Assumption
    2.
    """
    M = round(SMALLEST_M * (LARGEST_M / SMALLEST_M) ** x[0])
    lowest = 6 / math.sqrt(M)
    rho = lowest + (0.4999 - lowest) * x[1]
    # The overlap is the product of the entries, of which none is above the largest entry.
    edge = math.log(largest_entry) / math.log(rho)
    power = edge + (1 - 2 * edge) * x[2]
    weights = 0.05 ** x[3], 0.05 ** x[4]
    ratio = 1e-3 * 1e4 ** x[5]
    return dict(zip(PARAMETERS, (M, rho**power, rho ** (1 - power), *weights, ratio), strict=True))


def classes_of(parameters: dict[str, float], num_queries: int) -> SequenceClasses:
    """The two classes of some parameters."""
    entries = parameters["entry_1"], parameters["entry_2"]
    weights = parameters["weight_1"], parameters["weight_2"]
    return two_classes(entries, weights, int(parameters["M"]), num_queries)


def least_times(classes: SequenceClasses, ratio: float, mark: float = 1.0) -> float:
    """How many times as far as the gradient the paper's law (10) has moved the common token by
    t_0, or by a multiple of it.
    """
    of_gradient = outcomes.path_of(classes, ratio, "gradient", (mark,))
    of_law = outcomes.path_of(classes, ratio, "law (10)", (mark,))
    return float(outcomes.compare(classes, of_gradient, of_law).least_times[0])


def cosine(classes: SequenceClasses, ratio: float) -> float:
    """The cosine of the gradient's z with that of the paper's law (10) at 40 t_0."""
    of_gradient = outcomes.path_of(classes, ratio, "gradient", (40.0,))
    of_law = outcomes.path_of(classes, ratio, "law (10)", (40.0,))
    return float(outcomes.compare(classes, of_gradient, of_law).cosine[0])


def highest_common(classes: SequenceClasses, ratio: float, mark: float = 40.0) -> float:
    """Minus z of the common token by 40 t_0, or by another multiple of t_0, over the largest |z|:
    negative where the common token has risen.
    """
    found = outcomes.outcome(classes, outcomes.path_of(classes, ratio, "gradient", (mark,)))
    return float(-found.common_high[0] / found.size[0])


OBJECTIVES: dict[str, Callable[..., float]] = {
    "least_times": least_times,
    "cosine": cosine,
    "highest_common": highest_common,
}
"""What the search makes as small as it can."""


def search(path: Path) -> None:
    """Look for the worst two classes, with one query and with a query each."""
    found = np.full((len(OBJECTIVES), 2, len(PARAMETERS)), np.nan)
    least = np.full((len(OBJECTIVES), 2), np.nan)
    tries = np.zeros((len(OBJECTIVES), 2), dtype=int)
    for row, (name, objective) in enumerate(OBJECTIVES.items()):
        for num_queries in (1, 2):

            def value(
                x: np.ndarray, objective: Any = objective, num_queries: int = num_queries
            ) -> float:
                parameters = parameters_of(x)
                try:
                    return float(
                        objective(classes_of(parameters, num_queries), parameters["ratio"])
                    )
                except IntegrationFailed:
                    return math.inf

            result = _worst(value, len(PARAMETERS))
            found[row, num_queries - 1] = list(parameters_of(result.x).values())
            least[row, num_queries - 1] = result.fun
            tries[row, num_queries - 1] = result.nfev
            print(
                f"{name}, {num_queries} queries: {result.fun:.4g} after {result.nfev} tries",
                flush=True,
            )
    axes = ("objective", "num_queries")
    variables = {
        "worst": ((*axes, "parameter"), found),
        "value": (axes, least),
        "tries": (axes, tries),
    }
    coords = {"objective": list(OBJECTIVES), "num_queries": [1, 2], "parameter": list(PARAMETERS)}
    _write(path, xr.Dataset(variables, coords=coords), "search")


def _worst(
    value: Callable[[np.ndarray], float], dimensions: int, generations: int = GENERATIONS
) -> Any:
    """Look for the least value on the unit cube; what SciPy's differential evolution found."""
    return differential_evolution(
        value,
        [(0, 1)] * dimensions,
        popsize=POPULATION_SIZE,
        maxiter=generations,
        seed=0,
        polish=False,
    )


def _between(x: float, most: float) -> float:
    """A share: as x goes from 0 to 1, its odds go from 1/most to most, evenly in the logarithm."""
    odds = most ** (2 * x - 1)
    return float(odds / (1 + odds))


def _case_at(x: np.ndarray, unequal: bool) -> dict[str, float]:
    """The parameters at a point of the unit cube, with class 1's share and the time."""
    # The entries are spread by their odds, because the worst pairs have one just below 1.
    spread = x.copy()
    spread[2] = _between(x[2], 1 / (1 - ENTRY_OF_CASES))
    parameters = parameters_of(spread, ENTRY_OF_CASES)
    share = _between(x[6], MOST_UNEQUAL) if unequal else 0.5
    return parameters | {"share_1": share, "mark": LATEST ** x[7]}


def _searched(case: str) -> tuple[dict[str, float], float, int]:
    """The parameters of the worst classes of a case, their value, and after how many tries."""
    objective, num_queries, unequal = CASES[case]

    def value(x: np.ndarray) -> float:
        parameters = _case_at(x, unequal)
        share = parameters["share_1"]
        classes = classes_of(parameters, num_queries)
        classes = classes.with_frequencies(np.array([share, 1 - share]))
        try:
            return OBJECTIVES[objective](classes, parameters["ratio"], parameters["mark"])
        except IntegrationFailed:
            return math.inf

    result = _worst(value, len(PARAMETERS) + 2, GENERATIONS_OF_CASES)
    return _case_at(result.x, unequal), float(result.fun), int(result.nfev)


def search_frequencies(path: Path) -> None:
    """Look for the worst two classes at any time, where one may be more frequent than the other."""
    with ProcessPoolExecutor(len(CASES)) as processes:
        parameters, values, tries = zip(*processes.map(_searched, CASES), strict=True)
    names = list(parameters[0])
    variables: dict[str, Any] = {
        "worst": (("case", "parameter"), [list(each.values()) for each in parameters]),
        "value": ("case", list(values)),
        "tries": ("case", list(tries)),
    }
    result = xr.Dataset(variables, coords={"case": list(CASES), "parameter": names})
    print(result.value.values, result.tries.values)
    _write(path, result, "frequencies")


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


def join(measured: Path, searched: Path) -> None:
    """Put what was measured and what was searched into one file."""
    parts = [xr.load_dataset(path, engine="h5netcdf") for path in (measured, searched)]
    joined = xr.merge(parts, combine_attrs="drop")
    joined.attrs["sources"] = json.dumps([json.loads(part.attrs["source"]) for part in parts])
    files.keep(RESULTS / "population.nc", joined.to_netcdf(engine="h5netcdf"))


def _write(path: Path, result: xr.Dataset, stage: str) -> None:
    source: dict[str, Any] = provenance(f"python -m tools.recording.population {stage} {path.name}")
    source["written"] = datetime.now(UTC).isoformat(timespec="seconds")
    result.attrs["source"] = json.dumps(source)
    files.keep(path, result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("measure", "search", "join", "frequencies", "train"))
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        help="what to write; for join, what was measured and searched",
    )
    options = parser.parse_args()
    stages: dict[str, Callable[..., None]] = {
        "measure": measure,
        "search": search,
        "join": join,
        "frequencies": search_frequencies,
        "train": train,
    }
    stages[options.stage](*options.files)
