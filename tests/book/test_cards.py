"""The card as a notebook stores it: what would leave a reader without it, and the cells that it leads to."""

from collections.abc import Callable
from typing import Any

import nbformat
import pytest

from scansnap_core import BadInput
from scansnap_core.book.cards import DIRECTIVE, card_faults, cell_of, words_under
from scansnap_core.ledger.cards import SGD, TRUE_GRADIENT
from tests.book.books import CHAPTER, png, spoil

Run = Callable[..., tuple[int, str, str]]
VERDICT = {"card": [{"of": SGD, "word": "in part"}, {"of": TRUE_GRADIENT, "word": "fails"}], "figure": "drawing"}
CARD_CELL = """\
from scansnap_core.ledger import Card, Printed, Silent
quiet = Silent("not concerned", "It has no noise in it.")
lemma.conclude(Card(Printed("numeric half", "It holds."), quiet, quiet, FIGURE))
"""


def notebook(head: str = f"# A chapter\n\n{DIRECTIVE}\n```", picture: str = "image/png") -> nbformat.NotebookNode:
    def shown(kind: str, data: str) -> list[nbformat.NotebookNode]:
        return [nbformat.v4.new_output("display_data", {kind: data})]

    cells = [
        nbformat.v4.new_markdown_cell(head),
        nbformat.v4.new_code_cell("print(1)", outputs=shown("text/plain", "about a: b"), id="printing"),
        nbformat.v4.new_code_cell("check()", outputs=shown("text/plain", "✓ numeric: a: b\n  measured: 1"), id="check"),
        nbformat.v4.new_code_cell("draw()", outputs=shown(picture, png("navy")), id="drawing"),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def test_a_card_that_is_shown_has_no_fault() -> None:
    assert card_faults(notebook(), VERDICT) == []
    assert card_faults(notebook("# A chapter"), {}) == []
    assert card_faults(notebook(picture="text/plain"), VERDICT | {"figure": ""}) == []


@pytest.mark.parametrize(
    ("stored", "verdict", "fault"),
    [
        (notebook("# A chapter"), VERDICT, "its first cell has no {verdict-card}"),
        (notebook(), {}, "its head has a card, and its verdict has none"),
        (notebook(), VERDICT | {"figure": "check"}, "the figure of 'check'; the cells with one are ['drawing']"),
        (notebook(), VERDICT | {"figure": ""}, "the cells with one are ['drawing']"),
        (notebook(picture="text/plain"), VERDICT, "the cells with one are []"),
    ],
)
def test_a_card_that_nobody_sees_is_a_fault(stored: nbformat.NotebookNode, verdict: Any, fault: str) -> None:
    (found,) = card_faults(stored, verdict)
    assert fault in found


def test_an_entry_leads_to_the_cell_that_shows_it() -> None:
    assert cell_of(notebook(), "a: b") == "check"
    with pytest.raises(BadInput, match="no stored cell of the chapter shows it"):
        cell_of(notebook(), "b")


def test_words_are_found_by_their_dynamics() -> None:
    assert words_under(VERDICT, (TRUE_GRADIENT, SGD)) == ["fails", "in part"]
    assert words_under({"verdict": "open"}, (TRUE_GRADIENT, SGD)) == ["", ""]


@pytest.mark.parametrize(
    ("figure", "fault"),
    [("gone", "its card shows the figure of 'gone'"), ("drawn", "its first cell has no {verdict-card}")],
)
def test_verify_refuses_a_card_that_nobody_sees(book: Any, verify: Run, figure: str, fault: str) -> None:
    def change(cells: list[Any]) -> None:
        cells[2]["id"] = "drawn"
        cells[4]["source"] = CARD_CELL.replace("FIGURE", repr(figure))

    spoil(book, change)
    assert (book / CHAPTER).is_file()
    code, out, err = verify("--store")
    assert code == 1
    assert fault in out + err
