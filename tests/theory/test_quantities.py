"""The paper's quantities against their definitions: integrals by quadrature, products over tokens, least squares."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.typing import ArrayLike
from scipy.integrate import quad, simpson

from scansnap_core.data.datasets import syn_medium, syn_small, with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import TrainingDiverged, train
from scansnap_core.theory import clocks, flows
from scansnap_core.theory.flows import Flow
from scansnap_core.theory.quantities import theory_of
from scansnap_core.theory.solving import solve
from tests.engine.references import overlapping_classes
from tests.refusing import refuses

LR_Y, LR_Z = 0.8, 0.5
WEAK = with_overlap(3, 10_000, 0.1, distinct_weights=[1, 0.8, 0.5])
TIMES = np.linspace(0, 400, 801)


def by_the_law(classes: SequenceClasses, lr_y: float, lr_z: float, times: ArrayLike) -> xr.Dataset:
    return theory_of(classes, solve(flows.IdealisedFlow(classes, lr_y, lr_z), times))


def test_h_gamma_and_Gamma_are_those_of_the_rounds() -> None:
    found = by_the_law(WEAK, LR_Y, LR_Z, [0, 30, 300])

    def gamma(t: float) -> float:
        height = float(clocks.h(t / 3, 10_000, LR_Y))
        return 9_999**2 * height / (9_999 + math.exp(10_000 * height))

    assert found.gamma.values[1:] == pytest.approx([gamma(30), gamma(300)], rel=1e-9, abs=0)
    # on this clock a class weighs 1/3
    area = quad(gamma, 0, 300, epsrel=1e-10, limit=200)[0]
    assert float(found.Gamma[-1]) == pytest.approx(LR_Z / 3 * area, rel=1e-8, abs=0)
    assert (found.t_0_prime, found.rho) == pytest.approx((3 * math.log(10_000) / LR_Y, 0.1), rel=1e-12, abs=0)
    # M h = (1 + omega_1) ln M at t_0, where exp(M h) = (M - 1) M h
    u = float(found.t_0) * LR_Y / (2 * 3)
    assert u == pytest.approx(math.log(9_999 * u), rel=1e-9, abs=0)


@pytest.mark.parametrize("frequencies", [None, [0.1, 0.6, 0.3]])
@pytest.mark.parametrize("make", [flows.IdealisedFlow, flows.ModifiedFlow, flows.TrueFlow])
def test_B_and_Gamma_are_integrals_on_each_classs_clock(make: type[Flow], frequencies: list[float] | None) -> None:
    classes = WEAK.with_frequencies(frequencies)
    path = solve(make(classes, LR_Y, LR_Z), TIMES)  # type: ignore[call-arg]
    found = theory_of(classes, path)
    area = LR_Z * classes.frequencies * simpson(found.xi.transpose("class", "recorded").values, x=TIMES)
    assert found.B.isel(recorded=-1).values == pytest.approx(area, rel=1e-4, abs=0)
    assert ("Eqn 10" in found.xi.attrs["from"]) == (make is flows.IdealisedFlow)
    # a run that has no B of its own: trapezoids
    assert theory_of(classes, path.drop_vars("B")).B.isel(recorded=-1).values == pytest.approx(area, rel=1e-3, abs=0)
    if frequencies is None:
        return
    heights = clocks.h(400 * classes.frequencies, 10_000, LR_Y)
    assert found.h.isel(recorded=-1).values == pytest.approx(heights, rel=1e-6, abs=0)
    weighed = LR_Z * classes.frequencies * simpson(found.gamma.transpose("class", "recorded").values, x=TIMES)
    assert found.Gamma.isel(recorded=-1).values == pytest.approx(weighed, rel=1e-4, abs=0)
    # Theorem 4 is for uniform classes
    assert all(np.isnan(found[name]).all() for name in ("t_0", "t_0_prime", "rho", "xi_shared", "B_printed"))
    moved = path.Z.isel(query=0).diff("recorded").sel(token=0).values
    assert found.common_falls.values[1:].all() == (moved < 0).all()


def test_a_training_counts_updates_and_a_class_weighs_its_share() -> None:
    run = train(WEAK, lr_y=LR_Y, lr_z=LR_Z, steps=40, seq_len=math.inf, batch_size=None, record=1)
    found = theory_of(WEAK, run).isel(rate=0, seed=0, missing_dims="ignore")
    assert found.t.values.tolist() == run.recorded.values.tolist()
    area = LR_Z / 3 * np.trapezoid(found.xi.transpose("class", "recorded").values, x=run.recorded.values)
    assert found.B.isel(recorded=-1).values.ravel() == pytest.approx(area.ravel(), rel=1e-12, abs=0)
    gamma = LR_Z / 3 * simpson(found.gamma.values, x=run.recorded.values)
    assert float(found.Gamma.isel(recorded=-1)) == pytest.approx(gamma, rel=1e-2, abs=0)
    assert (found.xi.units, found.xi.equation) == ("per step", "Theorem 1(a)")
    assert found.B.attrs["from"].startswith("trapezoids")


def test_bounds_are_eqn_12s_and_dominance_is_that_of_the_start() -> None:
    path = solve(flows.TrueFlow(WEAK, LR_Y, LR_Z), [0, 50, 400])
    overtaken = path.assign(Z=path.Z.where((path.recorded < 50) | (path.token != 2), 5.0))
    found = theory_of(WEAK, overtaken)
    f_0 = np.sqrt(0.9 / (1 + 0.8**2 + 0.5**2))  # the common token holds 0.1 of f^2
    assert found.chi_upper.values == pytest.approx(np.exp(2 * path.B.values), rel=1e-12, abs=0)
    assert found.chi_lower.values == pytest.approx(np.exp(2 * f_0**2 * path.B.values), rel=1e-9, abs=0)
    assert (found.r.isel({"recorded": -1, "class": 0}).min(), found.dominant[0]) < (0, 2)
    assert bool(found.dominance.all())
    assert bool(found.common_falls.isel(recorded=0).all())  # at rest


def test_distinct_tokens_share_what_common_ones_leave() -> None:
    # the product of a class's growth factors is exp(2 int (1 - f_CT^2) dB), an equation under Eqn 10 from any start
    start = np.concatenate([[0.2], np.tile([0.3, -0.2, 0.5], 3)])[None]
    path = solve(flows.IdealisedFlow(WEAK, LR_Y, 5.0), TIMES, initial=start)
    found = theory_of(WEAK, path)
    for n in range(3):
        row = WEAK.compact.probs[n] * np.exp(path.Z.isel(query=0).values)
        f_common = row[:, 0] / np.linalg.norm(row, axis=1)
        exponent = 2 * np.trapezoid(1 - f_common**2, found.B.isel({"class": n}).values)
        own = found.chi.isel({"class": n, "recorded": -1}).sel(token=WEAK.distinct_tokens(n))
        assert float(np.log(own).sum()) == pytest.approx(exponent, rel=1e-5, abs=0)
        # Eqn 11, from logits and from attention
        gain = found.r.isel({"class": n}).sel(token=WEAK.distinct_tokens(n)).values
        grown = gain[0] * found.chi_dominant.isel({"class": n}).values[:, None]
        assert gain == pytest.approx(grown, rel=1e-6, abs=0, nan_ok=True)
        assert np.isnan(gain).sum() == len(TIMES)  # of the dominant token itself
    # 0.8 e^-0.2 is least; 1 e^0.3 = 1.35 beats 0.5 e^0.5
    assert found.dominant.values.tolist() == [1, 4, 7]
    assert bool(found.conditions.all())
    assert bool((found.chi_lower <= found.chi_dominant * (1 + 1e-9)).all())
    assert bool((found.chi_dominant <= found.chi_upper).all())
    assert float(found.chi_dominant.max()) > 1.5


def test_random_starts_decide_who_is_dominant() -> None:
    run = train(WEAK, lr_y=[1.0, 2.0], lr_z=[0.1, 0.1], steps=4, seeds=range(6), initial="random", record=2)
    # Z(0) within ±0.01 can't turn a lead of 25 %; larger starts can
    assert (theory_of(WEAK, run).dominant == [1, 4, 7]).all()
    turned = run.assign(Z=60 * run.Z)
    found = theory_of(WEAK, turned)
    assert found.xi.dims == ("seed", "rate", "recorded", "class")
    assert not (found.dominant == [1, 4, 7]).all()
    for seed in range(6):
        z = turned.Z.isel(seed=seed, rate=0, recorded=0, query=0).values
        expected = [np.argmax(WEAK.compact.probs[n] * np.exp(z) * (np.arange(10) > 0)) for n in range(3)]
        assert found.dominant.isel(seed=seed, rate=0).values.tolist() == expected


def test_xi_of_a_random_start_is_theorem_1s() -> None:
    classes = overlapping_classes()
    run = train(classes, lr_y=3.0, lr_z=3.0, steps=20, seeds=[1], batch_size=8, seq_len=16, initial="random", record=20)
    Y, Z = (run[name].isel(seed=0, rate=0, recorded=-1).values for name in "YZ")
    rows = classes.compact.probs * np.exp(Z[classes.compact.query_row])
    F = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    weights = np.exp(F @ Y)
    g = (np.eye(9)[classes.next_of] - weights / weights.sum(axis=1, keepdims=True)) @ Y.T
    gamma_beta = -np.linalg.lstsq(F.T, g.T)[0].T
    expected = (gamma_beta * (F @ F.T) * (1 - np.eye(3))).sum(axis=1)
    found = theory_of(classes, run).xi.isel(seed=0, rate=0, recorded=-1)
    assert found.values == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("make", [flows.IdealisedFlow, flows.TrueFlow])
def test_common_tokens_fall_where_their_logits_do(make: type[flows.IdealisedFlow]) -> None:
    # two common tokens, one of them lopsided: Theorem 3's second condition is not for free
    rows = np.array([[1, 1.0, 0, 0.4, 0.2, 0, 0, 0], [1, 0, 1.0, 0, 0, 0.4, 0.2, 0], [1, 0.1, 0.1, 0, 0, 0, 0, 1]])
    lopsided = SequenceClasses(rows / rows.sum(axis=1, keepdims=True), [7, 7, 7])
    times, seen = np.linspace(0, 60, 601), set()
    for classes, n in itertools.product((lopsided, with_overlap(3, 10_000, 0.1)), range(3)):
        path = solve(make(classes, LR_Y, LR_Z), times)
        found = theory_of(classes, path).isel({"class": n})
        common = np.intersect1d(classes.common_tokens, classes.support(n))
        moved = np.diff(path.Z.isel(query=0).sel(token=common).values, axis=0)
        said = found.common_falls.values
        steady = (np.abs(moved).min(axis=1) > 1e-9) & (said[:-1] == said[1:])
        falls = (moved < 0).all(axis=1)
        assert (said[1:][steady] == falls[steady]).all()
        assert steady.sum() > 100
        seen |= set(falls[steady].tolist())
        assert bool(found.conditions[-1]) == bool(said.all())
    assert seen == {True, False}


def test_theorem_4s_forms_are_for_its_setting_alone() -> None:
    small = with_overlap(3, 10**6, 0.02, distinct_weights=[1, 0.8, 0.5])
    found = by_the_law(small, 1.0, 1.0, np.linspace(0, 400, 401))
    assert found.B_shared.values[1:] == pytest.approx(found.B.values[1:, 0], rel=0.05, abs=0)
    assert found.xi_shared.values[1:] == pytest.approx(found.xi.values[1:, 0], rel=0.1, abs=0)
    assert np.abs(found.B_printed.values[1:] / found.B.values[1:, 0] - 1).min() > 0.5
    assert found.B_printed.values == pytest.approx(
        np.log(1 / (3 * 0.02**2) + 4 * found.Gamma.values) / 4, rel=1e-9, abs=0
    )
    # both xi are derivatives of their B
    for kind in ("printed", "shared"):
        area = simpson(found[f"xi_{kind}"].values, x=found.t.values) / 3
        assert area == pytest.approx(float(found[f"B_{kind}"][-1] - found[f"B_{kind}"][0]), rel=1e-4, abs=0)
    unequal = SequenceClasses([[0.5, 0.5, 0, 0, 0], [0.3, 0, 0.7, 0, 0], [0.1, 0, 0, 0.9, 0]], [4, 4, 4])
    nearly = SequenceClasses([[0.1, 0.9, 0, 0, 0], [0.1, 0, 0.9, 0, 0], [0.1 + 1e-7, 0, 0, 0.9 - 1e-7, 0]], [4, 4, 4])
    one = SequenceClasses([[0.5, 0.5]], [0])
    for other in (syn_small(), syn_medium(1), overlapping_classes(), unequal, nearly, one):
        alone = by_the_law(other, 1.0, 1.0, [0, 1])
        assert np.isnan(alone.rho)
        assert np.isnan(alone.B_shared).all()
        assert np.isfinite(alone.B).all()
    four_words = SequenceClasses([[0.4, 0.6, 0, 0], [0.4, 0, 0.6, 0]], [3, 3])
    found = by_the_law(four_words, 1.0, 1.0, [0])
    assert float(found.rho) == pytest.approx(0.16 / 0.52, rel=1e-12, abs=0)
    assert np.isfinite(found.t_0)


def test_ties_and_classes_without_distinct_tokens_have_no_dominant_one() -> None:
    tied = with_overlap(2, 100, 0.3, distinct_weights=[1, 1, 0.5])
    assert not by_the_law(tied, 1.0, 1.0, [0, 1]).dominance.any()
    bare = SequenceClasses([[0.5, 0.5, 0.0], [0.5, 0.2, 0.3]], [0, 1])
    found = by_the_law(bare, 1.0, 1.0, [0, 1])
    assert found.dominant.values.tolist() == [-1, 2]
    assert found.dominance.values.tolist() == [False, True]
    assert np.isnan(found.chi_dominant.isel({"class": 0})).all()
    assert np.isnan(found.t_0)  # M = 3


def test_a_printed_flow_and_other_units_tell_their_clock() -> None:
    flow = flows.IdealisedFlow(WEAK, LR_Y, LR_Z, clock="printed")
    path = solve(flow, [0, 10, 100], unit="round")
    assert path.recorded.units == "rounds t/K of K steps, each showing every class (Eqn 10 as printed)"
    found = theory_of(WEAK, path)
    assert found.t.values.tolist() == [0, 30, 300]
    steps = by_the_law(WEAK, LR_Y, LR_Z, [0, 30, 300])
    assert found.Gamma.values[1:] == pytest.approx(3 * steps.Gamma.values[1:], rel=1e-9, abs=0)
    assert found.h.values[1:] == pytest.approx(steps.h.values[1:], rel=1e-12, abs=0)


def test_a_diverged_run_is_undefined_and_the_others_are_not() -> None:
    with pytest.warns(TrainingDiverged):
        run = train(syn_small(), lr_y=[1.0, 1e200], lr_z=[1.0, 1e200], steps=10, batch_size=8, record=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = theory_of(syn_small(), run)
    assert np.isnan(found.xi.isel(rate=1, recorded=-1)).all()
    assert np.isfinite(found.xi.isel(rate=0)).all()


def test_one_data_set_cut_out_of_several_is_that_data_set() -> None:
    options: dict[str, Any] = {"lr_y": 1.0, "lr_z": 1.0, "steps": 4, "record": 2, "seq_len": 16}
    weak, alone = train(WEAK, **options), train(syn_small(), **options)
    names = xr.DataArray(["weak", "small"], dims="data", name="data")
    both = xr.concat([weak, alone], dim=names, join="outer", combine_attrs="drop_conflicts")
    cut = theory_of(syn_small(), both.sel(data="small"))
    for name in ("xi", "B", "chi", "r", "dominant"):
        np.testing.assert_allclose(cut[name], theory_of(syn_small(), alone)[name], rtol=1e-12)
    with refuses(
        "Z of 2 data sets", "quantities are taken of one, with its classes", "choose one, e.g. run.sel(data='weak')"
    ):
        theory_of(WEAK, both)


def test_bad_input_is_refused() -> None:
    path = solve(flows.TrueFlow(WEAK, 1.0, 1.0), [0, 1, 2])
    other = solve(flows.TrueFlow(syn_small(), 1.0, 1.0), [0])
    from_the_start = "growth and B_n are counted from recorded = 0 on"
    refusals: list[tuple[Any, str, str]] = [
        (path.isel(recorded=slice(1, None)), "a run without its start", from_the_start),
        (path.isel(recorded=0), "a run without its start", from_the_start),
        (path.Z, "a run of type DataArray", "a run is a data set with Z"),
        (path.drop_vars("Z"), "a run of type Dataset", "a run is a data set with Z"),
        (other, "Z over 2 queries and 30 tokens", "a run and classes name the same queries and tokens"),
    ]
    for wrong, value, rule in refusals:
        with refuses(value, rule):
            theory_of(WEAK, wrong)


def test_the_theorems_are_of_the_papers_model() -> None:
    asks_with_what_it_holds = SequenceClasses([[0.5, 0.5, 0], [0.5, 0, 0.5]], query_of=[0, 0])
    run = train(asks_with_what_it_holds, lr_y=1, lr_z=1, steps=2, batch_size=4, model="residual")
    path = solve(flows.IdealisedFlow(asks_with_what_it_holds, 1.0, 1.0, model="residual"), [0, 1])
    for found in (run, path):
        with refuses("a run of the model residual", "the theorems are of the paper's model"):
            theory_of(asks_with_what_it_holds, found)


@pytest.mark.parametrize("initial", ["zero", "random"])
def test_names_change_no_quantity(initial: str) -> None:
    numbered = with_overlap(2, 60, 0.3, distinct_weights=[1, 2])
    names = [f"word {token}" for token in range(20)]
    named = SequenceClasses(numbered.probs, numbered.query_of, token_names=names)
    found = [
        theory_of(classes, train(classes, lr_y=1, lr_z=1, steps=40, seq_len=math.inf, initial=initial, record=4))
        for classes in (numbered, named)
    ]
    for name in ("xi", "B", "chi", "chi_lower", "dominant"):
        assert np.array_equal(found[0][name], found[1][name], equal_nan=True)
    assert float(found[0].xi.isel(recorded=-1).min()) > 0
