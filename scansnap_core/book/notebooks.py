"""The book's notebooks: where they are, and the verdicts that they store, from which every computed page is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansnap_core.bad_input import BadInput
from scansnap_core.extras import needs
from scansnap_core.ledger.entries import HOLDS, HOLDS_UNDER_A_CONDITION, OPEN, VERDICT_MIME
from scansnap_core.ledger.registry import (
    TABLE_OF_CONTENTS,
    Page,
    chapter_paths,
    entries,
    read_contents,
    read_pages,
    statements,
)

if TYPE_CHECKING:
    import networkx as nx
    from nbformat import NotebookNode

_PAGE_SUFFIXES = ("", ".ipynb", ".md", ".rst", ".txt")


def read_notebook(path: Path) -> NotebookNode:
    """Read a stored notebook.

    Raises
    ------
    BadInput
        If the file is no readable notebook.
    """
    # Every chapter imports the ledger, and only what reads chapters needs nbformat.
    with needs("book"):
        import nbformat

    try:
        faults: dict[str, nbformat.ValidationError] = {}
        notebook = nbformat.read(path, as_version=4, capture_validation_error=faults)
        for fault in faults.values():
            raise fault
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        nbformat.ValidationError,
    ) as error:
        raise BadInput(f"{path}", f"it is no readable notebook ({type(error).__name__})", "restore the file") from None
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return a notebook's code cells that hold code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def verdicts_in(notebook: NotebookNode) -> list[dict[str, Any]]:
    """Return every verdict in a notebook's outputs."""
    outputs = (output for cell in code_cells(notebook) for output in cell.outputs)
    return [output.data[VERDICT_MIME] for output in outputs if VERDICT_MIME in output.get("data", {})]


def contents(book: Path) -> tuple[set[Path], list[str]]:
    """List the pages of the table of contents, and its faults.

    Parameters
    ----------
    book : Path
        The folder that holds ``_toc.yml``.

    Returns
    -------
    pages : set of Path
        The files of its entries.
    faults : list of str
        Entries that have no file, or whose file another entry has.

    Raises
    ------
    BadInput
        If it is missing or unreadable.
    """
    pages: set[Path] = set()
    faults = []
    for entry in entries(read_contents(book)):
        found = {p.resolve() for suffix in _PAGE_SUFFIXES if (p := book / f"{entry}{suffix}").is_file()}
        if not found:
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, which has no file")
        if found & pages:
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, whose file it lists already")
        pages |= found
    return pages, faults


@dataclass(frozen=True)
class Stored:
    """The pages of a book, and the verdicts that their notebooks store.

    Attributes
    ----------
    pages : mapping from str to Page
        As `read_pages` orders them.
    verdicts : mapping from str to dict
        For each page its verdict as `Conclusion.as_json` gives it. A chapter that stores no verdict of its own, for
        example because it was cleared, has none or ``{"verdict": "open"}``.
    """

    pages: Mapping[str, Page]
    verdicts: Mapping[str, Mapping[str, Any]]

    @cached_property
    def statements(self) -> dict[str, Page]:
        """Return those of the pages that are statements."""
        return statements(self.pages)

    @cached_property
    def proofs(self) -> nx.DiGraph[str]:
        """Link each statement to every one whose proof appeals to it."""
        with needs("book"):
            import networkx as nx

        edges = ((ground, page.id) for page in self.statements.values() for ground in page.proof_uses)
        graph = nx.DiGraph(edges)
        graph.add_nodes_from(self.statements)
        return graph

    def claims(self, place: str, page_id: str, claim_ids: Any) -> list[Mapping[str, Any]]:
        """Checks, refutations and proofs of a page that a file of the book lists by their ids.

        Raises
        ------
        BadInput
            If it is no list of ids, each once, or the notebook stores no such claim; `place` says where that stands.
        """
        if not (isinstance(claim_ids, list) and all(claim_ids.count(claim_id) == 1 for claim_id in claim_ids)):
            raise BadInput(f"{place}: {page_id}", "it lists ids of the page's claims, each once", "correct it")
        verdict = self.verdicts.get(page_id, {})
        found = {entry["id"]: entry for kind in ("checks", "refutations", "proofs") for entry in verdict.get(kind, [])}
        if missing := [claim_id for claim_id in claim_ids if claim_id not in list(found)]:
            rule = f"{page_id} stores no such claim"
            raise BadInput(f"{place}: {page_id}:{missing[0]}", rule, "correct the id, or store the chapter")
        return [found[claim_id] for claim_id in claim_ids]

    def verdict_of(self, page_id: str) -> str:
        """Return one page's verdict, ``"open"`` where nothing is stored."""
        return str(self.verdicts.get(page_id, {"verdict": OPEN})["verdict"])

    def unverified_grounds(self, statement_id: str) -> list[str]:
        """List the ids of all that a statement's proof rests on, however far back, and that doesn't itself hold."""
        import networkx as nx

        grounds = nx.ancestors(self.proofs, statement_id)
        return [s for s in self.statements if s in grounds and not self._holds(s)]

    @cached_property
    def fully_verified(self) -> frozenset[str]:
        """Return the statements that hold, and whose proofs rest only on statements that hold, all the way back."""
        return frozenset(s for s in self.statements if self._holds(s) and not self.unverified_grounds(s))

    def _holds(self, page_id: str) -> bool:
        return self.verdict_of(page_id) in (HOLDS, HOLDS_UNDER_A_CONDITION)


def read_stored(book: Path) -> Stored:
    """Read a book's pages, and the verdicts that its notebooks store.

    Parameters
    ----------
    book : Path
        The folder that holds ``_toc.yml`` and ``chapters/``.

    Raises
    ------
    BadInput
        If the folder, the table of contents or a notebook can't be read, or a page is registered wrongly.
    """
    pages = read_pages(book)
    found: dict[str, Mapping[str, Any]] = {}
    for path in chapter_paths(book / "chapters"):
        own = [verdict for verdict in verdicts_in(read_notebook(path)) if verdict["id"] == path.stem]
        found[path.stem] = own[0] if own else {"verdict": OPEN}
    return Stored(pages, {page_id: found[page_id] for page_id in pages})
