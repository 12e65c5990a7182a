"""The four dynamics on one clock, against each other and against the flows run by hand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import sem

from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.sequences import CLASSES, SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.theory import dynamics, flows
from tests.refusing import refuses


@pytest.fixture(scope="module")
def classes() -> SequenceClasses:
    return with_overlap(2, 1_000, 0.3, distinct_weights=[1, 0.8, 0.5])


def test_moments_stand_at_the_ends_of_lemma_9s_two_stages(classes: SequenceClasses) -> None:
    M, K, lr_y = 1_000, 2, 0.01
    half, t_0_prime, t_0, *late = dynamics.moments(classes, lr_y)
    assert half == pytest.approx(t_0_prime / 2, abs=1)
    assert t_0_prime == round(K * math.log(M) / lr_y)
    assert late == pytest.approx([4 * t_0, 40 * t_0], abs=20)
    # t_0 = 2(1 + omega_1) K ln M / eta_Y, and M h = (1 + omega_1) ln M is where exp(M h) = (M - 1) M h
    height = t_0 * lr_y / (2 * K)
    assert height - math.log((M - 1) * height) == pytest.approx(0, abs=1e-3)


def test_moments_are_those_of_classes() -> None:
    with refuses("classes = 3", CLASSES.says):
        dynamics.moments(3, 1.0)  # type: ignore[arg-type]


def test_all_dynamics_share_the_clock(classes: SequenceClasses) -> None:
    marks = dynamics.moments(classes, 1.0)[:3]
    seen = dynamics.compare(classes, lr_y=1.0, lr_z=0.1, marks=marks, seeds=range(4), seq_lens=(math.inf,))
    assert list(seen.dynamics.values) == ["idealised", "update (26)", "true flow", "SGD T=inf"]
    # a flow of unit rate against unit steps: h* is ahead of h by a tenth here, a clock off by K would show 100 %
    common = seen.Z.sel(token=0).isel(query=0, t=-1)
    assert float(common.sel(dynamics="SGD T=inf") / common.sel(dynamics="true flow")) == pytest.approx(1, abs=0.25)
    # by hand, the paper's law (10) on its printed clock: eta_Z/K
    by_hand = flows.IdealisedFlow(classes, 1.0, 0.1 / 2, clock="printed"), flows.ModifiedFlow(classes, 1.0, 0.1)
    for flow in by_hand:
        end = solve_ivp(flow.rhs, (0, marks[-1]), flow.initial(), rtol=1e-10, atol=1e-14).y[:, -1]
        for name, values in zip("ZB", flow.unpack(end)[-2:], strict=True):
            np.testing.assert_allclose(seen[name].sel(dynamics=flow.name).isel(t=-1), values, rtol=1e-6)
    assert (seen.error.sel(dynamics="true flow") == 0).all()
    assert 0 < float(seen.error.sel(dynamics="SGD T=inf").isel(t=-1, token=0, query=0)) < abs(float(common[-1]))


def test_sgd_is_the_mean_of_its_runs_with_its_standard_error(classes: SequenceClasses) -> None:
    # what it says without being asked: ten seeds, batches of 128, the limit of long sequences and T = 128
    marks = [1, 4]
    seen = dynamics.compare(classes, lr_y=1.0, lr_z=0.1, marks=marks)
    for seq_len in (math.inf, 128):
        run = train(
            classes, lr_y=1.0, lr_z=0.1, steps=4, seeds=range(10), batch_size=128, seq_len=seq_len, record=marks
        )
        runs = run.Z.isel(rate=0).transpose("seed", "recorded", "query", "token")
        name = f"SGD T={seq_len:g}"
        np.testing.assert_allclose(seen.Z.sel(dynamics=name), runs.mean("seed"), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(seen.error.sel(dynamics=name), sem(runs.values), rtol=1e-9, atol=1e-15)
        assert np.isnan(seen.B.sel(dynamics=name)).all()
    assert (seen.error.sel(dynamics="SGD T=128", t=4) > 0).any()


@pytest.mark.parametrize("seeds", [[3], [3, 4]])
def test_one_run_has_no_standard_error(classes: SequenceClasses, seeds: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = dynamics.compare(classes, lr_y=1.0, lr_z=0.1, marks=[2], seeds=seeds, seq_lens=(8,))
    seen = seen.sel(dynamics="SGD T=8")
    assert np.isnan(seen.error).all() == (len(seeds) == 1)
    assert np.isfinite(seen.Z).all()


def test_both_paths_leave_along_one_tangent_at_one_speed() -> None:
    classes, early = with_overlap(2, 6, 0.3, distinct_weights=[1]), np.array([1e-6])
    memory = dynamics.path_of_memory(classes, np.sqrt(2 * early))
    np.testing.assert_allclose(memory, dynamics.path_of_the_law(classes, early, 6), rtol=1e-4, atol=1e-15)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([[3, 4]], 0.8),
        ([[6, 8]], 0.8),
        ([[10, 0], [0, 0], [10.1, 0], [0, -11]], 0),  # on the line, at 0, and farther out than its end
        ([[0, 0]], 0),
        ([[-1, 0]], 1),
        ([[1, 1], [5, 1]], 0.5**0.5),
    ],
)
def test_distance_of_points_from_a_line(points: list[list[float]], expected: float) -> None:
    line = np.array([[0.0, 0.0], [4.0, 0.0], [10.0, 0.0]])
    assert dynamics.distance(np.array(points, dtype=float), line) == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_line_ends_where_it_bends() -> None:
    bent = np.array([[0.0, 0.0], [0.0, 4.0], [6.0, 4.0]])
    assert dynamics.distance(np.array([[0.0, 7.0]]), bent) == pytest.approx(3 / 7, rel=1e-12, abs=0)
