import re
from dataclasses import is_dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import sympy as sp

from scansnap_core import BadInput
from scansnap_core.ledger import WITNESSES, Certificate, Chapter, FalseProved, NotProved, NotRefuted, all_of
from scansnap_core.ledger.proofs import formula_of
from tests.ledger.conftest import Opened, Outputs, concluded, without_styles
from tests.refusing import refuses

PROOF = {"says": "x is below 2", "control": "a larger number", "region": "all $x > 0$", "assumptions": "none"}


@pytest.fixture
def chapter(opened: Opened) -> Chapter:
    return opened(proved={"below": PROOF | {"sampled": "x above 100"}})


def below_two(number: float) -> Certificate:
    gap = "" if number < 2 else f"x in [1.9, {number}]"
    return Certificate("interval", not gap, f"{round(2 * number)} boxes", gap, false=number >= 2.5)


def prove(chapter: Chapter, claim: Any = 1.5, control: Any = 2.5, procedure: Any = below_two) -> None:
    chapter.witness("proved").holds("below", procedure, claim, control=control)


def test_a_proof_says_region_kind_and_where_the_control_stops(chapter: Chapter, outputs: Outputs) -> None:
    prove(chapter)
    assert outputs[-1]["text/plain"] == (
        "∎ proved: x is below 2\n"
        "    certified: 1.5\n"
        "    proved for: all $x > 0$\n"
        "    by: interval arithmetic, with a lemma where a region has no end: 3 boxes\n"
        "    assumes: none\n"
        "    left to a sweep: x above 100\n"
        "    control: a larger number: 2.5, fails at x in [1.9, 2.5]"
    )
    assert 'class="ss-check ss-proved" id="claim-below"' in outputs[-1]["text/html"]
    head, _, fold = without_styles(outputs[-1]["text/html"]).partition("</summary>")
    assert head.endswith(">control: a larger number: refuted</small>")
    assert "<dt>control: a larger number</dt><dd>2.5, fails at x in [1.9, 2.5]</dd>" in fold


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        (sp.Symbol("u") ** 2 / 2, r"$\frac{u^{2}}{2}$"),
        ((sp.Symbol("u"), 0.25), "$u$, 0.25"),
        (sp.Integer(2) ** sp.Symbol("u"), "$2^{u}$"),
        (sp.Symbol("u" * 298), f"${'u' * 298}$"),
        *zip((True, len, sp.Symbol, (1, len), [], sp.Symbol("u" * 299)), [""] * 6, strict=True),
    ],
)
def test_what_is_certified_is_shown_as_a_formula(claim: Any, shown: str) -> None:
    assert formula_of(claim) == shown


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"claim": 2.0}, NotProved, "Lemma 6, proved, below (x is below 2): 4 boxes; it fails at x in [1.9, 2.0"),
        ({"control": 1.9}, FalseProved, "the control (a larger number) is proved as well: 4 boxes"),
        ({"control": 2.2}, NotRefuted, "the control (a larger number) is undecided, not false: x in [1.9, 2.2]"),
        ({"control": Fraction(3, 2)}, BadInput, "control = Fraction(3, 2): a control is another claim"),
        ({"procedure": lambda number: number < 2}, BadInput, "below (x is below 2): True: a procedure of proof ret"),
    ],
)
def test_what_isnt_borne_out_is_refused(chapter: Chapter, arguments: dict[str, Any], kind: Any, said: str) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        prove(chapter, **arguments)


def test_claim_and_control_assume_the_same_of_a_letter(chapter: Chapter) -> None:
    anywhere, above = sp.Symbol("u"), sp.Symbol("u", positive=True)
    with refuses("below: the letter u", "claim and control assume the same of it"):
        prove(chapter, (anywhere > 5, 1), (above > 5, 2))


def test_each_claim_is_proved_once_and_stands_in_the_file(chapter: Chapter) -> None:
    prove(chapter)
    with refuses("claim 'below'", "a chapter makes each claim once"):
        prove(chapter)
    for claim_id, value, rule in (
        ("above", "claim 'above'", "lemma_06.yaml holds no such claim"),
        (
            "numeric_error",
            "claim 'numeric_error' as a proof of the proved witness",
            "in lemma_06.yaml it is a check of the numeric witness",
        ),
    ):
        with refuses(value, rule):
            chapter.witness("proved").holds(claim_id, below_two, 1.5, control=2.5)


def test_the_verdict_stores_proofs_and_what_is_left(chapter: Chapter, outputs: Outputs) -> None:
    prove(chapter)
    verdict = concluded(chapter, outputs)
    assert verdict["witnesses"]["proved"] == {"checks": 1, "refutations": 0}
    (proof,) = verdict["proofs"]
    assert (proof["id"], proof["kind"], proof["sampled"]) == ("below", "interval", "x above 100")
    assert "proved: checks 1" in outputs[-1]["text/plain"]


def test_without_proofs_the_verdict_has_no_word_of_them(opened: Opened, outputs: Outputs) -> None:
    verdict = concluded(opened(), outputs)
    assert set(verdict["witnesses"]) == set(WITNESSES)
    assert "proofs" not in verdict
    assert "proved" not in outputs[-1]["text/plain"]


def test_steps_are_proved_together_or_name_the_first_gap() -> None:
    good, bad = below_two(1.5), below_two(3)
    assert all_of(first=good, second=good).kind == "interval"
    assert all_of(alone=good).how == "1 step (3 boxes)"
    whole = all_of(first=good, the_end=True)
    assert (whole.kind, whole.proved, whole.how) == ("steps", True, "2 steps (3 boxes; algebra)")
    assert all_of(first=good, second=good).how == "2 steps (3 boxes, 2 times)"
    undecided = all_of(first=good, second=below_two(2.2), the_end=True)
    assert (undecided.gap, undecided.false) == ("step 2: x in [1.9, 2.2]", False)
    false = all_of(first=below_two(2.2), second=bad, third=False)
    assert (false.gap, false.false) == ("step 2: x in [1.9, 3]", True)
    assert all_of(first=good, third=False).gap == "step 2: it is false"


def test_a_proof_has_steps_and_each_is_a_certificate_or_a_truth() -> None:
    for step in (sp.Symbol("u"), [False], float("nan"), len, (True, below_two(3)), 0, None):
        with refuses("step a = …", "a step is a certificate, True or False"):
            all_of(a=step)  # type: ignore[arg-type]
    with refuses("no steps", "a proof has one at least"):
        all_of()
    truths: list[Any] = [np.bool_(True), sp.true, np.bool_(False), sp.false]
    assert [all_of(a=truth).false for truth in truths] == [False, False, True, True]


@pytest.mark.parametrize("fields", [(True, "how", "a gap"), (False, "how"), (True, "how", "", True), (1, "how")])
def test_a_certificate_does_not_contradict_itself(fields: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput):
        Certificate("algebra", *fields)


@pytest.mark.parametrize("module", ["claims", "entries", "proofs", "registry"])
def test_what_is_recorded_cannot_be_changed(module: str) -> None:
    members = vars(import_module(f"scansnap_core.ledger.{module}")).values()
    kinds = [kind for kind in members if isinstance(kind, type) and is_dataclass(kind)]
    assert kinds
    assert [kind for kind in kinds if not vars(kind)["__dataclass_params__"].frozen] == []
