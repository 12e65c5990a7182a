"""What the clocks refuse, and the ends of what they take. Their values are compared in test_flows and test_omega."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from scansnap_core.bad_input import BadInput
from scansnap_core.theory import clocks


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, "10", None, [10]])
@pytest.mark.parametrize("name", ["num_classes", "vocab_size"])
def test_a_transition_is_one_of_positive_numbers(name: str, wrong: Any) -> None:
    sizes = {"num_classes": 10, "vocab_size": 100} | {name: wrong}
    with pytest.raises(BadInput, match=f"{name} = .*: a positive finite number"):
        clocks.transition(**sizes, lr_y=1.0)


def test_both_ends_of_the_transition_are_in_units_of_classes_over_rate() -> None:
    unit = clocks.transition(1, 100, 1.0)
    assert clocks.transition(0.5, 100, 2.0) == pytest.approx([end / 4 for end in unit], rel=1e-13, abs=0)


def test_two_tokens_are_a_vocabulary_and_less_is_not() -> None:
    assert clocks.h(0.0, 2, 1.0) == 0
    with pytest.raises(BadInput, match=r"vocab_size = 1\.99: M is finite and at least 2"):
        clocks.h(0.0, 1.99, 1.0)


def test_the_recursion_is_ahead_by_its_lead() -> None:
    sizes, rates = np.array([50.0, 1000.0]), np.array([[0.3], [2.0]])
    heights, ahead = clocks.lead(50, sizes, rates)
    steps = np.arange(51)[:, None, None]
    assert heights[:, 0, 0] / 50 == pytest.approx(clocks.h_star(50, 50, 0.3), rel=1e-14, abs=0)
    assert heights == pytest.approx(sizes * clocks.h(steps + ahead, sizes, rates), rel=1e-12, abs=0)
    with pytest.raises(BadInput, match="steps = -1: an integer, at least 0"):
        clocks.lead(-1, sizes, rates)


def test_no_step_is_a_number_of_steps_and_less_is_not() -> None:
    assert clocks.h_star(0, 100, 1.0).tolist() == [0]
    with pytest.raises(BadInput, match="steps = -1: an integer, at least 0"):
        clocks.h_star(-1, 100, 1.0)


def test_more_steps_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 8, "SC_PHYS_PAGES": 1000}.__getitem__)
    assert len(clocks.h_star(1000, 100, 1.0)) == 1001
    with pytest.raises(BadInput, match=r"1001 values of h\*, which take 8,008 bytes"):
        clocks.h_star(1001, 100, 1.0)
