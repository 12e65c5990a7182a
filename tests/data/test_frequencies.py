"""P(n): what is said of it, what it's told apart by, what is drawn by it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import scansnap_core as ss
from scansnap_core.data.sequences import checksum
from scansnap_core.engine.compiled import SharedRuns, SupportRun
from scansnap_core.engine.settings import Settings
from scansnap_core.theory import dynamics
from tests.engine.references import frequent_classes, overlapping_classes
from tests.refusing import refuses

TOPICS = {"ship": {"and": 0.4, "wave": 0.6}, "plane": {"and": 0.4, "cloud": 0.6}}


def test_uniform_ones_are_the_default_to_the_last_bit() -> None:
    plain = overlapping_classes()
    for given in ([1 / 3] * 3, [0.3333333, 0.3333333, 0.3333333], np.array([0.1, 0.1, 0.1]) / 0.3, None):
        classes = plain.with_frequencies(given)
        assert classes == plain
        assert hash(classes) == hash(plain)
        assert checksum(classes) == checksum(plain)
        assert (classes.frequencies == 1 / 3).all()
        assert (classes.paces == 1).all()
        assert repr(classes) == repr(plain)
    drawn = [source.sample(20, 8, np.random.default_rng(3))[0].tolist() for source in (plain, classes)]
    assert drawn[0] == drawn[1] == np.random.default_rng(3).integers(3, size=20).tolist()


def test_others_are_another_class_system() -> None:
    plain, classes = overlapping_classes(), frequent_classes()
    other = plain.with_frequencies([0.2, 0.3, 0.5])
    assert plain != classes != other
    assert len({checksum(each) for each in (plain, classes, other)}) == 3
    assert repr(classes) == "SequenceClasses(K=3, M=9, queries=2, frequencies=0.2..0.5)"
    assert classes.frequencies.tolist() == [0.2, 0.5, 0.3]
    assert classes.with_frequencies(None) == plain
    rounded = plain.with_frequencies([0.2, 0.5, 0.3000001])
    assert rounded.frequencies.sum() == pytest.approx(1, rel=1e-15, abs=0)


def test_they_permute_with_the_classes() -> None:
    classes, order = frequent_classes(), [2, 0, 1]
    moved = ss.SequenceClasses(
        classes.probs[order], classes.query_of[order], classes.next_of[order], frequencies=classes.frequencies[order]
    )
    predicted = [ss.predict(each, 1.0, 1.0, [30.0]) for each in (classes, moved)]
    assert predicted[1].Z.values == pytest.approx(predicted[0].Z.values, abs=1e-6)
    assert predicted[1].evidence.values == pytest.approx(predicted[0].evidence.values[:, order], rel=1e-5, abs=0)
    uniform = ss.predict(classes.with_frequencies(None), 1.0, 1.0, [30.0])
    assert np.abs(uniform.Z.values - predicted[0].Z.values).max() > 1e-3  # control


def test_names_and_files_say_them(tmp_path: Path) -> None:
    named = ss.SequenceClasses.from_dicts(TOPICS, query_of="the", frequencies={"plane": 0.2, "ship": 0.8})
    assert named.frequencies.tolist() == [0.8, 0.2]
    assert named.with_frequencies(None) == ss.SequenceClasses.from_dicts(TOPICS, query_of="the")
    (tmp_path / "by_hand.yaml").write_text(
        "classes:\n  - {name: ship, query: the, frequency: 0.8, probs: {and: 0.4, wave: 0.6}}\n"
        "  - {name: plane, query: the, frequency: 0.2, probs: {and: 0.4, cloud: 0.6}}\n"
    )
    assert ss.SequenceClasses.load(tmp_path / "by_hand.yaml") == named
    for classes in (named, frequent_classes(), overlapping_classes()):
        classes.save(tmp_path / "saved.yaml")
        assert ss.SequenceClasses.load(tmp_path / "saved.yaml") == classes
        entries = yaml.safe_load((tmp_path / "saved.yaml").read_text())["classes"]
        assert ["frequency" in entry for entry in entries] == [not classes.is_uniform] * len(entries)


def test_the_audit_says_how_far_they_are_from_uniform() -> None:
    plain = ss.with_overlap(2, 1000, 0.3)
    assert "uniform classes" not in str(ss.audit(plain))
    (condition,) = (each for each in ss.audit(plain.with_frequencies([0.2, 0.8])) if each.name == "uniform classes")
    assert condition.actual == "0.2 to 0.8, 0.4 to 1.6 times 1/K"
    assert condition.required == "P(n) = 1/K = 0.5 (Theorems 1 and 5, Lemma 12, Corollary 1)"
    assert not condition.holds


FINITE: dict[str, Any] = {"lr_y": 1.0, "lr_z": 1.0, "steps": 1, "batch_size": 2, "seq_len": 3, "rng": "replay"}
EXPECTED: dict[str, Any] = FINITE | {
    "batch_size": None, "seq_len": np.inf, "rng": "fresh", "seeds": [0], "optimizer": "sgd", "initial": "zero",
    "record": None, "device": "cpu", "dtype": "float64",
}  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        lambda classes: ss.train(classes, **FINITE),
        lambda classes: SupportRun(classes, 1.0, 1.0),
        lambda classes: SharedRuns(classes, Settings(**EXPECTED)),
        lambda classes: dynamics.moments(classes, 1.0),
        lambda classes: ss.IdealisedFlow(classes, 1.0, 1.0, clock="printed"),
    ],
)
def test_what_is_for_uniform_classes_alone(call: Callable[[ss.SequenceClasses], Any]) -> None:
    call(overlapping_classes())
    with refuses("… of classes with P(n) from 0.2 to 0.5", "it's defined for uniform classes, P(n) = 1/K = 0.333"):
        call(frequent_classes())
