"""The path of the law (10) against its flow, and the path of memory against update (26)."""

import numpy as np
import pytest

from scansnap_core import IdealisedFlow, ModifiedFlow, formulas, function_of, h, solve
from scansnap_core.data.datasets import with_overlap
from scansnap_core.theory import dynamics
from scansnap_core.theory.formulas import K, M, eta_Y, eta_Z, h_

CLASSES = with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.8, 0.5])
TIMES = np.array([10.0, 100.0, 1000.0])


def gammas(rate: float) -> np.ndarray:
    """Gamma(t) in steps of batch size 1, where a class weighs 1/2, at eta_Y = 1."""
    clock = function_of(formulas.Gamma, (h_, K, M, eta_Y, eta_Z))
    return np.asarray(clock(h(TIMES / 2, 1000, 1.0), 2.0, 1000.0, 1.0, rate / 2))


def test_the_flow_of_the_law_runs_along_its_path_by_the_clock() -> None:
    found = solve(IdealisedFlow(CLASSES, 1.0, 0.5), TIMES, rtol=1e-9).Z.values[:, 0]
    assert dynamics.path_of_the_law(CLASSES, gammas(0.5)) == pytest.approx(found, rel=1e-5, abs=1e-12)


def test_update_26_runs_along_the_path_of_memory_and_not_along_the_law() -> None:
    found = solve(ModifiedFlow(CLASSES, 1.0, 10.0), TIMES, rtol=1e-9).Z.values[:, 0]
    fine = np.logspace(-4, 3, 200)
    assert (
        dynamics.distance(found, np.vstack([np.zeros(7), dynamics.path_of_memory(CLASSES, np.sqrt(2 * fine))])) < 1e-3
    )
    assert dynamics.distance(found, np.vstack([np.zeros(7), dynamics.path_of_the_law(CLASSES, fine)])) > 0.05
