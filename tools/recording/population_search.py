"""Search for the worst systems inside Assumption 2, by SciPy's differential evolution.

The family is two or three classes with one common token
(:func:`scansnap_core.data.population.one_common_token`). :data:`CASES` says what each search makes
as small as it can, and among which systems. ``python -m tools.recording.population worst`` writes
what they find.
"""

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq, differential_evolution, minimize
from scipy.stats import qmc

from scansnap_core import IntegrationFailed, SequenceClasses
from scansnap_core.data.population import (
    LARGEST_RATIO,
    LARGEST_VOCABULARY,
    LEAST_RATIO,
    one_common_token,
)
from scansnap_core.theory import outcomes

LEAST_TOP = 0.02
LARGEST_TOP = 0.99998
"""K times the largest eigenvalue of E lies between these; Assumption 2 asks for less than 1."""
SMALLEST_REST = 1e-6
"""1 minus the largest entry of f_n on the common token is at least this."""
LEAST_SHARE = 0.01
"""Of three classes' entries, two differ by at most 1 over this."""
MOST_WORDS = 200
"""A class has one distinct token of weight 1 and up to so many rarer ones, equally frequent."""
LEAST_WEIGHT = 0.003
"""The rarer ones weigh at least so much."""
SLOW = 0.1
"""The largest eta_Z/eta_Y of the searches for slow attention."""
MOST_UNEQUAL = 30.0
"""One class is at most so many times as frequent as another, as in the population."""
LATEST = 1000.0
"""Searches that go over the time take it from t_0 to so many t_0."""

POPULATION_SIZE = 4
"""Points a coordinate."""
GENERATIONS = 8
LOCAL_TRIES = 150
SIMPLEX = 0.1
"""How many tries, and of which first step, Nelder and Mead's simplex has at the end."""
BEYOND = 0.15
"""Points so far outside of the unit cube are moved to its surface: the worst systems lie there,
where no point inside it comes.
"""
SEEDS = (0, 1)
"""Each search is done twice, so that it shows whether it has come to an end."""


class Case(NamedTuple):
    """What one search makes as small as it can, and among which systems."""

    objective: str
    """One of :data:`OBJECTIVES`."""
    num_classes: int = 2
    own_queries: bool = False
    """Whether each class has a query of its own."""
    unequal: bool = False
    """Whether classes may be unequally frequent."""
    mark: float | None = 1.0
    """The time in units of t_0; None if the search goes over it, too."""
    largest_ratio: float = LARGEST_RATIO
    alike: bool = False
    """Whether classes differ in their distinct tokens' names alone."""


CASES = {
    "factor": Case("factor"),
    "factor, three classes": Case("factor", 3),
    "factor, slow": Case("factor", largest_ratio=SLOW),
    "factor, two queries": Case("factor", own_queries=True),
    "factor, two queries, slow": Case("factor", own_queries=True, largest_ratio=SLOW),
    "factor, late": Case("factor", mark=None),
    "factor, unequal": Case("factor", unequal=True, mark=None),
    "factor, unequal, three classes": Case("factor", 3, unequal=True, mark=None),
    "fall": Case("fall", unequal=True, mark=None),
    "fall, three classes": Case("fall", 3, unequal=True, mark=None),
    "fall, two queries": Case("fall", own_queries=True, unequal=True, mark=None),
    "cosine, alike": Case("cosine", mark=40.0, alike=True),
    "cosine": Case("cosine", mark=40.0),
    "cosine, two queries": Case("cosine", own_queries=True, mark=40.0),
}
"""All searches, by name. Classes share one query and are equally frequent, unless a case says
otherwise.
"""


class Found(NamedTuple):
    """A system of the family, and where it is looked at."""

    vocab_size: int
    entries: tuple[float, ...]
    """Each class's entry of f_n on the common token."""
    weights: tuple[float, ...]
    """What the rarer distinct tokens of each class weigh, where the most frequent one weighs 1."""
    counts: tuple[int, ...]
    """How many rarer ones each class has."""
    frequencies: tuple[float, ...]
    """P(n)."""
    ratio: float
    """eta_Z/eta_Y."""
    mark: float
    """The time, in units of t_0."""

    def classes(self, own_queries: bool) -> SequenceClasses:
        """The system."""
        own = [
            [1.0] + count * [weight]
            for weight, count in zip(self.weights, self.counts, strict=True)
        ]
        num_queries = len(self.entries) if own_queries else 1
        classes = one_common_token(self.entries, own, self.vocab_size, num_queries)
        return classes.with_frequencies(np.array(self.frequencies))


def coordinates(case: Case) -> list[str]:
    """The coordinates of the unit cube in which a case is searched."""
    classes = range(1, case.num_classes + 1)
    kinds = [1] if case.alike else classes
    names = ["overlap", "vocabulary"]
    if not case.alike:
        names += ["largest entry", *(f"entry {n}" for n in classes[1:-1])]
    names += [f"weight {n}" for n in kinds] + [f"count {n}" for n in kinds] + ["ratio"]
    if case.unequal:
        names += [f"frequency {n}" for n in classes]
    if case.mark is None:
        names.append("mark")
    return names


def start(case: Case) -> np.ndarray:
    """Where a search begins: at the edges of Assumption 2, near the worst pairs made by hand.

    There a class has hardly more than one word of its own; with fast attention and one query, a
    hundred rare words more in the first class are worse. Where classes may be unequally frequent,
    attention is slow, and the last class, which holds most of the common token, is the most
    frequent one.
    """
    begins = {name: float(name.startswith("weight")) for name in coordinates(case)}
    if case.unequal:
        begins |= {"ratio": 0.75, f"frequency {case.num_classes}": 1.0}
    elif not case.own_queries and case.largest_ratio > SLOW:
        begins |= {"weight 1": 0.52, "count 1": 0.87, "ratio": 0.13}
    return np.array(list(begins.values()))


def found_at(x: np.ndarray, case: Case) -> Found | None:
    """The system at a point of the unit cube, which satisfies Assumption 2; None if there is none.

    At 0 the first coordinates are at an edge of what is allowed: overlaps are largest, the
    vocabulary is smallest, and the last class's entry is nearest to 1.
    """
    K = case.num_classes
    at = dict(zip(coordinates(case), np.clip(x, 0, 1).tolist(), strict=True))

    top = LARGEST_TOP * LEAST_TOP ** at["overlap"] / K
    equal = math.sqrt(top / (K - 1))
    entries = np.full(K, equal)
    if not case.alike:
        # The odds of the last entry, the largest of two, go from those of nearly 1 to those of
        # equal entries.
        toward_equal = at["largest entry"]
        odds = SMALLEST_REST ** (toward_equal - 1) * (equal / (1 - equal)) ** toward_equal
        others = np.array([1.0] + [LEAST_SHARE ** at[f"entry {n}"] for n in range(2, K)])
        scaled = _scaled(others, odds / (1 + odds), top)
        if scaled is None:
            return None
        entries = scaled

    kinds = [1] * K if case.alike else range(1, K + 1)
    weights = [LEAST_WEIGHT ** at[f"weight {n}"] for n in kinds]
    counts = [round(MOST_WORDS ** at[f"count {n}"]) for n in kinds]

    # Assumption 2 sets the least M, or the tokens, next tokens and queries do.
    smallest = float(np.abs(np.linalg.eigvalsh(_overlaps(entries))).min())
    num_tokens = 1 + sum(1 + count for count in counts)
    least = max(10 * K**2, math.ceil((6 / max(smallest, 1e-9)) ** 2), num_tokens + 2 * K)
    if least > LARGEST_VOCABULARY:
        return None
    vocab_size = math.ceil(least * (LARGEST_VOCABULARY / least) ** at["vocabulary"])

    frequencies = np.ones(K)
    if case.unequal:
        frequencies = np.array([MOST_UNEQUAL ** at[f"frequency {n}"] for n in range(1, K + 1)])
    return Found(
        vocab_size,
        tuple(entries.tolist()),
        tuple(weights),
        tuple(counts),
        tuple((frequencies / frequencies.sum()).tolist()),
        case.largest_ratio * (LEAST_RATIO / case.largest_ratio) ** at["ratio"],
        LATEST ** at["mark"] if case.mark is None else case.mark,
    )


def _overlaps(entries: np.ndarray) -> np.ndarray:
    """Compute E of classes that share one token alone."""
    products = np.outer(entries, entries)
    np.fill_diagonal(products, 0)
    return products


def _scaled(others: np.ndarray, last: float, top: float) -> np.ndarray | None:
    """Scale all entries but the last one such that E's largest eigenvalue is ``top``; None if one
    of them would be too near to 1.
    """

    def too_large(scale: float) -> float:
        overlaps = _overlaps(np.append(scale * others, last))
        return float(np.linalg.eigvalsh(overlaps)[-1]) - top

    largest = (1 - SMALLEST_REST) / float(others.max())
    if too_large(largest) < 0:
        return None
    scale = brentq(too_large, 0, largest, xtol=1e-15, rtol=1e-14)
    return np.append(scale * others, last)


def factor(classes: SequenceClasses, ratio: float, mark: float) -> float:
    """How many times as far as the gradient the paper's law (10) has moved the common token."""
    of_gradient = outcomes.path_of(classes, ratio, "gradient", (mark,))
    of_law = outcomes.path_of(classes, ratio, "law (10)", (mark,))
    return float(outcomes.compare(classes, of_gradient, of_law).least_times[0])


def cosine(classes: SequenceClasses, ratio: float, mark: float) -> float:
    """The cosine of the gradient's z with that of the paper's law (10)."""
    of_gradient = outcomes.path_of(classes, ratio, "gradient", (mark,))
    of_law = outcomes.path_of(classes, ratio, "law (10)", (mark,))
    return float(outcomes.compare(classes, of_gradient, of_law).cosine[0])


def fall(classes: SequenceClasses, ratio: float, mark: float) -> float:
    """Minus z of the common token under the gradient, over the largest |z|: negative where it has
    risen.
    """
    done = outcomes.outcome(classes, outcomes.path_of(classes, ratio, "gradient", (mark,)))
    return float(-done.common_high[0] / done.size[0])


OBJECTIVES: dict[str, Callable[[SequenceClasses, float, float], float]] = {
    "factor": factor,
    "cosine": cosine,
    "fall": fall,
}
"""What a search makes as small as it can: numbers of a system, a ratio of the rates and a time."""


def _searched(name: str, seed: int) -> tuple[Found, float, int]:
    """The worst system of a case that one search found, its value, and after how many tries."""
    case = CASES[name]

    def value(x: np.ndarray) -> float:
        found = found_at(x, case)
        if found is None:
            return math.inf
        try:
            classes = found.classes(case.own_queries)
            return OBJECTIVES[case.objective](classes, found.ratio, found.mark)
        except IntegrationFailed:
            return math.inf

    # The first points go from the start outwards, because near the edges there are few of a cube's
    # points.
    begins = start(case)
    members = POPULATION_SIZE * len(begins)
    spread = np.linspace(0, 1, members)[:, None]
    cube = qmc.LatinHypercube(len(begins), seed=seed).random(members)
    evolved = differential_evolution(
        value,
        [(-BEYOND, 1 + BEYOND)] * len(begins),
        init=begins + spread * (cube - begins),
        maxiter=GENERATIONS,
        seed=seed,
        polish=False,
    )
    # Its best point is improved by Nelder and Mead's simplex.
    simplex = np.vstack([evolved.x, evolved.x + SIMPLEX * np.eye(len(begins))])
    options = {"maxfev": LOCAL_TRIES, "initial_simplex": simplex}
    refined = minimize(value, evolved.x, method="Nelder-Mead", options=options)
    found = found_at(refined.x, case)
    if found is None:
        raise RuntimeError(f"{name}: no system was found")
    return found, float(refined.fun), int(evolved.nfev + refined.nfev)


def search() -> xr.Dataset:
    """Do every search, by each seed; keep each one's worst system."""
    jobs = [(name, seed) for name in CASES for seed in SEEDS]
    with ProcessPoolExecutor(2) as processes:
        results = list(processes.map(_searched, *zip(*jobs, strict=True)))

    size = (len(CASES), len(SEEDS))
    most = max(case.num_classes for case in CASES.values())
    of_classes = ("entries", "weights", "counts", "frequencies")
    values = {name: np.full((*size, most), np.nan) for name in of_classes}
    values |= {name: np.full(size, np.nan) for name in ("vocab_size", "ratio", "mark", "value")}
    tries = np.zeros(size, dtype=int)
    for place, (found, value, count) in zip(np.ndindex(size), results, strict=True):
        for name in of_classes:
            each = getattr(found, name)
            values[name][place][: len(each)] = each
        for name in ("vocab_size", "ratio", "mark"):
            values[name][place] = getattr(found, name)
        values["value"][place] = value
        tries[place] = count

    axes = ("case", "seed")
    variables: dict[str, Any] = {
        name: ((*axes, "class") if name in of_classes else axes, array)
        for name, array in values.items()
    }
    variables["tries"] = (axes, tries)
    result = xr.Dataset(variables, coords={"case": list(CASES), "seed": list(SEEDS)})
    print(result.value.to_series().unstack().round(5))
    return result
