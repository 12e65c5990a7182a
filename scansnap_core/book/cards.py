"""The card at a chapter's head, as its notebook stores it: its rows, its figure, and the cells that they lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scansnap_core.bad_input import BadInput
from scansnap_core.book.notebooks import code_cells

if TYPE_CHECKING:
    from nbformat import NotebookNode

DIRECTIVE = "```{verdict-card}"


def card_faults(notebook: NotebookNode, verdict: Mapping[str, Any]) -> list[str]:
    """Where a notebook, with its outputs, doesn't show the card that its verdict holds."""
    head = next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")
    if "card" not in verdict:
        return ["its head has a card, and its verdict has none"] if DIRECTIVE in head else []
    faults = [] if DIRECTIVE in head else [f"its first cell has no {DIRECTIVE.strip('`')}, so nobody sees its card"]
    pictures = [cell.id for cell in code_cells(notebook) if _shows_picture(cell)]
    if verdict["figure"] not in (pictures or [""]):
        faults.append(f"its card shows the figure of {verdict['figure']!r}; the cells with one are {pictures}")
    return faults


def cell_of(notebook: NotebookNode, what: str) -> str:
    """The id of the cell that shows a check or a refutation.

    Raises
    ------
    BadInput
        If no cell does.
    """
    for cell in code_cells(notebook):
        firsts = (output.get("data", {}).get("text/plain", "").partition("\n")[0] for output in cell.outputs)
        if any(first[:1] in ("✓", "✗") and first.partition(": ")[2] == what for first in firsts):
            return str(cell.id)
    raise BadInput(f"{what!r}", "no stored cell of the chapter shows it", "store the chapter again")


def words_under(verdict: Mapping[str, Any], dynamics: Iterable[str]) -> list[str]:
    """What a card says of each of some dynamics, in a word of its scale; empty where there is no card."""
    words = {row["of"]: row["word"] for row in verdict.get("card", [])}
    return [words.get(of, "") for of in dynamics]


def _shows_picture(cell: NotebookNode) -> bool:
    return any(kind.startswith("image/") for output in cell.outputs for kind in output.get("data", {}))
