"""The card as a notebook stores it: what would leave a reader without it, and the cells that it leads to."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

from scansnap_core.book.cards import card_faults, words_under
from scansnap_core.ledger.cards import SGD, TRUE_GRADIENT
from tests.book.books import png, spoil
from tests.book.conftest import Run

VERDICT = {"card": [{"of": SGD, "word": "in part"}, {"of": TRUE_GRADIENT, "word": "fails"}], "figure": "drawing"}


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


def test_words_are_found_by_their_dynamics() -> None:
    assert words_under(VERDICT, (TRUE_GRADIENT, SGD)) == ["fails", "in part"]
    assert words_under({"verdict": "open"}, (TRUE_GRADIENT, SGD)) == ["", ""]


@pytest.mark.parametrize("store", [[], ["--store"]])
def test_verify_refuses_a_card_whose_figure_is_missing(book: Path, verify: Run, store: list[str]) -> None:
    spoil(book, lambda cells: cells[2].update(id="another"))
    code, _, errors = verify(*store)
    assert code == 1
    assert "its card shows the figure of 'picture'; the cells with one are ['another']" in errors
