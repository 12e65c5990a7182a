"""The book's notebooks: where they are, and the verdicts that they store.

Every computed page is drawn from the verdicts. What can't be read raises `BadInput`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.ledger.contents import PAGE_SUFFIXES, chapter_paths, entries, read_contents
from scansnap_core.ledger.entries import Finding
from scansnap_core.ledger.papers import TABLE_OF_CONTENTS
from scansnap_core.ledger.registry import Page, read_json, read_pages, statements, unreadable
from scansnap_core.ledger.verdicts import HOLDS, HOLDS_UNDER_A_CONDITION, VERDICT_MIME, Verdict

with needs("book"):
    import nbformat
    from nbformat import NotebookNode
    from nbformat.validator import iter_validate


def read_notebook(path: Path) -> NotebookNode:
    """Read a stored notebook, or raise BadInput that says where it isn't a valid one."""
    content = read_json(path)
    try:
        fault = next(iter_validate(content), None)
        notebook: NotebookNode = nbformat.v4.to_notebook(content)
    # Where the JSON isn't that of a notebook at all, nbformat fails with an error of its own.
    except Exception as error:
        raise unreadable(path, f"{type(error).__name__}: {error}") from None
    if fault is not None:
        raise unreadable(path, f"{'.'.join(map(str, fault.absolute_path))}: {fault.message}")
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return a notebook's code cells that hold code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def text_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return a notebook's cells of text, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


def stored_as(mime: str, notebook: NotebookNode) -> list[Any]:
    """Return what a notebook's outputs hold under a MIME type, in order."""
    outputs = (output for cell in code_cells(notebook) for output in cell.outputs)
    return [output.data[mime] for output in outputs if mime in output.get("data", {})]


def verdicts_in(notebook: NotebookNode) -> list[Verdict]:
    """Return every verdict in a notebook's outputs; what only stands in the place of one is
    none.
    """
    read = map(Verdict.of_json, stored_as(VERDICT_MIME, notebook))
    return [verdict for verdict in read if verdict is not None]


def contents(book: Path) -> tuple[dict[Path, Path], list[str]]:
    """Find the files of the entries of a book's table of contents, by their resolved paths; and
    list its faults.

    A fault is an entry that has no file, or whose file another entry has.
    """
    pages: dict[Path, Path] = {}
    faults = []
    for entry in entries(read_contents(book), book):
        files_of = (book / f"{entry}{suffix}" for suffix in ("", *PAGE_SUFFIXES))
        found = {path.resolve(): path for path in files_of if path.is_file()}
        if not found:
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, which has no file")
        if found.keys() & pages.keys():
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, whose file it lists already")
        pages |= found
    return pages, faults


@dataclass(frozen=True)
class Stored:
    """The pages of a book, and the verdicts that their notebooks store."""

    pages: Mapping[str, Page]
    """As `read_pages` orders them."""
    verdicts: Mapping[str, Verdict]
    """Each page's own, which is open where its chapter stores none, or where it is missing here."""

    @cached_property
    def statements(self) -> dict[str, Page]:
        """Return those of the pages that are statements."""
        return statements(self.pages)

    def claims(self, place: str, page_id: str, claim_ids: Any) -> list[Finding]:
        """Return the checks, refutations and proofs of a page that a file of the book lists by
        their ids, each once.

        `place` says where the list stands.
        """
        if not (
            isinstance(claim_ids, list)
            and all(claim_ids.count(claim_id) == 1 for claim_id in claim_ids)
        ):
            raise BadInput(
                f"{place}: {page_id}", "it lists ids of the page's claims, each once", "correct it"
            )
        found = {entry.id: entry for entry in self.own(page_id).findings}
        if missing := [claim_id for claim_id in claim_ids if claim_id not in list(found)]:
            rule = f"{page_id} stores no such claim"
            raise BadInput(
                f"{place}: {page_id}:{missing[0]}", rule, "correct the id, or store the chapter"
            )
        return [found[claim_id] for claim_id in claim_ids]

    def own(self, page_id: str) -> Verdict:
        """Return what one page stores; an open verdict where that is nothing."""
        return self.verdicts.get(page_id, Verdict(page_id))

    def verdict_of(self, page_id: str) -> str:
        """Return one page's verdict in words, ``"open"`` where nothing is stored."""
        return self.own(page_id).verdict

    def unverified_grounds(self, statement_id: str) -> list[str]:
        """List the statements that don't hold and on which a proof rests, directly or through other
        proofs.
        """
        grounds = self._grounds(statement_id)
        return [s for s in self.statements if s in grounds and not self._holds(s)]

    def _grounds(self, statement_id: str) -> set[str]:
        """Return the statements on which a proof rests, directly or through other proofs."""
        direct = set(self.statements[statement_id].proof_uses)
        return direct.union(*map(self._grounds, direct))

    @cached_property
    def fully_verified(self) -> frozenset[str]:
        """Return the statements that hold, and whose proofs rest only on statements that hold, all
        the way back.
        """
        return frozenset(
            s for s in self.statements if self._holds(s) and not self.unverified_grounds(s)
        )

    def _holds(self, page_id: str) -> bool:
        """Tell whether a page's statement holds, if only under a condition."""
        return self.verdict_of(page_id) in (HOLDS, HOLDS_UNDER_A_CONDITION)


def read_stored(book: Path) -> Stored:
    """Read the pages of a book's folder, and the verdicts that its notebooks store."""
    pages = read_pages(book)
    found: dict[str, Verdict] = {}
    for path in chapter_paths(book / "chapters"):
        own = [verdict for verdict in verdicts_in(read_notebook(path)) if verdict.id == path.stem]
        found[path.stem] = own[0] if own else Verdict(path.stem)
    return Stored(pages, {page_id: found[page_id] for page_id in pages})


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook whole or not at all."""
    files.save(path, nbformat.writes(notebook).rstrip("\n") + "\n")
