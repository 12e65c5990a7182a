"""Faults of a stored notebook: its card, its pictures, and controls that nothing computes."""

import re
from dataclasses import replace
from typing import Any

import pytest
from nbformat import NotebookNode, from_dict, v4

from scansnap_core.book.faults import (
    card_faults,
    code_of,
    constant_controls,
    hidden_claims,
    picture_faults,
    source_faults,
)
from scansnap_core.ledger.entries import Row
from scansnap_core.ledger.verdicts import HOLDS, Verdict
from tests.book.books import png

VERDICT = Verdict("lemma_08", HOLDS, card=(Row("as printed", HOLDS, "It holds."),), figure="drawing")


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
    assert card_faults(notebook(), Verdict("lemma_08")) == []
    assert card_faults(notebook(CAPTION), replace(VERDICT, figure="")) == []


@pytest.mark.parametrize(
    ("stored", "figure", "fault"),
    [
        (notebook(), "printing", "the figure of 'printing'; the cells with one are ['drawing']"),
        (notebook(), "", "the cells with one are ['drawing']"),
        (notebook(CAPTION), "drawing", "the cells with one are []"),
        (notebook(alt=" "), "drawing", "without alternative text in its metadata"),
        (notebook(PICTURE), "drawing", "without a caption"),
        (notebook(PICTURE, CAPTION, WIDGET), "drawing", "a widget"),
    ],
)
def test_a_picture_that_nobody_sees_or_understands_is_a_fault(stored: NotebookNode, figure: str, fault: str) -> None:
    (found,) = picture_faults(stored) + card_faults(stored, replace(VERDICT, figure=figure))
    assert fault in found


def output(kind: str, content: str) -> NotebookNode:
    return v4.new_output("display_data", {kind: content, "text/plain": ""})


@pytest.mark.parametrize(
    ("shown", "fault"),
    [
        (output("image/svg+xml", "<svg/>"), "without alternative text in its metadata"),
        (output("image/jpeg", "/9j/"), "without alternative text in its metadata"),
        (output("text/html", "<p><img src='data:,'></p>"), "without alternative text in its <img>"),
        (output("text/html", "<svg><circle r='1'/></svg>"), "without alternative text in its <svg>"),
        (output("text/markdown", "A line: ![](a.png)"), "without alternative text in its <img>"),
        (output("text/html", "<img alt='A line.' src='https://example.org/a.png'>"), "is loaded from https://example"),
        (output("text/html", "<img alt='A line.' src='//example.org/a.png'>"), "is loaded from //example.org"),
    ],
)
def test_a_picture_of_any_type_is_held_to_the_rules(shown: NotebookNode, fault: str) -> None:
    (found,) = picture_faults(notebook(shown, CAPTION, alt=""))
    assert fault in found


@pytest.mark.parametrize(
    "markup", ["<img alt='A line.' src='data:,'>", "<svg><title>A line.</title></svg>", "<svg aria-label='A line.'/>"]
)
def test_a_picture_in_a_page_says_itself_what_it_shows(markup: str) -> None:
    assert picture_faults(notebook(output("text/html", markup), CAPTION, alt="")) == []
    (found,) = picture_faults(notebook(output("text/html", markup), alt=""))
    assert "without a caption" in found


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
    return constant_controls([code_of(HEAD), code_of(f"{record}('a', measured, {control})")])


@pytest.mark.parametrize("control", re.split("[;\n] *", CONSTANT.strip()))
def test_what_nothing_computes_is_found(control: str) -> None:
    assert found(f"control={control}") == [(2, control)]
    assert found("**{'control': 1.0}") == [(2, "**{...}")]


@pytest.mark.parametrize("control", re.split("[;\n] *", COMPUTED.strip()))
def test_what_is_computed_is_none(control: str) -> None:
    assert found(f"control={control}", "numeric.refutes") == []


def test_a_proofs_control_is_a_claim() -> None:
    assert found("control=1", "proved.holds") == []


CLAIM = "numeric.holds('a', 2.0, control=1.0)"


@pytest.mark.parametrize(
    "source",
    [
        *(f"{magic}\n{CLAIM}" for magic in ("%precision 8", "!true", "len?", "%%capture", "%%capture out\n%%time")),
        f"%time {CLAIM}",
        f"found = %time {CLAIM}",
        f"{CLAIM};",
    ],
)
def test_a_magic_hides_no_control(source: str) -> None:
    faults = source_faults(v4.new_notebook(cells=[v4.new_code_cell(source)]))
    assert "cell 1 has a control that nothing computes: 1.0" in faults


@pytest.mark.parametrize("source", ["= =", f"%timeit -n 1 {CLAIM}", "%%bash\necho $HOME", f"{CLAIM}\0"])
def test_what_cannot_be_read_is_a_fault_and_hides_no_other_cell(source: str) -> None:
    cells = [v4.new_code_cell(text) for text in (source, CLAIM)]
    unread, control = source_faults(v4.new_notebook(cells=cells))
    assert "cell 1 can't be read as Python" in unread
    assert control == "cell 2 has a control that nothing computes: 1.0"


SHOWN = v4.new_output("display_data", {"text/html": '<details class="ss-check" id="claim-size">', "text/plain": "size"})


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"tags": ["remove-output"]}, "the tag remove-output"),
        ({"tags": ["hide-input", "remove-cell"]}, "the tag remove-cell"),
        ({"mystnb": {"remove_code_outputs": True}}, "mystnb's remove_code_outputs"),
        ({"jupyter": {"outputs_hidden": True}}, "JupyterLab's outputs_hidden"),
        ({"tags": ["hide-input"], "jupyter": {"source_hidden": True}}, ""),
        ({"mystnb": {"image": {"alt": "A line."}}}, ""),
    ],
)
def test_a_claim_hides_behind_no_setting(metadata: dict[str, Any], named: str) -> None:
    stored = notebook(SHOWN)
    stored.cells[1].metadata = from_dict(metadata)
    assert hidden_claims(stored) == ([f"cell 2 makes a claim and has {named}, which may hide it"] if named else [])
    stored.cells[1].outputs = [CAPTION]
    assert hidden_claims(stored) == []
