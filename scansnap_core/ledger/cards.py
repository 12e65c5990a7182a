r"""The card at the head of a chapter: what is printed, its repair, and what is left of it under
other dynamics than its own.

It stands in the chapter's file of claims and names claims by their ids, so that its numbers are
theirs. Whether what is printed holds follows from the verdict, and ``repaired`` stands only where
the verdict asks for it::

    card:
      printed: {by: dop853, says: It solves its equation.}
      repaired: {formula: $h = \ln t$, where: from $t_0$ on, by: late_clock}
      gradient: {keeps: [rises], sizes: [jump.control], says: The gradient jumps less far.}
      sgd: {word: not concerned, says: The formula has no noise in it.}
      figure: cell-17

Where a figure's runs are smaller than the paper's own, ``printed`` says in what under ``smaller``.
Such runs may show what the figure shows, and can't refute it.

``gradient`` and ``sgd`` are this book's: which other dynamics a card speaks of, and how their rows
are called, the table of contents says of each paper (`scansnap_core.ledger.papers`). They name
the chapter's claims that were measured under these very dynamics:

- ``keeps``: what is printed, its repair, or a part of it holds there. Each is a check, which held.
- ``sizes``: a size (a constant, a rate, a factor) isn't kept there, though a direction or an order
  is.
- ``loses``: a part (a sign, an order, a sentence) doesn't hold there.

A row also cites claims of other chapters, such as ``population:common_falls_gradient``, and they
count as its own do. While a chapter runs, a cited claim is known by its chapter's file of claims
alone, so that no chapter has to be run before another. That the other chapter stores it as the card
needs it, ``scansnap verify`` asks of the whole book; the site shows what it measured.

The row's word of `SCALE` follows from them by `word_of`; nobody chooses it. Under ``sizes`` and
``loses`` a refutation shows what fails, and so does a check: by what it says, or as
``jump.control`` by its control, on which it failed. The row shows the number of the claim that
``shows`` names; without it, of the first one under ``loses``, else ``sizes``, else ``keeps``. If
that one is cited, it stands first among the cited ones, which are all shown. A row that names no
claim has a word of `SILENCE`. ``figure`` is the id of the notebook's cell that draws
the one figure to look at, or empty.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import TEXT, Entry, list_of
from scansnap_core.base.rules import Rule, one_of
from scansnap_core.ledger.claims import CARD, Claims
from scansnap_core.ledger.entries import DECISIVE, Check, Refutation, Row, asked
from scansnap_core.ledger.papers import Dynamics
from scansnap_core.ledger.prose import NUMBER
from scansnap_core.ledger.values import NoEvidence
from scansnap_core.ledger.verdicts import (
    HOLDS,
    HOLDS_UNDER_A_CONDITION,
    REPRODUCED,
    REPRODUCED_SMALLER,
)

PRINTED = "as printed"
REPAIRED = "repaired"
SCALE = {
    "as stated": "all that was tried of it there, as printed or repaired, holds",
    "in kind, not in size": "directions and orders hold there, and a size doesn't",
    "in part": "a part of it holds there, and another part doesn't",
    "fails": "what was tried of it there doesn't hold",
}
"""The words for what is left of a statement under other dynamics than its own; see `word_of`."""
SILENCE = {
    "not concerned": "the statement says nothing about these dynamics",
    "not measured": "nobody has tried it in this chapter",
}
"""The words of a card that is silent about dynamics."""
NONE_NEEDED = "none needed"
AS_PRINTED = "as printed"
EVIDENCE = ("keeps", "sizes", "loses")
"""The lists of claims from which the word of a row about dynamics follows."""
CONTROL = ".control"
"""What ends the id of a check's control."""
_IDS = list_of(TEXT, "it is a list of different ids of claims", least=1)
UNPRINTED = {"claim": "in the paper's words", "law": "as stated here", "beyond": "as stated here"}
"""What a page's card says for "as printed" where no formula of a paper is judged, by the page's
kind.
"""
_KEYS = {
    "printed": ("by", "says", "smaller"),
    "repaired": ("formula", "where", "by"),
}
"""The rows of every card, each with its keys."""
_UNDER_KEYS = (*EVIDENCE, "shows", "says", "word")
"""The keys of a row about other dynamics."""
_Found = Mapping[str, Check | Refutation]
Elsewhere = Callable[[str], Iterable[Check | Refutation]]
"""What gives the checks and refutations of another page, by its id; BadInput if there is no such
page.
"""


def smaller_runs(claims: Claims) -> str:
    """Return in what a figure's runs are smaller than the paper's, as its card says it; empty if in
    nothing.
    """
    printed = Entry(
        f"{claims.path.name}: {CARD}.printed", claims.card.get("printed"), _KEYS["printed"]
    )
    return printed("smaller", TEXT, "")


def word_of(keeps: Sequence[str], sizes: Sequence[str], loses: Sequence[str]) -> str:
    """Return the word of `SCALE` that follows from the claims that a card's row names.

    Examples
    --------
    >>> word_of(["rises", "falls"], [], [])
    'as stated'
    >>> word_of(["rises"], ["factor"], [])
    'in kind, not in size'
    >>> word_of(["rises"], ["factor"], ["order"])
    'in part'
    >>> word_of([], [], ["order"])
    'fails'
    """
    as_stated, in_kind, in_part, fails = SCALE
    if loses:
        return in_part if keeps else fails
    return in_kind if sizes else as_stated


def rows_shown(rows: Iterable[Row], kind: str) -> list[Row]:
    """Return a card's rows as a kind of page shows them: the book's own statements have no row
    "repaired".

    Examples
    --------
    >>> rows = [Row("as printed", "holds", "It is so."), Row("repaired", "none needed", "")]
    >>> [row.of for row in rows_shown(rows, "law")]
    ['as stated here']
    """
    name = UNPRINTED.get(kind, PRINTED)
    own = kind in UNPRINTED and kind != "claim"
    return [
        replace(
            row,
            of=name if row.of == PRINTED else row.of,
            word=name if row.word == PRINTED else row.word,
        )
        for row in rows
        if not (own and row.word == NONE_NEEDED)
    ]


def card_of(
    claims: Claims,
    verdict: str,
    entries: Sequence[Check | Refutation],
    numbers: Mapping[str, str],
    dynamics: Sequence[Dynamics],
    elsewhere: Elsewhere,
) -> tuple[tuple[Row, ...], str]:
    """Make the rows of a chapter's card, with the numbers of its entries, and name the cell of its
    figure.

    The paper's ``dynamics`` say which rows stand below what is printed and its repair, and
    ``elsewhere`` what other chapters hold of the claims that these rows cite.

    A number in a row's text, such as ``<data value="drop">1.2</data>``, becomes the chapter's
    number of this name.

    Raises
    ------
    BadInput
        If a key is missing or unknown, a text is empty or no word of its scale, a row names no
        entry of the chapter or of the one that it cites, the printed row names an entry that the
        verdict doesn't rest on, a repair is given where none is needed, or a row about dynamics
        names a claim for what it can't show, or chooses the word that follows from its claims.
    NoEvidence
        If the verdict is that something has to be repaired, and the card has no repair.
    """
    place = f"{claims.path.name}: {CARD}"
    row_keys = _KEYS | {each.key: _UNDER_KEYS for each in dynamics}
    keys = {*row_keys, "figure"}
    if wrong := ({*claims.card} ^ keys) - {"repaired"}:
        raise BadInput(
            f"{place}.{min(wrong, key=str)}",
            f"a card has {', '.join(sorted(keys))}",
            "add or remove it",
        )
    rows = {
        name: Entry(f"{place}.{name}", claims.card.get(name), allowed)
        for name, allowed in row_keys.items()
    }
    found = {entry.id: entry for entry in entries}
    made = [
        _printed(rows["printed"], verdict, found),
        _repaired(rows["repaired"], verdict, found),
    ]
    for each in dynamics:
        take = rows[each.key]
        cited = _cited(take, claims, elsewhere)
        made.append(_under(each.row, take, {**found, **cited}))
    given = dict(numbers)
    for entry in entries:
        given |= {entry.id: entry.measured, f"{entry.id}.control": entry.control}
    filled = (
        replace(row, says=NUMBER.sub(lambda found: given.get(found[2], found[3]), row.says))
        for row in made
    )
    return tuple(filled), Entry(place, claims.card)("figure", TEXT, "")


def _printed(take: Entry, verdict: str, found: _Found) -> Row:
    """Make the row of what is printed: its word is the verdict.

    The entry that it names has to bear the verdict out: a check where the statement holds, a
    refutation of it where it doesn't.
    """
    says = take("says", TEXT)
    entry = _named(take, found)
    decides = isinstance(entry, Refutation) and entry.judges in DECISIVE
    fits = isinstance(entry, Check) if _is_upheld(verdict) else decides
    if not fits:
        wanted = "a check" if _is_upheld(verdict) else "a refutation of the claim itself"
        raise BadInput(
            f"{take.place}.by = {entry.id!r}", f"the verdict is {verdict!r}", f"name {wanted}"
        )
    if smaller := take("smaller", TEXT, ""):
        says = f"{says} Smaller than in the paper: {smaller}."
    return Row(PRINTED, verdict, says, **_number(entry, "measured"))


def _repaired(take: Entry, verdict: str, found: _Found) -> Row:
    """Make the row of the repair, which stands in the file exactly where the verdict asks for one.

    It shows the number that was measured of the repaired claim: of a refutation, the control's.
    """
    if _is_upheld(verdict):
        if take.values:
            raise BadInput(take.place, f"the verdict is {verdict!r}", "leave the repair out")
        return Row(REPAIRED, NONE_NEEDED, "")
    if not take.values:
        raise NoEvidence(
            f"the verdict is {verdict!r}, and the card doesn't say what should be printed instead"
        )
    # The other verdicts that get here are "fails as printed" and "differs from the paper".
    unchanged = "" if verdict == HOLDS_UNDER_A_CONDITION else None
    where = take("where", TEXT)
    formula = take("formula", TEXT, unchanged)
    entry = _named(take, found)
    number = _number(entry, "control" if isinstance(entry, Refutation) else "measured")
    return Row(REPAIRED, "" if formula else AS_PRINTED, where, formula, **number)


def _under(dynamics: str, take: Entry, found: _Found) -> Row:
    """Make the row of what is left of the statement under other dynamics, whose name is the row's.

    Its word follows from the claims that it names, and its number is that of the claim shown, if
    this is the chapter's own. A row that names none has a word of `SILENCE`, which the file
    chooses.
    """
    says = take("says", TEXT)
    speaks = [key for key in (*EVIDENCE, "shows") if key in take.values]
    if not speaks:
        return Row(dynamics, take("word", one_of(SILENCE)), says)
    if "word" in take.values:
        rule = "the word follows from the claims that a row names"
        raise BadInput(f"{take.place}.word", rule, "remove it")
    keeps = _claimed(take, "keeps", found)
    sizes = _claimed(take, "sizes", found)
    loses = _claimed(take, "loses", found)
    if not (keeps or loses):
        rule = "it names no claim that shows what is kept there or what is lost"
        raise BadInput(take.place, rule, "name it under keeps or loses")
    named = [*loses, *sizes, *keeps]
    if twice := [name for name in named if named.count(name) > 1]:
        value = f"{take.place} names {twice[0]!r} twice"
        raise BadInput(value, "a claim shows one thing", "name it once")
    shown = take("shows", one_of(named), named[0])
    # The one that is shown comes first.
    cited = sorted(filter(page_cited, named), key=lambda name: name != shown)
    row = Row(dynamics, word_of(keeps, sizes, loses), says, cited=" ".join(cited))
    return row if shown in cited else replace(row, **number_of(found, shown))


def page_cited(name: str) -> str:
    """Return the id of the other page whose claim a card's row names so; empty if it's the page's
    own.

    Examples
    --------
    >>> page_cited("population:common_falls_gradient")
    'population'
    >>> page_cited("common_falls_gradient")
    ''
    """
    return name.rpartition(":")[0]


def pages_cited(rows: Iterable[Any]) -> set[str]:
    """Return the ids of the other pages whose claims a card's rows cite, as they stand in a file.

    What is malformed there cites nothing; whoever reads the row refuses it.

    Examples
    --------
    >>> pages_cited([{"keeps": ["rises", "population:common_falls_gradient"]}])
    {'population'}
    """
    given = [row.get(key) for row in rows if isinstance(row, Mapping) for key in EVIDENCE]
    names = [name for listed in given if isinstance(listed, list) for name in listed]
    return {page_cited(name) for name in names if isinstance(name, str)} - {""}


def _cited(take: Entry, claims: Claims, elsewhere: Elsewhere) -> _Found:
    """Return what other chapters hold of the claims that a row cites, under the names by which the
    row cites them.
    """
    found: dict[str, Check | Refutation] = {}
    for page_id in sorted(pages_cited([take.values])):
        place = f"{take.place} cites {page_id}"
        if page_id == claims.path.stem:
            raise BadInput(place, "that is this chapter itself", "name the claim by its id alone")
        try:
            entries = elsewhere(page_id)
        except BadInput as error:
            raise BadInput(f"{place}: {error.value}", error.rule, error.remedy) from None
        found |= {f"{page_id}:{entry.id}": entry for entry in entries}
    return found


def _claimed(take: Entry, key: str, found: _Found) -> list[str]:
    """Return the claims that a row names under a key of `EVIDENCE`, or raise BadInput unless each
    can show it.

    What is kept is shown by a check. What isn't is shown by any entry, or by a check's control,
    named as ``jump.control``, on which the check failed.
    """
    claimed: list[str] = list(take(key, _IDS, ()))
    checks = [name for name, entry in found.items() if isinstance(entry, Check)]
    controls = [claim_id + CONTROL for claim_id in found]
    held = Rule(
        lambda name: name in checks,
        "what is kept is shown by a check, which held",
        "move it, or name a check",
    )
    failed = Rule(
        lambda name: name in found or name.removesuffix(CONTROL) in checks,
        "the control of a refutation shows its remedy at work",
        "name the refutation itself",
    )
    for name in claimed:
        where = page_cited(name)
        is_known = Rule(
            lambda name: name in [*found, *controls],
            f"no check or refutation {f'of {where}' if where else 'here'} has this id",
            f"name another, or store {where}" if where else "name another",
        )
        for rule in (is_known, held if key == "keeps" else failed):
            rule(f"{take.place}.{key}", name)
    return claimed


def _is_upheld(verdict: str) -> bool:
    """Tell whether the page needs no repair."""
    return verdict in (HOLDS, REPRODUCED, REPRODUCED_SMALLER)


def number_of(found: _Found, name: str) -> dict[str, str]:
    """Return the parts of a row that show the number of a claim, or of its control, which a card
    names such as ``jump`` or ``jump.control``; ``found`` has the entries by id.

    They are the number, what was asked of it, of what it is, and the entry's id.
    """
    number = "control" if name.endswith(CONTROL) else "measured"
    return _number(found[name.removesuffix(CONTROL)], number)


def _number(entry: Check | Refutation, number: str) -> dict[str, str]:
    """Return the parts of a row that show an entry's number, which is ``"measured"`` or
    ``"control"``: the number, what was asked of it, of what it is, and the entry's id.
    """
    what = entry.claim_and_measure
    required = asked(entry, number)
    if number == "control":
        # What is measured of a control may stand in brackets.
        own = not entry.measure or entry.control_is.endswith(")")
        says = (
            entry.control_says if isinstance(entry, Refutation) else f"Fails for {entry.control_is}"
        )
        what = says if own else f"{says}. {entry.measure}"
    elif isinstance(entry, Refutation):
        what = f"Refuted: {what}"
    return {"number": getattr(entry, number), "required": required, "what": what, "by": entry.id}


def _named(take: Entry, found: _Found) -> Check | Refutation:
    """Return the entry that a row names under ``by``."""
    is_known = Rule(
        lambda by: by in list(found), "no check or refutation here has this id", "name one of them"
    )
    return found[take("by", is_known)]
