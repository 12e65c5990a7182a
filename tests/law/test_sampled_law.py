"""Means over sequences of finite length against all counts, and the law with them against SGD."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multinomial

import scansnap_core as ss
from scansnap_core.base.rules import SEQ_LEN
from scansnap_core.law import Law, types_of
from scansnap_core.law.sample_means import EXACT_UP_TO, Counts, FirstOrder, means
from scansnap_core.law.sampled_law import SampledLaw
from tests.refusing import refuses

NO_TILT = np.ones(1)
"""Of a class that is still wrong on every sample alike."""


def all_samples(probs: np.ndarray, num: int, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every f of `num` tokens and its chance."""
    but_one = itertools.product(range(num + 1), repeat=len(probs) - 1)
    counts = np.array([(*k, num - sum(k)) for k in but_one if sum(k) <= num])
    f = counts * np.exp(z)
    return f / np.linalg.norm(f, axis=1, keepdims=True), multinomial.pmf(counts, num, probs)


@pytest.mark.parametrize(
    ("probs", "num", "z"),
    [
        ([0.5, 0.3, 0.2], 20, [0.0, 0.0, 0.0]),
        ([0.4, 0.3, 0.2, 0.1], 9, [0.3, -1.0, 1.0, 2.0]),
        ([0.75, 0.25], 1, [0.0, 0.0]),
        ([0.25, 0.25, 0.25, 0.25], 6, [0.0, 0.0, 1.5, 1.5]),
    ],
)
def test_means_are_those_over_all_counts(probs: list[float], num: int, z: list[float]) -> None:
    f, chance = all_samples(np.array(probs), num, np.array(z))
    rows = np.random.default_rng(0).normal(size=(2, len(probs)))
    counts = Counts(np.array(probs), num + 1, np.array(z))
    np.testing.assert_allclose(counts.mean_f(), chance @ f, rtol=0, atol=1e-12)
    expected = [chance @ (f * row - f**2 * (f @ row)[:, None]) for row in rows]
    np.testing.assert_allclose(counts.pull(rows), expected, rtol=0, atol=1e-12)


def test_tokens_that_no_class_holds_stay_at_zero() -> None:
    held = Counts(np.array([0.6, 0.4]), 8)
    padded = Counts(np.array([0.6, 0.0, 0.4]), 8)
    assert padded.mean_f()[1] == 0
    np.testing.assert_allclose(padded.mean_f()[[0, 2]], held.mean_f(), rtol=1e-12)
    for seq_len in (1, 2.5):
        with refuses(f"seq_len = {seq_len}", SEQ_LEN.says):
            Counts(np.array([0.5, 0.5]), seq_len)
    with refuses("seq_len = inf", "these are means over finite sequences"):
        Counts(np.array([0.5, 0.5]), math.inf)


def test_first_order_is_the_limit_of_the_exact_means() -> None:
    probs, z = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.0, -0.4, 0.2])
    f = probs * np.exp(z)
    f /= np.linalg.norm(f)
    first, row, num = FirstOrder(probs, f), np.array([0.3, -1.0, 0.5, 2.0]), 600
    counts = Counts(probs, num + 1, z)
    assert np.abs(num * (counts.mean_f() - f) - first.mean_f()).max() < 0.03
    scatter = []
    for n in (30, 60):
        samples, chance = all_samples(probs, n, z)
        scatter.append(n * (chance @ samples**2 - (chance @ samples) ** 2))
    np.testing.assert_allclose(2 * scatter[1] - scatter[0], first.variance, atol=0.01)  # 1/n extrapolated away
    limit = f * (row - f * (f @ row))
    assert np.abs(num * (counts.pull(row) - limit) - first.pull(row)).max() < 0.1
    np.testing.assert_allclose(
        first.pull(f) + f * first.mean_f() - f**2 * (f @ first.mean_f()), first.own(), atol=1e-14
    )


@pytest.mark.parametrize("kappa", [0.2, 0.5])
def test_means_weighed_by_errors_are_those_over_all_counts(kappa: float) -> None:
    probs, z, row = np.array([0.5, 0.3, 0.2]), np.array([0.3, -0.2, 0.1]), np.array([0.7, -0.2, 1.1])
    f = probs * np.exp(z) / np.linalg.norm(probs * np.exp(z))
    beside = np.array([0.3, -0.5, 0.1])
    beside -= f * (f @ beside)
    far = []
    for num in (100, 400):
        samples, chance = all_samples(probs, num, z)
        weight = chance * np.exp(-(samples - f) @ (kappa * num * f + beside))
        weight /= weight.sum()
        exact = weight @ samples - f, weight @ (samples * row - samples**2 * (samples @ row)[:, None])
        exact = exact[0], exact[1] - f * (row - f * (f @ row))
        tilted, plain = FirstOrder(probs, f, kappa, beside), FirstOrder(probs, f)
        far.append([np.abs(num * x - y).max() for x, y in zip(exact, (tilted.mean_f(), tilted.pull(row)), strict=True)])
    assert (np.array(far[1]) < 0.35 * np.array(far[0])).all()  # a quarter in the end
    assert np.abs(num * exact[0] - plain.mean_f()).max() > 5 * far[1][0]


def test_long_sequences_go_on_from_the_exact_ones() -> None:
    probs = np.array([0.5, 0.3, 0.2])
    exact = Counts(probs, 2 * EXACT_UP_TO)
    F = exact.mean_f()
    found = means(probs, 2 * EXACT_UP_TO)
    np.testing.assert_allclose(found.f, F, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.push, exact.pull(F), rtol=1e-3)
    assert (means(probs, math.inf).push == 0).all()


def sampled(classes: ss.SequenceClasses, ratio: float, seq_len: float, tau: float) -> np.ndarray:
    types = types_of(classes)
    law = Law(types, ratio) if math.isinf(seq_len) else SampledLaw(types, ratio, seq_len)
    at = law.path(np.array([tau]))[0]
    return types.per_query(at.z_common, at.z_distinct)


def test_at_infinity_it_is_the_law() -> None:
    classes = ss.with_overlap(3, 1000, 0.2, distinct_weights=[1, 2])
    types = types_of(classes)
    at = SampledLaw(types, 1.0, math.inf).path(np.array([20.0]))[0]
    np.testing.assert_allclose(
        types.per_query(at.z_common, at.z_distinct), sampled(classes, 1.0, math.inf, 20.0), rtol=1e-5, atol=1e-9
    )


def test_sgd_on_syn_small_obeys_it() -> None:
    classes = ss.syn_small()
    run = ss.train(classes, lr_y=0.5, lr_z=0.5, steps=100, seeds=range(4), batch_size=256, seq_len=64, record=[100])
    Z = run.Z.isel(rate=0, recorded=0).mean("seed").values
    near, far = (np.linalg.norm(sampled(classes, 1.0, T, 25.0) - Z) / np.linalg.norm(Z) for T in (64, math.inf))
    assert near < 0.06
    assert far > 0.1


def test_at_any_z_means_are_nearly_the_exact_ones() -> None:
    classes, seq_len = ss.with_overlap(2, 100, 0.3, distinct_weights=[1, 0.5]), 65
    types = types_of(classes)
    law = SampledLaw(types, 1.0, seq_len)
    z = np.array([-0.3, 0.4, -0.2])
    state = law.unpack(law.start(1.0))._replace(z_common=z[None, :1], z_distinct=z[None, 1:])
    row = np.array([0.5, 2.0, -1.0])
    counts = Counts(np.hstack([types.common, types.distinct])[0], seq_len, z)
    f, F = np.hstack(Law.attention(law, state))[0], np.hstack(law.attention(state))[0]
    _, pulled = law.learned_and_push(state, law.attention(state), NO_TILT, (row[None, :1], row[None, 1:]))
    pulled = np.hstack(pulled)[0]
    limit = f * (row - f * (f @ row))
    for exact, near, far in ((counts.mean_f(), F, f), (counts.pull(row), pulled, limit)):
        assert np.linalg.norm(near - exact) < 0.2 * np.linalg.norm(far - exact)


def test_at_rest_the_own_pull_is_exact() -> None:
    types = types_of(ss.syn_small())
    law = SampledLaw(types, 1.0, 32)
    state = law.unpack(law.start(1.0))
    F = law.attention(state)
    expected = means(np.hstack([types.common, types.distinct])[0], 32)
    np.testing.assert_allclose(np.hstack(F)[0], expected.f, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        np.hstack(law.learned_and_push(state, F, NO_TILT, F)[1])[0], expected.push, rtol=0, atol=1e-12
    )


def unlike_classes() -> np.ndarray:
    probs = np.zeros((3, 12))
    probs[[[0], [1], [2]], [[0, 1, 3], [1, 2, 4], [0, 2, 5]]] = [0.5, 0.2, 0.3], [0.6, 0.1, 0.3], [0.2, 0.5, 0.3]
    return probs


def off_by(one: np.ndarray, exact: np.ndarray) -> float:
    return float(np.abs(one - exact).max() / np.abs(exact).max())


def distances(classes: ss.SequenceClasses, seq_len: int, tau: float) -> np.ndarray:
    """How far the law's means are from those over all samples, shape (3, 4): of a class's error and of the others',
    of f and of its push, both weighed by errors. Then what T = infinity says, and the means without their weights."""
    types = types_of(classes)
    law = SampledLaw(types, 1.0, seq_len)
    state = law.path(np.array([tau]))[0]
    F = law.attention(state)
    rows = law.rows(state, F)
    errors = law.errors(state, F, rows)
    g = law.gradient(state, errors, rows)[1]
    own, others, learned, push = [], [], [], []
    cut, logits = types.common.shape[1], np.hstack([state.z_common[types.query], state.z_distinct])
    for i, (z, p, felt) in enumerate(zip(logits, np.hstack([types.common, types.distinct]), np.hstack(g), strict=True)):
        held, chance = all_samples(p[p > 0], seq_len - 1, z[p > 0])
        f = np.zeros((len(held), len(p)))
        f[:, p > 0] = held
        alone, by_class = f[:, cut:] @ rows.distinct[i], f[:, :cut] @ rows.classes
        mine = np.exp(by_class[:, i] + alone * state.a[i])
        theirs = np.exp(by_class - np.outer(alone, state.b[i])) * (types.others[i] > 0)
        total = mine + theirs @ types.others[i] + types.rest * np.exp(f[:, :cut] @ rows.rest - alone * rows.c[i])
        error = 1 - mine / total
        own.append(chance @ error)
        others.append(chance @ (theirs / total[:, None]))
        weight = chance * error / own[-1]
        learned.append(weight @ f)
        push.append(weight @ (f * felt - f**2 * (f @ felt)[:, None]))
    exact = [np.array(mean) for mean in (own, others, learned, push)]
    at_mean, f = Law.errors(law, state, F, rows), np.hstack(Law.attention(law, state))
    still = f * (np.hstack(g) - f * (f * np.hstack(g)).sum(axis=1, keepdims=True))
    said = (
        [errors.own, errors.other, *map(np.hstack, law.learned_and_push(state, F, errors.own, g))],
        [at_mean.own, at_mean.other, f, still],
        [errors.own, errors.other, *map(np.hstack, law.learned_and_push(state, F, np.ones_like(errors.own), g))],
    )
    return np.array([[off_by(one, mean) for one, mean in zip(each, exact, strict=True)] for each in said])


@pytest.mark.parametrize("tau", [10.0, 40.0])
@pytest.mark.parametrize(
    "classes",
    [ss.with_overlap(2, 100, 0.3, distinct_weights=[1, 0.5]), ss.SequenceClasses(unlike_classes(), query_of=[9] * 3)],
)
def test_errors_and_pushes_are_near_their_means_over_samples(classes: ss.SequenceClasses, tau: float) -> None:
    short, long = distances(classes, 33, tau), distances(classes, 129, tau)
    assert (long[0] < short[0] / 6).all()  # of second order in 1/T: 16 in the end
    assert (long[0] < 0.5 * long[1]).all()
    assert (long[0, 2:] < 0.4 * long[2, 2:]).all()


def test_the_first_move_is_that_of_exact_means_where_classes_are_not_equally_frequent() -> None:
    P, M, seq_len, t = np.array([0.02, 0.08, 0.9]), 12, 6, 1e-3
    alike = ss.SequenceClasses(unlike_classes(), query_of=[9] * 3)
    counts = [Counts(row, seq_len) for row in alike.compact.probs]
    F, errors = np.stack([each.mean_f() for each in counts]), np.eye(3, M) - 1 / M
    rows = (errors @ errors.T * P) @ F  # of Y, times e_n - alpha_n, per unit of time
    exact = t**2 / 2 * sum(p * each.pull(row) for p, each, row in zip(P, counts, rows, strict=True))
    off = [
        np.abs(sampled(classes, 1.0, seq_len, t / 3)[0] - exact).max() / np.abs(exact).max()
        for classes in (alike.with_frequencies(P), alike)
    ]
    assert off[0] < 1e-3  # other classes' rows by frequency; unweighed they'd be off by 1.6e-3
    assert off[1] > 0.1  # control


@pytest.mark.parametrize(("weights", "rho"), [([1, 1], 1 / 3), ([1, 1, 1], 1 / 4)])
def test_equally_frequent_tokens_are_pushed_as_nearly_equal_ones_are(weights: list[float], rho: float) -> None:
    """All tokens of a class have one probability here, so that the push s is exactly zero."""
    equal = ss.with_overlap(2, 1000, rho, distinct_weights=weights)
    nearly = ss.with_overlap(2, 1000, rho, distinct_weights=np.linspace(1, 0.999, len(weights)))
    for seq_len in (64, 512):
        assert_near(sampled(equal, 0.01, seq_len, 100.0), sampled(nearly, 0.01, seq_len, 100.0), 0.05)
    flow = ss.FiniteLengthFlow(equal, lr_y=1.0, lr_z=0.01, seq_len=512)
    assert_near(sampled(equal, 0.01, 512, 20.0), ss.solve(flow, [40.0]).Z.values[0], 0.02)


def assert_near(found: np.ndarray, known: np.ndarray, share: float) -> None:
    """The distance is at most this share of what is known."""
    assert np.linalg.norm(found - known) <= share * np.linalg.norm(known)
