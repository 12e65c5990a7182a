"""Faults of a stored notebook: its card, its pictures, and controls that nothing computes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode, from_dict, v4

from scansnap_core.book.faults import card_faults, constant_controls, picture_faults
from tests.book.books import png, spoil
from tests.book.conftest import Run

VERDICT: dict[str, Any] = {"card": [], "figure": "drawing"}


def notebook(picture: str = "image/png") -> nbformat.NotebookNode:
    def shown(kind: str, data: str) -> list[nbformat.NotebookNode]:
        return [nbformat.v4.new_output("display_data", {kind: data})]

    cells = [
        nbformat.v4.new_code_cell("print(1)", outputs=shown("text/plain", "about a: b"), id="printing"),
        nbformat.v4.new_code_cell("draw()", outputs=shown(picture, png("navy")), id="drawing"),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def test_a_card_that_is_shown_has_no_fault() -> None:
    assert card_faults(notebook(), VERDICT) == []
    assert card_faults(notebook(), {}) == []
    assert card_faults(notebook("text/plain"), VERDICT | {"figure": ""}) == []


@pytest.mark.parametrize(
    ("stored", "verdict", "fault"),
    [
        (notebook(), VERDICT | {"figure": "printing"}, "the figure of 'printing'; the cells with one are ['drawing']"),
        (notebook(), VERDICT | {"figure": ""}, "the cells with one are ['drawing']"),
        (notebook("text/plain"), VERDICT, "the cells with one are []"),
    ],
)
def test_a_figure_that_nobody_sees_is_a_fault(stored: nbformat.NotebookNode, verdict: Any, fault: str) -> None:
    (found,) = card_faults(stored, verdict)
    assert fault in found


@pytest.mark.parametrize("store", [[], ["--store"]])
def test_verify_refuses_a_card_whose_figure_is_missing(book: Path, verify: Run, store: list[str]) -> None:
    spoil(book, lambda cells: cells[2].update(id="another"))
    code, _, errors = verify(*store)
    assert code == 1
    assert "its card shows the figure of 'picture'; the cells with one are ['another']" in errors


def illustrated_notebook() -> NotebookNode:
    picture = v4.new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "figure"})
    caption = v4.new_output("display_data", {"text/markdown": "What to see.", "text/plain": "What to see."})
    plot = v4.new_code_cell("show(fig, 'What to see.')", execution_count=1, outputs=[picture, caption])
    plot.metadata = from_dict({"mystnb": {"image": {"alt": "A line that rises."}}})
    return v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), plot])


def drop_alternative_text(cell: NotebookNode) -> None:
    cell.metadata.mystnb.image.alt = " "


def drop_caption(cell: NotebookNode) -> None:
    del cell.outputs[1]


def add_a_widget(cell: NotebookNode) -> None:
    cell.outputs.append(v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": from_dict({})}))


def test_illustrated_notebook_has_no_fault() -> None:
    assert picture_faults(illustrated_notebook()) == []


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (drop_alternative_text, "without alternative text"),
        (drop_caption, "without a caption"),
        (add_a_widget, "a widget"),
    ],
)
def test_picture_fault_is_found(spoil: Callable[[NotebookNode], None], fault: str) -> None:
    notebook = illustrated_notebook()
    spoil(notebook.cells[1])
    found = picture_faults(notebook)
    assert len(found) == 1
    assert fault in found[0]


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
CONSTANT = """
1.0; np.float64(1.0); max(1.0, 2.0); math.sqrt(4); [1.0][0]; total; one(); low + high; len('D.1')
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
