"""The card as a notebook stores it: what would leave a reader without it, and the cells that it leads to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from scansnap_core import BadInput
from scansnap_core.book.cards import DIRECTIVE, card_faults, cell_of, words_under
from scansnap_core.ledger.cards import SGD, TRUE_GRADIENT
from tests.book.books import CHAPTER, png
from tests.book.conftest import Run

VERDICT = {"card": [{"of": SGD, "word": "in part"}, {"of": TRUE_GRADIENT, "word": "fails"}], "figure": "drawing"}


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


def rename_picture(notebook: Any) -> None:
    notebook["cells"][3]["id"] = "another"


def take_directive_out(notebook: Any) -> None:
    notebook["cells"][0]["source"] = notebook["cells"][0]["source"][0].strip()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (rename_picture, "its card shows the figure of 'picture'; the cells with one are ['another']"),
        (take_directive_out, "its first cell has no {verdict-card}"),
    ],
)
@pytest.mark.parametrize("store", [[], ["--store"]])
def test_verify_refuses_a_card_that_nobody_sees(
    book: Path, verify: Run, change: Callable[[Any], None], fault: str, store: list[str]
) -> None:
    notebook = json.loads((book / CHAPTER).read_text())
    change(notebook)
    (book / CHAPTER).write_text(json.dumps(notebook))
    code, _, errors = verify(*store)
    assert code == 1
    assert fault in errors
