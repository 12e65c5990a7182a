"""The outputs: their labels, how many tokens each stands for, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scansnap_core import BadInput
from scansnap_core.data.outputs import OTHERS, Outputs
from tests.engine.references import overlapping_classes


def test_next_tokens_and_all_others() -> None:
    outputs = overlapping_classes().outputs
    assert outputs.labels.tolist() == [8, 2, 5, OTHERS]
    assert outputs.multiplicity.tolist() == [1, 1, 1, 6]
    assert outputs.columns.tolist() == [0, 1, 2]
    assert (outputs.targets == np.eye(3, 4)).all()
    assert len(outputs) == 4


def test_no_output_stands_for_no_token() -> None:
    outputs = Outputs.lumped([1, 2, 0], 3)
    assert outputs.labels.tolist() == [1, 2, 0]
    assert outputs.multiplicity.tolist() == [1, 1, 1]
    assert (outputs.targets == np.eye(3)).all()


def test_one_output_a_token() -> None:
    outputs = Outputs.separate([3, 1], 4)
    assert outputs.labels.tolist() == [0, 1, 2, 3]
    assert outputs.multiplicity.tolist() == [1, 1, 1, 1]
    assert outputs.targets.tolist() == [[0, 0, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize("make", [Outputs.lumped, Outputs.separate])
def test_the_outputs_stay_what_they_are(make: Any) -> None:
    outputs = make([3, 1], 4)
    assert (outputs.labels[outputs.columns] == [3, 1]).all()
    assert outputs.multiplicity.sum() == 4
    for array in (outputs.labels, outputs.multiplicity, outputs.columns):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    outputs.targets[:] = 7
    assert outputs.targets.max() == 1


@pytest.mark.parametrize(
    ("next_of", "message"),
    [
        ([0, 4], "next_of holds 4: tokens are numbered 0..3 (M = 4)"),
        ([-1], "next_of holds -1: tokens are numbered 0..3"),
        ([1, 1], "next_of = [1, 1]: a class is named by its next token, so next tokens are distinct"),
        ([1.0], "next_of of shape (1,) and type float64: one integer token a class; pass a list"),
        (2, "next_of of shape () and type int64: one integer token a class"),
        ([[1]], "next_of of shape (1, 1) and type int64: one integer token a class"),
    ],
)
@pytest.mark.parametrize("make", [Outputs.lumped, Outputs.separate])
def test_bad_next_tokens(make: Any, next_of: Any, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        make(next_of, 4)
    assert str(caught.value).startswith(message)
