"""Claims that a paper makes in words, without a number: where the book answers each, and the
verdict that follows.

``chapters/claims_in_words.yaml`` lists the claims. Each says what is claimed and where, and names
the entries that answer it, page by page, by their ids; a page without a list answers it as a
whole::

    C1:
      place: Sec. 1
      says: attention moves to tokens that co-occur a lot with the query
      answers:
        theorem_2: [distinct_rises, winners_share]
        real_text:

``answers`` is empty while a claim isn't answered. A page that answers as a whole gives the claim
its own verdict. A refutation that is named here counts against the claim, whatever it judges on its
own page. A check that measured something against the claim stands under ``against``, in the same
form; it doesn't count as support where its page answers as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import TEXT, Entry
from scansnap_core.base.rules import Rule
from scansnap_core.book.notebooks import Stored
from scansnap_core.ledger.entries import DECISIVE, Finding, Refutation
from scansnap_core.ledger.verdicts import FAILS_AS_PRINTED, HOLDS, HOLDS_UNDER_A_CONDITION, OPEN

FILE = "claims_in_words.yaml"
_KEYS = ("place", "says", "answers", "against")
_PAGES = Rule(
    lambda pages: isinstance(pages, dict),
    "it maps pages to ids of their claims",
    f"write it as {__name__} says",
)


@dataclass(frozen=True)
class ClaimInWords:
    """A claim without a number, such as ``"C19"``, and what the book's witnesses say of it.

    The pages with these ids answer it by their `entries`, as the notebooks store them; the checks
    among them that measured something against it stand apart in `against`.
    """

    name: str
    place: str
    says: str
    pages: tuple[str, ...]
    entries: tuple[Finding, ...]
    against: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> str:
        """Decide as for a statement with these entries alone; "open" without any.

        If something speaks against the claim, the verdict is "holds under a condition" where other
        checks support it, and no verdict of support where none does.
        """
        refuted = [entry for entry in self.entries if isinstance(entry, Refutation)]
        if not self.entries and not self.against:
            return OPEN
        if not refuted and not self.against:
            return HOLDS
        holds_somewhere = len(refuted) < len(self.entries) or not self.against
        conditional = holds_somewhere and all(entry.condition for entry in refuted)
        return HOLDS_UNDER_A_CONDITION if conditional else FAILS_AS_PRINTED

    def counts(self, witness: str) -> dict[str, int]:
        """Count the entries of a witness that support the claim, under "checks", and those that
        contradict it.
        """
        own = [isinstance(entry, Refutation) for entry in self.entries if entry.witness == witness]
        contrary = sum(entry.witness == witness for entry in self.against)
        return {"checks": own.count(False), "refutations": own.count(True) + contrary}


def claims_in_words(book: Path, stored: Stored) -> list[ClaimInWords]:
    """Read the claims of a book's folder in the order of its file; none where there is no file."""
    path = book / "chapters" / FILE
    listed = Entry(FILE, files.read(path, example="correct it") if path.exists() else {}).values
    return [
        _claim(Entry(f"{FILE}: {name}", entry, _KEYS), str(name), stored)
        for name, entry in listed.items()
    ]


def _claim(take: Entry, name: str, stored: Stored) -> ClaimInWords:
    """Read one claim of the file, with the stored entries that answer it.

    An entry that stands under ``against`` doesn't count as support, where its page answers as a
    whole.
    """
    answers = take("answers", _PAGES, {})
    contrary = take("against", _PAGES, {})
    against = _found(take.place, contrary, stored)
    if any(isinstance(entry, Refutation) for entry in against):
        raise BadInput(
            f"{take.place}.against", "a refutation contradicts by itself", "name it under answers"
        )
    found = [each for each in _found(take.place, answers, stored) if each not in against]
    pages = tuple(dict.fromkeys([*answers, *contrary]))
    return ClaimInWords(
        name, take("place", TEXT), take("says", TEXT), pages, tuple(found), tuple(against)
    )


def _found(source: str, pages: Mapping[str, Any], stored: Stored) -> list[Finding]:
    """Collect the stored entries that answer a claim in words, page by page.

    ``pages`` has for each page the ids of its claims, or None for all that decide its verdict;
    ``source`` is what messages call the claim.
    """
    found: list[Finding] = []
    for page_id, claim_ids in pages.items():
        if page_id not in stored.pages:
            raise BadInput(f"{source}.answers.{page_id}", "it is no page of the book", "correct it")
        if claim_ids is None:
            # The page is the claim's own, and decides it as it decides its own verdict.
            own = stored.own(page_id)
            decisive = [entry for entry in own.refutations if entry.judges in DECISIVE]
            found += [*own.checks, *decisive]
        else:
            found += stored.claims(source, page_id, claim_ids)
    return found
