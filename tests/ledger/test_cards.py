"""The card at a chapter's head: nothing on it that the chapter's ledger doesn't hold."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.base.files import MAPPING, TEXT
from scansnap_core.ledger import NoEvidence
from scansnap_core.ledger.cards import SCALE, SILENCE, rows_shown
from scansnap_core.ledger.display import card_html
from scansnap_core.ledger.entries import Row
from tests.book.books import REPAIRED, write_notebook
from tests.ledger.conftest import (
    BROKEN,
    LACKING,
    UPHELD,
    Opened,
    Outputs,
    all_three,
    check,
    concluded,
    refuting,
    without_styles,
)
from tests.refusing import refuses

CARD = UPHELD | {
    "printed": {"by": "numeric_error", "says": "It solves it."},
    "gradient": {"keeps": ["numeric_error"], "loses": ["symbolic_error"], "says": "One sign $<0$ is lost."},
    "figure": "cell-03",
}


def test_a_row_has_its_entrys_number_and_the_verdicts_word(opened: Opened, outputs: Outputs) -> None:
    verdict = concluded(opened(card=CARD), outputs)
    printed, repaired, gradient, sgd = verdict["card"]
    measured = {"number": "0.11", "required": "must be at most 0.5", "what": "numeric error", "by": "numeric_error"}
    said = {"of": "as printed", "word": "holds", "says": "It solves it."}
    assert printed == {**said, "formula": "", **measured}
    assert (repaired["word"], repaired["number"]) == ("none needed", "")
    assert (gradient["of"], gradient["word"], gradient["number"]) == ("under the true gradient", "in part", "0.1")
    assert (sgd["of"], sgd["word"], sgd["number"]) == ("under SGD", "not concerned", "")
    assert verdict["figure"] == "cell-03"


def test_a_number_in_a_rows_text_is_the_chapters_own(opened: Opened, outputs: Outputs) -> None:
    names = {"drop": "1.2", "numeric_error": "0.11", "numeric_error.control": "0.7", "lemma_08:drop": "9"}
    says = " ".join(f'<data value="{name}">9</data>' for name in names)
    chapter = opened(card=UPHELD | {"printed": {"by": "numeric_error", "says": says}})
    chapter.numbers(drop="1.2")
    assert concluded(chapter, outputs)["card"][0]["says"] == " ".join(names.values())


def test_a_card_is_shown_as_text_and_as_html(opened: Opened, outputs: Outputs) -> None:
    concluded(opened(card=CARD), outputs)
    shown = outputs[-1]
    text = "under the true gradient: in part; One sign $<0$ is lost.\n        symbolic error: 0.1, must be at most 0.5"
    assert text in shown["text/plain"]
    assert r'<span class="math notranslate nohighlight">\(&lt;0\)</span>' in shown["text/html"]
    assert without_styles(shown["text/html"]).count("<dt>") == 4
    assert "<a " not in shown["text/html"]


@pytest.mark.parametrize(
    ("page_id", "name", "rows"),
    [("lemma_06", "as printed", 4), ("fig_04", "as printed", 4), ("one_path", "as stated here", 3)],
)
def test_what_wasnt_printed_isnt_called_so(
    opened: Opened, outputs: Outputs, page_id: str, name: str, rows: int
) -> None:
    verdict = concluded(opened(page_id), outputs)
    assert f"\n    {name}: " in outputs[-1]["text/plain"]
    assert without_styles(outputs[-1]["text/html"]).count("<dt>") == rows
    assert [row["of"] for row in verdict["card"]][:2] == ["as printed", "repaired"]


def test_only_own_statements_were_not_printed_and_need_no_repair() -> None:
    words = [*SCALE, *SILENCE, "holds", "as another says"]
    rows = [Row(word, word, "Where h is small.") for word in (*words, "as printed")]
    none_needed = Row("repaired", "none needed", "")
    names = {"statement": "as printed", "figure": "as printed", "claim": "in the paper's words"}
    for kind, name in (names | {"law": "as stated here", "beyond": "as stated here"}).items():
        shown = [*rows[:-1], replace(rows[-1], of=name, word=name)]
        assert rows_shown([*rows, none_needed], kind) == shown + [none_needed] * (kind in names)


def test_a_repair_stands_beside_what_bears_it_out(opened: Opened, outputs: Outputs) -> None:
    printed, repaired, *_ = concluded(refuting(opened), outputs)["card"]
    assert (printed["word"], printed["number"]) == ("fails as printed", "0.7")
    said = "Refuted: printed error: 0.7, where the printed formula needs at most 0.5"
    assert f"        {said}\n" in outputs[-1]["text/plain"]
    assert said.replace("0.7", "<strong>0.7</strong>") in outputs[-1]["text/html"]
    assert "        with the repair: with exp(2Mh): 0.2, must be at most 0.5" in outputs[-1]["text/plain"]
    assert (repaired["formula"], repaired["number"]) == ("$e^{2Mh}$", "0.2")
    by_check = BROKEN | {"repaired": BROKEN["repaired"] | {"by": "empirical_error"}}
    assert concluded(refuting(opened, by_check), outputs)["card"][1]["number"] == "0.12"


def test_under_a_missing_condition_the_statement_stands_as_printed(opened: Opened, outputs: Outputs) -> None:
    card = BROKEN | {"repaired": {"where": "Where h is small.", "by": "printed_error"}}
    repaired = concluded(refuting(opened, card, printed_error=LACKING), outputs)["card"][1]
    assert (repaired["word"], repaired["says"], repaired["number"]) == ("as printed", "Where h is small.", "0.2")
    with refuses("lemma_06.yaml: card.repaired.formula", "a reader must learn it"):
        concluded(refuting(opened, card), outputs)


def test_the_controls_number_says_what_it_belongs_to(opened: Opened, outputs: Outputs) -> None:
    row = {"loses": ["empirical_error.control"], "says": "It jumps."}
    claim = {"empirical_error": check("It jumps by half", measure="Largest h(t)", control="a fall (least)")}
    fall = concluded(opened(card=CARD | {"sgd": row}, empirical=claim), outputs)["card"][3]
    assert fall["what"] == "Fails for a fall (least)"
    claim = {"empirical_error": check("It jumps by half", measure="Largest h(t)")}
    sgd = concluded(opened(card=CARD | {"sgd": row}, empirical=claim), outputs)["card"][3]
    assert sgd["number"] == "0.7"
    said = "Fails for another exponent. Largest h(t): 0.7, where the claim needs at most 0.5"
    assert f"        {said}" in outputs[-1]["text/plain"]
    assert said.replace("0.7", "<strong>0.7</strong>") in outputs[-1]["text/html"]


def test_a_chapter_without_a_card_is_refused_but_for_notation(opened: Opened, outputs: Outputs) -> None:
    for page_id in ("lemma_06", "fig_04", "one_path"):
        chapter = opened(page_id, card=None)
        with refuses(f"{page_id}.yaml: no card", f"{chapter.page.name} opens with its card"):
            concluded(chapter, outputs)
    assert "card" not in concluded(opened("notation", card=None), outputs)
    assert "ss-card" not in outputs[-1]["text/html"]


def test_a_number_that_is_its_own_requirement_is_written_once(opened: Opened, outputs: Outputs) -> None:
    chapter = opened(
        card=UPHELD | {"printed": {"by": "tiny", "says": "So."}}, numeric={"tiny": check("a tiny one", must="≤ 1e-9")}
    )
    chapter.witness("numeric").holds("tiny", 1e-13, control=0.7)
    concluded(chapter, outputs)
    assert "        a tiny one: ≤ 10⁻⁹, as required\n" in outputs[-1]["text/plain"]
    assert "a tiny one: <strong>≤ 10⁻⁹</strong>, as required" in outputs[-1]["text/html"]


NO_ID = "no check or refutation here has this id"
NO_KEY = "there is no such key"
NOTHING = "a reader must learn it"
WORDS = "the choices are not concerned, not measured"
IDS = "it is a list of different ids of claims"
ROWS = "a card has figure, gradient, printed, repaired, sgd"


@pytest.mark.parametrize(
    ("row", "change", "value", "rule"),
    [
        ("printed", {"by": "error"}, ".printed.by = 'error'", NO_ID),
        ("printed", {"by": None}, ".printed.by", NO_ID),
        ("printed", {"says": " "}, ".printed.says", NOTHING),
        ("printed", {"says": 3}, ".printed.says = 3", TEXT.says),
        ("printed", {"word": "holds"}, ".printed: key 'word'", NO_KEY),
        ("sgd", {"by": "empirical_error"}, ".sgd: key 'by'", NO_KEY),
        ("sgd", {"keeps": ["empirical_error"]}, ".sgd.word", "the word follows from the claims that a row names"),
        ("sgd", {"word": ""}, ".sgd.word", WORDS),
        ("sgd", {"word": "as stated"}, ".sgd.word = 'as stated'", WORDS),
        ("gradient", {"says": ""}, ".gradient.says", NOTHING),
        (
            "gradient",
            {"shows": "empirical_error"},
            ".gradient.shows = 'empirical_error'",
            "the choices are symbolic_error, numeric_error",
        ),
        ("gradient", {"keeps": "numeric_error"}, ".gradient.keeps = 'numeric_error'", IDS),
        ("gradient", {"keeps": []}, ".gradient.keeps = []", IDS),
        ("gradient", {"keeps": ["another_error"]}, ".gradient.keeps = 'another_error'", NO_ID),
        ("gradient", {"keeps": ["numeric_error.bound"]}, ".gradient.keeps = 'numeric_error.bound'", NO_ID),
        (
            "gradient",
            {"keeps": ["numeric_error.control"]},
            ".gradient.keeps = 'numeric_error.control'",
            "what is kept is shown by a check, which held",
        ),
        (
            "gradient",
            {"keeps": ["symbolic_error"]},
            ".gradient names 'symbolic_error' twice",
            "a claim shows one thing",
        ),
        ("repaired", {"where": "All.", "by": "numeric_error"}, ".repaired", "the verdict is 'holds'"),
        ("figur", {}, ".figur", ROWS),
        *((row, None, f".{row}", ROWS) for row in ("printed", "gradient", "sgd", "figure")),
        ("sgd", [], ".sgd = []", MAPPING.says),
        ("printed", "numeric_error", ".printed = 'numeric_error'", MAPPING.says),
        ("figure", 3, ".figure = 3", TEXT.says),
    ],
)
def test_a_malformed_card_is_refused(opened: Opened, row: str, change: Any, value: str, rule: str) -> None:
    changed = CARD.get(row, {}) | change if isinstance(change, dict) else change
    card = {key: entry for key, entry in (CARD | {row: changed}).items() if entry is not None}
    chapter = opened(card=card)
    all_three(chapter)
    with refuses(f"lemma_06.yaml: card{value}", rule):
        chapter.conclude()


def row_of(opened: Opened, outputs: Outputs, **row: Any) -> Any:
    """The row under SGD of a chapter with a refutation, whose card has such a row."""
    return concluded(refuting(opened, BROKEN | {"sgd": {"says": "So."} | row}), outputs)["card"][3]


@pytest.mark.parametrize(
    ("lists", "word", "by", "number"),
    [
        ({"keeps": ["numeric_error", "empirical_error"]}, "as stated", "numeric_error", "0.11"),
        ({"keeps": ["numeric_error"], "sizes": ["empirical_error"]}, "in kind, not in size", "empirical_error", "0.12"),
        ({"keeps": ["numeric_error"], "loses": ["symbolic_error"]}, "in part", "symbolic_error", "0.1"),
        (
            {"keeps": ["symbolic_error"], "sizes": ["numeric_error"], "loses": ["printed_error"]},
            "in part",
            "printed_error",
            "0.7",
        ),
        ({"keeps": ["numeric_error"], "sizes": ["numeric_error.control"]}, "in kind, not in size", "numeric", "0.7"),
        ({"loses": ["printed_error"]}, "fails", "printed_error", "0.7"),
        ({"sizes": ["numeric_error"], "loses": ["printed_error"]}, "fails", "printed_error", "0.7"),
    ],
)
def test_the_word_follows_from_the_claims(
    opened: Opened, outputs: Outputs, lists: Any, word: str, by: str, number: str
) -> None:
    row = row_of(opened, outputs, **lists)
    assert (row["word"], row["number"]) == (word, number)
    assert row["by"].startswith(by)


def test_a_row_shows_the_number_that_it_names(opened: Opened, outputs: Outputs) -> None:
    lists = {"keeps": ["numeric_error"], "loses": ["symbolic_error", "empirical_error.control"]}
    row = row_of(opened, outputs, **lists, shows="numeric_error")
    assert (row["word"], row["by"], row["number"]) == ("in part", "numeric_error", "0.11")
    row = row_of(opened, outputs, **lists, shows="empirical_error.control")
    assert (row["by"], row["number"], row["what"]) == ("empirical_error", "0.7", "Fails for another exponent")


@pytest.mark.parametrize(
    ("lists", "value", "rule"),
    [
        (
            {"keeps": ["printed_error"]},
            "lemma_06.yaml: card.sgd.keeps = 'printed_error'",
            "what is kept is shown by a check, which held",
        ),
        (
            {"loses": ["printed_error.control"]},
            "lemma_06.yaml: card.sgd.loses = 'printed_error.control'",
            "the control of a refutation shows its remedy at work",
        ),
        (
            {"sizes": ["numeric_error"]},
            "lemma_06.yaml: card.sgd",
            "it names no claim that shows what is kept there or what is lost",
        ),
        (
            {"shows": "numeric_error"},
            "lemma_06.yaml: card.sgd",
            "it names no claim that shows what is kept there or what is lost",
        ),
        (
            {"keeps": None, "loses": ""},
            "lemma_06.yaml: card.sgd",
            "it names no claim that shows what is kept there or what is lost",
        ),
    ],
)
def test_a_claim_that_cant_show_it_is_refused(
    opened: Opened, outputs: Outputs, lists: Any, value: str, rule: str
) -> None:
    with refuses(value, rule):
        row_of(opened, outputs, **lists)


def citing(opened: Opened, outputs: Outputs, **row: Any) -> Any:
    """The row under SGD of a chapter whose card cites claims of the chapter ``other``, which was never run."""
    chapter = opened(card=CARD | {"sgd": {"says": "So."} | row})
    claims = {"numeric": {"rises": check("It rises"), "falls": REPAIRED}}
    write_notebook(Path("chapters", "other.ipynb"), (), claims)
    return concluded(chapter, outputs)["card"][3]


@pytest.mark.parametrize(
    ("lists", "word", "cited", "number"),
    [
        ({"keeps": ["other:rises"]}, "as stated", "other:rises", ""),
        ({"keeps": ["numeric_error", "other:rises"]}, "as stated", "other:rises", "0.11"),
        ({"keeps": ["numeric_error"], "sizes": ["other:falls"]}, "in kind, not in size", "other:falls", ""),
        (
            {"keeps": ["other:rises"], "loses": ["symbolic_error", "other:falls"]},
            "in part",
            "other:falls other:rises",
            "0.1",
        ),
        ({"loses": ["other:rises.control"]}, "fails", "other:rises.control", ""),
        (
            {"keeps": ["other:rises"], "loses": ["other:falls"], "shows": "other:rises"},
            "in part",
            "other:rises other:falls",
            "",
        ),
    ],
)
def test_a_claim_of_another_chapter_counts_as_its_own(
    opened: Opened, outputs: Outputs, lists: Any, word: str, cited: str, number: str
) -> None:
    row = citing(opened, outputs, **lists)
    assert (row["word"], row["cited"], row["number"]) == (word, cited, number)
    for name in cited.split():
        assert f"        cited: {name}" in outputs[-1]["text/plain"].splitlines()
        assert f"cited: {name}</p>" in outputs[-1]["text/html"]


def test_a_row_that_cites_nothing_stores_nothing_of_it(opened: Opened, outputs: Outputs) -> None:
    assert "cited" not in citing(opened, outputs, keeps=["numeric_error"])
    assert "cited: " not in outputs[-1]["text/plain"]


@pytest.mark.parametrize(
    ("lists", "value", "rule", "remedy"),
    [
        (
            {"keeps": ["othr:rises"]},
            "lemma_06.yaml: card.sgd cites othr: id = 'othr'",
            "it names no statement, figure or page",
            "did you mean other?",
        ),
        (
            {"keeps": ["other:rose"]},
            "lemma_06.yaml: card.sgd.keeps = 'other:rose'",
            "no check or refutation of other has this id",
            "name another, or store other",
        ),
        (
            {"keeps": ["other:falls"]},
            "lemma_06.yaml: card.sgd.keeps = 'other:falls'",
            "what is kept is shown by a check, which held",
            "move it, or name a check",
        ),
        (
            {"keeps": ["other:rises.control"]},
            "lemma_06.yaml: card.sgd.keeps = 'other:rises.control'",
            "what is kept is shown by a check, which held",
            "move it, or name a check",
        ),
        (
            {"loses": ["other:falls.control"]},
            "lemma_06.yaml: card.sgd.loses = 'other:falls.control'",
            "the control of a refutation shows its remedy at work",
            "name the refutation itself",
        ),
        (
            {"keeps": ["other:rises"], "loses": ["other:rises"]},
            "lemma_06.yaml: card.sgd names 'other:rises' twice",
            "a claim shows one thing",
            "name it once",
        ),
        (
            {"keeps": ["lemma_06:numeric_error"]},
            "lemma_06.yaml: card.sgd cites lemma_06",
            "that is this chapter itself",
            "name the claim by its id alone",
        ),
        (
            {"keeps": ["other:rises"], "shows": "other:falls"},
            "lemma_06.yaml: card.sgd.shows = 'other:falls'",
            "the choices are other:rises",
            "…",
        ),
    ],
)
def test_a_cited_claim_that_cant_show_it_is_refused(
    opened: Opened, outputs: Outputs, lists: Any, value: str, rule: str, remedy: str
) -> None:
    with refuses(value, rule, remedy):
        citing(opened, outputs, **lists)


def test_a_page_shows_a_cited_claim_with_its_number_its_scope_and_a_link() -> None:
    row = Row("under SGD", "as stated", "So.", cited="other:rises other:falls")
    shown = {"page": "Other", "link": "other.html#claim-rises", "what": "It rises", "number": "0.2"}
    rises = shown | {"required": "must be at most 0.5", "scope": "ten $K$"}
    falls = shown | {"number": "0.7", "required": "where the claim needs at most 0.5", "scope": ""}
    html = card_html([row], "lemma", links=True, cited={"other:rises": rises, "other:falls": falls})
    link = '<a href="other.html#claim-rises">Other: It rises</a>: '
    scope = r'(ten <span class="math notranslate nohighlight">\(K\)</span>)'
    assert f"{link}<strong>0.2</strong>, must be at most 0.5 {scope}</p>" in html
    assert f"{link}<strong>0.7</strong>, where the claim needs at most 0.5</p>" in html


def test_what_is_refuted_can_be_called_upheld_by_no_card(opened: Opened, outputs: Outputs) -> None:
    unmended = {key: row for key, row in BROKEN.items() if key != "repaired"}
    with pytest.raises(NoEvidence, match="doesn't say what should be printed instead"):
        concluded(refuting(opened, unmended), outputs)
    with refuses(
        "lemma_06.yaml: card.printed.by = 'numeric_error'",
        "the verdict is 'fails as printed'",
        "name a refutation of the claim itself",
    ):
        concluded(refuting(opened, BROKEN | {"printed": UPHELD["printed"]}), outputs)
    with refuses("lemma_06.yaml: card.printed.by = 'printed_error'", "the verdict is 'holds'", "name a check"):
        concluded(refuting(opened, unmended, printed_error=REPAIRED | {"judges": "remark"}), outputs)


def test_a_refuted_remark_is_not_what_the_verdict_rests_on(opened: Opened, outputs: Outputs) -> None:
    both = {"printed_error": REPAIRED, "remark": REPAIRED | {"says": "remark's error", "judges": "remark"}}
    with refuses(
        "lemma_06.yaml: card.printed.by = 'remark'",
        "the verdict is 'fails as printed'",
        "name a refutation of the claim itself",
    ):
        concluded(refuting(opened, BROKEN | {"printed": {"by": "remark", "says": "So."}}, **both), outputs)
    concluded(refuting(opened, **both), outputs)
