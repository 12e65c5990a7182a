"""``predict``: what it returns, in which labels and on which clock, what it refuses, and how fast it is."""

from __future__ import annotations

import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.base.rules import RATE, SEQ_LEN
from scansnap_core.data import population
from scansnap_core.data.population import STRATA
from scansnap_core.law import Law, log_tau, memory, trials, types_of
from scansnap_core.law.predicting import FINITE, LONG
from scansnap_core.theory import solving, spectrum
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from tests.refusing import refuses
from tools.benchmarks.predict import unlike

CLASSES = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])


def test_labels_and_quantities_are_those_of_the_true_flow() -> None:
    classes = ss.SequenceClasses.from_dicts(
        {"ship": {"and": 0.4, "wave": 0.4, "mast": 0.2}, "plane": {"and": 0.5, "cloud": 0.5}},
        query_of="the",
        vocab_size=500,
    )
    found = ss.predict(classes, 0.5, 0.5, [0, 50, 5000])
    path = ss.solve(ss.TrueFlow(classes, 0.5, 0.5), [0, 50, 5000])
    assert found.Z.dims == path.Z.dims
    assert all(found.Z[dim].equals(path.Z[dim]) for dim in found.Z.dims)
    assert found.Z.values == pytest.approx(path.Z.values, rel=0.02, abs=1e-6)
    flow = ss.theory_of(classes, path)
    assert found.dominant.values.tolist() == flow.dominant.values.tolist()
    assert found.chi_dominant.values == pytest.approx(flow.chi_dominant.values, rel=3e-3, abs=0)
    entropy = ss.entropy(ss.attention(path.Z, classes), classes)
    assert found.entropy.values == pytest.approx(entropy.values, abs=1e-4)


def test_a_class_without_distinct_tokens_has_no_entropy_and_one_class_nothing_to_move() -> None:
    classes = ss.SequenceClasses([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0, 0.7, 0.3, 0]], query_of=[3, 3, 3])
    found = ss.predict(classes, 1, 1, [10])
    assert found.dominant.values.tolist() == [-1, -1, 2]
    for each in (found.entropy, found.chi_dominant):
        assert np.isnan(each.values[0]).tolist() == [True, True, False]
    alone = ss.predict(ss.SequenceClasses([[0.3, 0.7, 0, 0]], query_of=[2]), 1, 1, [1, 100])
    assert alone.Z.values == pytest.approx(0, abs=1e-9)


def test_regimes_and_phases_follow_the_clocks() -> None:
    found = ss.predict(CLASSES, 1, 0.01, [0, 2, 1e3, 1e12])
    assert found.phase.values[:, 0].tolist() == ["start", "scan", "drift", "late"]
    names = np.array(found.regime.flag_meanings.split())
    assert set(names[found.regime.values[1].ravel()]) == {"free"}
    fast = ss.predict(CLASSES, 1, 100, [1e3], optimizer="flow")
    assert set(names[fast.regime.values.ravel()]) == {"slaved"}
    two_queries = ss.predict(ss.syn_small(), 1, 1, [10])
    held = ss.syn_small().compact.probs > 0
    assert (names[two_queries.regime.values[0]] == "rest").tolist() == (~held).tolist()


@pytest.mark.parametrize("lr_z", [0.1, 2.0])
def test_regimes_and_shortness_are_those_of_z_and_evidence(lr_z: float) -> None:
    """By their definitions, of unlike classes, two of which share a query."""
    classes = ss.SequenceClasses.from_dicts(
        {
            "ship": {"and": 0.4, "wave": 0.4, "mast": 0.2},
            "plane": {"and": 0.5, "cloud": 0.5},
            "car": {"and": 0.1, "road": 0.7, "toll": 0.2},
        },
        query_of={"ship": "the", "plane": "the", "car": "a"},
        vocab_size=500,
    )
    found = ss.predict(classes, 0.5, lr_z, [3, 30, 300, 3000], seq_len=10**6)
    compact, seen = classes.compact, set()
    for moment in range(4):
        at = found.isel(recorded=moment)
        f, a = spectrum.F(compact.probs, at.Z.values[compact.query_row]), at.evidence.values[:, None]
        memory, holders = np.zeros(at.Z.shape), np.zeros(at.Z.shape)
        np.add.at(memory, compact.query_row, lr_z / 0.5 * a**2 / 2 * f**2)
        np.add.at(holders, compact.query_row, compact.probs)
        assert (at.regime.values == np.where(holders > 0, np.where(memory < 1, 1, 2), 0)).all()
        seen |= set(at.regime.values.ravel().tolist())
        assert at.shortness.item() == pytest.approx(a.max() / (10**6 - 1), rel=1e-12, abs=0)
    assert seen == {0, 1, 2}


@pytest.mark.filterwarnings("ignore::scansnap_core.PredictionOutOfRange")
def test_how_far_to_trust_it_does_not_depend_on_the_other_times() -> None:
    for how in ({}, {"batch_size": 2}, {"optimizer": "momentum", "batch_size": 8}):
        many = ss.predict(CLASSES, 1, 2, [3, 10, 17, 40, 300, 1000], **how)
        for moment in (1, 3, 5):
            alone = ss.predict(CLASSES, 1, 2, [float(many.recorded[moment])], **how)
            for name in ("growth", "order", "largest_order", "chance", "likely_error", "expected_error"):
                assert alone[name].item() == pytest.approx(many[name].values[moment], rel=2e-3, abs=0), (how, name)


def test_the_clock_counts_steps_of_batch_size_one() -> None:
    once, scaled, slow = (
        ss.predict(CLASSES, y, z, [t], optimizer=name).Z.values
        for y, z, t, name in ((1, 0.1, 1000, "flow"), (10, 1, 100, "flow"), (1e-3, 1e-4, 1e6, "sgd"))
    )
    assert once == pytest.approx(scaled, rel=1e-9, abs=0)
    assert once == pytest.approx(slow, rel=1e-4, abs=0)  # small steps of SGD tend to the flow


def test_a_late_moment_alone_is_what_it_is_among_others() -> None:
    for options in ({}, {"seq_len": 256}, {"optimizer": "momentum"}, {"optimizer": "flow"}):
        alone, among = (ss.predict(CLASSES, 1, 0.1, t, **options).Z.values[-1] for t in ([1e6], [1, 100, 1e6]))
        assert alone == pytest.approx(among, rel=1e-5, abs=0), options


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("frequencies", [[1 / 3, 2 / 3], [1 / 11, 10 / 11], [0.1, 0.3, 0.6]])
def test_classes_of_any_frequencies_go_as_descent_takes_them(frequencies: list[float], momentum: float) -> None:
    alike = ss.with_overlap(len(frequencies), 1000, 0.3, distinct_weights=[1, 2])
    classes, how = alike.with_frequencies(frequencies), {"optimizer": "momentum", "momentum": momentum}
    recipe: dict[str, Any] = {"lr_y": 0.2, "lr_z": 0.1} | (how if momentum else {})
    marks = [round(each * (1 - momentum)) for each in (300, 3000)]
    run = ss.train(classes, steps=marks[-1], record=marks, batch_size=None, seq_len=np.inf, **recipe)
    Z = run.Z.isel(seed=0, rate=0).transpose("recorded", "query", "token").values
    found = ss.predict(classes, t=marks, **recipe)
    assert np.linalg.norm(found.Z.values - Z) < 0.01 * np.linalg.norm(Z)
    uniform = ss.predict(alike, t=marks, **recipe).Z.values
    assert np.linalg.norm(uniform - Z) > 0.1 * np.linalg.norm(Z)  # control
    assert found.evidence.values[0, -1] > found.evidence.values[0, 0]


@pytest.mark.parametrize(
    ("changes", "value", "rule"),
    [
        ({"seq_len": 1}, "seq_len = 1", SEQ_LEN.says),
        ({"seq_len": 2}, "seq_len = 2", LONG.says),
        ({"optimizer": "adam"}, "optimizer = 'adam'", "the choices are sgd, momentum, flow"),
        ({"momentum": 0.5}, "momentum = 0.5 with the optimizer sgd", "only the optimizer momentum has it"),
        ({"t": [2, 1]}, "t with 1 after 2", "times are finite, not negative and ascending"),
        ({"lr_y": 0}, "lr_y = 0", RATE.says),
        ({"lr_y": 1e-300, "lr_z": 1e300}, "lr_z/lr_y = inf", FINITE.says),
        ({"lr_y": 1e300, "t": [1e300]}, "lr_y t/K = inf", FINITE.says),
        ({"exact": "yes"}, "exact = 'yes'", "exact is True, False or None"),
        (
            {"exact": True, "seq_len": 64},
            "exact = True with seq_len = 64",
            "Y and Z are integrated exactly for endless sequences, without runs",
        ),
    ],
)
def test_what_it_has_no_law_for_is_refused(changes: dict[str, object], value: str, rule: str) -> None:
    arguments: dict[str, object] = {"lr_y": 1, "lr_z": 1, "t": [1.0]} | changes
    with refuses(value, rule):
        ss.predict(CLASSES, **arguments)  # type: ignore[arg-type]


def test_momentum_and_finite_length_as_in_training() -> None:
    classes = ss.syn_small()
    recipe: dict[str, Any] = {"lr_y": 1, "lr_z": 1, "seq_len": 128, "optimizer": "momentum"}
    found = ss.predict(classes, t=[100], **recipe).Z.values
    run = ss.train(classes, steps=100, record=[100], seeds=range(4), batch_size=512, **recipe)
    Z = run.Z.isel(rate=0).mean("seed").values
    assert np.linalg.norm(found - Z) < 0.1 * np.linalg.norm(Z)
    for change in ({"optimizer": "sgd"}, {"momentum": 0.5}, {"seq_len": 16}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.PredictionOutOfRange)
            other = ss.predict(classes, t=[100], **(recipe | change)).Z.values
        assert np.linalg.norm(other - Z) > 0.15 * np.linalg.norm(Z), change


def off(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Error of the whole z at each time."""
    return np.asarray(np.linalg.norm(found - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2)))


MARKS = [2, 3, 10, 30, 100]


@pytest.mark.parametrize("momentum", [0.0, 0.3, 0.9])
@pytest.mark.parametrize(("lr_y", "lr_z"), [(0.25, 1.0), (1.0, 0.1), (4.0, 0.4)])
def test_steps_of_finite_size_as_in_exact_descent(lr_y: float, lr_z: float, momentum: float) -> None:
    how: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    recipe: dict[str, Any] = {"steps": MARKS[-1], "record": MARKS, "batch_size": None, "seq_len": math.inf}
    Z = ss.train(CLASSES, lr_y=lr_y, lr_z=lr_z, **recipe, **how).Z.isel(seed=0, rate=0).values
    assert off(ss.predict(CLASSES, lr_y, lr_z, MARKS, **how).Z.values, Z).max() < 0.01
    clock = np.array(MARKS) / (1 - momentum)
    flow = off(ss.predict(CLASSES, lr_y, lr_z, clock, optimizer="flow").Z.values, Z)
    assert flow[0] > 0.5
    assert flow[2] > 0.04


def test_it_is_continuous_in_momentum() -> None:
    times = [1, 2.5, 8, 9, 30, 1000]
    plain = ss.predict(CLASSES, 1, 0.3, times).Z.values
    for momentum, most in ((1e-12, 1e-6), (1e-6, 1e-4), (1e-3, 0.02)):
        near = ss.predict(CLASSES, 1, 0.3, times, optimizer="momentum", momentum=momentum).Z.values
        assert np.abs(near - plain).max() <= most * np.abs(plain).max(), momentum
        assert off(near[1:], plain[1:]).max() <= most, momentum


def test_many_unlike_classes_make_finite_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = trials.systems(3, 32)[21]
    monkeypatch.setattr(memory, "MOST_WHOLE", 500)
    assert Law(types_of(classes), 1.0).is_split
    recipe: dict[str, Any] = {"steps": 100, "record": [3, 10, 30, 100], "batch_size": None, "seq_len": math.inf}
    Z = ss.train(classes, lr_y=2, lr_z=1, **recipe).Z.isel(seed=0, rate=0).values
    assert off(ss.predict(classes, 2, 1, [3, 10, 30, 100]).Z.values, Z).max() < 0.01
    assert off(ss.predict(classes, 2, 1, [3, 10, 30, 100], optimizer="flow").Z.values, Z)[1] > 0.05


def test_inside_its_range_it_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for how in ({}, {"seq_len": 256}, {"optimizer": "momentum", "seq_len": 256}, {"optimizer": "flow"}):
            found = ss.predict(CLASSES, 1, 0.1, [0, 1, 2, 10, 1e4], **how)
            assert (found.expected_error <= 0.1).all()


def test_a_fast_decoder_and_fast_attention_that_is_soon_over_do_no_harm() -> None:
    """Descent doesn't leave the law here, though attention's first steps are above 2."""
    recipe: dict[str, Any] = {"steps": 100, "record": [3, 10, 100], "batch_size": None, "seq_len": math.inf}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for lr_y, lr_z in ((20, 0.1), (1, 30)):
            found = ss.predict(CLASSES, lr_y, lr_z, [3, 10, 100])
            Z = ss.train(CLASSES, lr_y=lr_y, lr_z=lr_z, **recipe).Z.isel(seed=0, rate=0).values
            assert off(found.Z.values, Z).max() < 0.01
            assert (found.step.max() > 2) == (lr_z == 30)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"seq_len": 8},
            r"off by 16 % or more of its size at t = 1000 .*at 2 of 3 times: sequences of T = 8 are too short",
        ),
        (
            {"lr_z": 6},
            r"off by 62 % or more of its size at .*: updates are so large that training overshoots; use smaller",
        ),
    ],
)
def test_outside_its_range_it_warns_and_says_how_far(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"lr_y": 1, "lr_z": 0.1} | changes
    with pytest.warns(ss.PredictionOutOfRange, match=message) as caught:
        found = ss.predict(CLASSES, t=[3, 100, 1000], exact=False, **arguments)
    assert Path(caught[0].filename) == Path(__file__)
    assert found.expected_error[-1] > 0.1
    assert len(caught) == 1
    if "seq_len" not in changes:  # a flow takes no steps
        assert ss.predict(CLASSES, t=[100], optimizer="flow", exact=False, **arguments).expected_error.item() == 0.03


@pytest.mark.parametrize("stratum", STRATA)
def test_flows_of_endless_sequences_are_met_as_announced_in_each_stratum(stratum: str) -> None:
    """Four systems each, of a seed that nothing was set on, at times up to 1000 t_0."""
    for number in range(4):
        drawn = population.system(stratum, number, seed=77)
        t_0 = drawn.classes.num_classes * math.log(drawn.classes.vocab_size)
        times = t_0 * np.array([0.3, 1, 10, 100, 1000])
        found = ss.predict(drawn.classes, 1, drawn.ratio, times, optimizer="flow", exact=False)
        exact = ss.solve(TrueFlow(drawn.classes, 1, drawn.ratio), times, method="CVODE", rtol=1e-8, atol=1e-14).Z.values
        assert (off(found.Z.values, exact) < 0.024).all(), number
        assert (found.expected_error == 0.03).all(), number
        # The control: attention that the decoder's errors move, and no memory or overlap, is off by more.
        law = ss.solve(IdealisedFlow(drawn.classes, 1, drawn.ratio), times, rtol=1e-8).Z.values
        assert (off(law, exact) > 0.03).any(), number


def test_a_failure_gives_what_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ss.predict(CLASSES, 1, 1, [0, 10, 20, 1e9], exact=False)
    monkeypatch.setattr(log_tau, "MOST_RATES", 450)
    with pytest.raises(ss.IntegrationFailed, match="could be integrated up to") as caught:
        ss.predict(CLASSES, 1, 1, [0, 10, 20, 1e9], exact=False)
    error = caught.value
    assert error.last is not None
    assert 20 < error.last < 1e9
    assert error.reached.recorded.values.tolist() == [0, 10, 20]
    assert error.reached.Z.values == pytest.approx(whole.Z.values[:3], rel=1e-6, abs=1e-12)
    assert set(error.reached) == set(whole)
    with pytest.raises(ss.IntegrationFailed) as caught:
        ss.predict(CLASSES, 1, 1, [1e9], exact=False)
    assert caught.value.reached is None


def test_updates_that_run_away_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "rate", lambda self, packed: np.full_like(packed, np.inf))
    with pytest.raises(ss.IntegrationFailed, match=r"up to lr_y t/K = .* only: the next update isn't finite") as caught:
        ss.predict(CLASSES, 1, 1, [1, 100], exact=False)
    assert caught.value.last == 1
    assert caught.value.reached.recorded.values.tolist() == [1]


def words() -> ss.SequenceClasses:
    """Three classes over words as frequent as Zipf says; each knows two thirds of the words."""
    probs = np.zeros((3, 1000))
    for n in range(3):
        known = np.arange(300) % 3 != n
        probs[n, :300] = known / np.arange(1.0 + n, 301.0 + n)
    return ss.SequenceClasses(probs / probs.sum(axis=1, keepdims=True), query_of=[300] * 3)


def test_fast_attention_over_many_words_takes_few_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = words()
    law = Law(types_of(classes), 100.0)
    taus = np.array([1.0, 300.0])
    monkeypatch.setattr(log_tau, "MOST_RATES", 5_000)
    found = law.path(taus)
    assert np.abs(found[1].z_common).max() > 0.2  # it moves
    # The control: an explicit method takes more, because the law is stiff.
    with pytest.raises(ss.IntegrationFailed, match="5,000 times"):
        solving.integrated(
            lambda x, packed: np.exp(x) * law.rate(packed),
            np.log(1e-4),
            np.log(taus),
            law.start(1e-4),
            failed="{:.3g}".format,
            method="RK45",
            most_rates=5_000,
            rtol=1e-7,
            atol=1e-14,
        )


@pytest.mark.parametrize(
    ("make", "size", "t"),
    [(ss.syn_large, (1000, 50_272), [1e6]), (unlike, (40,), [1e3]), (unlike, (44,), [100, 22_660])],
)
def test_many_classes_take_seconds(make: Any, size: tuple[int, ...], t: list[float]) -> None:
    classes = make(*size)
    ss.predict(CLASSES, 1, 1, [1.0])
    start = time.process_time()
    assert np.isfinite(ss.predict(classes, 1, 0.1, t).Z.values).all()
    assert time.process_time() - start < 20  # a guard for any machine; it takes 0.3 to 1.2 s where this was written
