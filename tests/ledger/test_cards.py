"""The card at a chapter's head: nothing on it that the chapter's ledger doesn't hold."""

from dataclasses import is_dataclass, replace
from importlib import import_module
from typing import Any

import pytest

from scansnap_core import BadInput
from scansnap_core.ledger import (
    VERDICT_MIME,
    WITNESSES,
    Card,
    Chapter,
    Finding,
    NoEvidence,
    Printed,
    Repair,
    Silent,
    display,
)
from scansnap_core.ledger.cards import SCALE, SILENCE, rows_shown

SILENT = Silent("not concerned", "It has no noise in it.")
CARD = Card(
    Printed("numeric error", "It solves it."),
    Finding("in part", "symbolic", "One sign $<0$ is lost."),
    SILENT,
    "cell-03",
)
BROKEN = replace(
    CARD,
    printed=Printed("printed error", "It starts above zero."),
    repaired=Repair("$e^{2Mh}$", "For all h.", "printed error"),
)


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the ledger displays, in place of a notebook."""
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(display, "show", lambda output: shown.append(output._repr_mimebundle_()))
    return shown


def chapter(page_id: str = "lemma_06", **refutation: str) -> Chapter:
    """A chapter with an entry a witness, and a refutation where one is described."""
    opened = Chapter(page_id)
    for number, name in enumerate(WITNESSES):
        opened.witness(name).check(
            f"{name} error", 0.1 + number / 100, "<=", 0.5, control=0.7, control_is="another exponent"
        )
    if refutation:
        opened.witness("numeric").refute(
            "printed error",
            0.7,
            "<=",
            0.5,
            control=0.2,
            control_is="with exp(2Mh)",
            place="Eqn 45",
            printed="$e^{Mh}$",
            consequence="none",
            **{"judges": "claim", **refutation},
        )
    return opened


def concluded(outputs: list[dict[str, Any]], card: Card, page_id: str = "lemma_06", **refutation: str) -> Any:
    chapter(page_id, **refutation).conclude(card)
    return outputs[-1]


def test_a_row_has_its_entrys_number_and_the_verdicts_word(outputs: list[dict[str, Any]]) -> None:
    verdict = concluded(outputs, CARD)[VERDICT_MIME]
    printed, repaired, true_gradient, sgd = verdict["card"]
    assert (printed["of"], printed["word"], printed["number"], printed["what"]) == (
        "as printed",
        "holds",
        "0.11",
        "numeric error",
    )
    assert (repaired["word"], repaired["number"]) == ("none needed", "")
    assert (true_gradient["word"], true_gradient["number"], true_gradient["required"]) == ("in part", "0.1", "≤ 0.5")
    assert (sgd["word"], sgd["says"], sgd["number"]) == ("not concerned", "It has no noise in it.", "")
    assert verdict["figure"] == "cell-03"


def test_a_card_is_shown_as_text_and_as_html(outputs: list[dict[str, Any]]) -> None:
    shown = concluded(outputs, CARD)
    assert (
        "under the true gradient: in part; One sign $<0$ is lost.\n        0.1, required ≤ 0.5" in shown["text/plain"]
    )
    assert r'<span class="math notranslate nohighlight">\(&lt;0\)</span>' in shown["text/html"]
    assert shown["text/html"].count("<dt>") == 4
    assert "<a " not in shown["text/html"]


@pytest.mark.parametrize(
    ("page_id", "name", "rows"),
    [("lemma_06", "as printed", 4), ("fig_04", "as printed", 4), ("one_path", "as stated here", 3)],
)
def test_what_wasnt_printed_isnt_called_so(outputs: list[dict[str, Any]], page_id: str, name: str, rows: int) -> None:
    shown = concluded(outputs, CARD, page_id)
    assert f"\n    {name}: " in shown["text/plain"]
    assert shown["text/html"].count("<dt>") == rows
    assert [row["of"] for row in shown[VERDICT_MIME]["card"]][:2] == ["as printed", "repaired"]


def test_a_paper_prints_a_claim_in_words() -> None:
    (row,) = rows_shown([{"of": "repaired", "word": "as printed", "says": "Where h is small."}], "claim")
    assert row == {"of": "repaired", "word": "in the paper's words", "says": "Where h is small."}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("statement", "as printed"),
        ("figure", "as printed"),
        ("claim", "in the paper's words"),
        ("law", "as stated here"),
        ("beyond", "as stated here"),
    ],
)
def test_only_own_statements_were_not_printed_and_need_no_repair(kind: str, name: str) -> None:
    said = {"says": "Where h is small."}
    words = [*SCALE, *SILENCE, "holds", "as another says"]
    rows = [{"of": word, "word": word} | said for word in [*words, "as printed"]]
    none_needed = {"of": "repaired", "word": "none needed"} | said
    shown = [*rows[:-1], {"of": name, "word": name} | said]
    assert rows_shown([*rows, none_needed], kind) == shown + [none_needed] * (kind not in ("law", "beyond"))


def test_a_repair_stands_beside_what_bears_it_out(outputs: list[dict[str, Any]]) -> None:
    printed, repaired, *_ = concluded(outputs, BROKEN, repair="the other")[VERDICT_MIME]["card"]
    assert (printed["word"], printed["number"]) == ("fails as printed", "0.7")
    assert (repaired["formula"], repaired["number"], repaired["on"]) == ("$e^{2Mh}$", "0.2", "with exp(2Mh)")
    by_check = replace(BROKEN, repaired=Repair("$e^{2Mh}$", "For all h.", "empirical"))
    assert concluded(outputs, by_check, repair="the other")[VERDICT_MIME]["card"][1]["number"] == "0.12"


def test_under_a_missing_condition_the_statement_stands_as_printed(outputs: list[dict[str, Any]]) -> None:
    card = replace(BROKEN, repaired=Repair("", "Where h is small.", "printed error"))
    repaired = concluded(outputs, card, condition="h is small")[VERDICT_MIME]["card"][1]
    assert (repaired["word"], repaired["says"], repaired["number"]) == ("as printed", "Where h is small.", "0.2")
    with pytest.raises(BadInput, match="repaired: formula = ''"):
        concluded(outputs, card, repair="the other")


def test_the_controls_number_says_what_it_belongs_to(outputs: list[dict[str, Any]]) -> None:
    card = replace(CARD, sgd=Finding("fails", "empirical", "It jumps.", "control"))
    sgd = concluded(outputs, card)[VERDICT_MIME]["card"][3]
    assert (sgd["number"], sgd["on"]) == ("0.7", "another exponent")
    assert "(this number: another exponent)" in outputs[-1]["text/html"]


@pytest.mark.parametrize("page_id", ["lemma_06", "fig_04", "one_path"])
def test_a_chapter_without_a_card_is_refused_and_stays_open(outputs: list[dict[str, Any]], page_id: str) -> None:
    opened = chapter(page_id)
    with pytest.raises(BadInput, match="opens with its card; give conclude"):
        opened.conclude()
    opened.conclude(CARD)


def test_a_page_of_notation_has_none(outputs: list[dict[str, Any]]) -> None:
    chapter("notation").conclude()
    assert "card" not in outputs[-1][VERDICT_MIME]
    assert "ss-card" not in outputs[-1]["text/html"]


def test_a_number_that_is_its_own_requirement_is_written_once(outputs: list[dict[str, Any]]) -> None:
    opened = chapter()
    opened.witness("numeric").check("tiny", 1e-13, "<=", 1e-9, control=0.7, control_is="another exponent")
    opened.conclude(replace(CARD, printed=Printed("tiny", "It solves it.")))
    assert "        ≤ 1e-09, as required: tiny\n" in outputs[-1]["text/plain"]
    assert "<strong>≤ 1e-09</strong>, as required: tiny" in outputs[-1]["text/html"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"printed": Printed("numerical", "It solves it.")}, "0 checks and refutations of this chapter begin so"),
        ({"printed": Printed("error", "It solves it.")}, "0 checks and refutations"),  # inside of a name
        ({"printed": Printed(" ", "It solves it.")}, "0 checks and refutations"),
        ({"printed": Printed("numeric error", " ")}, "as printed: says = ' '"),
        ({"sgd": Finding("mostly", "empirical", "It jumps.")}, "use one of as stated, in kind, not in size, in part"),
        ({"sgd": Finding("not measured", "empirical", "It jumps.")}, "the scale is closed"),
        ({"sgd": Finding("fails", "", "It jumps.")}, "0 checks and refutations"),
        ({"sgd": Finding("fails", "another page's error", "It jumps.")}, "0 checks and refutations"),
        ({"sgd": Finding("fails", "empirical", "")}, "under SGD: says = ''"),
        ({"sgd": Finding("fails", "empirical", "It jumps.", "bound")}, "use one of measured, control"),
        ({"true_gradient": Silent("as stated", "It has no noise.")}, "use one of not concerned, not measured"),
        ({"true_gradient": Silent("not concerned", " ")}, "under the true gradient: why = ' '"),
        ({"repaired": Repair("1", "Everywhere.", "numeric")}, "the verdict is 'holds'; leave the repair out"),
    ],
)
def test_a_malformed_card_is_refused_and_leaves_the_chapter_open(
    outputs: list[dict[str, Any]], change: dict[str, Any], message: str
) -> None:
    opened = chapter()
    with pytest.raises(BadInput, match=message):
        opened.conclude(replace(CARD, **change))
    opened.conclude(CARD)


def test_a_name_that_two_entries_begin_with_must_be_whole(outputs: list[dict[str, Any]]) -> None:
    opened = chapter()
    for what in ("numeric", "numeric error, later"):
        opened.witness("numeric").check(what, 0.3, "<=", 0.5, control=0.7, control_is="another exponent")
    with pytest.raises(BadInput, match="3 checks and refutations of this chapter begin so"):
        opened.conclude(replace(CARD, printed=Printed("numer", "It solves it.")))
    opened.conclude(replace(CARD, printed=Printed("numeric", "It solves it.")))
    assert outputs[-1][VERDICT_MIME]["card"][0]["number"] == "0.3"


def test_what_is_refuted_can_be_called_upheld_by_no_card(outputs: list[dict[str, Any]]) -> None:
    with pytest.raises(NoEvidence, match="doesn't say what should be printed instead"):
        concluded(outputs, replace(BROKEN, repaired=None), repair="the other")
    with pytest.raises(BadInput, match="the verdict is 'fails as printed'; name a refutation of the claim itself"):
        concluded(outputs, replace(BROKEN, printed=CARD.printed), repair="the other")
    with pytest.raises(BadInput, match="the verdict is 'holds'; name a check"):
        concluded(outputs, replace(BROKEN, repaired=None), repair="the other", judges="remark")


def test_a_refuted_remark_is_not_what_the_verdict_rests_on(outputs: list[dict[str, Any]]) -> None:
    opened = chapter(repair="the other")
    opened.witness("numeric").refute(
        "remark's error",
        0.7,
        "<=",
        0.5,
        control=0.2,
        control_is="with exp(2Mh)",
        place="Remark 1",
        printed="$e^{Mh}$",
        consequence="none",
        repair="the other",
        judges="remark",
    )
    with pytest.raises(BadInput, match="name a refutation of the claim itself"):
        opened.conclude(replace(BROKEN, printed=Printed("remark's error", "It starts above zero.")))
    opened.conclude(BROKEN)


@pytest.mark.parametrize(("page_id", "word"), [("fig_04", "differs from the paper"), ("one_path", "fails as printed")])
def test_figures_and_other_pages_have_cards_too(outputs: list[dict[str, Any]], page_id: str, word: str) -> None:
    assert concluded(outputs, BROKEN, page_id, repair="the other")[VERDICT_MIME]["card"][0]["word"] == word


@pytest.mark.parametrize("module", ["cards", "certificates", "entries", "pages"])
def test_what_is_recorded_cannot_be_changed(module: str) -> None:
    members = vars(import_module(f"scansnap_core.ledger.{module}")).values()
    kinds = [kind for kind in members if isinstance(kind, type) and is_dataclass(kind)]
    assert kinds
    assert [kind for kind in kinds if not vars(kind)["__dataclass_params__"].frozen] == []
