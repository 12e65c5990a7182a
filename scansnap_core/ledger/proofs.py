"""The fourth witness: a claim over all of its conditions, proved, beside a false one that the same way refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger import display
from scansnap_core.ledger.certificates import KINDS, PROVED, Certificate, Proof, Sampled
from scansnap_core.ledger.markup import render
from scansnap_core.ledger.pages import Page

_TEMPLATES = Path(__file__).with_name("templates")


class Ledger(Protocol):
    """What a proof needs of its chapter."""

    page: Page

    @property
    def checked(self) -> frozenset[str]: ...  # noqa: D102

    def _require_new(self, what: str) -> None: ...

    def _enter(self, entry: Proof | Sampled) -> None: ...


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

    def prove(
        self,
        what: str,
        procedure: Callable[[Any], Certificate],
        claim: Any,
        *,
        control: Any,
        control_is: str,
        region: str,
        assumptions: str = "none",
        sampled: str = "",
    ) -> None:
        r"""Record that a procedure proves a claim, and refuses a nearby false one.

        Parameters
        ----------
        what : str
            The claim, once a chapter. Mathematics may stand between dollar signs, here and in the other texts.
        procedure : callable
            Is called with `claim` and with `control`, so that both go the same way, and returns a `Certificate`.
        claim, control
            What the procedure is to prove, and a nearby false claim: a sharper constant, another sign, no condition.
        control_is : str
            What the false claim is.
        region : str
            All that the claim is proved for, such as ``"all real $M \ge 4$"``.
        assumptions : str
            What the proof takes for granted: other statements, theorems of mathematics.
        sampled : str
            The part of the region that is left to a sweep, if any.

        Raises
        ------
        NotProved
            If the claim isn't proved; the message has the place at which the procedure stopped.
        FalseProved
            If the control is.
        NotRefuted
            If the control is undecided: the procedure found no counterexample.
        BadInput
            If a text is empty, claim and control are one, the procedure returns no certificate, or `what` was said
            before.
        """
        texts = {"what": what, "control_is": control_is, "region": region, "assumptions": assumptions}
        for name, text in texts.items():
            if not text.strip():
                raise BadInput(f"{name} = {text!r}", "a reader must learn what it is", "say it in a few words")
        if claim is control or (claim == control) is True:
            raise BadInput(f"control = {control!r:.80}", "a control is another claim than the one proved", "spoil it")
        self._chapter._require_new(what.strip())
        place = f"{self._chapter.page.name}, {PROVED}, {what!r}"
        found, refused = (_certificate(procedure(each), place) for each in (claim, control))
        if not found:
            raise NotProved(f"{place}: {found.how}; it stops at {found.gap}")
        if refused:
            raise FalseProved(f"{place}: the control ({control_is}) is proved as well: {refused.how}")
        if not refused.false:
            raise NotRefuted(f"{place}: the control ({control_is}) is undecided, not false: {refused.gap}")
        proof = Proof(
            PROVED,
            what.strip(),
            found.kind,
            region,
            assumptions,
            found.how,
            f"stops at {refused.gap}",
            control_is,
            sampled,
        )
        self._chapter._enter(proof)
        _show(proof)

    def leave(self, what: str, why: str) -> None:
        """Say of a check that it only samples a claim over all of its conditions.

        Parameters
        ----------
        what : str
            The check, as it was recorded by another witness, or its beginning.
        why : str
            In one line, why it isn't proved.

        Raises
        ------
        BadInput
            If not exactly one check of the chapter begins so, or `why` is empty.
        """
        found = [check for check in self._chapter.checked if check.startswith(what)]
        if len(found) != 1:
            rule = f"{len(found)} checks of the chapter begin so"
            raise BadInput(f"what = {what!r}", rule, "name one that stands above it")
        if not why.strip():
            raise BadInput(f"why = {why!r}", "a reader must learn what is missing", "say it in one line")
        (check,) = found
        entry = Sampled("sampled", check, why)
        self._chapter._enter(entry)
        markup = _markup(entry, "◌", "only sampled", "ss-check", [("why", why)])
        display.show(display.Shown(f"◌ only sampled: {entry.what}\n    why: {why}", markup))


def _certificate(found: Any, place: str) -> Certificate:
    if not isinstance(found, Certificate) or found.kind not in KINDS:
        rule = "a procedure of proof returns a certificate of a known kind"
        raise BadInput(f"{place}: {found!r}", rule, f"return a Certificate of {', '.join(KINDS)}")
    return found


def _show(proof: Proof) -> None:
    rest = [
        ("region", proof.region),
        ("proved by", KINDS[proof.kind]),
        ("assumes", proof.assumptions),
        ("what was done", proof.how),
        *([("left to a sweep", proof.sampled)] if proof.sampled else []),
        ("control, which must be refused", f"{proof.control} ({proof.control_is})"),
    ]
    plain = "\n".join([f"∎ {proof.witness}: {proof.what}", *(f"    {term}: {text}" for term, text in rest)])
    display.show(display.Shown(plain, _markup(proof, "∎", "proved", "ss-check", rest)))


def _markup(entry: Proof | Sampled, mark: str, says: str, css: str, values: list[tuple[str, str]]) -> str:
    template = _TEMPLATES / "entry.html"
    return render(template, entry=entry, mark=mark, says=says, css=css, values=values, anchor=None)
