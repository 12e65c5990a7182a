"""The errata: every refutation that a chapter stores, under a number that stays its own, ranked.

The refutations come from the notebooks. Their numbers and ranks are judged by people, in
`ERRATA_FILE`: it and the notebooks must name the same refutations, so that none is lost and none is
invented. Where they don't, or a file can't be read, the functions here raise `BadInput`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import LIST, TEXT, Entry, list_of
from scansnap_core.base.rules import Rule, one_of
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.ledger.contents import chapter_paths, document_of
from scansnap_core.ledger.display import anchor_of as anchor_of_claim
from scansnap_core.ledger.display import render
from scansnap_core.ledger.entries import JUDGES, Refutation, asked
from scansnap_core.ledger.registry import Page

ERRATA_FILE = Path("chapters", "errata.yaml")
RANKS = {
    "conclusion": "changes a conclusion of the paper",
    "constant": "changes a constant, a rate or a condition that later results could lean on",
    "slip": "a slip: nothing else in the paper changes",
}
"""The ranks say what follows in the paper, the most consequential first."""

_TEMPLATES = Path(__file__).with_name("templates")
_KEYS = ("number", "rank", "because", "places")
_REASONS = Rule(
    lambda retired: (
        isinstance(retired, dict)
        and all(isinstance(text, str) for text in [*retired, *retired.values()])
    ),
    "it is a mapping from numbers to reasons",
    "restore it",
)
_NUMBER = Rule(
    lambda number: isinstance(number, str) and number[:1] == "E" and number[1:].isdecimal(),
    "it is E with digits behind it",
    "write e.g. E7",
)
_RANK = one_of(RANKS)
_PLACES = list_of(TEXT, "it is a list of refutations as page:id, each once", least=1)


@dataclass(frozen=True)
class Place:
    """One place at which an erratum is printed: the refutation of a page."""

    page: Page
    refutation: Refutation

    @property
    def cell(self) -> str:
        """Return the id of the refutation on its page."""
        return anchor_of_claim(self.refutation.id)

    @property
    def name(self) -> str:
        """Say where it is printed, with the paper if that isn't the book's own."""
        return f"{self.refutation.place}{self.page.paper.of}"


@dataclass(frozen=True)
class Erratum:
    """An error of a paper."""

    number: str
    """Such as ``"E7"``. It is never given to another one."""
    rank: str
    """One of `RANKS`."""
    because: str
    """Why it has this rank, in one line."""
    places: tuple[Place, ...]
    """Where it is printed; the first is the one that is explained."""

    @property
    def anchor(self) -> str:
        """Return the erratum's id on the page of errata."""
        return self.number.lower()

    @property
    def is_reading(self) -> bool:
        """Tell whether it is an error only in this book's reading of the paper's words."""
        return all(place.refutation.judges == "reading" for place in self.places)


def read_errata(book: Path) -> list[Erratum]:
    """Read the errata of a book's folder, by rank, and within a rank in the order of
    `ERRATA_FILE`.
    """
    return errata_of(read_stored(book), book)


def errata_of(stored: Stored, book: Path) -> list[Erratum]:
    """Like `read_errata`, from pages that were read already.

    Every stored refutation, but those of a scope, is in exactly one erratum, whose number its own
    chapter's file names too; else it raises BadInput.
    """
    retired, reviewed = _reviewed(book)
    waiting = {
        f"{page_id}:{refutation.id}": Place(page, refutation)
        for page_id, page in stored.pages.items()
        for refutation in stored.own(page_id).refutations
        if refutation.judges != "scope"
    }
    found = []
    used = set(retired)
    for number, rank, because, claims in reviewed:
        if number in used:
            raise _wrong(
                f"number {number}",
                "it is another erratum's, or was",
                "give the next number that is free",
            )
        used.add(number)
        places = []
        for claim in claims:
            if claim not in waiting:
                rule = "no chapter stores such a refutation, or another entry has it"
                raise _wrong(
                    f"{number}, {claim!r}", rule, "name it as page:id, or retire the number"
                )
            place = waiting.pop(claim)
            if place.refutation.erratum != number:
                rule = f"its chapter says that it is {place.refutation.erratum or 'none'}"
                raise _wrong(f"{number}, {claim!r}", rule, "correct one of them")
            places.append(place)
        found.append(Erratum(number, rank, because, tuple(places)))
    if waiting:
        rule = "a refutation has a number"
        raise _wrong(
            ", ".join(waiting), rule, "judge what follows from it, and add it with a new one"
        )
    return sorted(found, key=lambda erratum: list(RANKS).index(erratum.rank))


def errata_html(book: Path, page_url: Callable[[str], str], rank: str) -> str:
    """Draw the errata of one rank, each linked to the cells that show it; ``page_url`` gives a
    page's address by id.
    """
    _RANK("rank", rank)
    ranked = [erratum for erratum in read_errata(book) if erratum.rank == rank]
    return render(
        _TEMPLATES / "errata.html", errata=ranked, judges=JUDGES, asked=asked, page_url=page_url
    )


def retired_html(book: Path) -> str:
    """Draw the numbers that are no longer in use, each with the reason; old links to them still
    arrive.
    """
    return render(_TEMPLATES / "errata_retired.html", retired=_reviewed(book)[0])


def errata_json(book: Path) -> dict[str, Any]:
    """Return the errata for scripts: what stands on the page, by key, with addresses from the
    site's root.
    """
    addresses = {
        path.stem: path.relative_to(book).with_suffix(".html").as_posix()
        for path in chapter_paths(book / "chapters")
    }
    page = document_of("errata", book)
    return {
        "version": metadata.version("scansnap_core"),
        "ranks": RANKS,
        "judges": JUDGES,
        "retired": _reviewed(book)[0],
        "errata": [
            {
                "number": erratum.number,
                "rank": erratum.rank,
                "because": erratum.because,
                "address": f"{page}.html#{erratum.anchor}",
                "places": [
                    _place_json(place, addresses[place.page.id]) for place in erratum.places
                ],
            }
            for erratum in read_errata(book)
        ],
    }


def _place_json(place: Place, address: str) -> dict[str, Any]:
    """Return what scripts read of one place of an erratum, as the errata's JSON holds it.

    ``place`` is the refutation with the page and the cell that store it, and ``address`` is the
    page's.
    """
    refutation = vars(place.refutation)
    return {
        "paper": place.page.paper.id,
        **{key: refutation[key] for key in ("place", "judges", "printed", "repair", "condition")},
        "evidence": {
            key: refutation[key] for key in ("witness", "what", "measure", "measured", "required")
        },
        "repaired": {"measured": refutation["control"], "what": refutation["control_is"]},
        "consequence": refutation["consequence"],
        "page": place.page.id,
        "address": f"{address}#{place.cell}",
    }


def _reviewed(book: Path) -> tuple[dict[str, str], list[tuple[str, str, str, list[str]]]]:
    """Read the book's `ERRATA_FILE`, if it has one.

    Returns the retired numbers with their reasons, and for each erratum its number, its rank, why,
    and its refutations as page:id.
    """
    if not (path := book / ERRATA_FILE).exists():
        return {}, []
    whole = Entry(str(ERRATA_FILE), files.read(path, example="restore it"), ("retired", "errata"))
    retired = whole("retired", _REASONS)
    reviewed = []
    for place, entry in enumerate(whole("errata", LIST), 1):
        number = Entry(f"{ERRATA_FILE}: entry {place}", entry, _KEYS)("number", _NUMBER)
        take = Entry(f"{ERRATA_FILE}: {number}", entry)
        reviewed.append(
            (number, take("rank", _RANK), take("because", TEXT), take("places", _PLACES))
        )
    return retired, reviewed


def _wrong(value: str, rule: str, remedy: str) -> BadInput:
    """Make the error about an entry of the file."""
    return BadInput(f"{ERRATA_FILE}: {value}", rule, remedy)
