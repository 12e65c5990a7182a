"""Search for the worst systems of two classes inside Assumption 2, by SciPy's differential
evolution.

:func:`search` looks at equally frequent classes, at the times that the population's sentences name.
:func:`search_frequencies` goes over the classes' frequencies and the time, too.
``python -m tools.recording.population`` writes what they find.
"""

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import differential_evolution

from scansnap_core import IntegrationFailed, SequenceClasses
from scansnap_core.data.population import two_classes
from scansnap_core.theory import outcomes

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


def search() -> xr.Dataset:
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
    return xr.Dataset(variables, coords=coords)


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


def search_frequencies() -> xr.Dataset:
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
    return result
