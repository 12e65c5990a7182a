"""Controls that nothing computes are found however they are written, and computed ones aren't."""

import pytest

from scansnap_core.book.controls import constant_controls

HEAD = """\
import math
import numpy as np
import sympy as sp
from scansnap_core.theory import formulas, spectrum

def one():
    return 1.0

def grown(x):
    return spectrum.F(x)

half, total, kept = 0.5, 0.0, []
total += 1.0
for low, high in zip([1.0], [2.0]):
    pass
for value in np.linspace(0, 1, 3):
    kept.append(value)
(kept if half else [])
measured = grown(half)
"""
CONSTANT = [
    "1.0",
    "np.float64(1.0)",
    "max(1.0, 2.0)",
    "math.sqrt(4)",
    "[1.0][0]",
    "total",
    "one()",
    "low + high",
    "len('D.1')",
    "sp.Integer(2) * sp.pi",
    "sp.Matrix([1, 1])",
    "measured * 2",
    "1e-11 + measured",
]
COMPUTED = [
    "formulas.h",
    "grown(half)",
    "max(kept)",
    "np.linalg.norm([half])",
    "sp.simplify(formulas.h - 1)",
    "min(spectrum.F(x) for x in range(3))",
]


@pytest.mark.parametrize("control", CONSTANT)
def test_what_nothing_computes_is_found(control: str) -> None:
    assert constant_controls([HEAD, f"numeric.holds('a', measured, control={control})"]) == [(2, control)]


@pytest.mark.parametrize("control", COMPUTED)
def test_what_is_computed_is_none(control: str) -> None:
    assert constant_controls([HEAD, f"numeric.refutes('a', measured, control={control})"]) == []


def test_a_control_in_unpacked_keywords_is_found() -> None:
    assert constant_controls([HEAD, "numeric.holds('a', measured, **{'control': 1.0})"]) == [(2, "**{...}")]


def test_a_proofs_control_is_a_claim() -> None:
    assert constant_controls([HEAD, "proved.holds('a', decide, 2, control=1)"]) == []


def test_code_that_is_no_python_is_left_to_its_execution() -> None:
    assert constant_controls(["control = = 1"]) == []
