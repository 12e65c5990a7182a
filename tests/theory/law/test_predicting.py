"""``predict``: what it returns, in which labels and on which clock, what it refuses, and how fast it is."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import scansnap_core as ss

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


def test_a_class_without_distinct_tokens_has_no_entropy() -> None:
    classes = ss.SequenceClasses([[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0, 0.7, 0.3, 0]], query_of=[3, 3, 3])
    found = ss.predict(classes, 1, 1, [10])
    assert np.isnan(found.entropy.values[0]).tolist() == [True, True, False]
    assert found.dominant.values.tolist() == [-1, -1, 2]
    assert np.isnan(found.chi_dominant.values[0]).tolist() == [True, True, False]


def test_regimes_and_phases_follow_the_clocks() -> None:
    found = ss.predict(CLASSES, 1, 0.01, [0, 2, 1e3, 1e12])
    assert found.phase.values[:, 0].tolist() == ["start", "scan", "drift", "late"]
    names = np.array(found.regime.flag_meanings.split())
    assert set(names[found.regime.values[1].ravel()]) == {"free"}
    fast = ss.predict(CLASSES, 1, 100, [1e3])
    assert set(names[fast.regime.values.ravel()]) == {"slaved"}
    two_queries = ss.predict(ss.syn_small(), 1, 1, [10])
    held = ss.syn_small().compact.probs > 0
    assert (names[two_queries.regime.values[0]] == "rest").tolist() == (~held).tolist()


def test_the_clock_counts_steps_of_batch_size_one() -> None:
    once, scaled = ss.predict(CLASSES, 1, 0.1, [1000]), ss.predict(CLASSES, 10, 1, [100])
    assert once.Z.values == pytest.approx(scaled.Z.values, rel=1e-9, abs=0)


def test_a_late_moment_alone_is_what_it_is_among_others() -> None:
    for options in ({}, {"seq_len": 32}, {"optimizer": "momentum"}):
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


def test_one_class_has_nothing_to_move() -> None:
    found = ss.predict(ss.SequenceClasses([[0.3, 0.7, 0, 0]], query_of=[2]), 1, 1, [1, 100])
    assert found.Z.values == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seq_len": 1}, "at least 2"),
        ({"optimizer": "adam"}, "the choices are sgd"),
        ({"momentum": 0.5}, "only the optimizer momentum"),
        ({"t": [2, 1]}, "ascending"),
        ({"lr_y": 0}, "positive and finite"),
        ({"lr_y": 1e-300, "lr_z": 1e300}, "lr_z/lr_y = inf: "),
        ({"lr_y": 1e300, "t": [1e300]}, "lr_y t/K = inf: "),
    ],
)
def test_what_it_has_no_law_for_is_refused(changes: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"lr_y": 1, "lr_z": 1, "t": [1.0]} | changes
    with pytest.raises(ss.BadInput, match=message):
        ss.predict(CLASSES, **arguments)  # type: ignore[arg-type]


def test_a_thousand_classes_take_no_longer_than_two() -> None:
    classes = ss.syn_large(1000, 50_272)
    ss.predict(CLASSES, 1, 1, [1.0])
    start = time.process_time()
    found = ss.predict(classes, 1, 0.1, [1e6])
    assert time.process_time() - start < 1
    assert found.Z.shape == (1, 500, 10_010)


def test_momentum_and_finite_length_as_in_training() -> None:
    classes = ss.syn_small()
    recipe: dict[str, Any] = {"lr_y": 1, "lr_z": 1, "seq_len": 128, "optimizer": "momentum"}
    found = ss.predict(classes, t=[100], **recipe).Z.values
    run = ss.train(classes, steps=100, record=[100], seeds=range(4), batch_size=512, **recipe)
    Z = run.Z.isel(rate=0).mean("seed").values
    assert np.linalg.norm(found - Z) < 0.1 * np.linalg.norm(Z)
    for change in ({"optimizer": "sgd"}, {"momentum": 0.5}, {"seq_len": 16}):
        other = ss.predict(classes, t=[100], **(recipe | change)).Z.values
        assert np.linalg.norm(other - Z) > 0.15 * np.linalg.norm(Z), change
