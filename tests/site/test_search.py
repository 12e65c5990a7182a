"""The search, on the built site from the disk: what a reader asks for stands among the first results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from book_search import SYNONYMS, documents_of, equations_in
from page_text import parts_of
from playwright.sync_api import Page
from tex_symbols import symbols

from scansnap_core.base import files
from tests.site.book import ROOT

# A query, and an address that one of the first results must begin with
QUERIES = {
    "(88)": "chapters/statements/theorem_1",
    "equation 45": "chapters/statements/lemma_06",
    "(126)": "chapters/statements/theorem_4",  # printed as (125-128)
    "(83)": "chapters/equations",
    "who wins": "chapters/beyond/who_wins",
    "layer norm": "chapters/claims/layernorm",
    "equal probability": "chapters/statements/theorem_3",
    "cite": "chapters/errata",
    "t_0'": "chapters/notation.html#symbol-t-0-prime",
    "heat map": "chapters/figures/",
    "own data": "chapters/first_steps",
    "Theorem 4": "chapters/statements/theorem_4",
    "η_Z": "chapters/notation.html#symbol-eta-Z",
    "gamma": "chapters/notation.html#symbol-gamma",
    "relative gain": "chapters/notation.html#symbol-r",
}
LINKS = "[...document.querySelectorAll('#ss-results a')].map(link => link.getAttribute('href'))"


@pytest.fixture
def ask(site: Path, page: Page) -> Callable[[str], list[str]]:
    """The addresses that a query leads to, best first."""
    page.goto((site / "search.html").as_uri())

    def results(query: str) -> list[str]:
        field = page.locator(".ss-search input")
        field.fill(query)
        field.press("Enter")
        return page.evaluate(LINKS)

    return results


def test_what_is_asked_for_stands_first(ask: Callable[[str], list[str]]) -> None:
    found = {query: ask(query)[:3] for query in QUERIES}
    assert {
        query: first
        for query, first in found.items()
        if not any(address.startswith(QUERIES[query]) for address in first)
    } == {}


QUESTIONS = files.read(Path(__file__).with_name("questions.yaml"), example="")


def test_forty_questions_find_their_pages(ask: Callable[[str], list[str]]) -> None:
    assert len(QUESTIONS) >= 40
    found = {question: [address.partition("#")[0] for address in ask(question)[:3]] for question in QUESTIONS}
    wrong = {
        question: pages
        for question, pages in found.items()
        if not {f"chapters/{page}.html" for page in QUESTIONS[question]} & set(pages)
    }
    assert wrong == {}


def test_a_question_without_an_answer_is_found_out(ask: Callable[[str], list[str]]) -> None:
    """Control: the page on heads isn't among the first three that tell of layer normalisation."""
    assert "chapters/claims/heads" not in [address.partition(".")[0] for address in ask("layer normalisation")[:3]]


def test_different_relations_have_different_lists(ask: Callable[[str], list[str]]) -> None:
    assert ask("K < M")[:5] != ask("K = M")[:5]


def test_words_are_found_by_their_stems_and_no_word_by_another(ask: Callable[[str], list[str]]) -> None:
    assert ask("teaching")[0] == ask("teach")[0] == "chapters/teaching.html"
    assert len(ask("teach")) < 20  # it isn't "each"


def test_the_dialog_of_a_page_shows_results_while_a_reader_types(site: Path, page: Page) -> None:
    page.goto((site / "chapters/statements/lemma_06.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type("who wins")
    first = page.locator("#pst-search-dialog .ss-found li a").first
    first.wait_for()
    assert first.evaluate("link => link.href").startswith((site / "chapters/beyond/who_wins.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.ss-found') !== null")
    first.click()
    assert page.url.startswith((site / "chapters/beyond/who_wins.html").as_uri())


def test_synonyms_are_of_pages(site: Path) -> None:
    assert [
        page for page in files.read(ROOT / SYNONYMS, example="") if not (site / f"chapters/{page}.html").is_file()
    ] == []


@pytest.mark.parametrize("query", ["(88)", "η_Z", "t_0'"])
def test_an_address_asks(query: str, site: Path, page: Page, ask: Callable[[str], list[str]]) -> None:
    found = ask(query)
    page.goto(f"{(site / 'search.html').as_uri()}?q={quote(query)}")
    assert page.evaluate(LINKS) == found != []


def test_every_result_is_a_place_of_the_site(site: Path, ask: Callable[[str], list[str]]) -> None:
    for address in ask("attention"):
        page, _, anchor = address.partition("#")
        assert not anchor or f'id="{anchor}"' in (site / page).read_text(encoding="utf8")


def test_prose_comes_before_the_code(ask: Callable[[str], list[str]]) -> None:
    found = ask("autograd")
    code = [address.startswith(("chapters/api", "chapters/modules")) for address in found]
    assert any(code)
    assert code == sorted(code)
    assert ask("axvline") == []  # in cells alone


def test_a_query_is_typed_and_results_are_read(site: Path, page: Page) -> None:
    page.goto((site / "search.html").as_uri())
    assert page.locator("#ss-found").inner_text() == ""
    page.keyboard.type("(88)")  # the field has the focus
    page.wait_for_function("document.querySelectorAll('#ss-results li').length > 3")
    assert page.locator("#ss-found").get_attribute("role") == "status"
    assert "places" in page.locator("#ss-found").inner_text()
    page.wait_for_selector("#ss-results mjx-container")
    page.locator(".ss-search input").fill("interactive")
    page.wait_for_function("document.querySelector('#ss-found').textContent === '1 place'")
    page.locator(".ss-search input").fill("zyxwvut")
    page.wait_for_function("document.querySelector('#ss-found').textContent.startsWith('Nothing')")
    assert page.locator("#ss-results li").count() == 0


def test_the_header_of_a_page_leads_to_the_search(site: Path, page: Page) -> None:
    page.goto((site / "chapters/lab.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type("Lambert")
    page.keyboard.press("Enter")
    page.wait_for_selector("#ss-results li")
    assert page.locator(".ss-search input").input_value() == "Lambert"


def test_no_page_loads_an_index_but_the_search(site: Path) -> None:
    assert not (site / "searchindex.js").exists()
    loading = [path.name for path in site.rglob("*.html") if "documents.js" in path.read_text(encoding="utf8")]
    assert loading == ["search.html"]
    assert not any("searchtools.js" in path.read_text(encoding="utf8") for path in site.rglob("chapters/**/*.html"))


BODY = """<section id="a"><h1>Title <a class="headerlink" href="#a">#</a></h1><p>Some <em>text</em> on (3)–(5).</p>
<details class="hide above-input"><div class="highlight"><pre><span class="n">code</span></pre></div></details>
<img src="x" alt="a picture">
<section id="claim-wrong"><p><span class="ss-what">A claim</span></p><p>0.1</p></section>
<table><tr id="symbol-E"><td>\\(E\\)</td><td>overlaps</td></tr></table>
<dl><dt id="f">f(x)</dt><dd>first</dd><dt id="g">g(x)</dt><dd>second</dd></dl><p>End</p>
<div class="highlight"><pre><span class="n">code</span></pre></div></section>"""


def test_parts_of_a_page() -> None:
    assert parts_of(BODY) == [
        ("a", "Title", "Some text on (3)–(5). a picture End"),
        ("claim-wrong", "A claim", "0.1"),
        ("symbol-E", "\\(E\\)", "overlaps"),
        ("f", "f(x)", "first"),
        ("g", "g(x)", "second"),
    ]


def test_records_carry_numbers_and_symbols() -> None:
    page, claim, row, *_ = documents_of("chapters/a", "A", BODY, "words", (7,))
    assert (page["url"], page["own"], page["named"], page["keywords"]) == ("chapters/a.html", "7", "3 4 5", "words ")
    assert (claim["url"], claim["own"]) == ("chapters/a.html#claim-wrong", "")
    assert (row["keywords"], row["symbols"]) == (" e", "e")
    assert next(documents_of("chapters/api", "A", BODY, "", ()))["last"] is not page["last"] is False


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(88)", [88]),
        ("(44), (45)", [44, 45]),
        ("(125)-(128)", [125, 126, 127, 128]),
        ("(125-127)", [125, 126, 127]),
        ("f(2x) 88", []),
        (r"\(h(3)\)", []),
    ],
)
def test_equations_named_in_a_text(text: str, numbers: list[int]) -> None:
    assert equations_in(text) == numbers


@pytest.mark.parametrize(
    ("tex", "names"),
    [
        (r"\dot z_{ml} = \eta_Z f_{nl}^2\,\xi_n", ["z", r"\eta_Z", "f", r"\xi"]),
        (r"E'_{n'n} - E^\prime", ["E'", "E'"]),
        (r"h^*(s)\,e^{z_{ml}}", ["h^*", "s", "e", "z"]),
        (r"t_0' < t_0", ["t_0'", "t_0"]),
        (r"X^T b_T \mid F^\top \operatorname{rank}", ["X", "b_T", "F"]),
        (r"\frac{\tilde{c}_n}{\lVert\tilde c\rVert}", ["c", "c"]),
        (r"\text{where } \ln\alpha", [r"\alpha"]),
        (r"\mathbb E[f_l], \mathbb{I}(j = n), \mathbb P(l \mid n)", ["f", "j", "n", "P", "l"]),
        (r"P^\perp_{f_n} g, P^{\perp} g", ["f", "g"]),
    ],
)
def test_symbols_of_a_formula(tex: str, names: list[str]) -> None:
    assert [symbol.name for symbol in symbols(tex)] == names


def record(url: str, **texts: str) -> dict[str, Any]:
    return dict.fromkeys(["keywords", "own", "named", "symbols", "text"], "") | texts | {
        "url": url, "page": texts.get("page", "P"), "title": "T", "weight": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "records"),
    [
        ("snap", [record("first", page="snap"), record("second", text="snap")]),
        ("grey dog", [record("first", text="a page of a grey dog"), record("second", text="grey cat and dog")]),
    ],
)
def test_words_that_stand_together_count_double_and_one_word_does_not(
    query: str, records: list[dict[str, Any]], site: Path, page: Page
) -> None:
    """The page's name counts 1.5 times as much as the text; a shorter text counts for more than a longer one."""
    script = f"const bookDocuments = {json.dumps(records)};"
    page.route("**/search/documents.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
    page.goto(f"{(site / 'search.html').as_uri()}?q={quote(query)}")
    assert page.evaluate(LINKS) == ["first", "second"]
