"""All of Y and Z at T = infinity: as the true flow and as training, where ``predict`` takes it, and what it says."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.data import population
from scansnap_core.data.population import STRATA
from scansnap_core.law import exact, log_tau, trials, types_of
from scansnap_core.law.exact import MOST_NUMBERS, ONE_BY_ONE, Exact, num_values
from scansnap_core.law.expected_error import EXACT
from scansnap_core.law.inertia import InertialLaw
from scansnap_core.law.predicting import ALL, ONE_MEMORY
from scansnap_core.theory.decoder import Expectation
from tests.law.test_predicting import off
from tools.benchmarks.predict import unlike

CLASSES = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
NEAR = ss.with_overlap(2, 300, 0.95, distinct_weights=[1, 0.5])


def descent(classes: ss.SequenceClasses, lr_y: float, lr_z: float, marks: list[int], momentum: float) -> np.ndarray:
    """Z after the updates ``marks`` of full batches, trained."""
    batches = itertools.repeat(classes.frequencies[None], marks[-1])
    trained = enumerate(trials.descend(classes, batches, lr_y, lr_z, momentum=momentum), 1)
    return np.array([Z[0].copy() for t, Z in trained if t in marks])


@pytest.mark.parametrize("stratum", STRATA)
def test_a_flow_is_the_true_flow(stratum: str) -> None:
    """Of one small system of each stratum, up to 1000 t_0."""
    drawn = next(
        each
        for each in (population.system(stratum, number, seed=78) for number in itertools.count())
        if num_values(each.classes) <= MOST_NUMBERS
    )
    t_0 = drawn.classes.num_classes * math.log(drawn.classes.vocab_size)
    times = t_0 * np.array([0.3, 1, 10, 100, 1000])
    found = ss.predict(drawn.classes, 1, drawn.ratio, times, optimizer="flow")
    assert found.law == ALL
    assert (found.expected_error == EXACT).all()
    assert (found.likely_error == 0).all()
    Z = ss.solve(ss.TrueFlow(drawn.classes, 1, drawn.ratio), times, method="CVODE", rtol=1e-9, atol=1e-15).Z.values
    assert off(found.Z.values, Z).max() < EXACT
    # The control: twice the attention's rate.
    assert off(ss.predict(drawn.classes, 1, 2 * drawn.ratio, times, optimizer="flow").Z.values, Z).max() > 0.01


def test_near_pairs_are_met_where_our_law_is_off_by_a_hundredth() -> None:
    times = [10, 100, 1000]
    Z = ss.solve(ss.TrueFlow(NEAR, 1, 1), times).Z.values
    found, law = (ss.predict(NEAR, 1, 1, times, optimizer="flow", exact=each).Z.values for each in (None, False))
    assert off(found, Z).max() < EXACT
    assert off(law, Z).max() > 0.01


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize(("lr_y", "lr_z"), [(1.0, 0.1), (1.0, 6.0), (20.0, 0.5)])
def test_full_batches_are_as_trained_overshooting_too(lr_y: float, lr_z: float, momentum: float) -> None:
    marks = [2, 9, 30, 100, 400]
    how: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    for classes in (CLASSES, NEAR, ss.with_overlap(3, 50, 0.5).with_frequencies([0.2, 0.3, 0.5])):
        Z = descent(classes, lr_y, lr_z, marks, momentum)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.PredictionOutOfRange)
            found = ss.predict(classes, lr_y, lr_z, marks, **how)
        known = found.expected_error.values < 1  # 1 stands for 100 % or more
        assert known.sum() >= 3
        # Where rounding has grown, another machine's may have grown ten times as far.
        grown = np.where(found.expected_error.values > EXACT, 10, 1)
        assert (off(found.Z.values, Z) < grown * found.expected_error.values)[known].all()
        assert off(found.Z.values, Z)[0] < 1e-9
        assert (found.expected_error <= EXACT).all() or lr_z == 6
    if lr_z == 6 and not momentum:  # the control: our law leaves training here, and says so
        with pytest.warns(ss.PredictionOutOfRange, match="training overshoots"):
            law = ss.predict(CLASSES, lr_y, lr_z, marks, exact=False, **how)
        assert off(law.Z.values, descent(CLASSES, lr_y, lr_z, marks, momentum)).max() > 0.1


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_after_the_updates_made_one_by_one_it_goes_on_as_training_does(momentum: float) -> None:
    lr_y, lr_z = 0.1 * (1 - momentum), 0.05 * (1 - momentum)
    marks = [ONE_BY_ONE, ONE_BY_ONE + 1, 2 * ONE_BY_ONE]
    how: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    found = ss.predict(CLASSES, lr_y, lr_z, marks, **how)
    Z = descent(CLASSES, lr_y, lr_z, marks, momentum)
    assert off(found.Z.values, Z).max() < EXACT
    assert (found.expected_error == EXACT).all()
    assert off(found.Z.values[:1], Z[2:])[0] > 0.05  # control: it moves on


def test_later_updates_that_overshoot_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "ONE_BY_ONE", 4)
    with pytest.warns(ss.PredictionOutOfRange, match="training overshoots"):
        found = ss.predict(CLASSES, 1, 6, [4, 100])
    assert found.expected_error.values[0] == EXACT
    assert found.growth.values[1] > 25


def test_rounding_that_decides_warns() -> None:
    """Training on another machine ends elsewhere. This system was chosen because it's so for several disturbances."""
    drawn = population.system("several queries", 4, seed=80)
    lr_y = 0.33 * drawn.classes.num_classes
    with pytest.warns(ss.PredictionOutOfRange, match="rounding decides, and training itself ends elsewhere"):
        found = ss.predict(drawn.classes, lr_y, lr_y * drawn.ratio, [3, 100])
    assert found.expected_error.values.tolist() == [EXACT, 1.0]
    assert found.rounding.values[1] > 1
    assert found.likely_error.values[1] == min(found.rounding.values[1] / 2, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ss.predict(drawn.classes, lr_y, lr_y, [3, 100])  # control: slower attention


@pytest.mark.filterwarnings("ignore::scansnap_core.PredictionOutOfRange")
def test_where_rounding_decides_it_says_so() -> None:
    """Of systems that set nothing, with fast attention: training by the engine sums in another order."""
    within = []
    said_nothing = []
    largest = 0.0
    for stratum in ("several queries", "a class apart", "edges", "unlike"):
        drawn = next(
            each
            for each in (population.system(stratum, number, seed=81) for number in itertools.count())
            if num_values(each.classes) <= MOST_NUMBERS and each.ratio > 2
        )
        K = drawn.classes.num_classes
        for pace in (0.1, 0.5):
            marks = [10, 30, 100, 300]
            found = ss.predict(drawn.classes, pace * K, pace * K * drawn.ratio, marks)
            error = off(found.Z.values, descent(drawn.classes, pace * K, pace * K * drawn.ratio, marks, 0.0))
            said_nothing += (found.expected_error.values >= 1).tolist()
            within += ((error <= found.expected_error.values) | (found.expected_error.values >= 1)).tolist()
            largest = max(largest, error.max())
    assert np.mean(within) >= 0.9
    assert np.mean(said_nothing) < 0.5
    assert largest > 0.1  # so it's needed


@pytest.mark.filterwarnings("ignore::scansnap_core.PredictionOutOfRange")
def test_a_decoder_that_overshoots_by_itself_lets_rounding_grow_too() -> None:
    """Near classes, slow attention: no step of attention is large."""
    classes = ss.with_overlap(2, 300, 0.99, distinct_weights=[1, 0.5])
    marks = [3, 30, 60, 100]
    found = ss.predict(classes, 20, 0.01, marks)
    assert (found.growth == 0).all()
    assert found.step.max() < 0.1
    assert found.expected_error.values[0] == EXACT
    assert found.expected_error.values[-1] >= 1
    assert off(found.Z.values, descent(classes, 20, 0.01, marks, 0.0)).max() > 100 * EXACT
    slower = ss.predict(classes, 4, 0.01, marks)
    assert (slower.expected_error == EXACT).all()
    assert off(slower.Z.values, descent(classes, 4, 0.01, marks, 0.0)).max() < 1e-9


@pytest.mark.filterwarnings("ignore::scansnap_core.PredictionOutOfRange")
def test_an_oscillation_that_reaches_into_the_integrated_updates_counts_whole() -> None:
    """Integration can't follow it. One that ended before does no harm."""
    marks = [ONE_BY_ONE, ONE_BY_ONE + 1, ONE_BY_ONE + 10]
    found = ss.predict(CLASSES, 0.01, 2.0, marks)
    assert found.expected_error.values[1] >= 1
    assert off(found.Z.values, descent(CLASSES, 0.01, 2.0, marks, 0.0))[1] > 0.1
    soon_over = ss.predict(CLASSES, 1, 30, marks)
    assert soon_over.step.values.max() < 1
    assert (soon_over.growth > 0).all()
    assert (soon_over.expected_error == EXACT).all()


def test_what_was_reached_before_a_failure_allows_for_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_tau, "MOST_RATES", 10)
    drawn = population.system("several queries", 4, seed=80)
    lr_y = 0.33 * drawn.classes.num_classes
    with pytest.raises(ss.IntegrationFailed) as caught:
        ss.predict(drawn.classes, lr_y, lr_y * drawn.ratio, [3, 100, 1e9])
    assert caught.value.reached.expected_error.values.tolist() == [EXACT, 1.0]


def test_where_nothing_moves_rounding_may() -> None:
    """Classes that share nothing: the push on attention is rounding, which overshooting makes large."""
    rows = {"a": {"x": 0.5, "y": 0.3, "z": 0.2}, "b": {"u": 0.6, "v": 0.25, "w": 0.15}}
    classes = ss.SequenceClasses.from_dicts(rows, query_of="q", vocab_size=40)
    found = ss.predict(classes, 1, 0.1, [10, 300])
    assert not found.Z.any()
    assert (found.expected_error == EXACT).all()


def test_evidence_is_the_integral_of_the_errors() -> None:
    """And both are averaged over the classes of a type."""
    for classes in (CLASSES, ss.syn_small(), ss.with_overlap(3, 50, 0.5).with_frequencies([0.2, 0.3, 0.5])):
        types = types_of(classes)
        taus = np.linspace(0.01, 6, 400)
        path = Exact(classes, types, 0.5).path(taus)
        a, own = (np.array([getattr(state, name) for state in path]) for name in ("a", "own"))
        slope = np.gradient(a, taus, axis=0, edge_order=2)
        assert slope == pytest.approx(types.paces * own, rel=2e-3, abs=2e-3)
        assert own[0] == pytest.approx(1 - 1 / classes.vocab_size, rel=0.05)
        flow = ss.solve(ss.TrueFlow(classes, 1, 0.5), [6.0], unit="tau")
        expectation = Expectation(classes)
        errors = expectation.forward(expectation.f(flow.Z.values[0]), flow.Y.values[0]).error
        by_class = (errors * classes.outputs.targets).sum(axis=1)
        assert own[-1][types.of_class] == pytest.approx(by_class, rel=1e-3)


def test_what_shares_no_token_stays_exactly_zero() -> None:
    rows = {"a": {"and": 0.5, "x": 0.3, "y": 0.2}, "b": {"and": 0.4, "u": 0.6}, "c": {"v": 0.7, "w": 0.3}}
    classes = ss.SequenceClasses.from_dicts(rows, query_of="q", vocab_size=40)
    found = ss.predict(classes, 1, 10, [10, 1e5])
    assert found.law == ALL
    own = [classes.labels(classes.tokens).tolist().index(word) for word in ("v", "w")]
    assert (found.Z.values[:, 0, own] == 0).all()
    assert np.abs(found.Z.values[:, 0, :3]).max() > 0.1


def test_the_size_decides_unless_one_asks() -> None:
    assert num_values(CLASSES) == Exact(CLASSES, types_of(CLASSES), 1.0).start(1.0).size
    small, large = unlike(10), unlike(60)
    assert num_values(small) < MOST_NUMBERS < num_values(large)

    def of(classes: ss.SequenceClasses, **how: Any) -> str:
        return str(ss.predict(classes, 1, 0.1, [3], **how).law)

    assert of(small) == of(small, batch_size=64) == of(large, exact=True) == ALL
    assert of(large) == of(small, exact=False) == of(small, seq_len=1e5) == ONE_MEMORY
    numbers = num_values(large)
    assert of(large, optimizer="flow") == ONE_MEMORY
    assert numbers == Exact(large, types_of(large), 1.0).num_values


def test_a_moment_alone_is_what_it_is_among_others() -> None:
    many = [0.5, 3, 17.25, 400, 5000]
    hows: list[dict[str, Any]] = [{}, {"optimizer": "momentum"}, {"optimizer": "flow"}]
    for how in hows:
        among = ss.predict(CLASSES, 1, 0.1, many, **how)
        for i, t in enumerate(many):
            alone = ss.predict(CLASSES, 1, 0.1, [t], **how)
            assert alone.Z.values[0] == pytest.approx(among.Z.values[i], rel=1e-5, abs=1e-12)
            assert alone.expected_error[0] == among.expected_error[i]


def test_updates_that_are_not_finite_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Exact.rate
    monkeypatch.setattr(Exact, "rate", lambda self, packed: plain(self, packed) * (np.inf if packed.any() else 1))
    with pytest.raises(ss.IntegrationFailed, match=r"Y and Z with lr_z/lr_y = 1 could be integrated .* isn't finite"):
        list(InertialLaw(Exact(CLASSES, types_of(CLASSES), 1.0), 0.0, 0.5).path(np.array([20.0])))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_runs_on_endless_sequences_are_sgd(momentum: float) -> None:
    """Their mean is that of training on drawn classes, and its error is as announced."""
    how: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    marks = [5, 20, 60]
    rng = np.random.default_rng(5)
    batches = (rng.multinomial(1, NEAR.frequencies, size=4000) for _ in range(marks[-1]))
    trained = enumerate(trials.descend(NEAR, batches, 2, 0.5, momentum=momentum), 1)
    Z = np.array([Z.mean(axis=0) for t, Z in trained if t in marks])
    found = ss.predict(NEAR, 2, 0.5, marks, batch_size=1, runs=64, **how)
    assert (off(found.Z.values, Z) < 1.5 * found.expected_error.values).all()
    assert found.law == "the mean of runs"
    full = ss.predict(NEAR, 2, 0.5, marks, **how)
    assert (off(full.Z.values, Z) > found.expected_error.values).any()  # control: full batches
