"""The errata: every refutation that a chapter stores, under a number that stays its own, ranked by what follows.

The refutations come from the notebooks. Their numbers and ranks are judged by people, in `ERRATA_FILE`: it and the
notebooks must name the same refutations, so that none is lost and none is invented.

CSS classes
-----------
``ss-erratum``
    An erratum (``section``), whose id is its anchor. ``ss-erratum-head`` is its first line (``p``), with ``ss-number``
    (the link to itself) and ``ss-judged`` (what is judged) inside; the rest is a list of ``ss-values``.
``ss-retired``
    The list (``dl``) of numbers that are no longer in use. The id of each (``dt``) is the anchor that it had.
``ss-none``
    The paragraph that stands in the place of a rank without errata.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.ledger.display import anchor_of as anchor_of_claim
from scansnap_core.ledger.display import render
from scansnap_core.ledger.entries import JUDGES, asked
from scansnap_core.ledger.registry import Page, chapter_paths

ERRATA_FILE = Path("chapters", "errata.yaml")
RANKS = {
    "conclusion": "changes a conclusion of the paper",
    "constant": "changes a constant, a rate or a condition that later results could lean on",
    "slip": "a slip: nothing else in the paper changes",
}
"""The ranks say what follows in the paper, the most consequential first."""

_TEMPLATE = Path(__file__).with_name("templates") / "errata.html"
_RETIRED = Path(__file__).with_name("templates") / "errata_retired.html"
_KEYS = ("number", "rank", "because", "places")


@dataclass(frozen=True)
class Place:
    """One place at which an erratum is printed: the refutation of a page."""

    page: Page
    refutation: Mapping[str, Any]

    @property
    def cell(self) -> str:
        """Return the id of the refutation on its page."""
        return anchor_of_claim(self.refutation["id"])

    @property
    def name(self) -> str:
        """Say where it is printed, with the paper if that isn't the book's own."""
        return f"{self.refutation['place']}{self.page.paper.of}"


@dataclass(frozen=True)
class Erratum:
    """An error of a paper.

    Attributes
    ----------
    number : str
        Such as ``"E7"``. It is never given to another one.
    rank : str
        One of `RANKS`.
    because : str
        Why it has this rank, in one line.
    places : tuple of Place
        Where it is printed; the first is the one that is explained.
    """

    number: str
    rank: str
    because: str
    places: tuple[Place, ...]

    @property
    def anchor(self) -> str:
        """Its id on the page of errata."""
        return anchor_of(self.number)

    @property
    def is_reading(self) -> bool:
        """Tell whether it is an error only in this book's reading of the paper's words."""
        return all(place.refutation["judges"] == "reading" for place in self.places)


def anchor_of(number: str) -> str:
    """Return the id that an erratum has on the page of errata.

    Examples
    --------
    >>> anchor_of("E7")
    'e7'
    """
    return number.lower()


def read_errata(book: Path) -> list[Erratum]:
    """Read the errata of a book, by rank, and within a rank in the order of `ERRATA_FILE`.

    Parameters
    ----------
    book : Path
        The folder with the table of contents and the chapters.

    Raises
    ------
    BadInput
        If the book can't be read; if a refutation has no entry or two, or says another number than its entry, an entry
        has no refutation, a number is used twice, is retired or isn't one, or a rank is unknown.
    """
    return errata_of(read_stored(book), book)


def errata_of(stored: Stored, book: Path) -> list[Erratum]:
    """Do as `read_errata` does, with pages that were read before."""
    retired, entries = _reviewed(book)
    waiting = {
        f"{page_id}:{refutation['id']}": Place(page, refutation)
        for page_id, page in stored.pages.items()
        for refutation in stored.verdicts[page_id].get("refutations", [])
    }
    found, used = [], set(retired)
    for entry in entries:
        number = entry["number"]
        if number in used:
            raise _wrong(f"number {number}", "it is another erratum's, or was", "give the next number that is free")
        used.add(number)
        places = []
        for claim in entry["places"]:
            if claim not in waiting:
                rule = "no chapter stores such a refutation, or another entry has it"
                raise _wrong(f"{number}, {claim!r}", rule, "name it as page:id, or retire the number")
            place = waiting.pop(claim)
            if place.refutation["erratum"] != number:
                rule = f"its chapter says that it is {place.refutation['erratum'] or 'none'}"
                raise _wrong(f"{number}, {claim!r}", rule, "correct one of them")
            places.append(place)
        found.append(Erratum(number, entry["rank"], entry["because"], tuple(places)))
    if waiting:
        rule = "a refutation has a number"
        raise _wrong(", ".join(waiting), rule, "judge what follows from it, and add it with a new one")
    return sorted(found, key=lambda erratum: list(RANKS).index(erratum.rank))


def errata_html(book: Path, page_url: Callable[[str], str], rank: str) -> str:
    """Draw the errata of one rank, each linked to the cells that show it.

    Parameters
    ----------
    book : Path
        The folder with the table of contents and the chapters.
    page_url : callable
        From an id to its page's address.
    rank : str
        One of `RANKS`.

    Raises
    ------
    BadInput
        As `read_errata`, or if there is no such rank.
    """
    if rank not in RANKS:
        raise BadInput(f"rank {rank!r}", "there is none", f"the ranks are {', '.join(RANKS)}")
    ranked = [erratum for erratum in read_errata(book) if erratum.rank == rank]
    return render(_TEMPLATE, errata=ranked, judges=JUDGES, asked=asked, page_url=page_url)


def retired_html(book: Path) -> str:
    """Draw the numbers that are no longer in use, each with the reason; old links to them still arrive.

    Raises
    ------
    BadInput
        As `read_errata`.
    """
    return render(_RETIRED, retired=[(number, anchor_of(number), why) for number, why in _reviewed(book)[0].items()])


def errata_json(book: Path) -> dict[str, Any]:
    """Return the errata for scripts: what stands on the page, by key, with addresses from the site's root.

    Parameters
    ----------
    book : Path
        The folder with the table of contents and the chapters.

    Raises
    ------
    BadInput
        As `read_errata`.
    """
    addresses = {
        path.stem: path.relative_to(book).with_suffix(".html").as_posix() for path in chapter_paths(book / "chapters")
    }
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
                "address": f"chapters/errata.html#{erratum.anchor}",
                "places": [_place_json(place, addresses[place.page.id]) for place in erratum.places],
            }
            for erratum in read_errata(book)
        ],
    }


def _place_json(place: Place, address: str) -> dict[str, Any]:
    said = place.refutation
    return {
        "paper": place.page.paper.id,
        "place": said["place"],
        "judges": said["judges"],
        "printed": said["printed"],
        "repair": said["repair"],
        "condition": said["condition"],
        "evidence": {key: said[key] for key in ("witness", "what", "measured", "required")},
        "repaired": {"measured": said["control"], "what": said["control_is"]},
        "consequence": said["consequence"],
        "page": place.page.id,
        "address": f"{address}#{place.cell}",
    }


def _reviewed(book: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Read the book's file: the retired numbers, each with its reason, and the entries; none where there is no file."""
    from scansnap_core import files

    path = book / ERRATA_FILE
    if not path.exists():
        return {}, []
    content = files.read(path, example="restore it")
    try:
        retired, entries = content["retired"], content["errata"]
        right = _all_texts([*retired, *retired.values()]) and isinstance(entries, list)
    except (KeyError, TypeError, AttributeError):
        right = False
    if not right:
        rule = "it is a mapping with retired, from numbers to reasons, and the list errata"
        raise _wrong("the file", rule, "restore it")
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != set(_KEYS):
            raise _wrong(f"{entry!r:.80}", f"an erratum has {', '.join(_KEYS)}", "add or remove a key")
        number, rank, because, places = (entry[key] for key in _KEYS)
        if not (isinstance(number, str) and number[:1] == "E" and number[1:].isdecimal()):
            raise _wrong(f"number {number!r}", "it is E with digits behind it", "write e.g. E7")
        if rank not in list(RANKS):
            raise _wrong(f"{number}, rank {rank!r}", f"the ranks are {', '.join(RANKS)}", "choose one")
        if not isinstance(because, str) or not because.strip():
            raise _wrong(f"{number}, because", "a rank is judged for a reason", "say it in one line")
        if not (_all_texts(places) and places):
            raise _wrong(f"{number}, places", "it is a list of refutations as page:id", "name one at least")
    return retired, entries


def _all_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _wrong(value: str, rule: str, remedy: str) -> BadInput:
    return BadInput(f"{ERRATA_FILE}: {value}", rule, remedy)
