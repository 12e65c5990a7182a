"""The order of classes: its shift of z against the mean over all orders, and against SGD in small batches."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import scansnap_core as ss
from scansnap_core.law import Types, order, trials, types_of
from scansnap_core.law.expected_error import Causes, beyond_first_order, errors_by_cause
from tests.refusing import refuses
from tools.benchmarks.predict import unlike

ALIKE = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
NEAR = ss.with_overlap(2, 1000, 0.6, distinct_weights=[1, 0.8, 0.5])
THREE = ss.with_overlap(3, 300, 0.5, distinct_weights=[1, 0.5])
FIVE = ss.with_overlap(5, 500, 0.3, distinct_weights=[1, 2])
SKEW = ALIKE.with_frequencies([0.3, 0.7])
QUERIES = ss.SequenceClasses.from_dicts(
    {
        "ship": {"and": 0.4, "wave": 0.4, "mast": 0.2},
        "plane": {"and": 0.5, "cloud": 0.5},
        "car": {"and": 0.1, "road": 0.7, "toll": 0.2},
    },
    query_of={"ship": "the", "plane": "the", "car": "a"},
    vocab_size=500,
)
UNLIKE = ss.SequenceClasses.from_dicts(
    {
        "a": {"x": 0.3, "y": 0.2, "p": 0.5},
        "b": {"x": 0.1, "y": 0.3, "q": 0.4, "r": 0.2},
        "c": {"y": 0.4, "s": 0.6},
        "d": {"x": 0.5, "u": 0.5},
    },
    query_of="the",
    vocab_size=2000,
    frequencies={"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1},
)


def placed(types: Types, shifts: Iterable[order.Shift]) -> np.ndarray:
    return np.array([types.per_query(*shift) for shift in shifts])


def shift_of(classes: ss.SequenceClasses, lr_y: float, lr_z: float, t: Any, **how: Any) -> np.ndarray:
    """The shift of Z at batch size 1 after t updates, shape (times, Q, L)."""
    types, pace = types_of(classes), lr_y / classes.num_classes
    term = order.OrderTerm(classes, types, lr_z / lr_y, pace, **how)
    return placed(types, term.path(np.asarray(t) * pace / (1 - how.get("momentum", 0.0))))


def size(Z: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((Z**2).sum(axis=(-2, -1))))


def over_all_orders(classes: ss.SequenceClasses, updates: int, batch: int, lr: float, momentum: float) -> np.ndarray:
    """What the mean of Z over all sequences of draws is off full batches, times B, after 2 and more updates."""
    K, P = classes.num_classes, classes.frequencies
    draws = list(itertools.product(range(K), repeat=batch))
    shares = np.array([np.bincount(drawn, minlength=K) / batch for drawn in draws])
    chances = np.array([np.prod(P[list(drawn)]) for drawn in draws])
    sequences = np.array(list(itertools.product(range(len(draws)), repeat=updates)))
    weight = chances[sequences].prod(axis=1)
    runs = trials.descend(classes, (shares[column] for column in sequences.T), lr, lr, momentum=momentum)
    mean = np.array([np.tensordot(weight, Z, axes=1) for Z in runs])
    full = np.array([Z[0] for Z in trials.descend(classes, [P[None]] * updates, lr, lr, momentum=momentum)])
    return np.asarray(batch * (mean - full)[1:])


@pytest.mark.parametrize(
    ("classes", "updates", "batch", "momentum", "within"),
    [
        (ALIKE, 10, 1, 0.0, 0.01),
        (ALIKE, 6, 2, 0.0, 0.01),
        (NEAR, 10, 1, 0.0, 0.01),
        (SKEW, 10, 1, 0.0, 0.01),
        (THREE, 6, 1, 0.0, 0.01),
        (QUERIES, 6, 1, 0.0, 0.01),
        (UNLIKE, 5, 1, 0.0, 0.01),
        (ALIKE, 10, 1, 0.9, 0.03),
    ],
)
def test_it_is_the_mean_over_all_orders_at_a_small_rate(
    classes: ss.SequenceClasses, updates: int, batch: int, momentum: float, within: float
) -> None:
    """Every sequence of draws counts, so nothing is random; what is left is of the next order in the rate."""
    exact = over_all_orders(classes, updates, batch, 0.02, momentum)
    found = shift_of(classes, 0.02, 0.02, np.arange(2, updates + 1), momentum=momentum)
    assert (size(found - exact) <= within * size(exact)).all()


def test_what_is_left_falls_with_the_rate() -> None:
    left = []
    for lr in (0.4, 0.1):
        exact = over_all_orders(THREE, 6, 1, lr, 0.0)
        left.append((size(shift_of(THREE, lr, lr, np.arange(2, 7)) - exact) / size(exact)).max())
    assert left[0] / left[1] == pytest.approx(4, rel=0.3, abs=0)


SYSTEMS = {
    "two alike": (ALIKE, 1.0, 0.1),
    "two near": (NEAR, 0.5, 0.5),
    "two, one rare": (SKEW, 1.0, 0.2),
    "three, two queries": (QUERIES, 0.8, 0.3),
    "three alike": (THREE, 0.8, 0.1),
    "four unlike": (UNLIKE, 1.0, 0.1),
    "five alike": (FIVE, 0.8, 0.5),
}
MARKS, RUNS = [5, 10, 20], 4000


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("batch_size", [1, 8])
def test_against_sgd_in_small_batches(name: str, batch_size: int) -> None:
    """By :func:`scansnap_core.train`. Tolerances are SGD's own noise, and the error that ``predict`` announces."""
    classes, lr_y, lr_z = SYSTEMS[name]
    recipe: dict[str, Any] = {"steps": MARKS[-1], "record": MARKS, "seq_len": np.inf, "device": "cpu"}
    run = ss.train(classes, lr_y=lr_y, lr_z=lr_z, seeds=range(RUNS), batch_size=batch_size, **recipe)
    Z = run.Z.isel(rate=0).transpose("recorded", "seed", "query", "token").values
    mean = Z.mean(axis=1)
    noise = size(Z.std(axis=1, ddof=1)) / np.sqrt(RUNS)
    found = ss.predict(classes, lr_y, lr_z, MARKS, batch_size=batch_size)
    assert (size(found.Z.values - mean) <= found.expected_error.values * size(mean) + 3 * noise).all()

    # How much of the shift there is, along it, against exact full batches: 1, but for the next order and noise.
    whole = ss.train(classes, lr_y=lr_y, lr_z=lr_z, batch_size=None, **recipe)
    full = whole.Z.isel(rate=0, seed=0).transpose("recorded", "query", "token").values
    shift = found.Z.values - ss.predict(classes, lr_y, lr_z, MARKS).Z.values
    along = shift / size(shift)[:, None, None] ** 2
    share = ((mean - full) * along).sum(axis=(1, 2))
    per_run = (Z * along[:, None]).sum(axis=(2, 3)).std(axis=1, ddof=1) / np.sqrt(RUNS)
    assert (np.abs(share - 1) <= found.order.values + 4 * per_run).all()
    if batch_size == 1:  # so a wrong sign or a factor of 2 is seen, and full batches aren't what SGD does
        assert (found.order.values + 4 * per_run)[-1] < 0.5
        without = ss.predict(classes, lr_y, lr_z, MARKS).Z.values
        assert (size(without - mean) > found.expected_error.values * size(mean) + 3 * noise).all()


def test_the_first_move_has_a_closed_form() -> None:
    """At t = 2 the share is rho (1 - 1/K) eta_Y to first order, for M to infinity."""
    for K, rho in ((2, 0.3), (3, 0.8), (10, 0.1)):
        classes = ss.with_overlap(K, 10**4, rho, distinct_weights=[1, 2])
        (shift,) = shift_of(classes, 0.01, 0.01, [2])
        (full,) = ss.predict(classes, 0.01, 0.01, [2]).Z.values
        assert size(shift) / size(full) == pytest.approx(0.01 * rho * (1 - 1 / K), rel=2e-3, abs=0)


def test_where_nothing_is_shared_it_is_exactly_zero() -> None:
    alone = ss.SequenceClasses([[0.3, 0.7, 0, 0]], query_of=[3])
    apart = ss.SequenceClasses.from_dicts({"a": {"x": 0.6, "y": 0.4}, "b": {"u": 1.0}}, query_of="q", vocab_size=50)
    for classes in (alone, apart):
        assert not shift_of(classes, 1.0, 1.0, [1, 5, 100]).any()
        found = ss.predict(classes, 1, 1, [1, 5, 100], batch_size=1)
        assert not found.order.values.any()
        assert (found.Z.values == ss.predict(classes, 1, 1, [1, 5, 100]).Z.values).all()
    assert not shift_of(alone, 1.0, 1.0, [1, 5, 100], seq_len=32).any()
    near = {"a": {"x": 0.6, "y": 0.4}, "b": {"x": 0.5, "v": 0.5}, "far": {"u": 0.2, "w": 0.8}}
    third = ss.SequenceClasses.from_dicts(near, query_of="q", vocab_size=50)
    shift = shift_of(third, 1.0, 1.0, [5, 100])
    own = [third.coords["token"].tolist().index(word) for word in ("u", "w")]
    assert not shift[..., own].any()
    assert shift.any()


def test_the_shift_is_a_bth_part_and_full_batches_have_none() -> None:
    full, one, four = (ss.predict(UNLIKE, 1, 0.1, [2, 20, 200], batch_size=B).Z.values for B in (None, 1, 4))
    assert four - full == pytest.approx((one - full) / 4, rel=1e-9, abs=1e-15)
    many = ss.predict(UNLIKE, 1, 0.1, [2, 20, 200], batch_size=10**9).Z.values
    assert many == pytest.approx(full, rel=1e-6, abs=1e-12)
    assert not ss.predict(UNLIKE, 1, 0.1, [200]).order.values.any()


@pytest.mark.parametrize("classes", [THREE, FIVE, ss.syn_small()])
def test_one_class_stands_for_all_that_are_like_it(classes: ss.SequenceClasses) -> None:
    """Frequencies that differ in the ninth digit make every class a type of its own."""
    K = classes.num_classes
    times = [3, 10, 100]
    by_types = shift_of(classes, 1.0, 0.3, times)
    apart = classes.with_frequencies((1 + 1e-9 * np.arange(K)) / (K + 1e-9 * np.arange(K).sum()))
    assert len(types_of(classes).size) == 1
    assert len(types_of(apart).size) == K
    found = shift_of(apart, 1.0, 0.3, times)
    assert (size(found - by_types) <= 3e-3 * size(by_types)).all()


def test_few_mixtures_stand_for_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = unlike(18)
    times = np.array([10, 100, 400])
    mixed = shift_of(classes, 1.0, 0.1, times)
    again = shift_of(classes, 1.0, 0.1, times)
    assert (mixed == again).all()
    monkeypatch.setattr(order, "MOST_RESPONSES", 18)
    each = shift_of(classes, 1.0, 0.1, times)
    full = ss.predict(classes, 1, 0.1, times).Z.values
    assert (size(mixed - each) <= 0.02 * size(full)).all()
    assert (size(each) > 0.03 * size(full)).all()


def test_effective_draws_are_those_of_the_sums() -> None:
    for mu in (0.0, 1e-9, 0.3, 0.9, 0.99):
        for t in (1, 2, 7, 50, 1000):
            c = (1 - mu ** np.arange(1, t + 1)) / (1 - mu)
            exact = c.sum() ** 2 / (c**2).sum()
            assert order.effective_draws(float(c.sum()), mu) == pytest.approx(exact, rel=1e-6, abs=0)


def test_momentum_against_sgd() -> None:
    """With momentum the factor 1/(1 - mu) on the shift of plain SGD isn't enough; three times are looked at."""
    marks, runs, mu = [10, 30, 100], 3000, 0.9
    rng = np.random.default_rng(8)
    draws = (rng.multinomial(1, [0.5, 0.5], size=runs) for _ in range(marks[-1]))
    kept = [Z.copy() for t, Z in enumerate(trials.descend(ALIKE, draws, 0.05, 0.005, momentum=mu), 1) if t in marks]
    full = [Z[0].copy() for Z in trials.descend(ALIKE, [[[0.5, 0.5]]] * marks[-1], 0.05, 0.005, momentum=mu)]
    found = ss.predict(ALIKE, 0.05, 0.005, marks, optimizer="momentum", momentum=mu, batch_size=1)
    for Z, t, predicted, announced in zip(kept, marks, found.Z.values, found.expected_error.values, strict=True):
        noise = size(Z.std(axis=0, ddof=1)) / np.sqrt(runs)
        assert size(predicted - Z.mean(axis=0)) <= announced * size(Z.mean(axis=0)) + 3 * noise
        assert size(full[t - 1] - Z.mean(axis=0)) > 3 * noise


def test_a_late_moment_and_a_fraction_of_an_update() -> None:
    alone, among = (shift_of(ALIKE, 1.0, 0.1, t)[-1] for t in ([1e5], [1, 2.5, 8, 9, 1e3, 1e5]))
    assert alone == pytest.approx(among, rel=1e-2, abs=1e-9)
    between, two, three = (shift_of(ALIKE, 1.0, 0.1, [t])[0] for t in (2.5, 2, 3))
    assert between == pytest.approx((two + three) / 2, rel=1e-9, abs=1e-15)
    assert not shift_of(ALIKE, 1.0, 0.1, [0.5, 1]).any()


def test_what_has_no_batches_or_too_many_classes_is_refused() -> None:
    with refuses(
        "batch_size = 8 of a flow",
        "the gradient flow has no batches",
        'leave batch_size out, or ask for optimizer="sgd"',
    ):
        ss.predict(ALIKE, 1, 1, [10], optimizer="flow", batch_size=8)
    with refuses("batch_size = 0", "a positive integer"):
        ss.predict(ALIKE, 1, 1, [10], batch_size=0)
    with refuses(
        "330 unlike classes with batch_size",
        "with batch_size the law has at most 100,000 numbers, of some 300 unlike classes",
        "leave batch_size out for full batches, or use fewer classes",
    ):
        ss.predict(unlike(330), 1, 1, [10], batch_size=8)


def test_batches_too_small_for_the_rate_warn() -> None:
    with pytest.warns(ss.PredictionOutOfRange, match="in batches of 1 the order of classes moves z too far") as caught:
        found = ss.predict(NEAR, 6, 0.6, [10, 100], batch_size=1)
    assert len(caught) == 1
    assert found.order[1] < found.order[0] < found.largest_order[0]  # the runs' lead is lost again
    left_out = beyond_first_order(found.order, found.largest_order, draw=6.0, momentum=0.0)
    assert found.chance.values == pytest.approx(left_out, rel=1e-12)
    want = [errors_by_cause(Causes(0.0, 0.0, chance)) for chance in found.chance.values]
    assert found.likely_error.values.tolist() == [error.likely.max() for error in want]
    assert found.expected_error.values.tolist() == [error.expected.max() for error in want]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ss.predict(NEAR, 6, 0.6, [10, 100], batch_size=64)


def test_a_failure_keeps_what_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ss.predict(ALIKE, 1, 1, [0, 10, 20, 1e4], batch_size=1)
    plain = order.OrderedLaw.along

    def gives_up(law: order.OrderedLaw, rhs: Any, begin: float, taus: np.ndarray, start: np.ndarray) -> list[Any]:
        found = plain(law, rhs, begin, taus[taus < 50 / 2], start)
        raise ss.IntegrationFailed("it gives up", 25.0, found)

    monkeypatch.setattr(order.OrderedLaw, "along", gives_up)
    with pytest.raises(ss.IntegrationFailed, match="it gives up") as caught:
        ss.predict(ALIKE, 1, 1, [0, 10, 20, 1e4], batch_size=1)
    assert caught.value.last == pytest.approx(50, rel=1e-9, abs=0)
    assert caught.value.reached.recorded.values.tolist() == [0, 10, 20]
    assert caught.value.reached.Z.values == pytest.approx(whole.Z.values[:3], rel=1e-3, abs=1e-12)
