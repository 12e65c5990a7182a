"""Whatever is passed for whichever argument: a result, or BadInput, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scansnap_core as ss

CLASSES = ss.with_overlap(2, 100, 0.3, distinct_weights=[1, 2])
FLOW = ss.TrueFlow(CLASSES, 1, 0.1)
PATH = ss.solve(FLOW, [0, 1])
C = ss.attention(PATH.Z, CLASSES)
WRONG = [
    None, "a", "", b"a", {}, [], (), [1, 2], ["a"], [[1], [1, 2]], np.ones(3), np.ones((2, 2)), np.array(["a"]),
    math.nan, math.inf, -1, 0, 3.5, 1j, True, 10**12, object(), ss, PATH, PATH.Z, CLASSES, FLOW,
]  # fmt: skip
BIG: Any = None
CALLS: dict[str, Callable[[Any], object]] = {
    "attention, Z": lambda x: ss.attention(x, CLASSES),
    "attention, classes": lambda x: ss.attention(PATH.Z, x),
    "entropy, c": lambda x: ss.entropy(x, CLASSES),
    "entropy, classes": lambda x: ss.entropy(C, x),
    "recall, Z": lambda x: ss.recall(x, CLASSES, 0.1),
    "recall, thresholds": lambda x: ss.recall(PATH.Z, CLASSES, x),
    "relative_gain, c": lambda x: ss.relative_gain(x, 1, 2),
    "relative_gain, token": lambda x: ss.relative_gain(C, x, 2),
    "TrueFlow, classes": lambda x: ss.TrueFlow(x, 1, 0.1),
    "TrueFlow, lr_y": lambda x: ss.TrueFlow(CLASSES, x, 0.1),
    "ModifiedFlow, lr_z": lambda x: ss.ModifiedFlow(CLASSES, 1, x),
    "IdealisedFlow, classes": lambda x: ss.IdealisedFlow(x, 1, 0.1),
    "IdealisedFlow, clock": lambda x: ss.IdealisedFlow(CLASSES, 1, 0.1, clock=x),
    "FiniteLengthFlow, seq_len": lambda x: ss.FiniteLengthFlow(CLASSES, 1, 0.1, seq_len=x),
    "solve, flow": lambda x: ss.solve(x, [0, 1]),
    # 10^12 steps are a time like any other, and as a rate what a solver takes long to give up
    "solve, times": lambda x: ss.solve(FLOW, BIG if isinstance(x, int) and x > 10**6 else x),
    "solve, unit": lambda x: ss.solve(FLOW, [1], unit=x),
    "solve, initial": lambda x: ss.solve(FLOW, [1], initial=x),
    "solve, method": lambda x: ss.solve(FLOW, [1], method=x),
    "solve, rtol": lambda x: ss.solve(FLOW, [1], rtol=x),
    "theory_of, classes": lambda x: ss.theory_of(x, PATH),
    "theory_of, run": lambda x: ss.theory_of(CLASSES, x),
    "h, t": lambda x: ss.h(x, 100, 1),
    "h_star, steps": lambda x: ss.h_star(x, 100, 1),
    "omega, M": lambda x: ss.omega(x),
    "transition, K": lambda x: ss.transition(x, 100, 1),
    "transition, lr_y": lambda x: ss.transition(2, 100, x),
    "function_of, expression": lambda x: ss.function_of(x, ()),
    "function_of, arguments": lambda x: ss.function_of(ss.formulas.gamma, x),
    "predict, classes": lambda x: ss.predict(x, 1, 0.1, [1]),
    "predict, lr_y": lambda x: ss.predict(CLASSES, x, 0.1, [1]),
    "predict, lr_z": lambda x: ss.predict(CLASSES, 1, BIG if isinstance(x, int) and x > 10**6 else x, [1]),
    "predict, t": lambda x: ss.predict(CLASSES, 1, 0.1, x),
    "predict, seq_len": lambda x: ss.predict(CLASSES, 1, 0.1, [1], seq_len=x),
    "predict, optimizer": lambda x: ss.predict(CLASSES, 1, 0.1, [1], optimizer=x),
    "formulas.find, word": lambda x: ss.formulas.find(x),
    "formulas.find, equation": lambda x: ss.formulas.find(equation=x),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_result_or_bad_input(name: str) -> None:
    refused = []
    for wrong in WRONG:
        try:
            CALLS[name](wrong)
        except ss.BadInput as error:
            refused.append(error)
    assert all(error.value and error.rule and error.remedy for error in refused)
    assert len(refused) >= len(WRONG) // 2


def test_every_public_function_of_the_theory_is_tried() -> None:
    elsewhere = {"audit", "train", "SequenceClasses"}  # property tests of their rooms
    values = {name: getattr(ss, name) for name in ss.__all__}
    errors = {name for name, value in values.items() if isinstance(value, type) and issubclass(value, Exception)}
    public = {name for name, value in values.items() if callable(value) and not name.startswith(("syn_", "with_"))}
    assert public - errors - elsewhere <= {name.partition(",")[0] for name in CALLS}
