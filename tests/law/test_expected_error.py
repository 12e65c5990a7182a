"""The measures of what takes a prediction out of its range, and the errors they stand for."""

import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import scansnap_core as ss
from scansnap_core.data import population
from scansnap_core.data.population import STRATA
from scansnap_core.law.expected_error import (
    GROWTHS,
    LEAST,
    LIKELY,
    ORDERS,
    SHORTNESS,
    Causes,
    Oscillation,
    errors_by_cause,
    step_of,
    update_sizes,
)
from scansnap_core.law.memory import Law
from scansnap_core.law.types import types_of
from scansnap_core.theory import spectrum

TABLES = {"shortness": SHORTNESS, "growth": GROWTHS, "order": ORDERS}
SAME = "the paper's own data"
"""This stratum has the same classes for every seed, so it isn't held out."""


@pytest.mark.parametrize(
    ("classes", "within"),
    [
        (ss.with_overlap(2, 10**6, 0.02, distinct_weights=[1, 2, 4]), 1e-3),
        (ss.with_overlap(3, 1000, 0.1, distinct_weights=[1, 2]), 0.02),  # drift pulls a little, too
    ],
)
def test_a_step_is_how_fast_memory_brings_attention_back(classes: ss.SequenceClasses, within: float) -> None:
    """The least eigenvalue of the law's Jacobian in z, by differences, where attention has rested so far."""
    types = types_of(classes)
    law = Law(types, 1.0)
    for state in Law(types, 1e-6).path(np.array([5.0, 20.0, 60.0])):
        packed = np.concatenate([np.ravel(part) for part in state])
        places = np.arange(len(packed))
        of_z = np.concatenate([places[part] for part in law._parts[4:]])
        steps = [1e-4 * (places == i) for i in of_z]
        slopes = [(law.rate(packed + step) - law.rate(packed - step))[of_z] / 2e-4 for step in steps]
        found = step_of(law, state, np.ones(len(types.size)))
        assert found == pytest.approx(-np.linalg.eigvals(slopes).real.min(), rel=within, abs=0)
        # The control: the diagonal alone, as if the other tokens stayed.
        assert found > 1.2 * -np.diag(slopes).min()


def test_a_step_of_unlike_classes_with_several_queries_is_the_largest_eigenvalue() -> None:
    """Of the matrix, written out densely by class, with updates of several sizes."""
    for stratum in ("several queries", "a class apart", "near pairs"):
        drawn = population.system(stratum, 0, seed=5)
        types = types_of(drawn.classes)
        law = Law(types, drawn.ratio)
        sizes = np.linspace(0.5, 2, len(types.size))
        (state,) = law.path(np.array([math.log(drawn.classes.vocab_size)]))
        errors, _, _ = law.errors_and_gradient(state, law.attention(state))
        compact = drawn.classes.compact
        Z = types.per_query(state.z_common, state.z_distinct)
        f = spectrum.F(compact.probs, Z[compact.query_row])
        eigenvalues = []
        for query in range(len(Z)):
            A = np.zeros(2 * f.shape[1:])
            for n in np.flatnonzero(compact.query_row == query):
                kind = types.of_class[n]
                pull = law.ratio * types.paces[kind] * state.a[kind] * errors.own[kind] * sizes[kind]
                A += pull * (np.diag(f[n] ** 2) - np.outer(f[n] ** 2, f[n] ** 2))
            eigenvalues.append(np.linalg.eigvalsh(A).max())
        assert step_of(law, state, sizes) == pytest.approx(max(eigenvalues), rel=0.03, abs=0), stratum


def growth(back: float, momentum: float, variance: float) -> float:
    """The factor by which the mean square of z grows in an update, if memory brings z back by ``back`` of its distance.

    v <- mu v - back xi z, z <- z + v, where xi, how often the class came, over its share, has the mean 1.
    """
    square = np.array([back**2 * (1 + variance), -2 * momentum * back, momentum**2])  # of v, from z², z v and v²
    mixed = np.array([-back, momentum, 0.0])
    moments = np.stack([np.array([1.0, 0.0, 0.0]) + 2 * mixed + square, mixed + square, square])
    return float(np.abs(np.linalg.eigvals(moments)).max())


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("batch_size", [None, 1, 3, 16])
def test_from_two_on_the_mean_square_grows(momentum: float, batch_size: int | None) -> None:
    """Exactly from there on, of one logit with a linear pull: the moments of SGD with momentum say so."""
    rows = {"a": {"and": 0.4, "x": 0.6}, "b": {"and": 0.5, "w": 0.5}}
    frequencies = {"a": 0.25, "b": 0.75}
    classes = ss.SequenceClasses.from_dicts(rows, query_of="q", vocab_size=20, frequencies=frequencies)
    types = types_of(classes)
    for size, share in zip(update_sizes(types, 1.0, momentum, batch_size), types.paces / 2, strict=True):
        variance = 0.0 if batch_size is None else (1 / share - 1) / batch_size
        assert growth(1.98 / size, momentum, variance) < 1 < growth(2.02 / size, momentum, variance)


def test_errors_are_the_tables_entries_and_between() -> None:
    for name, (places, likely, expected) in TABLES.items():
        nothing = dict.fromkeys(TABLES, 0.0)
        for x, half, nine in zip(places, likely, expected, strict=True):
            found = errors_by_cause(Causes(**(nothing | {name: x})))
            assert found.likely[list(TABLES).index(name)] == half
            assert found.expected[list(TABLES).index(name)] == max(nine, LEAST)
        for at in range(len(places) - 1):
            middle = (places[at] + places[at + 1]) / 2
            found = errors_by_cause(Causes(**(nothing | {name: middle})))
            assert found.likely[list(TABLES).index(name)] == pytest.approx((likely[at] + likely[at + 1]) / 2, abs=1e-12)
        beyond = errors_by_cause(Causes(**(nothing | {name: 2 * places[-1]})))
        assert beyond.likely[list(TABLES).index(name)] == likely[-1]
        assert list(places) == sorted(places)
        assert list(likely) == sorted(likely)
        assert list(expected) == sorted(expected)
        assert (np.array(likely) <= expected).all()


def test_growth_adds_up_over_updates_from_two_on() -> None:
    """A step of 3 doubles the distance in each update, one of 2 or less doesn't let it grow."""
    oscillation = Oscillation(0.5)
    assert oscillation.growth(1.0, 2.0, keep=True) == 0
    up = oscillation.growth(1.5, 3.0, keep=True)  # linear in between: half of an update's ln 2
    assert up == pytest.approx(math.log(2) / 2, rel=1e-12)
    assert oscillation.growth(4.0, 3.0, keep=False) == pytest.approx(up + 5 * math.log(2), rel=1e-12)
    assert oscillation.growth(2.0, 3.0, keep=True) == pytest.approx(up + math.log(2), rel=1e-12)
    assert oscillation.growth(9.0, 0.0, keep=True) > oscillation.growth(10.0, 0.0, keep=True) - 1e-12


def held_out(arm: str) -> dict[str, np.ndarray]:
    """The recorded points of systems that set nothing, where the runs say what z is; errors without the runs' noise."""
    record = xr.load_dataset(Path(__file__).parents[2] / "results" / "validity.nc", engine="h5netcdf")
    points = {str(name).removeprefix(f"{arm}_"): record[name].values for name in record if str(name).startswith(arm)}
    kept = (points["noise"] < 0.05) & (points["stratum"] != SAME)
    points = {name: values[kept] for name, values in points.items()}
    order = np.sqrt(points["order"] * points["largest_order"])
    errors = errors_by_cause(Causes(points["shortness"], points["growth"], order))
    points["likely"] = errors.likely.max(axis=0)
    points["expected"] = errors.expected.max(axis=0)
    points["error"] = np.sqrt(np.maximum(points["error"] ** 2 - points["noise"] ** 2, 0))
    return points


def percent(shares: list[float]) -> str:
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"


@pytest.mark.parametrize("arm", ["endless", "short"])
def test_what_is_said_of_systems_held_out_is_what_was_measured(arm: str) -> None:
    """The counts of the docstring, and the two bars: nine in ten within, seven in ten warned rightly."""
    points = held_out(arm)
    error, warned = points["error"], points["likely"] > LIKELY
    within = error <= points["expected"]
    rightly = error[warned] > 0.1
    docstring = " ".join(str(ss.predict.__doc__).split())
    strata = [points["stratum"] == stratum for stratum in STRATA if stratum != SAME]
    assert f"{within.sum()} of {within.size} points were within" in docstring
    assert f"by stratum {percent([within[held].mean() for held in strata])}" in docstring
    assert f"of the {warned.sum()} whose likely error was above 10 % {rightly.sum()} were off" in docstring
    assert f"by stratum {percent([np.mean(error[held & warned] > 0.1) for held in strata])}" in docstring
    assert within.mean() >= 0.9
    assert rightly.mean() >= 0.7
    # The control: warnings of all whose error isn't sure to be below 10 %.
    assert np.mean(error[points["expected"] > LIKELY] > 0.1) < 0.7
    # The likely error is about the middle; twice and half of it aren't.
    named = points["likely"] >= 0.01
    shares = [np.mean((error <= factor * points["likely"])[named]) for factor in (0.5, 1, 2)]
    assert shares[0] < 0.45 < shares[1] < 0.65 < shares[2]
    assert f"{100 * shares[1]:.0f} %" in docstring
