"""The pages that are drawn from verdicts, as HTML: the board, what holds as printed, what is
proved.

Each function takes the book's folder and a function from a page's id to its address. Each raises
`BadInput` if the folder, the table of contents or a notebook can't be read, or a page is registered
wrongly.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scansnap_core.book.claims_in_words import ClaimInWords, claims_in_words
from scansnap_core.book.errata import Erratum, errata_of
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.ledger.cards import SCALE, SILENCE
from scansnap_core.ledger.display import VERDICT_CLASS, WORD_CLASS, render
from scansnap_core.ledger.entries import KINDS, VOICES, Row
from scansnap_core.ledger.papers import Dynamics
from scansnap_core.ledger.registry import Page
from scansnap_core.ledger.verdicts import HOLDS, OPEN

_TEMPLATES = Path(__file__).with_name("templates")
_NAMED_GROUNDS = 4
_AS_STATED, *_LESS = SCALE
_UNCONCERNED, _UNTRIED = SILENCE
GROUPS = {
    "also under {named}, by proof or on the systems tried": (_AS_STATED,),
    "don't depend on the dynamics": (_UNCONCERNED,),
    "under the paper's own dynamics; under {named} only parts of them hold": tuple(_LESS),
    "under the paper's own dynamics; nobody has tried them under {named}": (_UNTRIED, ""),
}
"""What holds as printed, by a card's word for the first of the other dynamics, whose name the group
has in it.
"""
_IN_ONE = "in all"
"""The group of all that holds, in a book without other dynamics."""


def board_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the board as HTML: every statement, figure, claim in words and page beyond its paper,
    with witnesses and verdict.

    Sections are paper by paper: statements, figures, the law, what goes beyond. Claims in words
    stand before the first section "Beyond the paper".
    """
    stored = read_stored(book)
    papers = dict.fromkeys(page.paper for page in stored.pages.values())
    columns = [each.row for each in dynamics_of(stored)]
    numbers: dict[str, list[Erratum]] = {page_id: [] for page_id in stored.pages}
    errata = errata_of(stored, book)
    for erratum in errata:
        for page_id in dict.fromkeys(place.page.id for place in erratum.places):
            numbers[page_id].append(erratum)
    sections = [
        (
            f"{name}{paper.of}",
            [_row(stored, page, page_url(page.id), numbers[page.id], columns) for page in pages],
        )
        for paper in papers
        for name, kinds in (
            ("Statements", paper.statements),
            ("Figures", ("figure",)),
            ("The law", ("law",)),
            ("Beyond the paper", ("beyond",)),
        )
        if (
            pages := [
                page for page in stored.pages.values() if page.paper == paper and page.kind in kinds
            ]
        )
    ]
    if claims := claims_in_words(book, stored):
        at = next(
            (n for n, (name, _) in enumerate(sections) if name.startswith("Beyond")), len(sections)
        )
        answered = Counter(page_id for claim in claims for page_id in claim.pages)
        rows = [
            _row_of_claim(stored, claim, page_url, errata, answered, columns) for claim in claims
        ]
        rows += [  # such as the paper's remarks, each of which is a page's whole matter
            _row(stored, page, page_url(page.id), numbers[page.id], columns)
            for page in stored.pages.values()
            if page.kind == "claim" and page.id not in answered
        ]
        sections.insert(at, ("Claims in words", rows))
    return render(
        _TEMPLATES / "board.html",
        done=sum(stored.verdict_of(s) != OPEN for s in stored.statements),
        total=len(stored.statements),
        full=len(stored.fully_verified),
        dynamics=columns,
        sections=sections,
        errata_url=page_url("errata") if any(numbers.values()) else "",
    )


def dynamics_of(stored: Stored) -> list[Dynamics]:
    """List the other dynamics of a book's papers, those of the paper that it is about first."""
    every = (each for page in stored.pages.values() for each in page.paper.dynamics)
    return list({each.row: each for each in every}.values())


def _row(
    stored: Stored, page: Page, url: str, errata: list[Erratum], columns: Sequence[str]
) -> dict[str, Any]:
    """Say what the template needs to draw a page's row: names, address, counts by witness, verdict,
    the words under each of the card's ``columns``, and the page's errata.

    ``answers``, the pages that answer, is for claims in words, and empty here.
    """
    verdict = stored.verdict_of(page.id)
    counts = stored.own(page.id).witnesses
    return {
        "name": page.name,
        "title": page.title if page.number else "",
        "url": url,
        "answers": [],
        "css": VERDICT_CLASS[verdict] + (" ss-full" if page.id in stored.fully_verified else ""),
        "said": _voices_heard({witness: counts.get(witness, {}) for witness in VOICES}),
        "verdict": verdict,
        "under": _under(stored.own(page.id).card, columns),
        "standing": _standing(stored, page),
        "errata": errata,
    }


def _row_of_claim(
    stored: Stored,
    claim: ClaimInWords,
    page_url: Callable[[str], str],
    errata: list[Erratum],
    answered: Mapping[str, int],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Make the row of a claim in words, as :func:`_row` makes a page's.

    ``answered`` counts the claims that each page answers. If one page answers this claim, and no
    other one, the row has the words of that page's card.
    """
    own = [
        stored.own(page_id) for page_id in claim.pages if answered[page_id] == 1 == len(claim.pages)
    ]
    return {
        "name": claim.name,
        "title": claim.says,
        "url": "",
        "answers": [(stored.pages[page_id].name, page_url(page_id)) for page_id in claim.pages],
        "css": VERDICT_CLASS[claim.verdict],
        "said": _voices_heard({witness: claim.counts(witness) for witness in VOICES}),
        "verdict": claim.verdict,
        "under": _under(own[0].card if own else (), columns),
        "standing": claim.place,
        "errata": [
            erratum
            for erratum in errata
            if any(place.refutation in claim.entries for place in erratum.places)
        ],
    }


def _voices_heard(
    counts: Mapping[str, Mapping[str, int]],
) -> list[tuple[str, list[tuple[str, str, int]]]]:
    """List the witnesses that spoke, each with its checks and its refutations: for either a word, a
    mark and their number, if there are any.
    """
    marks = (("checks", "✓"), ("refutations", "✗"))
    marked = [
        (witness, [(what, mark, own[what]) for what, mark in marks if own.get(what)])
        for witness, own in counts.items()
    ]
    return [(witness, own) for witness, own in marked if own]


def _standing(stored: Stored, page: Page) -> str:
    """Say beside a statement's verdict whether it is fully verified, or which statements that its
    proof rests on don't hold; empty for a page that isn't judged.
    """
    if page.id in stored.fully_verified:
        return "fully verified"
    judged = page.is_statement and stored.verdict_of(page.id) != OPEN
    grounds = (
        [stored.pages[ground].name for ground in stored.unverified_grounds(page.id)]
        if judged
        else []
    )
    if not grounds:
        return ""
    waits = ", ".join(grounds) if len(grounds) <= _NAMED_GROUNDS else f"{len(grounds)} statements"
    return f"rests on {waits}, not all of which holds as printed"


def _under(card: Sequence[Row], columns: Sequence[str]) -> list[tuple[str, str]]:
    """Return the word that a card has for each of the board's columns, with its class; empty where
    there is no card, or no such row on it.
    """
    words = {row.of: row.word for row in card}
    return [(word, WORD_CLASS.get(word, "")) for word in (words.get(of, "") for of in columns)]


def holding(stored: Stored) -> dict[str, list[Page]]:
    """Group the statements that hold as printed by their card's word for the first of the other
    dynamics; leave empty groups out.
    """
    holds = [page for page in stored.statements.values() if stored.verdict_of(page.id) == HOLDS]
    others = dynamics_of(stored)
    if not others:
        return {_IN_ONE: holds} if holds else {}
    first = others[0]
    found: dict[str, list[Page]] = {name: [] for name in GROUPS}
    for page in holds:
        ((word, _),) = _under(stored.own(page.id).card, [first.row])
        found[next(name for name, words in GROUPS.items() if word in words)].append(page)
    return {name.format(named=first.named): pages for name, pages in found.items() if pages}


def holding_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw what holds as printed: the groups of `holding`, each statement with a link and its
    title.
    """
    stored = read_stored(book)
    return render(
        _TEMPLATES / "holding.html",
        groups=holding(stored),
        total=len(stored.statements),
        page_url=page_url,
    )


def proofs_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the claims that are made for all cases: how many are proved and how, and how many are
    only sampled.
    """
    stored = read_stored(book)

    proofs = [
        (page.name, page_url(page_id), proof)
        for page_id, page in stored.pages.items()
        for proof in stored.own(page_id).proofs
    ]
    by_kind = Counter(proof.kind for _, _, proof in proofs)
    return render(
        _TEMPLATES / "proofs.html",
        proofs=proofs,
        sampled=sum(len(stored.own(page_id).sampled) for page_id in stored.pages),
        open_url=page_url("open"),
        kinds=[(by_kind[kind], KINDS[kind]) for kind in KINDS if by_kind[kind]],
        name_of=KINDS,
    )
