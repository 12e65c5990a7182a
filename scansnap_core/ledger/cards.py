"""The card at the head of a chapter: what is printed, its repair, and what is left of it under two other dynamics.

A chapter names entries of its own ledger, and the card's numbers are theirs. Whether what is printed holds follows from
the verdict.

Examples
--------
>>> card = Card(
...     printed=Printed("error of (45)", "It solves its equation."),
...     true_gradient=Finding("fails", "size of the jump", "The gradient jumps elsewhere."),
...     sgd=Silent("not concerned", "The formula has no noise in it."),
...     figure="cell-17",
... )
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger.entries import HOLDS, HOLDS_UNDER_A_CONDITION, REPRODUCED, Check, Refutation, Row
from scansnap_core.ledger.values import NoEvidence

PRINTED, REPAIRED, TRUE_GRADIENT, SGD = "as printed", "repaired", "under the true gradient", "under SGD"
SCALE = {
    "as stated": "what is printed, or its repair, holds there as it stands",
    "in kind, not in size": "directions and orders hold there, and sizes don't",
    "in part": "some of what is claimed holds there, and some doesn't",
    "fails": "it doesn't hold there",
}
"""What is left of a statement under other dynamics than those that it is about."""
SILENCE = {
    "not concerned": "the statement says nothing about these dynamics",
    "not measured": "nobody has tried it in this chapter",
}
"""Why a card can be silent about dynamics."""
NONE_NEEDED, AS_PRINTED = "none needed", "as printed"
NUMBERS = ("measured", "control")
UNPRINTED = {"claim": "in the paper's words", "law": "as stated here", "beyond": "as stated here"}
"""What a page's card says for "as printed" where no formula of a paper is judged, by the page's kind."""


@dataclass(frozen=True)
class Printed:
    """What became of the statement as printed; in which word follows from the verdict.

    Attributes
    ----------
    what : str
        The beginning of an entry's `what`: a refutation of the claim where the verdict says that there is one, else a
        check.
    says : str
        One plain sentence. Mathematics may stand between dollar signs, here and in the other texts.
    """

    what: str
    says: str


@dataclass(frozen=True)
class Repair:
    """What should be printed instead.

    Attributes
    ----------
    formula : str
        The one final formula, or for a figure what it would show; empty where only a condition is missing.
    where : str
        Where it is valid: its region, or the condition.
    what : str
        The beginning of the entry that bears it out: a refutation by its control, or a check by what it measured.
    """

    formula: str
    where: str
    what: str


@dataclass(frozen=True)
class Finding:
    """What is left of the statement under other dynamics.

    Attributes
    ----------
    word : str
        One of `SCALE`.
    what : str
        The beginning of an entry that was measured under these very dynamics.
    says : str
        One plain sentence.
    number : {"measured", "control"}
        Which of the entry's numbers was.
    """

    word: str
    what: str
    says: str
    number: str = "measured"


@dataclass(frozen=True)
class Silent:
    """Dynamics of which a chapter has no number.

    Attributes
    ----------
    word : str
        One of `SILENCE`.
    why : str
        One plain sentence.
    """

    word: str
    why: str


@dataclass(frozen=True)
class Card:
    """What a chapter's card shows, beside what follows from its verdict.

    Attributes
    ----------
    printed : Printed
    repaired : Repair, optional
        Needed exactly where the verdict is that something has to be repaired.
    true_gradient, sgd : Finding or Silent
    figure : str
        The id of the notebook's cell that draws the one figure to look at; empty in a chapter that draws none.
    """

    printed: Printed
    true_gradient: Finding | Silent
    sgd: Finding | Silent
    figure: str
    repaired: Repair | None = None


def rows_shown(rows: Iterable[Mapping[str, str]], kind: str) -> list[dict[str, str]]:
    """A card's rows as readers of a kind of page see them: its own statements weren't printed, and need no repair.

    Examples
    --------
    >>> rows = [{"of": "as printed", "word": "holds"}, {"of": "repaired", "word": "none needed"}]
    >>> rows_shown(rows, "law")
    [{'of': 'as stated here', 'word': 'holds'}]
    """
    name = UNPRINTED.get(kind, PRINTED)
    own = kind in UNPRINTED and kind != "claim"
    return [
        {**row, **{key: name for key in ("of", "word") if row[key] == PRINTED}}
        for row in rows
        if not (own and row["word"] == NONE_NEEDED)
    ]


Entries = Sequence[Check | Refutation]


def rows_of(card: Card, verdict: str, entries: Entries) -> list[Row]:
    """A card's rows, with the numbers of a chapter's entries.

    Raises
    ------
    BadInput
        If a text is empty or no word of its scale, a row names no one entry of the chapter, the printed row names an
        entry that the verdict doesn't rest on, or a repair is given where none is needed.
    NoEvidence
        If the verdict is that something has to be repaired, and the card has no repair.
    """
    return [
        _printed(card.printed, verdict, entries),
        _repaired(card.repaired, verdict, entries),
        _under(TRUE_GRADIENT, card.true_gradient, entries),
        _under(SGD, card.sgd, entries),
    ]


def _printed(printed: Printed, verdict: str, entries: Entries) -> Row:
    _require_text(PRINTED, says=printed.says)
    entry = _named(PRINTED, printed.what, entries)
    judges = entry.judges if isinstance(entry, Refutation) else ""
    if judges != ("" if _is_upheld(verdict) else "claim"):
        asked = "a check" if _is_upheld(verdict) else "a refutation of the claim itself"
        raise BadInput(f"{PRINTED}: what = {entry.what!r}", f"the verdict is {verdict!r}", f"name {asked}")
    return Row(PRINTED, verdict, printed.says, **_number(entry, "measured"))


def _repaired(repair: Repair | None, verdict: str, entries: Entries) -> Row:
    if _is_upheld(verdict):
        if repair is not None:
            raise BadInput(f"{REPAIRED}: {repair.formula!r}", f"the verdict is {verdict!r}", "leave the repair out")
        return Row(REPAIRED, NONE_NEEDED, "")
    if repair is None:
        raise NoEvidence(f"the verdict is {verdict!r}, and the card doesn't say what should be printed instead")
    _require_text(REPAIRED, where=repair.where)
    if verdict != HOLDS_UNDER_A_CONDITION:
        _require_text(REPAIRED, formula=repair.formula)
    entry = _named(REPAIRED, repair.what, entries)
    number = _number(entry, "control" if isinstance(entry, Refutation) else "measured")
    return Row(REPAIRED, "" if repair.formula else AS_PRINTED, repair.where, repair.formula, **number)


def _under(dynamics: str, found: Finding | Silent, entries: Entries) -> Row:
    scale = SCALE if isinstance(found, Finding) else SILENCE
    if found.word not in scale:
        raise BadInput(f"{dynamics}: word = {found.word!r}", "the scale is closed", f"use one of {', '.join(scale)}")
    if isinstance(found, Silent):
        _require_text(dynamics, why=found.why)
        return Row(dynamics, found.word, found.why)
    _require_text(dynamics, says=found.says)
    if found.number not in NUMBERS:
        raise BadInput(
            f"{dynamics}: number = {found.number!r}", "an entry has two numbers", f"use one of {', '.join(NUMBERS)}"
        )
    return Row(dynamics, found.word, found.says, **_number(_named(dynamics, found.what, entries), found.number))


def _is_upheld(verdict: str) -> bool:
    return verdict in (HOLDS, REPRODUCED)


def _number(entry: Check | Refutation, number: str) -> dict[str, str]:
    on = entry.control_is if number == "control" else ""
    return {"number": getattr(entry, number), "required": entry.required, "what": entry.what, "on": on}


def _named(row: str, start: str, entries: Entries) -> Check | Refutation:
    found = {entry.what: entry for entry in entries if start.strip() and entry.what.startswith(start)}
    if start in found:
        return found[start]
    if len(found) != 1:
        rule = f"{len(found)} checks and refutations of this chapter begin so"
        raise BadInput(f"{row}: what = {start!r}", rule, "give the beginning of one of them")
    (only,) = found.values()
    return only


def _require_text(row: str, **texts: str) -> None:
    for name, text in texts.items():
        if not text.strip():
            raise BadInput(f"{row}: {name} = {text!r}", "a reader must learn it", "say it in one plain sentence")
