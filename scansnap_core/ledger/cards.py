r"""The card at the head of a chapter: what is printed, its repair, and what is left of it under two other dynamics.

It stands in the chapter's file of claims and names claims by their ids, so that its numbers are theirs. Whether what is
printed holds follows from the verdict::

    card:
      printed: {by: dop853, says: It solves its equation.}
      repaired: {formula: $h = \ln t$, where: from $t_0$ on, by: late_clock}  # only where the verdict asks for one
      gradient: {word: fails, by: jump, says: The gradient jumps elsewhere.}
      sgd: {word: not concerned, says: The formula has no noise in it.}
      figure: cell-17

``gradient`` and ``sgd`` have a word of `SCALE` and the claim that was measured under these very dynamics, with
``number:
control`` where its control was; or a word of `SILENCE` and no claim. ``figure`` is the id of the notebook's cell that
draws the one figure to look at, or empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger.claims import text_of
from scansnap_core.ledger.entries import HOLDS, HOLDS_UNDER_A_CONDITION, REPRODUCED, Check, Refutation, Row, asked
from scansnap_core.ledger.values import NoEvidence

PRINTED, REPAIRED, TRUE_GRADIENT, SGD = "as printed", "repaired", "under the true gradient", "under SGD"
SCALE = {
    "as stated": "what is printed, or its repair, holds there as it stands",
    "in kind, not in size": "directions and orders hold there, and sizes don't",
    "in part": "some of what is claimed holds there, and some doesn't",
    "fails": "it doesn't hold there",
}
"""The words for what is left of a statement under other dynamics than those that it is about."""
SILENCE = {
    "not concerned": "the statement says nothing about these dynamics",
    "not measured": "nobody has tried it in this chapter",
}
"""The words of a card that is silent about dynamics."""
NONE_NEEDED, AS_PRINTED = "none needed", "as printed"
NUMBERS = ("measured", "control")
UNPRINTED = {"claim": "in the paper's words", "law": "as stated here", "beyond": "as stated here"}
"""What a page's card says for "as printed" where no formula of a paper is judged, by the page's kind."""


def rows_shown(rows: Iterable[Mapping[str, str]], kind: str) -> list[dict[str, str]]:
    """Return a card's rows as a kind of page shows them: statements of its own weren't printed, and need no repair.

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

_ROWS = {"printed": PRINTED, "repaired": REPAIRED, "gradient": TRUE_GRADIENT, "sgd": SGD}
_KEYS = {
    "printed": {"by", "says"},
    "repaired": {"formula", "where", "by"},
    "gradient": {"word", "by", "says", "number"},
    "sgd": {"word", "by", "says", "number"},
}


def rows_of(card: Mapping[str, Any], verdict: str, entries: Entries) -> list[Row]:
    """Make a card's rows, with the numbers of a chapter's entries.

    Raises
    ------
    BadInput
        If a key is missing or unknown, a text is empty or no word of its scale, a row names no entry of the chapter,
        the printed row names an entry that the verdict doesn't rest on, or a repair is given where none is needed.
    NoEvidence
        If the verdict is that something has to be repaired, and the card has no repair.
    """
    keys = {*_ROWS, "figure"}
    if wrong := sorted(({*card} ^ keys) - {"repaired"}, key=str):
        raise BadInput(f"card.{wrong[0]}", f"a card has {', '.join(sorted(keys))}", "add or remove it")
    said = {name: _texts(name, card[name]) for name in _ROWS if name in card}
    return [
        _printed(said["printed"], verdict, entries),
        _repaired(said.get("repaired"), verdict, entries),
        _under("gradient", said["gradient"], entries),
        _under("sgd", said["sgd"], entries),
    ]


def _texts(name: str, row: Any) -> dict[str, str]:
    if not isinstance(row, Mapping) or not {*row} <= _KEYS[name]:
        raise BadInput(f"card.{name} = {row!r:.80}", f"it has {', '.join(sorted(_KEYS[name]))}", "correct its keys")
    return {key: text_of(f"card.{name}.{key}", value) for key, value in row.items()}


def _printed(row: Mapping[str, str], verdict: str, entries: Entries) -> Row:
    _require(PRINTED, row, "says")
    entry = _named(PRINTED, row, entries)
    judges = entry.judges if isinstance(entry, Refutation) else ""
    if judges != ("" if _is_upheld(verdict) else "claim"):
        asked = "a check" if _is_upheld(verdict) else "a refutation of the claim itself"
        raise BadInput(f"{PRINTED}: by = {entry.id!r}", f"the verdict is {verdict!r}", f"name {asked}")
    return Row(PRINTED, verdict, row["says"], **_number(entry, "measured"))


def _repaired(row: Mapping[str, str] | None, verdict: str, entries: Entries) -> Row:
    if _is_upheld(verdict):
        if row is not None:
            raise BadInput(f"{REPAIRED}: {row!r:.80}", f"the verdict is {verdict!r}", "leave the repair out")
        return Row(REPAIRED, NONE_NEEDED, "")
    if row is None:
        raise NoEvidence(f"the verdict is {verdict!r}, and the card doesn't say what should be printed instead")
    # mutant: The other verdicts that get here, "fails as printed" and "differs from the paper", come before it in the
    # alphabet.
    _require(REPAIRED, row, "where", *(["formula"] if verdict != HOLDS_UNDER_A_CONDITION else []))
    entry, formula = _named(REPAIRED, row, entries), row.get("formula", "")
    number = _number(entry, "control" if isinstance(entry, Refutation) else "measured")
    return Row(REPAIRED, "" if formula else AS_PRINTED, row["where"], formula, **number)


def _under(name: str, row: Mapping[str, str], entries: Entries) -> Row:
    dynamics = _ROWS[name]
    _require(dynamics, row, "says", "word")
    scale = SCALE if "by" in row else SILENCE
    if row["word"] not in scale:
        raise BadInput(f"{dynamics}: word = {row['word']!r}", "the scale is closed", f"use one of {', '.join(scale)}")
    if "by" not in row:
        return Row(dynamics, row["word"], row["says"])
    if (number := row.get("number", "measured")) not in NUMBERS:
        raise BadInput(f"{dynamics}: number = {number!r}", "an entry has two numbers", f"use {' or '.join(NUMBERS)}")
    return Row(dynamics, row["word"], row["says"], **_number(_named(dynamics, row, entries), number))


def _is_upheld(verdict: str) -> bool:
    return verdict in (HOLDS, REPRODUCED)


def _number(entry: Check | Refutation, number: str) -> dict[str, str]:
    # mutant: Of the two words only "control" is not above "control" in the alphabet.
    on = entry.control_is if number == "control" else ""
    needed = asked(vars(entry), number)
    needed += ". Checked" if needed.startswith("where") else ""  # what follows is then the claim that fails
    return {"number": getattr(entry, number), "required": needed, "what": entry.what, "on": on, "by": entry.id}


def _named(of: str, row: Mapping[str, str], entries: Entries) -> Check | Refutation:
    found = {entry.id: entry for entry in entries}
    if row.get("by") not in found:
        raise BadInput(f"{of}: by = {row.get('by')!r}", "no check or refutation here has this id", "name one of them")
    return found[row["by"]]


def _require(of: str, row: Mapping[str, str], *keys: str) -> None:
    for key in keys:
        if not row.get(key):
            raise BadInput(f"{of}: {key} is empty", "a reader must learn it", "say it in one plain sentence")
