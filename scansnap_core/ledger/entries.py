"""Checks with their controls and refutations with their repairs, and the verdict computed from
them.

All of their values are written text, so that they mean and look the same on every machine.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from scansnap_core.ledger.registry import Page

WITNESSES = ("symbolic", "numeric", "empirical")
"""The witnesses that every statement needs."""
PROVED = "proved"
"""The fourth witness; no statement needs it."""
VOICES = (*WITNESSES, PROVED)
HOLDS = "holds"
HOLDS_UNDER_A_CONDITION = "holds under a condition"
FAILS_AS_PRINTED = "fails as printed"
REPRODUCED = "reproduced"
REPRODUCED_SMALLER = "reproduced in smaller runs"
PARTLY_SMALLER = "reproduced in part, in smaller runs"
DIFFERS = "differs from the paper"
OPEN = "open"

JUDGES = {
    "claim": "the printed claim itself",
    "proof": "a step of the proof",
    "remark": "a remark beside the statement",
    "reading": "a reading that the paper's words don't force",
    "scope": (
        "nothing that is printed: the paper hedges the sentence, or these runs are smaller "
        "than its own"
    ),
}
"""What a refutation can hit. Only a page's own claim decides its verdict, and how far a sentence of
it reaches.

A counterexample that shows only how far a sentence reaches is no erratum: it has a condition, and
no number.
"""
DECISIVE = ("claim", "scope")

_NEEDY = {
    "claim": "the printed claim",
    "proof": "the proof",
    "remark": "the printed remark",
    "reading": "this reading",
    "scope": "the sentence",
}
_IN_WORDS = {
    "=": "",
    "≠": "anything but ",
    "≤": "at most ",
    "≥": "at least ",
    "<": "less than ",
    ">": "more than ",
}

KINDS = {
    "algebra": "algebra, for every size",
    "interval": "interval arithmetic, with a lemma where a region has no end",
    "decision": "a decision procedure",
    "steps": "a proof in prose, every step checked",
}
"""The kinds of proof of a claim over all of its conditions."""

VERDICT_MIME = "application/vnd.scansnap.verdict+json"
NUMBER = re.compile(r'(<data value="([^"]*)">)((?:(?!</?data).)*)(</data>)', re.DOTALL)
"""A number in a text: the tag, the number's name, the number, the tag's end."""
NUMBERS_MIME = "application/vnd.scansnap.numbers+json"


@dataclass(frozen=True)
class Compared:
    """A number that was compared with what is required of it, beside a control's."""

    id: str
    witness: str
    what: str
    measured: str
    required: str
    control: str
    control_is: str
    measure: str = field(default="", kw_only=True)
    """What the numbers measure; empty where the claim says it."""
    formula: str = field(default="", kw_only=True)
    """What the check was given, where it is a formula: the numbers are made of it."""
    control_formula: str = field(default="", kw_only=True)

    @property
    def claim_and_measure(self) -> str:
        """Say the claim, and what is measured of it."""
        return f"{self.what}. {self.measure}" if self.measure else self.what


@dataclass(frozen=True)
class Check(Compared):
    """A claim that held, beside a control on which it failed."""

    @property
    def control_says(self) -> str:
        """Say what the control's number belongs to."""
        return f"control: {self.control_is}"


@dataclass(frozen=True)
class Refutation(Compared):
    """A counterexample to what is printed, beside a control that shows the remedy at work.

    Exactly one of `repair` (what should be printed) and `condition` (what is missing) isn't empty.
    The control is measured with that repair, or on an instance that meets that condition. `judges`
    is one of `JUDGES`, and `erratum` the number in the errata, which a refutation of the scope
    alone doesn't have.
    """

    place: str
    printed: str
    repair: str
    condition: str
    consequence: str
    judges: str = "claim"
    erratum: str = ""

    @property
    def remedy(self) -> str:
        """Return "repair" or "condition", whichever isn't empty."""
        return "condition" if self.condition else "repair"

    @property
    def control_says(self) -> str:
        """Say what the control's number belongs to."""
        return f"with the {self.remedy}: {self.control_is}"


def asked(entry: Check | Refutation, number: str = "measured") -> str:
    """Say in words what is asked of a check's or a refutation's number, which is ``"measured"`` or
    ``"control"``.

    Examples
    --------
    >>> asked(Check("size", "numeric", "It is small", "0.1", "< 1", "2", "a large one"))
    'must be less than 1'
    """
    required = entry.required
    if getattr(entry, number) in (required, required.removeprefix("= ")):
        return "as required"
    sign, _, bound = required.partition(" ")
    needed = _IN_WORDS[sign] + bound
    refutes = isinstance(entry, Refutation)
    if refutes == (number == "control"):
        return f"must be {needed}"
    if not isinstance(entry, Refutation):
        return f"where the claim needs {needed}"
    printed = entry.printed
    is_formula = printed[0] == printed[-1] == "$" and entry.judges != "reading"
    return f"where {'the printed formula' if is_formula else _NEEDY[entry.judges]} needs {needed}"


@dataclass(frozen=True)
class Proof:
    """A claim that is proved over its region, beside a nearby false one at which the same procedure
    stopped.
    """

    id: str
    witness: str
    what: str
    kind: str
    region: str
    assumptions: str
    how: str
    control: str
    control_is: str
    sampled: str = ""
    """The part of the region that is left to a sweep; empty if none is."""
    formula: str = ""
    """The object that was certified, where it is a formula or a number."""
    control_formula: str = ""

    @property
    def control_says(self) -> str:
        """Say what the control's refutation belongs to."""
        return f"control: {self.control_is}"


Finding = Check | Refutation | Proof
"""What a chapter found of one of its claims."""


@dataclass(frozen=True)
class Sampled:
    """A check that stands for a claim over all of its conditions, and has only seen some of
    them.
    """

    id: str
    witness: str
    what: str
    why: str


@dataclass(frozen=True)
class Row:
    """A row of the card at a chapter's head: a word and a sentence, borne out by one number.

    The `number` is that of the entry with the id `by`, or of its control; `what` says of which, and
    `required` what was `asked` of it. A row without a number is silent, or needs none.
    """

    of: str
    word: str
    says: str
    formula: str = ""
    number: str = ""
    required: str = ""
    what: str = ""
    by: str = ""


@dataclass(frozen=True)
class Conclusion:
    """A page's verdict, computed from its checks and refutations, and the card at its head.

    The card has the cell of its figure.
    """

    page: Page
    checks: tuple[Check, ...]
    refutations: tuple[Refutation, ...]
    card: tuple[Row, ...] = ()
    figure: str = ""
    proofs: tuple[Proof, ...] = ()
    sampled: tuple[Sampled, ...] = ()
    smaller: str = ""
    """In what a figure's runs are smaller than the paper's; empty where the paper's own were
    repeated.
    """

    @property
    def verdict(self) -> str:
        """Return the verdict: only what was refuted of the page's own claim, or of its scope,
        decides.
        """
        decisive = [refutation for refutation in self.refutations if refutation.judges in DECISIVE]
        if self.page.kind == "figure" and self.smaller:
            return PARTLY_SMALLER if decisive else REPRODUCED_SMALLER
        if self.page.kind == "figure":
            return DIFFERS if decisive else REPRODUCED
        if not decisive:
            return HOLDS
        return HOLDS_UNDER_A_CONDITION if all(r.condition for r in decisive) else FAILS_AS_PRINTED

    @property
    def other_refutations(self) -> dict[str, int]:
        """Count the refutations that hit something else than the page's own claim, by what they
        judge.
        """
        judged = [refutation.judges for refutation in self.refutations]
        return {
            what: judged.count(what) for what in JUDGES if what not in DECISIVE and what in judged
        }

    def counts(self, witness: str) -> dict[str, int]:
        """Count the checks and refutations that a witness gave."""
        return {
            "checks": [*(c.witness for c in self.checks), *(p.witness for p in self.proofs)].count(
                witness
            ),
            "refutations": sum(refutation.witness == witness for refutation in self.refutations),
        }

    @property
    def stored(self) -> "Verdict":
        """Return what a notebook stores of it; the fourth witness only where it spoke."""
        voices = VOICES if self.proofs else WITNESSES
        return Verdict(
            self.page.id,
            self.verdict,
            {witness: self.counts(witness) for witness in voices},
            self.checks,
            self.refutations,
            self.proofs,
            self.sampled,
            self.card,
            self.figure,
        )


_LISTS: dict[str, Any] = {
    "checks": Check,
    "refutations": Refutation,
    "proofs": Proof,
    "sampled": Sampled,
    "card": Row,
}
"""The lists of a stored verdict, each with the kind of its entries."""
_ALWAYS = ("checks", "refutations")
"""The lists that are stored even where they are empty."""
_FORMULAS = ("formula", "control_formula")
"""The texts of a check or a refutation that are stored only where there are some: most are given
numbers.
"""
_VERDICTS = (
    HOLDS,
    HOLDS_UNDER_A_CONDITION,
    FAILS_AS_PRINTED,
    REPRODUCED,
    REPRODUCED_SMALLER,
    PARTLY_SMALLER,
    DIFFERS,
)


@dataclass(frozen=True)
class Verdict:
    """What a chapter's notebook stores of its conclusion, and every computed page reads back.

    A chapter that stores none, for example because it was cleared, has an open one without entries.
    """

    id: str
    """The page's."""
    verdict: str = OPEN
    witnesses: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each witness how many "checks" and "refutations" it gave."""
    checks: tuple[Check, ...] = ()
    refutations: tuple[Refutation, ...] = ()
    proofs: tuple[Proof, ...] = ()
    sampled: tuple[Sampled, ...] = ()
    card: tuple[Row, ...] = ()
    """Empty where the page has none."""
    figure: str = ""
    """The cell that draws the card's figure, if it has one."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the entries that each answer a claim of the chapter's file."""
        return (*self.checks, *self.refutations, *self.proofs)

    @property
    def tried(self) -> list[Finding]:
        """List the entries that say which formula was tried: proofs first, in the file's order."""
        entries: tuple[Finding, ...] = (*self.proofs, *self.checks, *self.refutations)
        return [entry for entry in entries if entry.formula]

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as it stands in a notebook's output."""
        lists = {key: [_written(entry) for entry in getattr(self, key)] for key in _LISTS}
        return {
            "id": self.id,
            "verdict": self.verdict,
            "witnesses": self.witnesses,
            **{key: entries for key, entries in lists.items() if entries or key in _ALWAYS},
            **({"figure": self.figure} if self.card else {}),
        }

    @classmethod
    def of_json(cls, value: Any) -> "Verdict | None":
        """Read what `as_json` gave; None for anything else, as notebooks are edited, merged and cut
        short.
        """
        if not _is_stored(value):
            return None
        lists: dict[str, Any] = {
            key: tuple(kind(**entry) for entry in value.get(key, ()))
            for key, kind in _LISTS.items()
        }
        figure = value.get("figure", "")
        return cls(value["id"], value["verdict"], value["witnesses"], **lists, figure=figure)


def _written(entry: Finding | Sampled | Row) -> dict[str, str]:
    """Return an entry as it is stored."""
    texts = asdict(entry)
    if not isinstance(entry, Compared):
        return texts
    return {name: text for name, text in texts.items() if text or name not in _FORMULAS}


def _is_stored(value: Any) -> bool:
    """Tell whether a value has the form that `Verdict.as_json` gives."""

    def is_entry(entry: Any, kind: Any) -> bool:
        names = {each.name for each in fields(kind)}
        needed = names - {*_FORMULAS} if issubclass(kind, Compared) else names
        return (
            isinstance(entry, dict)
            and needed <= entry.keys() <= names
            and all(isinstance(text, str) for text in entry.values())
        )

    def are_counts(counts: Any) -> bool:
        return (
            isinstance(counts, dict)
            and counts.keys() == {"checks", "refutations"}
            and all(isinstance(count, int) for count in counts.values())
        )

    match value:
        case {
            "id": str(),
            "verdict": verdict,
            "witnesses": dict() as by_voice,
            "checks": list(),
            "refutations": list(),
        }:
            lists = [(value.get(key, []), kind) for key, kind in _LISTS.items()]
            return (
                verdict in _VERDICTS
                and {*WITNESSES} <= by_voice.keys() <= {*VOICES}
                and all(map(are_counts, by_voice.values()))
                and all(
                    isinstance(each, list) and all(is_entry(one, kind) for one in each)
                    for each, kind in lists
                )
                and isinstance(value.get("figure", ""), str)
                and ("card" in value) == ("figure" in value)
            )
    return False
