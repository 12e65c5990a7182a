"""A page explains a symbol or an equation where it names them: under the pointer, on focus, and at a tap."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from glossary import Entry, letters, marked
from page_description import MOST
from playwright.sync_api import BrowserContext, Page

from scansnap_core.book.errata import read_errata
from tests.site.book import ROOT, SETTINGS, documents
from tests.site.browser import NARROW

PAGE = "chapters/beyond/who_wins.html"
KNOWN = {
    "10": Entry("term-10", "e#10", ""),
    "f": Entry("term-f", "n#f", "f", True),
    "t_0": Entry("term-t", "n#t", "t_0"),
}
TEN = '<a class="ss-term" href="e#10" data-terms="term-10">(10)</a>'


def test_a_term_is_marked_once_below_each_heading() -> None:
    assert marked("<p>(10), (10)</p><h2>Law (10)</h2><p>(10)</p>", KNOWN) == (
        f"<p>{TEN}, (10)</p><h2>Law (10)</h2><p>{TEN}</p>"
    )


@pytest.mark.parametrize(
    "text",
    [
        '<a href="x">(10)</a>',
        "<code>(10)</code>",
        "<summary><b>a</b> (10)</summary>",
        "f(10), g)(10), (11)",
        r"\[f_l (10)\]",
        r"\(f = 1\)",  # without its index it is another letter
        '<details class="ss-symbols">(10)</details>',
    ],
)
def test_what_is_no_term_stays(text: str) -> None:
    assert marked(text, KNOWN) == text


def test_a_formula_of_two_terms_names_both() -> None:
    assert letters(r"f_l\,t_0", KNOWN) == ["f", "t_0"]
    both, heard = r"\(f_l\,t_0\)", '<span class="visually-hidden">f, t_0</span>'
    term = f'<a class="ss-term" href="n#f" data-terms="term-f term-t">{both}{heard}</a>'
    assert marked(rf"{both} \(t_0\)", KNOWN) == rf"{term} \(t_0\)"


def test_every_term_of_every_page_has_its_meaning_there(site: Path) -> None:
    seen = set()
    for document in documents():
        page = (site / f"{document}.html").read_text(encoding="utf8")
        named = {anchor for terms in re.findall(r'data-terms="([^"]*)"', page) for anchor in terms.split()}
        assert [anchor for anchor in named if page.count(f'<dt id="{anchor}">') != 1] == [], document
        seen |= named
    in_the_paper = {*SETTINGS["glossary_letters"]} - {"a", "m"}
    spelled = {letter.lstrip("\\").replace("_", "-").replace("'", "-prime") for letter in in_the_paper}
    assert {f"term-{name}" for name in spelled | {"7", "10", "26"}} <= seen
    assert any(anchor.startswith("term-own-") for anchor in seen)  # a, which the paper doesn't have


@pytest.fixture
def phone(browser: BrowserContext) -> Iterator[Page]:
    assert browser.browser is not None
    context = browser.browser.new_context(viewport=NARROW, has_touch=True)
    yield context.new_page()
    context.close()


def test_the_pointer_and_the_focus_show_a_meaning(site: Path, page: Page) -> None:
    page.goto((site / PAGE).as_uri())
    # formulas that are set later move the page, and a page that moves hides the words under the pointer
    page.evaluate("async () => { await MathJax.startup.promise; await document.fonts.ready; }")
    term, tip = page.locator("a.ss-term[data-terms=term-26]").first, page.locator("#ss-tip")
    # the page tells of a scroll one frame later, and a scroll hides the words too
    term.scroll_into_view_if_needed()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    term.hover()
    assert "the proofs' update (26)" in tip.inner_text().replace("’", "'")
    assert tip.locator("mjx-container").count() > 1
    assert tip.locator("[tabindex]").count() == 0
    tip.hover()
    page.wait_for_timeout(300)
    assert tip.is_visible()  # it can be read under the pointer
    page.mouse.move(0, 0)
    tip.wait_for(state="hidden")
    term.focus()
    assert tip.is_visible()
    assert term.get_attribute("aria-describedby") == "ss-tip"
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate("axe.run('#ss-tip').then(({ violations }) => violations.map(({ id }) => id))") == []
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_on_a_phone_the_first_tap_shows_and_the_second_leads_on(site: Path, phone: Page) -> None:
    phone.goto((site / PAGE).as_uri())
    term, tip = phone.locator("a.ss-term[data-terms=term-f]").first, phone.locator("#ss-tip")
    term.tap()
    assert "what the decoder sees" in tip.inner_text()
    box = tip.bounding_box()
    assert box is not None
    assert 0 <= box["x"] < box["x"] + box["width"] <= NARROW["width"]
    assert phone.url.endswith(PAGE)
    term.tap()
    phone.wait_for_url("**/notation.html#symbol-f")


def test_a_link_shows_the_first_sentences_of_its_page(site: Path, page: Page) -> None:
    page.goto((site / PAGE).as_uri())
    link, tip = page.locator(".bd-article a.reference.internal[href*='theorem_3.html']").first, page.locator("#ss-tip")
    link.hover()
    tip.wait_for(state="visible")
    told = tip.inner_text().replace("’", "'")
    assert told.startswith("Theorem 3")
    assert "most frequent one gains most" in told
    page.mouse.move(0, 0)
    tip.wait_for(state="hidden")
    link.focus()
    tip.wait_for(state="visible")
    assert link.get_attribute("aria-describedby") == "ss-tip"
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_a_citation_shows_the_work_on_focus_and_at_the_first_tap(site: Path, page: Page, phone: Page) -> None:
    address, cited = (site / "chapters/index.html").as_uri(), "a.reference[href*='references.html#']"
    for opened in (page, phone):
        opened.goto(address)
        link, tip = opened.locator(f".bd-article {cited}").first, opened.locator("#ss-tip")
        (link.focus if opened is page else link.tap)()
        assert "Scan and snap: understanding training dynamics" in tip.inner_text()
        assert link.get_attribute("aria-describedby") == "ss-tip"
        assert link.get_attribute("title") is None  # which would show the same once more
        assert opened.url == address
    link.tap()
    phone.wait_for_url("**/references.html#*")


def test_every_page_and_every_erratum_has_a_preview(site: Path) -> None:
    text = (site / "_static/previews.js").read_text(encoding="utf8")
    previews = json.loads(text.removeprefix("window.ssPreviews = ").removesuffix(";\n"))
    assert [document for document in documents() if "/statements/" in document and document not in previews] == []
    errata = read_errata(ROOT)
    assert [erratum.number for erratum in errata if f"chapters/errata#{erratum.anchor}" not in previews] == []
    assert [words for _, words in previews.values() if "$" in words or "\\" in words or len(words) > MOST] == []


def test_a_link_to_the_page_itself_shows_nothing(site: Path, page: Page) -> None:
    page.goto((site / PAGE).as_uri())
    page.evaluate("document.querySelector('.bd-article a.reference.internal').setAttribute('href', '#here')")
    page.locator(".bd-article a.reference.internal").first.hover()
    page.wait_for_timeout(600)
    assert not page.locator("#ss-tip").is_visible()
