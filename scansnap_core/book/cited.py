"""Claims that a chapter's card cites from other chapters, as these chapters store them.

While a chapter runs, it knows a cited claim by its file alone (`scansnap_core.ledger.cards`). Here
the card is judged again, by what the cited chapters have found.
"""

from __future__ import annotations

from pathlib import Path

from scansnap_core.base.bad_input import BadInput
from scansnap_core.book.notebooks import Stored
from scansnap_core.ledger.cards import number_of, page_cited, pages_cited
from scansnap_core.ledger.checks import check_file
from scansnap_core.ledger.claims import read_claims
from scansnap_core.ledger.entries import Check, Refutation
from scansnap_core.ledger.registry import check_id, notebook_of
from scansnap_core.ledger.values import NoEvidence
from scansnap_core.ledger.verdicts import Verdict


def cited_faults(book: Path, stored: Stored) -> list[str]:
    """List the cards of a book that cite what the other chapter doesn't store, or what it found
    otherwise than the card needs it; one fault a card.
    """

    def elsewhere(page_id: str) -> list[Check | Refutation]:
        """Return the checks and refutations that a page stores."""
        check_id(page_id, stored.pages)
        own = stored.own(page_id)
        return [*own.checks, *own.refutations]

    faults = []
    for page in stored.pages.values():
        path = notebook_of(page.id, book).with_suffix(".yaml")
        try:
            claims = read_claims(path)
        except BadInput:
            # Whoever verifies the chapter says what is wrong with its file.
            continue
        if not pages_cited(claims.card.values()):
            continue
        try:
            check_file(page, claims, elsewhere)
        except (BadInput, NoEvidence) as error:
            faults.append(str(error))
    return faults


def shown_of(name: str, verdict: Verdict) -> dict[str, str]:
    """Return what a card shows of the claim that it cites by this name: its number, as
    `cards.number_of` gives it, and its ``scope``, which says of what it was only sampled.

    ``verdict`` is what the claim's page stores.
    """
    entries: list[Check | Refutation] = [*verdict.checks, *verdict.refutations]
    found = {entry.id: entry for entry in entries}
    shown = number_of(found, name.removeprefix(f"{page_cited(name)}:"))
    scope = next((each.why for each in verdict.sampled if each.id == shown["by"]), "")
    return {**shown, "scope": scope}
