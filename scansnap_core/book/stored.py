"""What the stored notebooks say about every statement: the one source of the board, the graph and the errata."""

from pathlib import Path
from typing import Any

from scansnap_core.book.notebooks import chapter_paths, read_notebook, verdicts_in
from scansnap_core.ledger.entries import HOLDS, HOLDS_UNDER_A_CONDITION, OPEN
from scansnap_core.ledger.statements import PAGES, STATEMENTS


def stored_verdicts(chapters_dir: Path) -> dict[str, dict[str, Any]]:
    """Read the verdicts that the notebooks store.

    Parameters
    ----------
    chapters_dir : Path
        The folder with the notebooks.

    Returns
    -------
    dict from str to dict
        For each page with a chapter, in the registry's order, its verdict as `Conclusion.as_json` gives it. A chapter
        that stores no verdict of its own, for example because it was cleared, has ``{"verdict": "open"}``.

    Raises
    ------
    BadInput
        If the folder or a notebook can't be read.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in chapter_paths(chapters_dir):
        own = [verdict for verdict in verdicts_in(read_notebook(path)) if verdict["id"] == path.stem]
        found[path.stem] = own[0] if own else {"verdict": OPEN}
    return {page_id: found[page_id] for page_id in PAGES if page_id in found}


def verdict_of(verdicts: dict[str, dict[str, Any]], page_id: str) -> str:
    """One page's verdict, ``"open"`` where nothing is stored."""
    return str(verdicts.get(page_id, {"verdict": OPEN})["verdict"])


def unverified_grounds(verdicts: dict[str, dict[str, Any]], statement_id: str) -> list[str]:
    """What a statement's proof rests on, however far back, that doesn't itself hold.

    Returns
    -------
    list of str
        Ids, in the registry's order.
    """
    grounds = proof_ancestors(statement_id)
    return [s for s in STATEMENTS if s in grounds and verdict_of(verdicts, s) not in (HOLDS, HOLDS_UNDER_A_CONDITION)]


def fully_verified(verdicts: dict[str, dict[str, Any]]) -> set[str]:
    """The statements that hold, and whose proofs rest only on statements that hold, all the way back."""
    return {
        s
        for s in STATEMENTS
        if verdict_of(verdicts, s) in (HOLDS, HOLDS_UNDER_A_CONDITION) and not unverified_grounds(verdicts, s)
    }


def proof_ancestors(statement_id: str) -> set[str]:
    """Every statement that a proof rests on, directly or through the proofs of others."""
    reached: set[str] = set()
    waiting = list(STATEMENTS[statement_id].proof_uses)
    while waiting:
        ground = waiting.pop()
        if ground not in reached:
            reached.add(ground)
            waiting += STATEMENTS[ground].proof_uses
    return reached
