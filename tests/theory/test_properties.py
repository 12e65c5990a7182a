"""For any input of the right or the wrong kind the theory gives a finite result with its invariants, or BadInput."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import scansnap_core as ss
from scansnap_core.law import inertia, phases, sample_means
from scansnap_core.theory import solving
from scansnap_core.theory.decoder import Decoder
from tests.data.properties import FEW, WRONG, class_systems, result_or_refusal
from tests.engine.references import model_names

FEWER = settings(FEW, max_examples=8)
rates = st.floats(-12, 6).map(lambda power: 10.0**power)
later = st.lists(st.just(0.0) | st.floats(-12, 12).map(lambda power: 10.0**power), min_size=1, max_size=3)
numbers = WRONG | st.floats() | st.integers() | st.lists(st.floats(), max_size=3)
# Windows need an M that is a multiple of their number.
MODELS = [name for name in model_names(2) if not name.startswith("positions")]
SMALL = ss.with_overlap(2, 100, 0.3, distinct_weights=[1, 2])
FLOWS: dict[str, Callable[..., Any]] = {
    "idealised": ss.IdealisedFlow,
    "printed": functools.partial(ss.IdealisedFlow, clock="printed"),
    "update (26)": ss.ModifiedFlow,
    "true": ss.TrueFlow,
    "finite T": lambda *args, model: ss.FiniteLengthFlow(*args, seq_len=1000),
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the solver give up early: most of the systems tried here need only some hundred rates of change."""
    monkeypatch.setattr(solving, "MOST_RATES", 1000)


def result_or_failure(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return what a call gives, or None if it refuses or says that the integration failed."""
    try:
        return result_or_refusal(call, *arguments, **named)
    except ss.IntegrationFailed:
        return None


def all_finite(values: xr.Dataset | xr.DataArray) -> bool:
    arrays = values.data_vars.values() if isinstance(values, xr.Dataset) else [values]
    return all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f")


RUN = ss.predict(SMALL, 1, 0.1, [1])
FLOW = ss.TrueFlow(SMALL, 1, 0.1)
PATH = ss.solve(FLOW, [0, 1])
C = ss.attention(PATH.Z, SMALL)


def check_measures(classes: ss.SequenceClasses, run: xr.Dataset, threshold: Any) -> None:
    """Check the properties that attention has for any Z."""
    c = ss.attention(run.Z, classes)
    assert c.min() >= 0
    assert c.sum("token").values == pytest.approx(np.ones(c.sum("token").shape), rel=1e-12, abs=0)
    assert (c.to_numpy()[..., classes.compact.probs == 0] == 0).all()
    H = ss.entropy(c, classes)
    held = np.array([len(classes.distinct_tokens(n)) for n in range(classes.num_classes)])
    assert (np.isnan(H) | (H >= 0)).all()
    assert (H.values[..., held > 0] <= np.log(held[held > 0]) + 1e-12).all()
    assert np.isnan(H.values[..., held == 0]).all()
    found = result_or_refusal(ss.recall, run.Z, classes, threshold)
    if found is not None and held.any():
        assert ((found >= 0) & (found <= 1)).all()
    gains = ss.relative_gain(c, c.token.values[0], c.token.values[-1])
    assert ((gains >= -1) | np.isnan(gains)).all()


@pytest.mark.parametrize("name", FLOWS)
@FEWER
@given(class_systems(), rates, rates | st.just(0.0), later, st.just("plain") | st.sampled_from(MODELS), numbers)
def test_flows_keep_their_sums(
    name: str, classes: ss.SequenceClasses, lr_y: float, lr_z: float, times: list[float], model: str, threshold: Any
) -> None:
    flow = result_or_refusal(FLOWS[name], classes, lr_y, lr_z, model=model)
    path = None if flow is None else result_or_failure(ss.solve, flow, sorted(set(times)), rtol=1e-6, atol=1e-9)
    if path is None:
        return
    assert all_finite(path)
    assert path.attrs["num_classes"] == classes.num_classes
    if "Y" in path:  # e_n - alpha_n sums to 0 over all outputs
        total = (path.Y * path.multiplicity).sum("output")
        assert total.values == pytest.approx(0, abs=1e-5 * (1 + float(np.abs(path.Y).max()) * classes.vocab_size))
    if flow.variant is None and name != "finite T":  # so does f∘(g - f f·g) over tokens, since |f| = 1
        assert path.Z.sum("token").values == pytest.approx(0, abs=1e-5 * (1 + float(np.abs(path.Z).max())))
    if flow.variant is None:
        check_measures(classes, path, threshold)


@FEWER
@given(class_systems(), rates, rates, later, st.integers(0, 3))
def test_forecasts(classes: ss.SequenceClasses, lr_y: float, lr_z: float, times: list[float], kind: int) -> None:
    kinds: list[dict[str, Any]] = [{}, {"seq_len": 2}, {"seq_len": 1000}, {"optimizer": "momentum", "momentum": 0.5}]
    options = kinds[kind]
    found = result_or_failure(ss.predict, classes, lr_y, lr_z, sorted(set(times)), **options)
    if found is None:
        return
    held = np.array([len(classes.distinct_tokens(n)) for n in range(classes.num_classes)])
    assert np.isfinite(found.Z).all()
    if "seq_len" not in options:
        assert found.Z.sum("token").values == pytest.approx(0, abs=1e-5 * (1 + float(np.abs(found.Z).max())))
    own = found.isel({"class": np.flatnonzero(held)})
    assert ((own.entropy >= 0) & (own.entropy <= np.log(held[held > 0]) + 1e-12)).all()
    assert np.isfinite(own.chi_dominant).all()
    assert (own.chi_dominant >= 0).all()
    assert (np.diff(found.evidence.values, axis=0) >= -1e-9 * (1 + found.evidence.values[1:])).all()
    check_measures(classes, found, 0.1)


@FEWER
@given(class_systems(), rates, rates, st.integers(0, 9), later)
def test_the_theory_along_a_run(
    classes: ss.SequenceClasses, lr_y: float, lr_z: float, seed: int, times: list[float]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.TrainingDiverged)
        run = ss.train(classes, lr_y=lr_y, lr_z=lr_z, steps=3, seeds=[seed], batch_size=2, seq_len=5, record=1)
    for found in (
        ss.theory_of(classes, run),
        result_or_failure(
            lambda: ss.theory_of(classes, ss.solve(ss.IdealisedFlow(classes, lr_y, lr_z), sorted({0.0, *times})))
        ),
    ):
        if found is None:
            continue
        assert all_finite(found[["h", "gamma", "Gamma", "xi", "B"]])
        assert ((found.chi >= 0) | np.isnan(found.chi)).all()  # e^-1000 is 0
        assert (found.chi.isel(recorded=0) == 1).where(found.chi.isel(recorded=0).notnull(), True).all()
        assert (found.gamma >= 0).all()
        assert ((found.t_0_prime > 0) & np.isfinite(found.t_0_prime)).all() == classes.is_uniform
        tokens = {n: set(classes.distinct_tokens(n).tolist()) | {-1} for n in range(classes.num_classes)}
        for n, leaders in tokens.items():
            assert set(np.ravel(found.dominant.isel({"class": n}).values).tolist()) <= leaders
        assert (~found.conditions | found.dominance).all()


def decoder_run(E: Any, vocab_size: Any, lr_y: Any, modified: bool) -> Decoder:
    """A decoder after two steps, held to its invariants."""
    made = Decoder(E, vocab_size, lr_y, modified=modified)
    V = made.step(made.step(made.initial(), 0), len(np.atleast_2d(E)) - 1)
    errors = made.errors(V)
    assert np.isfinite(V).all()
    assert made.multiplicity.sum() == pytest.approx(vocab_size, rel=1e-12, abs=0)
    assert errors @ made.multiplicity == pytest.approx(0, abs=1e-9 * made.multiplicity.max())
    assert (np.abs(errors) <= 1 + 1e-12).all()
    return made


@FEW
@given(
    class_systems(),
    rates,
    st.booleans(),
    numbers,
    numbers,
    WRONG | st.lists(st.lists(st.floats(), max_size=2), max_size=2),
)
def test_decoders(classes: ss.SequenceClasses, lr_y: float, modified: bool, M: Any, rate: Any, E: Any) -> None:
    size = max(classes.vocab_size, 2)
    with np.errstate(all="ignore"):
        result_or_refusal(decoder_run, classes.E, size, lr_y, modified)
        for args in ((E, 9, 1.0), (classes.E, M, 1.0), (classes.E, size, rate)):
            result_or_refusal(Decoder, *args, modified=modified)


P = np.array([0.5, 0.3, 0.2])
GOOD: dict[str, tuple[Callable[..., object], list[Any]]] = {
    "evidence": (ss.law.evidence, [[1.0], 2, 900, 0.3]),
    "drift": (ss.law.drift, [[1.0], 2, 900, 0.3]),
    "types_of": (ss.law.types_of, [SMALL]),
    "Law": (ss.law.Law, [ss.law.types_of(SMALL), 0.1]),
    "means": (lambda p, T: sample_means.means(p, T if not isinstance(T, int) else min(T, 300)), [P, 8]),
    "tilt": (phases.tilt, [P]),
    "turning_length": (phases.turning_length, [-1.0, [1.0], 2, 1000, 0.3]),
    "spread": (
        lambda classes, tau, T: phases.spread(classes, tau=tau, lr_y=1, seq_len=T, batch_size=2),
        [SMALL, [1.0], 16],
    ),
    "plateau": (inertia.plateau, [[2.0], 1000]),
    "InertialFlow": (lambda mu: inertia.InertialFlow(SMALL, 1, 1, momentum=mu), [0.5]),
    "h": (ss.h, [[1.0, 2.0], 100, 1.0]),
    "h_star": (ss.h_star, [2, 100, 1.0]),
    "transition": (ss.transition, [2, 100, 1.0]),
    "omega": (ss.omega, [100]),
    "TrueFlow": (ss.TrueFlow, [SMALL, 1, 0.1]),
    "ModifiedFlow": (ss.ModifiedFlow, [SMALL, 1, 0.1]),
    "IdealisedFlow": (ss.IdealisedFlow, [SMALL, 1, 0.1, "steps"]),
    "FiniteLengthFlow": (lambda T: ss.FiniteLengthFlow(SMALL, 1, 0.1, seq_len=T), [100]),
    "attention": (ss.attention, [PATH.Z, SMALL]),
    "entropy": (ss.entropy, [C, SMALL]),
    "recall": (ss.recall, [PATH.Z, SMALL, 0.1]),
    "relative_gain": (ss.relative_gain, [C, 1, 2]),
    "solve": (
        lambda flow, t, start, unit, method, rtol: ss.solve(
            flow, t, initial=start, unit=unit, method=method, rtol=rtol
        ),
        [FLOW, [0, 1], None, "step", "LSODA", 1e-8],
    ),
    "theory_of": (ss.theory_of, [SMALL, PATH]),
    "function_of": (ss.function_of, [ss.formulas.gamma, (ss.formulas.h_, ss.formulas.M)]),
    "predict": (
        lambda *a: ss.predict(*a[:4], seq_len=a[4], optimizer=a[5], momentum=a[6]),
        [SMALL, 1, 0.1, [1], 64, "momentum", 0.5],
    ),
    "formulas.find": (lambda word, equation: ss.formulas.find(word, equation=equation), ["speed", None]),
    "pictures": (ss.pictures.entropy_over_time, [RUN, SMALL]),
    "pictures, class": (ss.pictures.logits_over_time, [RUN, SMALL, 0]),
}
CALLS = [(name, place) for name, (_, good) in GOOD.items() for place in range(len(good))]


@pytest.mark.parametrize(("name", "place"), CALLS)
@FEW
@given(numbers | st.sampled_from([ss, PATH, PATH.Z, SMALL, FLOW]))
def test_values_of_a_wrong_kind(name: str, place: int, value: Any) -> None:
    call, good = GOOD[name]
    found = result_or_failure(call, *good[:place], value, *good[place + 1 :])
    for part in found if isinstance(found, tuple) else (found,):
        if isinstance(part, np.ndarray):
            assert not np.isnan(part).any()
    assert found is None or (name, place) == ("formulas.find", 0) or not isinstance(value, str | bytes | dict)
