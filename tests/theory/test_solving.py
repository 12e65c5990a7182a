"""A solved flow against closed forms, against its own continuation and against the labels of a training."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import LSODA

from scansnap_core.base.rules import FLOW_RATE, RATE
from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.theory import clocks, dynamics, flows, formulas, solving, spectrum
from scansnap_core.theory.flows import Flow
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.solving import IntegrationFailed, attention_rates, solve
from tests.engine.references import overlapping_classes
from tests.refusing import refuses

LR_Y, LR_Z = 0.8, 0.5
CLASSES = overlapping_classes()
FLOWS = (flows.IdealisedFlow, flows.ModifiedFlow, flows.TrueFlow)


@pytest.mark.parametrize("frequencies", [None, [0.2, 0.5, 0.3]])
@pytest.mark.parametrize("unit", ["step", "round", "tau"])
def test_update_26_at_rest_is_theorem_5_on_every_clock(unit: str, frequencies: list[float] | None) -> None:
    # W = F^T Y = (M - 1) h zeta for K = 3, M = 9, with h at the number of a class's steps
    times, classes = np.array([0.0, 5.0, 20.0]), CLASSES.with_frequencies(frequencies)
    steps = {"step": times, "round": 3 * times, "tau": 3 * times / LR_Y}[unit]
    path = solve(flows.ModifiedFlow(classes, LR_Y, 0.0), times, unit=unit)
    F = spectrum.F(classes.compact.probs, np.zeros_like(classes.compact.probs))
    zeta = 9 / 8 * (np.eye(3, 4) - 1 / 9)
    expected = 8 * clocks.h(np.outer(steps, classes.frequencies), 9, LR_Y)[..., None] * zeta
    assert F @ path.Y.transpose("recorded", "token", "output").values == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert path.recorded.values.tolist() == times.tolist()
    assert path.recorded.units == solving.UNITS[unit]


def test_a_solved_flow_has_the_labels_of_a_training() -> None:
    run = train(CLASSES, lr_y=LR_Y, lr_z=LR_Z, steps=4, batch_size=None, seq_len=np.inf, record=2).isel(seed=0, rate=0)
    path = solve(flows.TrueFlow(CLASSES, LR_Y, LR_Z), run.recorded)
    for name in ("Y", "Z", "multiplicity"):
        assert path[name].dims == run[name].dims
        assert path[name].units == run[name].units
        for dim in path[name].dims:
            assert path[dim].values.tolist() == run[dim].values.tolist()
    assert path.B.dims == ("recorded", "class")
    assert (path.lr_y, path.lr_z, path.vocab_size, path.num_classes) == (LR_Y, LR_Z, 9, 3)


def test_a_flow_goes_on_from_where_it_stood() -> None:
    flow = flows.TrueFlow(CLASSES, LR_Y, LR_Z)
    whole = solve(flow, [0, 10, 25])
    rest = solve(flow, [15], initial=whole.isel(recorded=1).transpose("output", "token", "query", ...))
    for name in ("Y", "Z"):
        assert rest[name].isel(recorded=0).values == pytest.approx(
            whole[name].isel(recorded=2).values, rel=1e-7, abs=1e-12
        )
    gained = whole.B.isel(recorded=2) - whole.B.isel(recorded=1)
    assert rest.B.isel(recorded=0).values == pytest.approx(gained.values, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("make", [flows.TrueFlow, flows.ModifiedFlow])
def test_the_rates_of_attention_are_the_slope_of_its_path(make: type[flows.TrueFlow]) -> None:
    flow = make(with_overlap(3, 1_000, 0.1), 1.0, 0.1)
    path = solve(flow, [19.99, 20.0, 20.01])
    slope = (path.Z.values[2] - path.Z.values[0]) / 0.02
    assert attention_rates(flow, path)[1] == pytest.approx(slope, rel=1e-4, abs=1e-12)


def test_attention_alone_can_be_given() -> None:
    Z = np.random.default_rng(0).normal(size=(2, 6))
    for make in FLOWS:
        flow = make(CLASSES, LR_Y, LR_Z)
        path = solve(flow, [0, 1], initial=Z)
        np.testing.assert_array_equal(path.Z.isel(recorded=0), Z)
        xr.testing.assert_identical(path, solve(flow, [0, 1], initial=path.Z.isel(recorded=0)))
        assert path.initial == "given"
        assert np.count_nonzero(flow.initial(Z)) == Z.size
        assert not flow.initial().any()


TIMES = "times are finite, not negative and ascending"
START = "Z starts at finite numbers of shape (2, 6), on the tokens that some class holds"
BY_NAME = "initial values are Z or Y by name, as far as the flow has them"
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"times": [-1.0, 2.0]}, "times = -1", TIMES),
    ({"times": [0.0, np.nan]}, "times = nan", TIMES),
    ({"times": [0.0, np.inf]}, "times = inf", TIMES),
    ({"times": [2.0, 1.0]}, "times with 1 after 2", TIMES),
    ({"times": [1.0, 1.0]}, "times with 1 after 1", TIMES),
    ({"times": []}, "times of shape (0,)", TIMES),
    ({"times": "soon"}, "times = 'soon'", TIMES),
    ({"times": [[1.0, 2.0]]}, "times of shape (1, 2)", TIMES),
    ({"unit": "epoch"}, "unit = 'epoch'", "the choices are step, round, tau"),
    ({"rtol": 0.0}, "rtol = 0.0", "a tolerance lies between 0 and 1"),
    ({"atol": 1.0}, "atol = 1.0", "a tolerance lies between 0 and 1"),
    (
        {"initial": np.zeros((9, 9))},
        "initial Z of shape (9, 9)",
        START,
    ),
    (
        {"initial": np.full((2, 6), np.nan)},
        "initial Z of shape (2, 6) with nan at (0, 0)",
        START,
    ),
    (
        {"initial": "zero"},
        "initial Z of shape (0,)",
        START,
    ),
    (
        {"initial": {"z": np.zeros((2, 6))}},
        "initial with z",
        BY_NAME,
    ),
    ({"initial": {}}, "initial with nothing", BY_NAME),
    (
        {"initial": {"Y": np.zeros((6, 9))}},
        "initial Y of shape (6, 9)",
        "Y starts at finite numbers of shape (6, 4), on the tokens that some class holds",
    ),
]


@pytest.mark.parametrize(("wrong", "value", "rule"), BAD)
def test_bad_input_is_refused(wrong: dict[str, Any], value: str, rule: str) -> None:
    flow = flows.TrueFlow(CLASSES, LR_Y, LR_Z)
    with refuses(value, rule):
        solve(flow, **({"times": [0, 1]} | wrong))


def test_a_start_of_other_classes_or_of_several_moments_is_refused() -> None:
    flow = flows.TrueFlow(CLASSES, LR_Y, LR_Z)
    others = flows.TrueFlow(with_overlap(2, 9, 0.3, distinct_weights=[1, 2]), 1, 1)
    for start in (solve(flow, [0, 1]), solve(others, [0]).isel(recorded=0)):
        with refuses(
            f"initial Z over {', '.join(map(str, start.Z.dims))}",
            "it is one moment of one run of the flow's own classes, over query, token",
        ):
            solve(flow, [1], initial=start)
    with refuses("initial Y for the idealised", "its state is Z, B"):
        flows.IdealisedFlow(CLASSES, LR_Y, LR_Z).initial(Y=np.zeros((6, 4)))


@pytest.mark.parametrize("rates", [(0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), (np.inf, 1.0), ("1", 1.0), (1.0, -1.0)])
@pytest.mark.parametrize("make", FLOWS)
def test_rates_that_are_no_rates_are_refused(make: type[Flow], rates: tuple[Any, Any]) -> None:
    name, value, rule = ("lr_y", rates[0], RATE) if rates[1] == 1 else ("lr_z", rates[1], FLOW_RATE)
    with refuses(f"{name} = {value!r}", rule.says):
        make(CLASSES, *rates)  # type: ignore[call-arg]


class Explosion(flows.IdealisedFlow):
    """dz/dt = z^2 from z = 1 ends at t = 1."""

    def rhs(self, t: float, state: Floats) -> Floats:
        return np.asarray(state**2)


def test_a_flow_that_ends_early_says_so() -> None:
    one = np.ones((2, 6))
    assert solve(Explosion(CLASSES, 1, 1), [0.5], initial=one).Z.values == pytest.approx(2 * one[None], rel=1e-8, abs=0)
    with pytest.raises(IntegrationFailed, match=r"could be integrated up to step .* only: .*; ask for earlier times"):
        solve(Explosion(CLASSES, 1, 1), [2.0], initial=one)


def test_what_was_reached_counts_in_the_unit_that_was_asked() -> None:
    half = 0.5 / CLASSES.num_classes
    with pytest.raises(IntegrationFailed) as failure:
        solve(Explosion(CLASSES, 1, 1), [half, 2.0], initial=np.ones((2, 6)), unit="round")
    assert failure.value.last == pytest.approx(2 * half, rel=1e-3, abs=0)
    assert failure.value.reached.recorded.values == pytest.approx([half], rel=1e-12, abs=0)
    assert failure.value.reached.Z.values == pytest.approx(np.full((1, 2, 6), 2.0), rel=1e-8, abs=0)


def test_a_time_too_small_to_move_anything_is_the_start() -> None:
    path = solve(flows.TrueFlow(CLASSES, LR_Y, LR_Z), [0, 2.3e-308, 1.0])
    assert (path.Z[1] == 0).all()
    assert (path.Z[2] != 0).any()


def test_a_solver_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "MOST_RATES", 10)
    with pytest.raises(IntegrationFailed, match="the solver asked for its rate of change 10 times; ask"):
        solve(flows.TrueFlow(CLASSES, LR_Y, LR_Z), [100.0])


def test_what_lsoda_warns_of_is_said_by_the_failure_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(self: LSODA) -> str:
        warnings.warn("lsoda: Repeated convergence failures.", stacklevel=2)
        self.t, self.status = 2.0, "failed"
        return "Unexpected istate in LSODA."

    monkeypatch.setattr(LSODA, "step", gives_up)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(IntegrationFailed, match="up to step 2 only: LSODA doesn't converge there; ask for earlier"):
            solve(flows.TrueFlow(CLASSES, LR_Y, LR_Z), [100.0])


def test_flows_run_along_their_paths() -> None:
    """Under (10) by the clock; under update (26) along the path of memory, and not along the law's."""
    classes, times = with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.8, 0.5]), np.array([10.0, 100.0, 1000.0])
    clock = function_of(formulas.Gamma, (formulas.h_, formulas.K, formulas.M, formulas.eta_Y, formulas.eta_Z))
    Gamma = clock(clocks.h(times / 2, 1000, 1.0), 2.0, 1000.0, 1.0, 0.5 / 2)  # in steps, where a class weighs 1/2
    law, memory = (
        solve(make(classes, 1.0, rate), times, rtol=1e-9).Z.values[:, 0]
        for make, rate in ((flows.IdealisedFlow, 0.5), (flows.ModifiedFlow, 10.0))
    )
    assert dynamics.path_of_the_law(classes, Gamma) == pytest.approx(law, rel=1e-5, abs=1e-12)
    fine = np.logspace(-4, 3, 200)
    assert (
        dynamics.distance(memory, np.vstack([np.zeros(7), dynamics.path_of_memory(classes, np.sqrt(2 * fine))])) < 1e-3
    )
    assert dynamics.distance(memory, np.vstack([np.zeros(7), dynamics.path_of_the_law(classes, fine)])) > 0.05


@pytest.mark.parametrize(("most", "chosen"), [(10, "CVODE"), (1_000, "LSODA")])
def test_a_large_state_is_solved_without_a_square_matrix(
    most: int, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solving, "MOST_DENSE", most)
    flow = flows.TrueFlow(CLASSES, LR_Y, LR_Z)
    assert 10 < flow.initial().size < 1_000
    chosen_alone = solve(flow, [10, 25])
    named = solve(flow, [10, 25], method=chosen)
    np.testing.assert_array_equal(chosen_alone.Z.values, named.Z.values)
    # the control: the other solver rounds otherwise
    (other,) = {"CVODE", "LSODA"} - {chosen}
    assert (chosen_alone.Z.values != solve(flow, [10, 25], method=other).Z.values).any()


@pytest.mark.parametrize("lr_z", [0.1, 10.0])  # at 10 attention is fast, and the flow is stiff
def test_thousands_of_tokens_are_solved_in_seconds(lr_z: float) -> None:
    counts = 1 / np.arange(1.0, 3_001.0)
    probs = np.zeros((3, 4_001))
    for n in range(3):
        probs[n, 500 * n : 500 * n + 3_000] = counts / counts.sum()
    classes = SequenceClasses(probs, query_of=[4_000] * 3)
    flow = flows.TrueFlow(classes, 1.0, lr_z)
    assert flow.initial().size > solving.MOST_DENSE
    start = time.process_time()
    z = solve(flow, [100, 400], rtol=1e-6).Z.values
    assert time.process_time() - start < 60  # a guard for any machine; it takes some 2 s where this was written
    assert np.isfinite(z).all()
    assert np.abs(z[1]).max() > np.abs(z[0]).max() > 0
