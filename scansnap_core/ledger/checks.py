"""A chapter and its witnesses: every check stands beside a control that must fail, and the verdict is computed.

A chapter can't claim anything that wasn't measured, and a check that couldn't have failed is refused.
"""

from dataclasses import replace
from typing import Any, Literal, overload

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger.cards import Card, rows_of
from scansnap_core.ledger.certificates import PROVED, Proof, Sampled
from scansnap_core.ledger.display import show_check, show_conclusion, show_refutation
from scansnap_core.ledger.entries import JUDGES, VOICES, WITNESSES, Check, Conclusion, Refutation
from scansnap_core.ledger.pages import WITHOUT_CARD
from scansnap_core.ledger.proofs import ProofWitness
from scansnap_core.ledger.registry import page
from scansnap_core.ledger.values import RELATIONS, NoEvidence, holds, is_infinite, requirement, scalar, written


class CheckFailed(AssertionError):
    """A claim that its measured value doesn't meet, or a counterexample that meets what it should violate."""


class ControlPassed(AssertionError):
    """A control that a check can't tell from the claim, or a remedy under which the printed claim fails too."""


class Chapter:
    """The ledger of one chapter.

    Parameters
    ----------
    page_id : str
        A statement's, a figure's or a page's id, such as ``"lemma_06"``: the stem of the notebook's file name.

    Raises
    ------
    BadInput
        If the working folder lies in no book, or the book has no such page, or the page's metadata are wrong.

    Examples
    --------
    >>> lemma = Chapter("lemma_06")
    >>> numeric = lemma.witness("numeric")
    """

    def __init__(self, page_id: str) -> None:
        self.page = page(page_id)
        self._witnesses: dict[str, Witness] = {}
        self._proved = ProofWitness(self)
        self._checks: list[Check] = []
        self._refutations: list[Refutation] = []
        self._proofs: list[Proof] = []
        self._sampled: list[Sampled] = []
        self._concluded = False

    @overload
    def witness(self, name: Literal["proved"]) -> ProofWitness: ...  # type: ignore[overload-overlap]

    @overload
    def witness(self, name: str) -> "Witness": ...

    def witness(self, name: str) -> "Witness | ProofWitness":
        """Call a witness.

        Parameters
        ----------
        name : {"symbolic", "numeric", "empirical", "proved"}
            A statement needs the first three; the fourth, a `ProofWitness`, proves what it can.

        Raises
        ------
        BadInput
            If the name is none of these.
        """
        if name == PROVED:
            return self._proved
        if name not in WITNESSES:
            raise BadInput(f"witness = {name!r}", "there are four witnesses", f"call one of {', '.join(VOICES)}")
        return self._witnesses.setdefault(name, Witness(self, name))

    def conclude(self, card: Card | None = None) -> None:
        """Display the verdict and the card as text, HTML and JSON, and close the chapter.

        Parameters
        ----------
        card : Card
            What stands at the chapter's head. A page of notation or of equations has none.

        Raises
        ------
        NoEvidence
            If a witness of a statement has no check, or another page has none at all; or the card lacks a repair that
            the verdict asks for.
        BadInput
            If the chapter was concluded before, or the card is missing, malformed or names what isn't in the ledger.
        """
        self._require_open("conclude")
        heard = {entry.witness for entry in self._checks}
        missing = [name for name in WITNESSES if name not in heard]
        if self.page.is_statement and missing:
            raise NoEvidence(f"{self.page.name}: no check by the witness {' or '.join(missing)}")
        if not (self._checks or self._refutations):
            raise NoEvidence(f"{self.page.name}: no check by any witness")
        if card is None and self.page.kind not in WITHOUT_CARD:
            raise BadInput("card = None", f"{self.page.name} opens with its card", "give conclude() a Card")
        conclusion = Conclusion(self.page, tuple(self._checks), tuple(self._refutations))
        conclusion = replace(conclusion, proofs=tuple(self._proofs), sampled=tuple(self._sampled))
        if card is not None:
            rows = rows_of(card, conclusion.verdict, (*self._checks, *self._refutations))
            conclusion = replace(conclusion, card=tuple(rows), figure=card.figure)
        self._concluded = True
        show_conclusion(conclusion)

    @property
    def checked(self) -> frozenset[str]:
        """What the chapter has checked so far."""
        return frozenset(check.what for check in self._checks)

    def _enter(self, entry: Check | Refutation | Proof | Sampled) -> None:
        match entry:
            case Check():
                self._checks.append(entry)
            case Refutation():
                self._refutations.append(entry)
            case Proof():
                self._proofs.append(entry)
            case Sampled():
                self._sampled.append(entry)

    def _require_new(self, what: str) -> None:
        self._require_open(what)
        said: list[Check | Refutation | Proof] = [*self._checks, *self._refutations, *self._proofs]
        if what in {entry.what for entry in said}:
            raise BadInput(
                f"what = {what!r}", "a chapter checks each thing once", "name the second check after what is new in it"
            )

    def _require_open(self, what: str) -> None:
        if self._concluded:
            raise BadInput(what, f"{self.page.name} is concluded already", "move it before conclude()")


class Witness:
    """One of the three witnesses that a statement needs; made by `Chapter.witness`."""

    def __init__(self, chapter: Chapter, name: str) -> None:
        self._chapter = chapter
        self.name = name

    def check(self, what: str, measured: Any, relation: str, bound: Any, *, control: Any, control_is: str) -> None:
        """Record that a measured value meets a bound, while a control doesn't.

        Parameters
        ----------
        what : str
            What is checked, once a chapter. Mathematics may stand between dollar signs, here and in the other texts.
        measured : real number or SymPy value
            What the witness measured for the claim as stated. Effects are written in three significant digits; what is
            below 1e-6 is written only as the relation that it meets. A SymPy value must equal `bound` structurally.
        relation : {"==", "!=", "<=", ">=", "<", ">"}
        bound : real number or SymPy value
        control : real number or SymPy value
            The same measure of a nearby false formula, or in a regime outside the conditions. It must not meet the
            bound; a SymPy value must provably differ.
        control_is : str
            What the control is.

        Raises
        ------
        CheckFailed
            If `measured` doesn't meet the bound.
        ControlPassed
            If `control` does.
        NoEvidence
            If a value is NaN or undecided.
        BadInput
            If an argument is malformed, or `what` was checked before.
        """
        measured, bound, control = self._admit(what, measured, relation, bound, control, control_is=control_is)
        place, required = self._place(what), requirement(relation, bound)
        if not holds(measured, relation, bound):
            raise CheckFailed(f"{place}: measured {measured}, required {required}")
        if holds(control, relation, bound):
            raise ControlPassed(f"{place}: the control ({control_is}) gives {control}, which also is {required}")
        check = Check(
            self.name,
            what,
            written(measured, relation, bound, met=True),
            required,
            written(control, relation, bound, met=False),
            control_is,
        )
        self._chapter._enter(check)
        show_check(check)

    def refute(
        self,
        what: str,
        measured: Any,
        relation: str,
        bound: Any,
        *,
        control: Any,
        control_is: str,
        place: str,
        printed: str,
        repair: str = "",
        condition: str = "",
        consequence: str,
        judges: str = "claim",
    ) -> None:
        """Record a counterexample to what is printed, with a repair or the condition that is missing.

        Parameters
        ----------
        what : str
            What is measured of the printed claim.
        measured : real number or SymPy value
            It must violate the bound.
        relation : {"==", "!=", "<=", ">=", "<", ">"}
        bound : real number or SymPy value
            What the printed claim requires.
        control : real number or SymPy value
            The same measure of the repaired claim, or where the missing condition is met. It must meet the bound.
        control_is : str
            What the control is.
        place : str
            Where it is printed, such as ``"Lemma 3, Eqn 43"``.
        printed : str
            What is printed, in the book's own words or as a formula.
        repair, condition : str
            Exactly one of them: what should be printed instead, or the name of the missing condition.
        consequence : str
            What it does to later statements.
        judges : {"claim", "proof", "remark", "reading"}
            What it hits: the words and formulas of the statement itself (or what a figure or another page claims), a
            step of the proof, what the paper says around it, or a reading of this book's that those words don't force.
            Only the first decides the verdict.

        Raises
        ------
        CheckFailed
            If `measured` meets the bound, so that it refutes nothing.
        ControlPassed
            If `control` violates the bound, so that the remedy mends nothing.
        NoEvidence
            If a value is NaN or undecided.
        BadInput
            If an argument is malformed, or `what` was checked before.
        """
        if bool(repair) == bool(condition):
            raise BadInput(
                f"repair = {repair!r} with condition = {condition!r}",
                "a refutation names a repair or a missing condition",
                "give exactly one of them",
            )
        if judges not in JUDGES:
            raise BadInput(
                f"judges = {judges!r}", "a refutation hits one of four things", f"use one of {', '.join(JUDGES)}"
            )
        texts = {"control_is": control_is, "place": place, "printed": printed, "consequence": consequence}
        measured, bound, control = self._admit(what, measured, relation, bound, control, **texts)
        where, required = self._place(what), requirement(relation, bound)
        if holds(measured, relation, bound):
            raise CheckFailed(f"{where}: measured {measured} is {required}, so it is no counterexample")
        if not holds(control, relation, bound):
            remedy = "repair" if repair else "condition"
            raise ControlPassed(f"{where}: the {remedy} ({control_is}) gives {control}, which isn't {required} either")
        refutation = Refutation(
            self.name,
            what,
            written(measured, relation, bound, met=False),
            required,
            written(control, relation, bound, met=True),
            control_is,
            place,
            printed,
            repair,
            condition,
            consequence,
            judges,
        )
        self._chapter._enter(refutation)
        show_refutation(refutation, len(self._chapter._refutations))

    def _admit(
        self, what: str, measured: Any, relation: str, bound: Any, control: Any, **texts: str
    ) -> tuple[Any, Any, Any]:
        self._chapter._require_new(what)
        if relation not in RELATIONS:
            raise BadInput(f"relation = {relation!r}", "it is no relation", f"use one of {' '.join(RELATIONS)}")
        for name, text in {"what": what, **texts}.items():
            if not text.strip():
                raise BadInput(f"{name} = {text!r}", "a reader must learn what it is", "say it in a few words")
        place = self._place(what)
        values = [
            scalar(v, f"{place}: {n}") for v, n in ((measured, "measured"), (bound, "bound"), (control, "control"))
        ]
        if is_infinite(values[1]):
            raise BadInput(f"{place}: bound = {bound}", "nothing but infinity could fail it", "pass a finite bound")
        return values[0], values[1], values[2]

    def _place(self, what: str) -> str:
        return f"{self._chapter.page.name}, {self.name} witness, {what!r}"
