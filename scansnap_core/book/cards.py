"""The card at a chapter's head, as its notebook stores it: its rows and its figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scansnap_core.book.notebooks import code_cells

if TYPE_CHECKING:
    from nbformat import NotebookNode


def card_faults(notebook: NotebookNode, verdict: Mapping[str, Any]) -> list[str]:
    """Where the figure that a card names isn't one of its notebook's."""
    if "card" not in verdict:
        return []
    pictures = [cell.id for cell in code_cells(notebook) if _shows_picture(cell)]
    if verdict["figure"] not in (pictures or [""]):
        return [f"its card shows the figure of {verdict['figure']!r}; the cells with one are {pictures}"]
    return []


def words_under(verdict: Mapping[str, Any], dynamics: Iterable[str]) -> list[str]:
    """What a card says of each of some dynamics, in a word of its scale; empty where there is no card."""
    words = {row["of"]: row["word"] for row in verdict.get("card", [])}
    return [words.get(of, "") for of in dynamics]


def _shows_picture(cell: NotebookNode) -> bool:
    return any(kind.startswith("image/") for output in cell.outputs for kind in output.get("data", {}))
