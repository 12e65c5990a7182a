"""What the stored notebooks say about every page: the one source of the board, the graph and the errata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansnap_core.bad_input import BadInput
from scansnap_core.book.notebooks import read_notebook, verdicts_in
from scansnap_core.extras import needs
from scansnap_core.ledger.entries import HOLDS, HOLDS_UNDER_A_CONDITION, OPEN
from scansnap_core.ledger.pages import Page
from scansnap_core.ledger.registry import TABLE_OF_CONTENTS, chapter_paths, read_pages, statements

if TYPE_CHECKING:
    import networkx as nx


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
        """Those of the pages that are statements."""
        return statements(self.pages)

    @cached_property
    def proofs(self) -> nx.DiGraph[str]:
        """An edge from each statement to every one whose proof appeals to it."""
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
        """One page's verdict, ``"open"`` where nothing is stored."""
        return str(self.verdicts.get(page_id, {"verdict": OPEN})["verdict"])

    def unverified_grounds(self, statement_id: str) -> list[str]:
        """What a statement's proof rests on, however far back, that doesn't itself hold: ids, in the pages' order."""
        import networkx as nx

        grounds = nx.ancestors(self.proofs, statement_id)
        return [s for s in self.statements if s in grounds and not self._holds(s)]

    @cached_property
    def fully_verified(self) -> frozenset[str]:
        """The statements that hold, and whose proofs rest only on statements that hold, all the way back."""
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
    files = (book / TABLE_OF_CONTENTS, *sorted((book / "chapters").rglob("*.ipynb")))
    return _read(book, tuple(_stamp(path) for path in files if path.is_file()))


def _stamp(path: Path) -> tuple[str, int, int, int]:
    """What changes when a file does."""
    state = path.stat()
    return str(path.resolve()), state.st_ino, state.st_mtime_ns, state.st_size


@lru_cache(maxsize=1)  # a build of the site asks a dozen times, and a reading takes half a second
def _read(book: Path, stamps: tuple[tuple[str, int, int, int], ...]) -> Stored:
    """As `read_stored`, once for as long as all files stay as they are."""
    pages = read_pages(book)
    found: dict[str, Mapping[str, Any]] = {}
    for path in chapter_paths(book / "chapters"):
        own = [verdict for verdict in verdicts_in(read_notebook(path)) if verdict["id"] == path.stem]
        found[path.stem] = own[0] if own else {"verdict": OPEN}
    return Stored(pages, {page_id: found[page_id] for page_id in pages})
