"""The boundaries between forces: closed forms against integrals, flows and runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.law import closed, phases
from tests.refusing import refuses


def test_strength_is_the_integral_of_the_own_part() -> None:
    size = (3, 500, 0.2)
    taus = np.linspace(0, 40, 4001)
    a, b, c = closed.evidence(taus, *size)
    own = np.gradient(a, taus) * a + 2 * np.gradient(b, taus) * b + 497 * np.gradient(c, taus) * c
    strength = (a[-1] ** 2 + 2 * b[-1] ** 2 + 497 * c[-1] ** 2) / 2
    assert np.trapezoid(own, taus) == pytest.approx(strength, rel=1e-4, abs=0)
    expected = 1 + 3 * strength / (2 * 0.2 * closed.drift(40.0, *size))
    assert phases.turning_length(-3.0, 40.0, *size) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("size", [(2, 1000, 0.3), (4, 5000, 0.05)])
def test_turning_length_is_that_of_the_flows(size: tuple[int, int, float]) -> None:
    classes = ss.with_overlap(*size, distinct_weights=[1, 0.5])
    times, long = np.array([2.0, 20.0]), 10**6
    endless = ss.solve(ss.TrueFlow(classes, 1, 1e-3), times, unit="tau").Z.values[:, 0, 2]
    finite = ss.solve(ss.FiniteLengthFlow(classes, 1, 1e-3, seq_len=long + 1), times, unit="tau").Z.values[:, 0, 2]
    tilt = phases.tilt(classes.compact.probs[0])[2]
    assert tilt < 0
    predicted = phases.turning_length(tilt, times, *size)
    np.testing.assert_allclose(predicted, 1 + long * np.abs(finite / endless - 1), rtol=0.03)


@pytest.mark.parametrize("frequencies", [None, [0.8, 0.2]])
def test_runs_scatter_as_predicted(frequencies: list[float] | None) -> None:
    classes = ss.with_overlap(2, 1000, 0.1, distinct_weights=[1, 0.5]).with_frequencies(frequencies)
    marks = [20, 200]
    run = ss.train(classes, lr_y=1, lr_z=1e-3, steps=200, seeds=range(150), batch_size=8, seq_len=64, record=marks)
    found = run.Z.isel(rate=0, query=0).std("seed", ddof=1).transpose("recorded", "token").values * 1000
    predicted = phases.spread(classes, tau=[10.0, 100.0], lr_y=1.0, seq_len=64, batch_size=8)[:, 0]
    np.testing.assert_allclose(found, predicted, rtol=0.25)
    late = closed.evidence(100.0, 2, 1000, 0.1)[0]
    assert predicted[1, 0] / predicted[0, 0] > 1.2 > 0.3 * late / 10


def test_tilt_leaves_out_what_no_class_holds_and_sums_to_zero() -> None:
    probs = np.array([0.6, 0.0, 0.3, 0.1])
    tilt = phases.tilt(probs)
    assert tilt[0] > 0 == tilt[1] > tilt[3]
    assert (tilt * probs**2).sum() == pytest.approx(0, abs=1e-14)


def test_the_memory_number_is_lambda_a_squared_over_two() -> None:
    classes, recipe = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.5]), {"lr_y": 0.5, "lr_z": 0.1, "t": 40}
    f = classes.compact.probs / np.linalg.norm(classes.compact.probs, axis=1, keepdims=True)
    at_rest = 0.2 * (f**2).sum(axis=0) * closed.evidence(10.0, 2, 1000, 0.3)[0] ** 2 / 2
    endless, short = (phases.place(classes, seq_len=T, batch_size=8, **recipe).memory_number[0] for T in (10**8, 9))
    np.testing.assert_allclose(endless, at_rest, rtol=1e-6)
    assert (short > 1.1 * at_rest).all()  # errors fall more slowly, so more evidence is gathered


def test_spread_adds_up_what_each_sample_leaves() -> None:
    """At equal overlaps and rest: integrals of the closed evidence, and the variance of f by its Jacobian."""
    size, ends = (3, 14, 0.1), [2.0, 10.0]  # other outputs count where few words exist
    classes = ss.with_overlap(*size, distinct_weights=[1, 0.5])
    P = classes.compact.probs
    norms = np.linalg.norm(P, axis=1)
    scattered = 0.0
    for p, norm in zip(P, norms, strict=True):
        f = p / norm
        J = (np.eye(len(p)) - np.outer(f, f)) / norm
        scattered = scattered + f**2 * np.diag(J @ (np.diag(p) - np.outer(p, p)) @ J.T) / 8
    felt = []
    for end in ends:
        taus = np.linspace(0, end, 20_001)
        a, b, c = closed.evidence(taus, *size)
        rows, counts = np.stack([a, -b, -c]), np.array([1, 2, 11])
        errors = np.gradient(rows, taus, axis=1, edge_order=2)
        felt.append(np.trapezoid((counts @ (errors * (rows[:, -1:] - 2 * rows))) ** 2, taus))
    expected = np.sqrt(0.7 / 4 * np.outer(felt, scattered))
    recipe: dict[str, Any] = {"lr_y": 0.7, "seq_len": 9, "batch_size": 4}
    np.testing.assert_allclose(phases.spread(classes, tau=ends, **recipe)[:, 0], expected, rtol=2e-3)
    without = phases.place(classes, lr_z=0.01, t=100, **recipe)
    assert float(without.inertia) == pytest.approx(0.5 * 0.7 / 3 / np.log(14), rel=1e-12, abs=0)
    # momentum's updates are larger, and its clock runs faster
    placed = phases.place(classes, lr_z=0.01, t=100, momentum=0.5, **recipe)
    assert float(placed.overlap) == pytest.approx(0.1, rel=1e-6, abs=0)
    assert float(placed.learned) == pytest.approx(0.7 * 100 / 3 / 0.5 / np.log(14), rel=1e-12, abs=0)
    assert float(placed.inertia) == pytest.approx(0.5 / 0.25 * 0.7 / 3 / np.log(14), rel=0.5, abs=0)
    noise = phases.spread(classes, tau=[0.7 * 100 / 3 / 0.5], lr_y=1.4, seq_len=9, batch_size=4)[0]
    ratio = placed.noise * np.abs(1 + placed.sampling) / noise  # divided by the drift, which only our law contains
    drift = ss.solve(ss.TrueFlow(classes, 1, 1e-6), [0.7 * 100 / 3 / 0.5], unit="tau").Z.values[0] * 1e6
    np.testing.assert_allclose(ratio, 1 / np.abs(drift), rtol=1e-3)


def test_values_outside_of_the_rules_are_refused() -> None:
    classes = ss.syn_small()
    for size in ((1, 100, 0.1), (2, 100, 0.0), (2, 100, -0.5), (2, 100, 1.0), (2, 100, 1.5)):
        with pytest.raises(ss.BadInput):
            phases.turning_length(-3.0, 40.0, *size)
    recipe: dict[str, Any] = {"lr_y": 1.0, "seq_len": 128, "batch_size": 10}
    for tau in ([0.0], [0.0, 1.0]):
        with refuses("tau = 0.0", "moments are positive"):
            phases.spread(classes, tau=tau, **recipe)
    assert np.isfinite(phases.spread(classes, tau=[0.5], **recipe)).all()
    for t in (0, -1.0):
        with refuses(f"t = {t}", "a finite number, at least 1e-300"):
            phases.place(classes, lr_z=1.0, t=t, **recipe)
