"""A chapter and its witnesses: every check stands beside a control that must fail, and the verdict
is computed.

A chapter can't claim anything that wasn't measured, and a check that couldn't have failed is
refused. The words stand in the chapter's file of claims (`scansnap_core.ledger.claims`); the
notebook names each claim by its id.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, overload

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.digits import in_prose
from scansnap_core.base.rules import Rule, one_of
from scansnap_core.ledger.cards import Elsewhere, card_of, smaller_runs
from scansnap_core.ledger.claims import Claim, Claims, read_claims
from scansnap_core.ledger.contents import reading_link
from scansnap_core.ledger.display import (
    show_check,
    show_conclusion,
    show_numbers,
    show_reading,
    show_refutation,
)
from scansnap_core.ledger.entries import (
    KINDS,
    PROVED,
    VOICES,
    WITNESSES,
    Check,
    Proof,
    Refutation,
    Sampled,
)
from scansnap_core.ledger.proofs import ProofWitness, formula_tried
from scansnap_core.ledger.registry import WITHOUT_CARD, Page, notebook_of, page
from scansnap_core.ledger.values import NoEvidence, holds, is_infinite, requirement, scalar, written
from scansnap_core.ledger.verdicts import Conclusion

_PROSE = Rule(
    lambda text: isinstance(text, str) and bool(text.strip()),
    "a number in prose is written by the chapter",
    'pass f"{x:.2f}"',
)
_REMAINDER = "What remains"
"""The measure of a symbolic check whose claim names none: its number is what remains of a
difference.
"""


class CheckFailed(AssertionError):
    """A claim that its measured value doesn't meet, or a counterexample that meets what it should
    violate.
    """


class ControlPassed(AssertionError):
    """A control that a check can't tell from the claim, or a remedy under which the printed claim
    fails too.
    """


class Chapter:
    """The ledger of one chapter, in the book around the working folder.

    Parameters
    ----------
    page_id : str
        A statement's, a figure's or a page's id, such as ``"lemma_06"``: the stem of the notebook's
        file name.

    Examples
    --------
    >>> lemma = Chapter("lemma_06")
    >>> numeric = lemma.witness("numeric")
    """

    def __init__(self, page_id: str) -> None:
        """Find the page and its file of claims by the notebook's name, and begin with an empty
        ledger.
        """
        self.page = page(page_id)
        self.claims = read_claims(notebook_of(page_id).with_suffix(".yaml"))
        self._witnesses = {name: Witness(self, name) for name in WITNESSES}
        self._proved = ProofWitness(self)
        self._entries: dict[str, Check | Refutation | Proof] = {}
        self._numbers: dict[str, str] = {}
        self._concluded = False

    @overload
    def witness(self, name: Literal["proved"]) -> ProofWitness: ...  # type: ignore[overload-overlap]

    @overload
    def witness(self, name: str) -> "Witness": ...

    def witness(self, name: str) -> "Witness | ProofWitness":
        """Call one of the three witnesses that a statement needs, or ``"proved"``, which proves
        what it can.
        """
        one_of(VOICES)("witness", name)
        return self._proved if name == PROVED else self._witnesses[name]

    def numbers(self, numbers: Mapping[str, str] | None = None, /, **more: str) -> None:
        """Give the numbers that the chapter's prose contains, by name.

        They are written as :func:`~scansnap_core.base.digits.in_prose` does.
        In the text of any page ``<data value="drop">1.2</data>`` is the number ``drop`` of the same
        page, and ``<data value="lemma_06:drop">1.2</data>`` that of another. ``scansnap verify``
        compares the number in the text with this one, and with ``--store`` writes it there.

        Raises
        ------
        BadInput
            If a number is no text or an empty one, a name was given before, is a claim's id or
            can't be quoted, or the chapter is concluded.
        """
        given = {**(numbers or {}), **more}
        self._check_open("numbers")
        for name, text in given.items():
            _PROSE(name, text)
            if {*':"<>'} & {*name}:
                raise BadInput(
                    f"number {name!r}",
                    "a text can't quote a name with one of :\"<>",
                    "choose another name",
                )
            if name in self._numbers or name in self.claims.claims:
                raise BadInput(
                    f"number {name!r}", "a chapter gives each name once", "choose another name"
                )
        given = {name: in_prose(text) for name, text in given.items()}
        self._numbers |= given
        show_numbers(given)

    def conclude(self) -> None:
        """Display the verdict and the card as text, HTML and JSON, and close the chapter.

        Raises
        ------
        NoEvidence
            If a claim of the chapter's file wasn't made, a witness of a statement has no check, or
            another page has none at all; or the card lacks a repair that the verdict asks for.
        BadInput
            If the chapter was concluded before, or the card is missing, malformed or names what
            isn't in the file.
        """
        self._check_open("conclude")
        if left := [claim_id for claim_id in self.claims.claims if claim_id not in self._entries]:
            raise NoEvidence(
                f"{self.claims.path.name} claims what the notebook doesn't compute: "
                f"{', '.join(left)}"
            )
        conclusion = _conclusion(self.page, self.claims, self._entries, self._numbers)
        self._concluded = True
        show_conclusion(conclusion)

    def _claim(self, claim_id: str, witness: str, kind: str) -> Claim:
        """Return a claim of the chapter's file for a witness that is about to make it, as a check,
        a refutation or a proof; raise BadInput if it was made before, or the file has none such.
        """
        self._check_open(f"claim {claim_id!r}")
        if claim_id in self._entries:
            raise BadInput(
                f"claim {claim_id!r}",
                "a chapter makes each claim once",
                "give the second one its own id",
            )
        return self.claims.find(claim_id, witness, kind)

    def _enter(self, entry: Check | Refutation | Proof) -> None:
        """Keep what a witness found; above the first of its kind, display how one is read."""
        if not any(type(other) is type(entry) for other in self._entries.values()):
            show_reading(entry, reading_link(self.claims.path))
        self._entries[entry.id] = entry

    def _check_open(self, what: str) -> None:
        """Raise BadInput that names what was asked for if the chapter is concluded."""
        if self._concluded:
            raise BadInput(
                what, f"{self.page.name} is concluded already", "move it before conclude()"
            )


def check_file(page: Page, claims: Claims, elsewhere: Elsewhere | None = None) -> None:
    """Check a chapter's file before anything is computed, by drawing its conclusion without
    numbers.

    Whether a claim is a check or a refutation, and hence the verdict and what the card may say,
    stands in the file. Of the claims that the card cites from other chapters it asks their files
    too, or ``elsewhere``, which gives what the chapters store.

    Raises
    ------
    NoEvidence, BadInput
        What `Chapter.conclude` would raise whatever the notebook measured.
    """
    _conclusion(page, claims, _unmeasured_all(claims), {}, elsewhere)


def _unmeasured_all(claims: Claims) -> dict[str, Check | Refutation | Proof]:
    """Make the entries of all claims of a file, by id, as if they had been measured."""
    return {claim.id: _unmeasured(claim) for claim in claims.claims.values()}


def _measured(given: Any, by: Callable[[Any], Any] | None) -> Any:
    """Make the value that is compared: ``by`` of what a check is given, of two sides their
    difference.
    """
    match given:
        case (left, right):
            given = left - right
    return given if by is None else by(given)


def _unmeasured(claim: Claim) -> Check | Refutation | Proof:
    """Make the entry of a claim as if it had been measured, with empty numbers."""
    if claim.kind != "proof":
        return _entry(claim, "", claim.must, "")
    kind, *_ = KINDS
    return Proof(
        claim.id,
        claim.witness,
        claim.says,
        kind,
        claim.region,
        claim.assumptions,
        "",
        "",
        claim.control,
    )


def _meets(value: Any, relation: str, bound: Any, name: str) -> bool:
    """Tell whether a value meets a bound; if nobody can tell, the message begins with the name."""
    try:
        return holds(value, relation, bound)
    except NoEvidence as error:
        raise NoEvidence(f"{name}: {error}") from None


def _entry(claim: Claim, measured: str, required: str, control: str) -> Check | Refutation:
    """Make a check or a refutation of a claim and its numbers, as they are written."""
    measure = claim.measure or (
        _REMAINDER if claim.must == "= 0" and claim.witness == "symbolic" else ""
    )
    found = claim.id, claim.witness, claim.says, measured, required, control, claim.control
    if claim.kind == "check":
        return Check(*found, measure=measure)
    remedy = claim.place, claim.printed, claim.repair, claim.condition, claim.consequence
    return Refutation(*found, *remedy, claim.judges, claim.erratum, measure=measure)


def _conclusion(
    page: Page,
    claims: Claims,
    found: Mapping[str, Check | Refutation | Proof],
    numbers: Mapping[str, str],
    elsewhere: Elsewhere | None = None,
) -> Conclusion:
    """Draw the conclusion from an entry for each of a chapter's claims, by id, and the numbers of
    its prose; ``elsewhere`` as for `check_file`.

    Raises what `Chapter.conclude` raises of missing checks and of the card.
    """
    # They stand in the file's order, as they were reviewed, however the notebook is arranged.
    entries = [found[claim_id] for claim_id in claims.claims]
    checks = tuple(entry for entry in entries if isinstance(entry, Check))
    refutations = tuple(entry for entry in entries if isinstance(entry, Refutation))
    missing = [name for name in WITNESSES if name not in {entry.witness for entry in checks}]
    if page.is_statement and missing:
        raise NoEvidence(f"{page.name}: no check by the witness {' or '.join(missing)}")
    if not (checks or refutations):
        raise NoEvidence(f"{page.name}: no check by any witness")
    if not claims.card and page.kind not in WITHOUT_CARD:
        raise BadInput(
            f"{claims.path.name}: no card", f"{page.name} opens with its card", "write it there"
        )
    proofs = tuple(entry for entry in entries if isinstance(entry, Proof))
    sampled = tuple(
        Sampled(claim.id, "sampled", claim.says, claim.only_sampled)
        for claim in claims.claims.values()
        if claim.only_sampled
    )
    smaller = smaller_runs(claims)
    if smaller and any(refutation.judges == "claim" for refutation in refutations):
        rule = "smaller runs don't refute the paper's own"
        raise BadInput(f"{claims.path.name}: smaller", rule, "judge their scope")
    conclusion = Conclusion(
        page, checks, refutations, proofs=proofs, sampled=sampled, smaller=smaller
    )
    if claims.card:

        def in_file(page_id: str) -> Iterable[Check | Refutation]:
            """Return the checks and refutations of another chapter, as its file says."""
            path = notebook_of(page_id, claims.path.parent).with_suffix(".yaml")
            entries = _unmeasured_all(read_claims(path)).values()
            return [entry for entry in entries if not isinstance(entry, Proof)]

        card, figure = card_of(
            claims,
            conclusion.verdict,
            (*checks, *refutations),
            numbers,
            page.paper.dynamics,
            elsewhere or in_file,
        )
        conclusion = replace(conclusion, card=card, figure=figure)
    return conclusion


class Witness:
    """One of the three witnesses that a statement needs; made by `Chapter.witness`."""

    def __init__(self, chapter: Chapter, name: str) -> None:
        self._chapter = chapter
        self.name = name

    def holds(
        self,
        claim_id: str,
        measured: Any,
        *,
        control: Any,
        bound: Any = None,
        by: Callable[[Any], Any] | None = None,
    ) -> None:
        """Record that a measured value meets a claim's bound, while a control doesn't.

        Parameters
        ----------
        claim_id : str
            The id of a check in the chapter's file.
        measured : real number or SymPy value, or two
            What the witness measured for the claim as stated. Effects are written in three
            significant digits; what is below 1e-6 is written only as the relation that it meets. A
            SymPy value must equal the bound structurally. Two values are the sides of an equation,
            and their difference is what is measured.
        control : real number or SymPy value, or two
            The same measure of a nearby false formula, or in a regime outside the conditions. It
            must not meet the bound; a SymPy value must provably differ.
        bound : real number or SymPy value, optional
            Needed exactly where the file says ``bound`` in the place of a number.
        by : callable, optional
            Makes the value to compare of `measured`, or of the difference of its two, and of
            `control`, such as ``sympy.simplify``. The formulas given here are shown beside the
            check: a reader sees what is tried.

        Raises
        ------
        CheckFailed
            If `measured` doesn't meet the bound.
        ControlPassed
            If `control` does.
        NoEvidence
            If a value is NaN, infinite or undecided.
        BadInput
            If the file has no such check, it was recorded before, a value is malformed, or the
            control is a matrix of another shape.
        """
        self._record("check", claim_id, measured, bound, control, by)

    def refutes(
        self,
        claim_id: str,
        measured: Any,
        *,
        control: Any,
        bound: Any = None,
        by: Callable[[Any], Any] | None = None,
    ) -> None:
        """Record a counterexample to what is printed, with a repair or the condition that is
        missing.

        Arguments and errors are those of `holds`, the other way round. `measured` is measured of
        the printed claim and must violate the bound, or it refutes nothing (`CheckFailed`).
        `control` is the same measure of the repaired claim, or where the missing condition is met,
        and must meet the bound, or the remedy mends nothing (`ControlPassed`).
        """
        self._record("refutation", claim_id, measured, bound, control, by)

    def _record(
        self,
        kind: str,
        claim_id: str,
        measured: Any,
        bound: Any,
        control: Any,
        by: Callable[[Any], Any] | None,
    ) -> None:
        """Compare a claim's values with its bound, enter what was found, and display it.

        Of a check (``kind``) only the measured value meets the bound, of a refutation only the
        control. Anything else raises, as `holds` says.
        """
        claim = self._chapter._claim(claim_id, self.name, kind)
        place = f"{self._chapter.page.name}, {self.name} witness, {claim_id} ({claim.says})"
        if (bound is None) == (claim.bound is None):
            rule = f"{self._chapter.claims.path.name} says that it must be {claim.must}"
            raise BadInput(
                f"{claim_id}: bound = {bound!r}",
                rule,
                "give the bound in one place: here, or there",
            )
        bound = claim.bound if bound is None else bound

        # Formulas are kept as they were given, before ``by`` makes the values of them.
        formula = formula_tried(measured)
        control_formula = formula_tried(control)
        measured = _measured(measured, by)
        control = _measured(control, by)
        # A matrix is compared with a matrix.
        if bound == 0 and hasattr(measured, "is_zero_matrix"):
            bound = measured * 0
        measured = scalar(measured, f"{place}: measured")
        bound = scalar(bound, f"{place}: bound")
        control = scalar(control, f"{place}: control")
        if is_infinite(bound):
            raise BadInput(
                f"{place}: bound = {bound}",
                "nothing but infinity could fail it",
                "pass a finite bound",
            )
        for name, value in (("measured", measured), ("control", control)):
            if is_infinite(value):
                raise NoEvidence(f"{place}: {name} is {value}, which is no measurement")
        shapes = [getattr(value, "shape", ()) for value in (measured, control)]
        if shapes[0] != shapes[1]:
            rule = "a control's measurement has the shape of the claim's"
            raise BadInput(
                f"{place}: shapes {shapes[0]} and {shapes[1]}", rule, "measure the same of both"
            )

        # The claim's value on the one side of the bound, the control's on the other.
        relation = claim.relation
        required = requirement(claim.relation, bound)
        checks = kind == "check"
        if _meets(measured, relation, bound, f"{place}: measured") != checks:
            wrong = (
                f", must be {required}" if checks else f" is {required}, so it is no counterexample"
            )
            raise CheckFailed(f"{place}: measured {measured}{wrong}")
        if _meets(control, relation, bound, f"{place}: control") == checks:
            tried = "control" if checks else "repair" if claim.repair else "condition"
            wrong = f"also is {required}" if checks else f"isn't {required} either"
            raise ControlPassed(
                f"{place}: the {tried} ({claim.control}) gives {control}, which {wrong}"
            )

        # Both values are written in the same way on every machine.
        effect = written(measured, relation, bound, met=checks)
        compared = written(control, relation, bound, met=not checks)
        entry = replace(
            _entry(claim, effect, required, compared),
            formula=formula,
            control_formula=control_formula,
        )
        self._chapter._enter(entry)
        if isinstance(entry, Check):
            show_check(entry, claim.only_sampled)
        else:
            show_refutation(entry)
