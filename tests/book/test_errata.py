import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from scansnap_core.base.files import LIST, MAPPING
from scansnap_core.book.errata import ERRATA_FILE, errata_html, errata_json, read_errata, retired_html
from scansnap_core.ledger.entries import JUDGES
from tests.book.test_board import ROOT, SLIP, url, write_chapter
from tests.refusing import refuses

LACKING = replace(SLIP, id="size", what="size", repair="", condition="dominance", judges="proof", erratum="E4")
ENTRIES: list[dict[str, Any]] = [
    {"number": "E2", "rank": "slip", "because": "none", "places": ["lemma_03:rate"]},
    {
        "number": "E4",
        "rank": "conclusion",
        "because": "it falls & rises",
        "places": ["theorem_3:size", "one_path:rate"],
    },
]


def write_errata(book: Path, entries: list[dict[str, Any]], retired: tuple[str, ...] = ()) -> None:
    (book / ERRATA_FILE).parent.mkdir(exist_ok=True)
    content = {"retired": dict.fromkeys(retired, "no error < a reading"), "errata": entries}
    (book / ERRATA_FILE).write_text(yaml.safe_dump(content))


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Two errata: one of Lemma 3, one seen at Theorem 3 and at a page beyond."""
    write_chapter(tmp_path, "lemma_03", SLIP)
    write_chapter(tmp_path, "theorem_3", LACKING)
    write_chapter(tmp_path, "one_path", replace(SLIP, erratum="E4"))
    write_errata(tmp_path, ENTRIES, ("E1",))
    return tmp_path


def test_errata_stand_by_rank_whatever_their_numbers(book: Path) -> None:
    assert [erratum.number for erratum in read_errata(book)] == ["E4", "E2"]
    write_chapter(book, "one_path", replace(SLIP, erratum="E5"))
    fifth = {"number": "E5", "rank": "conclusion", "because": "b", "places": ["one_path:rate"]}
    write_errata(book, [ENTRIES[0], fifth, ENTRIES[1] | {"places": ["theorem_3:size"]}])
    assert [erratum.number for erratum in read_errata(book)] == ["E5", "E4", "E2"]


def test_what_hits_only_a_sentences_scope_is_no_erratum(book: Path) -> None:
    write_chapter(book, "theorem_3", replace(LACKING, judges="scope", erratum=""))
    with refuses(
        "chapters/errata.yaml: E4, 'theorem_3:size'", "no chapter stores such a refutation, or another entry has it"
    ):
        read_errata(book)
    write_errata(book, [ENTRIES[0], ENTRIES[1] | {"places": ["one_path:rate"]}])
    assert [erratum.number for erratum in read_errata(book)] == ["E4", "E2"]


def test_an_erratum_is_drawn_with_its_anchor_and_cells(book: Path) -> None:
    drawn = errata_html(book, url, "conclusion")
    section = ElementTree.fromstring(drawn)
    assert (section.get("id"), section.get("class")) == ("e4", "ss-erratum")
    assert [a.get("href") for a in section.iter("a")] == [
        "#e4",
        "pages/theorem_3.html?a&b#claim-size",
        "pages/one_path.html?a&b#claim-rate",
    ]
    assert "Lemma 3, Eqn 43" in drawn
    assert JUDGES["proof"] in drawn
    terms = {div[0].text: "".join(div[1].itertext()) for div in section.iter("div")}
    assert terms == {
        "printed": "1",
        "lacks": "dominance",
        "evidence": "Claim tried: size. Measured: 0.7, where the proof needs at most 0.5. "
        "With the condition: 0.1 (with \\(1-\\rho\\)).",
        "consequence": "slower",
        "ranked here because": "it falls & rises",
    }
    slip = errata_html(book, url, "slip")
    assert "<dt>should read</dt>" in slip
    assert ". With the repair: 0.1 (with " in slip
    assert "rate &lt;s&gt;" in slip
    assert "ranked here because" not in slip  # a slip changes nothing else, which its rank says
    assert r'<span class="math notranslate nohighlight">\(1-\rho\)</span>' in slip
    assert "No chapter has refuted anything" in errata_html(book, url, "constant")
    with refuses("rank = 'grave'", "the choices are conclusion, constant, slip"):
        errata_html(book, url, "grave")


def change(place: str, value: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda entries: entries[0].__setitem__(place, value)


@pytest.mark.parametrize(
    ("spoil", "value", "rule"),
    [
        (
            lambda entries: entries[1].update(number="E2"),
            "chapters/errata.yaml: number E2",
            "it is another erratum's, or was",
        ),
        (change("number", "E1"), "chapters/errata.yaml: number E1", "it is another erratum's, or was"),
        (change("number", "E"), "chapters/errata.yaml: entry 1.number = 'E'", "it is E with digits behind it"),
        (change("number", 2), "chapters/errata.yaml: entry 1.number = 2", "it is E with digits behind it"),
        (
            change("rank", "grave"),
            "chapters/errata.yaml: E2.rank = 'grave'",
            "the choices are conclusion, constant, slip",
        ),
        (change("because", " "), "chapters/errata.yaml: E2.because", "a reader must learn it"),
        (
            change("places", []),
            "chapters/errata.yaml: E2.places = []",
            "it is a list of refutations as page:id, each once",
        ),
        (
            change("places", [{"lemma_03": "rate"}]),
            "chapters/errata.yaml: E2.places = [{'lemma_03': 'rate'}]",
            "it is a list of refutations as page:id, each once",
        ),
        (
            change("places", ["lemma_03:rat"]),
            "chapters/errata.yaml: E2, 'lemma_03:rat'",
            "no chapter stores such a refutation, or another entry has it",
        ),
        (
            change("places", ["lemma_03:rate", "lemma_03:rate"]),
            "chapters/errata.yaml: E2.places = ['lemma_03:rate', 'lemma_03:rate']",
            "it is a list of refutations as page:id, each once",
        ),
        (
            change("places", ["theorem_3:size"]),
            "chapters/errata.yaml: E2, 'theorem_3:size'",
            "its chapter says that it is E4",
        ),
        (change("weight", 3), "chapters/errata.yaml: entry 1: key 'weight'", "there is no such key"),
        (lambda entries: entries.pop(0), "chapters/errata.yaml: lemma_03:rate", "a refutation has a number"),
        (
            lambda entries: entries.clear(),
            "chapters/errata.yaml: lemma_03:rate, theorem_3:size, one_path:rate",
            "a refutation has a number",
        ),
    ],
)
def test_numbers_and_refutations_must_agree(
    book: Path, spoil: Callable[[list[dict[str, Any]]], None], value: str, rule: str
) -> None:
    entries = json.loads(json.dumps(ENTRIES))
    spoil(entries)
    write_errata(book, entries, ("E1",))
    with refuses(value, rule) as refused:
        read_errata(book)
    assert str(ERRATA_FILE) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("", "chapters/errata.yaml.retired", "it is a mapping from numbers to reasons"),
        ("- E1", "chapters/errata.yaml = ['E1']", MAPPING.says),
        ("errata: []", "chapters/errata.yaml.retired", "it is a mapping from numbers to reasons"),
        (
            "{retired: [E1], errata: []}",
            "chapters/errata.yaml.retired = ['E1']",
            "it is a mapping from numbers to reasons",
        ),
        (
            "{retired: {E1: 1}, errata: []}",
            "chapters/errata.yaml.retired = {'E1': 1}",
            "it is a mapping from numbers to reasons",
        ),
        ("{retired: {}, errata: {}}", "chapters/errata.yaml.errata = {}", LIST.says),
        ("{retired: {}, errata: {", "file …/chapters/errata.yaml: while parsing …", "the file is valid YAML or JSON"),
    ],
)
def test_an_unreadable_file_is_refused(book: Path, text: str, value: str, rule: str) -> None:
    (book / ERRATA_FILE).write_text(text)
    with refuses(value, rule):
        read_errata(book)


def test_a_retired_number_keeps_its_anchor_and_says_why(book: Path) -> None:
    drawn = ElementTree.fromstring(retired_html(book))
    assert [(dt.get("id"), dt.text) for dt in drawn.iter("dt")] == [("e1", "E1")]
    assert [dd.text for dd in drawn.iter("dd")] == ["no error < a reading"]


def test_a_book_without_refutations_needs_no_file(tmp_path: Path) -> None:
    write_chapter(tmp_path, "lemma_08")
    assert read_errata(tmp_path) == []


def test_scripts_get_what_the_page_shows(book: Path) -> None:
    contents = (book / "_toc.yml").read_text()
    assert (
        errata_json(book)["errata"][0]["address"] == "chapters/index.html#e4"
    )  # a small book has it on its first page
    (book / "_toc.yml").write_text(f"{contents}chapters: [file: chapters/errata]\n")
    errata = errata_json(book)
    assert errata["retired"] == {"E1": "no error < a reading"}
    first, second = errata["errata"]
    assert (first["number"], first["rank"], first["address"]) == ("E4", "conclusion", "chapters/errata.html#e4")
    assert [place["page"] for place in first["places"]] == ["theorem_3", "one_path"]
    (place,) = second["places"]
    assert place == {key: getattr(SLIP, key) for key in ("place", "judges", "printed", "repair", "condition")} | {
        "paper": "tian2023",
        "evidence": {"witness": "empirical", "what": "rate <s>", "measure": "", "measured": "0.7", "required": "≤ 0.5"},
        "repaired": {"measured": "0.1", "what": "with $1-\\rho$"},
        "consequence": "slower",
        "page": "lemma_03",
        "address": "chapters/some/lemma_03.html#claim-rate",
    }


def test_the_page_describes_every_key_for_scripts() -> None:
    errata = errata_json(ROOT)
    keys = {*errata, *errata["errata"][0]}
    for place in errata["errata"][0]["places"]:
        keys |= {*place, *place["evidence"], *place["repaired"]}
    described = (ROOT / "chapters" / "errata.md").read_text().partition("## To cite")[2]
    assert keys - set(re.findall(r"`(\w+)`", described)) == set()
