"""The fourth witness: a claim over all of its conditions, proved, beside a false one that the same
way refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.digits import digits
from scansnap_core.base.rules import FLAG, Rule
from scansnap_core.ledger import display
from scansnap_core.ledger.claims import Claim
from scansnap_core.ledger.entries import KINDS, PROVED, Proof
from scansnap_core.ledger.registry import Page


@dataclass(frozen=True)
class Certificate:
    """A certificate says what a proof procedure found about one claim; a contradictory one raises
    `BadInput`.
    """

    kind: str
    """One of `KINDS`."""
    proved: bool
    """Whether the claim is certain over its whole region. An undecided claim isn't."""
    how: str
    """What was done, such as ``"941 boxes"``; the same on every machine."""
    gap: str = ""
    """Where it stopped if it isn't proved: coordinates of a box, a coefficient, a step."""
    false: bool = False
    """Whether the gap is a counterexample: a point, an exact sign, a model. A claim that is neither
    proved nor false is undecided."""

    def __post_init__(self) -> None:
        """Refuse a proof with a gap, and a gap that nobody names."""
        FLAG("proved", self.proved)
        if self.proved == bool(self.gap) or (self.proved and self.false):
            value = f"proved = {self.proved}, gap = {self.gap!r}, false = {self.false}"
            raise BadInput(
                value,
                "what is proved has no gap, and what isn't has one",
                "say where the proof stopped",
            )

    def __bool__(self) -> bool:
        return self.proved


# Python's and NumPy's, and SymPy's, which the ledger doesn't import
_TRUTHS = ("bool", "BooleanTrue", "BooleanFalse")
_STEP = Rule(
    lambda step: isinstance(step, Certificate) or type(step).__name__ in _TRUTHS,
    "a step is a certificate, True or False",
    "compare it, e.g. with == 0",
)
_DISPLAY = "\\displaystyle"
_LONGEST = 300


def all_of(**parts: Certificate | bool) -> Certificate:
    """Join several steps to one proof; each is certified by itself, or an identity of algebra that
    is true or not.

    Its kind is that of its parts where they are all of one kind. It is proved if every one of them
    is; else its gap has the number of the first that is false, or of the first that is undecided if
    none is. Other parts raise `BadInput`, such as an expression that should be 0.

    Examples
    --------
    >>> proof = all_of(rises=Certificate("interval", True, "3 boxes"), start=True, ends=False)
    >>> proof.how, proof.gap
    ('3 steps (3 boxes; algebra, 2 times)', 'step 3: it is false')
    """
    if not parts:
        raise BadInput(
            "no steps", "a proof has one at least", "pass e.g. all_of(rises=..., start=...)"
        )
    steps = []
    for number, (name, part) in enumerate(parts.items(), 1):
        _STEP(f"step {name}", part)
        if not isinstance(part, Certificate):
            part = Certificate(
                "algebra", bool(part), "algebra", "" if part else "it is false", not part
            )
        steps.append(replace(part, gap=f"step {number}: {part.gap}" if part.gap else ""))
    kinds = {step.kind for step in steps}
    times = Counter(step.how for step in steps)
    by = "; ".join(f"{how}, {count} times" if count > 1 else how for how, count in times.items())
    kind = kinds.pop() if len(kinds) == 1 else "steps"
    how = f"{len(steps)} step{'s' * (len(steps) > 1)} ({by})"
    gaps = sorted((step for step in steps if not step), key=lambda step: not step.false)
    return (
        Certificate(kind, False, how, gaps[0].gap, gaps[0].false)
        if gaps
        else Certificate(kind, True, how)
    )


class Ledger(Protocol):
    """A proof needs these parts of its chapter."""

    page: Page

    def _claim(self, claim_id: str, witness: str, kind: str) -> Claim: ...

    def _enter(self, entry: Proof) -> None: ...


class NotProved(AssertionError):
    """A claim that the procedure couldn't prove, with the place at which it stopped."""


class FalseProved(AssertionError):
    """A control that is proved as well: the procedure proves what is false."""


class NotRefuted(AssertionError):
    """A control that isn't proved and isn't false either: undecided isn't refuted."""


class ProofWitness:
    """The witness "proved" of a chapter; made by `Chapter.witness`."""

    name = PROVED

    def __init__(self, chapter: Ledger) -> None:
        self._chapter = chapter

    def holds(
        self, claim_id: str, procedure: Callable[[Any], Certificate], claim: Any, *, control: Any
    ) -> None:
        """Record that a procedure proves a claim, and refutes a nearby false one.

        Parameters
        ----------
        claim_id : str
            The id of a proof in the chapter's file, which says for what region and under which
            assumptions.
        procedure : callable
            Is called with `claim` and with `control`, so that both go the same way, and returns a
            `Certificate`.
        claim, control
            What the procedure is to prove, and a nearby false claim: a sharper constant, another
            sign, no condition.

        Raises
        ------
        NotProved
            If the claim isn't proved; the message has the place at which the procedure stopped.
        FalseProved
            If the control is.
        NotRefuted
            If the control is undecided: the procedure found no counterexample.
        BadInput
            If the file has no such proof, it was recorded before, claim and control are one or
            assume different things of one letter, or the procedure returns no certificate.
        """
        described = self._chapter._claim(claim_id, PROVED, "proof")
        place = f"{self._chapter.page.name}, {PROVED}, {claim_id} ({described.says})"
        if claim is control or (claim == control) is True:
            raise BadInput(
                f"control = {control!r:.80}",
                "a control is another claim than the one proved",
                "spoil it",
            )
        # Two symbols of one name and different assumptions would make the control another claim
        # than a reader sees.
        theirs = {str(letter): letter for letter in _letters(control)}
        if other := {
            str(letter) for letter in _letters(claim) if theirs.get(str(letter), letter) != letter
        }:
            rule = "claim and control assume the same of it"
            raise BadInput(f"{claim_id}: the letter {min(other)}", rule, "use one symbol for both")
        found = _checked_certificate(procedure(claim), place)
        refused = _checked_certificate(procedure(control), place)
        if not found:
            raise NotProved(f"{place}: {found.how}; it fails at {found.gap}")
        if refused:
            raise FalseProved(
                f"{place}: the control ({described.control}) is proved as well: {refused.how}"
            )
        if not refused.false:
            raise NotRefuted(
                f"{place}: the control ({described.control}) is undecided, not false: {refused.gap}"
            )
        proof = Proof(
            claim_id,
            PROVED,
            described.says,
            found.kind,
            described.region,
            described.assumptions,
            found.how,
            f"fails at {refused.gap}",
            described.control,
            described.sampled,
            formula_of(claim),
            formula_of(control),
        )
        self._chapter._enter(proof)
        display.show_proof(proof)


def _letters(claim: Any) -> set[Any]:
    """Return the symbols of an expression, or of several."""
    if isinstance(claim, tuple | list):
        return set().union(*map(_letters, claim))
    return set(getattr(claim, "free_symbols", ()))


def formula_of(claim: Any) -> str:
    """Write the object that a procedure is given as a formula; empty if it is none, or a long one.

    Examples
    --------
    >>> formula_of(0.2335), formula_of(len)
    ('0.234', '')
    """
    if isinstance(claim, bool):
        return ""
    if isinstance(claim, int | float | Fraction):
        return digits(claim)
    if isinstance(claim, tuple | list):
        parts = [formula_of(part) for part in claim]
        text = ", ".join(parts) if all(parts) else ""
    else:
        latex = (
            claim._repr_latex_()
            if hasattr(claim, "_repr_latex_") and not isinstance(claim, type)
            else None
        )
        text = f"${latex.strip('$').removeprefix(_DISPLAY).strip()}$" if latex else ""
    return text if len(text) <= _LONGEST else ""


def formula_tried(given: Any) -> str:
    """Write what a check is given as a formula: empty for numbers, and for matrices of numbers.

    Examples
    --------
    >>> from sympy import Symbol
    >>> formula_tried(Symbol("u") ** 2), formula_tried(0.25), formula_tried((Symbol("u"), 1))
    ('$u^{2}$', '', '$u = 1$')
    """
    if not _letters(given):
        return ""
    match given:
        case (left, right):
            sides = [formula_of(side).strip("$") for side in (left, right)]
            return f"${sides[0]} = {sides[1]}$" if all(sides) else ""
    return formula_of(given)


def _checked_certificate(found: Any, place: str) -> Certificate:
    """Return what a procedure returned if it is a certificate, or raise BadInput."""
    if not isinstance(found, Certificate) or found.kind not in KINDS:
        rule = "a procedure of proof returns a certificate of a known kind"
        raise BadInput(f"{place}: {found!r}", rule, f"return a Certificate of {', '.join(KINDS)}")
    return found
