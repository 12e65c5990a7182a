"""Faults of a stored notebook: its card, its pictures, and controls that nothing computes."""

import re
from typing import Any

import pytest
from nbformat import NotebookNode, from_dict, v4

from scansnap_core.book.faults import card_faults, constant_controls, picture_faults
from tests.book.books import png

VERDICT: dict[str, Any] = {"card": [], "figure": "drawing"}


PICTURE = v4.new_output("display_data", {"image/png": png("navy")})
CAPTION = v4.new_output("display_data", {"text/markdown": "What to see.", "text/plain": "What to see."})
WIDGET = v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": from_dict({})})


def notebook(*outputs: NotebookNode, alt: str = "A line that rises.") -> NotebookNode:
    """A cell that prints, and one with these outputs, by default a picture and its caption."""
    text = v4.new_output("display_data", {"text/plain": "about a: b"})
    drawing = v4.new_code_cell("draw()", outputs=list(outputs or (PICTURE, CAPTION)), id="drawing")
    drawing.metadata = from_dict({"mystnb": {"image": {"alt": alt}}})
    return v4.new_notebook(cells=[v4.new_code_cell("print(1)", outputs=[text], id="printing"), drawing])


def test_what_a_reader_can_see_has_no_fault() -> None:
    assert picture_faults(notebook()) == []
    assert card_faults(notebook(), VERDICT) == []
    assert card_faults(notebook(), {}) == []
    assert card_faults(notebook(CAPTION), VERDICT | {"figure": ""}) == []


@pytest.mark.parametrize(
    ("stored", "figure", "fault"),
    [
        (notebook(), "printing", "the figure of 'printing'; the cells with one are ['drawing']"),
        (notebook(), "", "the cells with one are ['drawing']"),
        (notebook(CAPTION), "drawing", "the cells with one are []"),
        (notebook(alt=" "), "drawing", "without alternative text"),
        (notebook(PICTURE), "drawing", "without a caption"),
        (notebook(PICTURE, CAPTION, WIDGET), "drawing", "a widget"),
    ],
)
def test_a_picture_that_nobody_sees_or_understands_is_a_fault(stored: NotebookNode, figure: str, fault: str) -> None:
    (found,) = picture_faults(stored) + card_faults(stored, VERDICT | {"figure": figure})
    assert fault in found


HEAD = """\
import math
import numpy as np
import sympy as sp
from scansnap_core.plots import show
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
CONSTANT = """
1.0; show(1.0); np.float64(1.0); max(1.0, 2.0); math.sqrt(4); [1.0][0]; total; one(); low + high; len('D.1')
sp.Integer(2) * sp.pi; sp.Matrix([1, 1]); measured * 2; 1e-11 + measured
"""
COMPUTED = """
formulas.h; grown(half); max(kept); np.linalg.norm([half]); sp.simplify(formulas.h - 1)
min(spectrum.F(x) for x in range(3))
"""


def found(control: str, record: str = "numeric.holds") -> list[tuple[int, str]]:
    return constant_controls([HEAD, f"{record}('a', measured, {control})"])


@pytest.mark.parametrize("control", re.split("[;\n] *", CONSTANT.strip()))
def test_what_nothing_computes_is_found(control: str) -> None:
    assert found(f"control={control}") == [(2, control)]
    assert found("**{'control': 1.0}") == [(2, "**{...}")]


@pytest.mark.parametrize("control", re.split("[;\n] *", COMPUTED.strip()))
def test_what_is_computed_is_none(control: str) -> None:
    assert found(f"control={control}", "numeric.refutes") == []


def test_a_proofs_control_is_a_claim_and_what_is_no_python_is_left_to_its_execution() -> None:
    assert found("control=1", "proved.holds") == []
    assert found("control = = 1") == []
