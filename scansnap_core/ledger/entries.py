"""The entries of a page: checks with their controls, refutations with their repairs, proofs, and
the rows of its card.

All of their values are written text, so that they mean and look the same on every machine.
"""

from dataclasses import dataclass, field

WITNESSES = ("symbolic", "numeric", "empirical")
"""The witnesses that every statement needs."""
PROVED = "proved"
"""The fourth witness; no statement needs it."""
VOICES = (*WITNESSES, PROVED)

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

    What a check measured must meet its bound, and its control must not. Of a refutation the control
    must: it is the repaired formula's number, while the printed formula's is the measured one.

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
    must_meet_the_bound = number == ("control" if refutes else "measured")
    if must_meet_the_bound:
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
    cited: str = ""
    """The claims of other pages that the word rests on too, such as
    ``"population:common_falls_gradient"``, divided by spaces.
    """
