"""The book's sources: its pages, and what is wrong with the pictures in a stored notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sphinx_external_toc.parsing import parse_toc_yaml

from scansnap_core.book.notebooks import code_cells

if TYPE_CHECKING:
    from nbformat import NotebookNode

ROOT = Path(__file__).parents[2]


def documents() -> list[str]:
    """The pages of the table of contents, in its order, without suffix."""
    return list(parse_toc_yaml(ROOT / "_toc.yml"))


def picture_faults(notebook: NotebookNode) -> list[str]:
    """Pictures that some readers can't see, that nobody explains, or that need the network."""
    found = []
    for number, cell in enumerate(code_cells(notebook), 1):
        kinds: list[set[str]] = [set(output.get("data", {})) for output in cell.outputs]
        alternative = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        for kind, after in zip(kinds, [*kinds[1:], set()], strict=False):
            if "application/vnd.jupyter.widget-view+json" in kind:
                found.append(f"cell {number}: a widget, which loads scripts from the network")
            if "image/png" in kind and not alternative.strip():
                found.append(f"cell {number}: a picture without alternative text")
            if "image/png" in kind and "text/markdown" not in after:
                found.append(f"cell {number}: a picture without a caption")
    return found
