"""The numbers that the answer in sentences is about, each against another way to it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from scansnap_core import SequenceClasses, with_overlap
from scansnap_core.base.rules import RATE, SEQ_LEN
from scansnap_core.law.answer import answer
from scansnap_core.law.answer_numbers import numbers
from scansnap_core.law.phases import tilt, turning_length
from scansnap_core.law.sentences import SENTENCES
from scansnap_core.theory import clocks
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from scansnap_core.theory.solving import solve
from tests.refusing import refuses

CLASSES = with_overlap(3, 1000, 0.3, distinct_weights=[1, 0.8, 0.5])
TOPICS = list(SENTENCES)


def test_halves_are_where_the_flows_have_lost_half() -> None:
    found = numbers(CLASSES, 1.0, 1.0, 100.0)
    for name, flow in (("ten", IdealisedFlow), ("true", TrueFlow)):
        half = found[f"half_{name}"]
        probs = CLASSES.compact.probs[0]
        z = solve(flow(CLASSES, 1.0, 1.0), [half if np.isfinite(half) else 1e6 * found["snap"]]).Z.values[0, 0]
        c = probs * np.exp(z)
        kept = (c / c.sum())[0] / probs[0]
        assert (kept == pytest.approx(0.5, rel=1e-7, abs=0)) if np.isfinite(half) else kept > 0.5
    assert np.isfinite(found["half_ten"])


def test_the_length_at_which_overlap_and_sampling_are_equal_is_the_laws() -> None:
    found = numbers(CLASSES, 0.5, 0.1, 100.0, seq_len=64)
    own = tilt(CLASSES.compact.probs[0])[[1, 3]]
    lengths = turning_length(own, 0.5 * found["snap"] / 3, 3, 1000, 0.3)
    assert found["T_drift"] == pytest.approx(lengths.max(), rel=1e-6, abs=0)
    assert np.sign([found["push_first"], found["push_last"]]).tolist() == np.sign(own).tolist()
    turning = turning_length(own, 0.5 * found["t_drift"] / 3, 3, 1000, 0.3).max()
    assert turning == pytest.approx(64, rel=1e-6, abs=0)


def test_memory_reaches_one_when_it_is_said_to() -> None:
    found = numbers(CLASSES, 0.5, 0.1, 100.0)
    a = 999 * clocks.h(found["t_memory"] / 3, 1000, 0.5)
    probs = CLASSES.compact.probs[0]
    assert 0.1 / 0.5 / 2 * (probs[1] ** 2 / (probs**2).sum()) * a**2 == pytest.approx(1, rel=1e-9, abs=0)


def test_momentum_makes_the_clock_run_faster() -> None:
    plain, fast = (
        numbers(CLASSES, 1.0, 0.1, 100.0 * factor, optimizer=name, momentum=mu)
        for factor, name, mu in ((1, "sgd", None), (0.5, "momentum", 0.5))
    )
    for name in ("lost_true", "lost_ten", "after_true", "memory"):
        assert fast[name] == pytest.approx(plain[name], rel=1e-6, abs=0)
    assert fast["snap"] == pytest.approx(plain["snap"] / 2, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("size", "rates", "seq_len", "said"),
    [
        ((2, 5000, 0.3), (1.0, 0.1), 64, "it assumes endless sequences and yours are short"),
        ((10, 1000, 0.1), (0.5, 0.05), np.inf, "applies in part"),
        ((2, 5000, 0.3), (1.0, 0.01), np.inf, "The paper’s assumptions on rates and overlaps hold"),
        ((2, 100, 0.3), (1.0, 0.05), np.inf, "You are outside of the paper’s assumptions"),
    ],
)
def test_each_topic_is_answered(
    size: tuple[int, int, float], rates: tuple[float, float], seq_len: float, said: str
) -> None:
    told = answer(with_overlap(*size, distinct_weights=[1, 0.5]), *rates, 100.0, seq_len=seq_len)
    assert list(told) == TOPICS
    assert len(told["In short"]) == 1
    assert said in told["In short"][0]
    assert not re.search(r"[{}]|nan", str(list(told.values())))


def test_words_are_the_first_classs() -> None:
    sea = {"and": 0.3, "wave": 0.5, "sail": 0.2}
    classes = SequenceClasses.from_dicts(
        {"ship": sea, "plane": {"and": 0.6, "cloud": 0.4}}, query_of="the", vocab_size=50
    )
    told = answer(classes, 1.0, 0.1, 100.0)
    assert told["Who leads"][0].startswith("Before training “wave” has 2.5 times the attention of “sail”.")
    assert told["The common word"][0].startswith("At the start “and” has 30 % of the attention.")


ALONE = SequenceClasses.from_dicts({"a": {"x": 1.0}, "b": {"y": 1.0}}, query_of="q", vocab_size=20)


@pytest.mark.parametrize(
    ("changed", "value", "rule"),
    [
        ({"steps": 0.5}, "steps = 0.5", "a number in [1, 5.47013e+07)"),
        ({"steps": 1e12}, "steps = 1000000000000.0", "a number in [1, 5.47013e+07)"),
        ({"lr_z": 0.0}, "lr_z = 0.0", RATE.says),
        ({"seq_len": 1}, "seq_len = 1", SEQ_LEN.says),
        ({"classes": ALONE}, "class a", "the first class holds a common token"),
    ],
)
def test_bad_arguments(changed: dict[str, Any], value: str, rule: str) -> None:
    with refuses(value, rule):
        numbers(**dict[str, Any](classes=CLASSES, lr_y=1.0, lr_z=0.1, steps=100.0) | changed)


def test_a_gain_of_the_common_word_is_said_to_be_one() -> None:
    topics = {"a": {"and": 0.51, "of": 0.26, "x": 0.23}, "b": {"and": 0.08, "of": 0.26, "y": 0.33, "w": 0.33}}
    classes = SequenceClasses.from_dicts(topics, query_of="the", vocab_size=1000)
    assert numbers(classes, 1.0, 0.1, 1000.0)["lost_true"] < 0
    assert "A minus means that “and” gained attention." in answer(classes, 1.0, 0.1, 1000.0)["The common word"]
    assert len(answer(CLASSES, 1.0, 0.1, 1000.0)["The common word"]) == 3
