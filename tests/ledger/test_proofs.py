from typing import Any

import numpy as np
import pytest
import sympy as sp
from scansnap_core.book.claims import claims_of

from scansnap_core import BadInput
from scansnap_core.ledger import (
    VERDICT_MIME,
    WITNESSES,
    Card,
    Certificate,
    Chapter,
    FalseProved,
    NotProved,
    NotRefuted,
    Printed,
    Silent,
    all_of,
    display,
)

QUIET = Silent("not concerned", "It has no noise in it.")
CARD = Card(Printed("symbolic error", "It holds."), QUIET, QUIET, figure="")


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(display, "show", lambda output: shown.append(output._repr_mimebundle_()))
    return shown


@pytest.fixture
def chapter(outputs: list[dict[str, Any]]) -> Chapter:
    chapter = Chapter("lemma_06")
    for name in WITNESSES:
        chapter.witness(name).check(f"{name} error", 0.1, "<=", 0.5, control=0.7, control_is="another exponent")
    return chapter


def below_two(number: float) -> Certificate:
    gap = "" if number < 2 else f"x in [1.9, {number}]"
    return Certificate("interval", not gap, "3 boxes", gap, false=number >= 2.5)


def prove(chapter: Chapter, claim: float = 1.5, control: float = 2.5, **texts: Any) -> None:
    said = {"control_is": "a larger number", "region": "all $x > 0$", **texts}
    chapter.witness("proved").prove("x is below 2", below_two, claim, control=control, **said)


def test_a_proof_says_region_kind_and_where_the_control_stops(chapter: Chapter, outputs: list[dict[str, Any]]) -> None:
    prove(chapter)
    assert outputs[-1]["text/plain"] == (
        "∎ proved: x is below 2\n"
        "    region: all $x > 0$\n"
        "    proved by: interval arithmetic, with a lemma where a region has no end\n"
        "    assumes: none\n"
        "    what was done: 3 boxes\n"
        "    control, which must be refused: stops at x in [1.9, 2.5] (a larger number)"
    )
    assert 'class="ss-check ss-proved"' in outputs[-1]["text/html"]


def test_what_is_not_proved_names_the_box(chapter: Chapter) -> None:
    with pytest.raises(NotProved, match=r"Lemma 6, proved, 'x is below 2': 3 boxes; it stops at x in \[1.9, 2.0\]"):
        prove(chapter, claim=2.0)


def test_a_control_that_is_proved_is_refused(chapter: Chapter) -> None:
    with pytest.raises(FalseProved, match=r"the control \(a larger number\) is proved as well"):
        prove(chapter, control=1.9)


def test_a_control_that_is_proved_another_way_is_refused(chapter: Chapter) -> None:
    def by_steps(number: float) -> Certificate:
        return Certificate("interval", True, f"{number:g} boxes", "")

    with pytest.raises(FalseProved, match="is proved as well: 9 boxes"):
        chapter.witness("proved").prove("x", by_steps, 3, control=9, control_is="larger", region="all $x$")


def test_a_control_that_is_undecided_is_refused(chapter: Chapter) -> None:
    with pytest.raises(NotRefuted, match=r"the control \(a larger number\) is undecided, not false: x in \[1.9, 2.2\]"):
        prove(chapter, control=2.2)


def test_a_control_is_another_claim(chapter: Chapter) -> None:
    with pytest.raises(BadInput, match=r"control = 1\.5: a control is another claim"):
        prove(chapter, 1.5, 1.5)


@pytest.mark.parametrize("empty", ["region", "assumptions", "control_is"])
def test_every_text_says_something(chapter: Chapter, empty: str) -> None:
    with pytest.raises(BadInput, match=f"{empty} = ''"):
        prove(chapter, 1.5, 2.5, **{empty: ""})


def test_a_proof_returns_a_certificate(chapter: Chapter) -> None:
    with pytest.raises(BadInput, match="returns a certificate"):
        chapter.witness("proved").prove(
            "x",
            lambda number: number < 2,
            1,
            control=3,
            control_is="larger",
            region="all",
        )


def test_each_thing_is_proved_once(chapter: Chapter) -> None:
    prove(chapter)
    with pytest.raises(BadInput, match="checks each thing once"):
        prove(chapter)
    with pytest.raises(BadInput, match="checks each thing once"):
        chapter.witness("proved").prove(
            "x is below 2 ", below_two, 1.5, control=2.5, control_is="a larger number", region="all $x > 0$"
        )


def test_the_verdict_stores_proofs_and_what_is_left(chapter: Chapter, outputs: list[dict[str, Any]]) -> None:
    prove(chapter, sampled="x above 100")
    chapter.witness("proved").leave("numeric err", "no tail lemma yet")
    chapter.conclude(CARD)
    verdict = outputs[-1][VERDICT_MIME]
    assert verdict["witnesses"]["proved"] == {"checks": 1, "refutations": 0}
    assert verdict["proofs"][0]["kind"] == "interval"
    assert verdict["proofs"][0]["sampled"] == "x above 100"
    assert verdict["sampled"] == [{"witness": "sampled", "what": "numeric error", "why": "no tail lemma yet"}]
    assert claims_of(verdict)["proved"] == [
        "∎ x is below 2: all $x > 0$; assumptions: none; control: a larger number; sampled: x above 100",
        "◌ only sampled: numeric error; why: no tail lemma yet",
    ]
    assert "proved: checks 1" in outputs[-1]["text/plain"]


def test_without_proofs_the_verdict_has_no_word_of_them(chapter: Chapter, outputs: list[dict[str, Any]]) -> None:
    chapter.conclude(CARD)
    assert set(outputs[-1][VERDICT_MIME]["witnesses"]) == set(WITNESSES)
    assert "proofs" not in outputs[-1][VERDICT_MIME]
    assert "proved" not in outputs[-1]["text/plain"]


def test_only_a_recorded_check_can_be_left_to_its_sweep(chapter: Chapter) -> None:
    with pytest.raises(BadInput, match="0 checks of the chapter begin so"):
        chapter.witness("proved").leave("another error", "too hard")
    chapter.witness("numeric").check("numeric error too", 0.1, "<=", 0.5, control=0.7, control_is="another")
    with pytest.raises(BadInput, match="2 checks of the chapter begin so"):
        chapter.witness("proved").leave("numeric error", "too hard")
    with pytest.raises(BadInput, match="why = ' '"):
        chapter.witness("proved").leave("symbolic", " ")


def test_steps_are_proved_together_or_name_the_first_gap() -> None:
    good, bad = below_two(1), below_two(3)
    assert all_of(first=good, second=good).kind == "interval"
    whole = all_of(first=good, the_end=True)
    assert (whole.kind, whole.proved, whole.how) == ("steps", True, "first (3 boxes); the end")
    undecided = all_of(first=good, second=below_two(2.2), the_end=True)
    assert (undecided.gap, undecided.false) == ("second: x in [1.9, 2.2]", False)
    false = all_of(first=below_two(2.2), second=bad, third=False)
    assert (false.gap, false.false) == ("second: x in [1.9, 3]", True)
    assert all_of(first=good, third=False).gap == "third: it is false"


@pytest.mark.parametrize("step", [sp.Symbol("u"), [False], float("nan"), len, (True, below_two(3)), 0, None])
def test_a_step_is_a_certificate_or_a_truth(step: Any) -> None:
    with pytest.raises(BadInput, match=r"step a = .*: a step is a certificate, True or False"):
        all_of(a=step)


def test_a_proof_has_a_step() -> None:
    with pytest.raises(BadInput, match="no steps"):
        all_of()
    truths: list[Any] = [np.bool_(True), sp.true, np.bool_(False), sp.false]
    assert [all_of(a=truth).false for truth in truths] == [False, False, True, True]


@pytest.mark.parametrize("fields", [(True, "how", "a gap"), (False, "how"), (True, "how", "", True), (1, "how")])
def test_a_certificate_does_not_contradict_itself(fields: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput):
        Certificate("algebra", *fields)
