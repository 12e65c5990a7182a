"""Text and pictures talk to each other: what a reader points at lights up; numbers of the text move a picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import lab_html
from lab_widgets import essay_script, widget_html
from playwright.sync_api import BrowserContext, Page

from tests.site.book import ROOT
from tests.site.lab_page import write_essay, write_page

PROSE = (
    '<p id="text">By the paper’s law (10) “and” pales, “wave” lights up and “storm” is in no picture. By the gradient '
    "“wave” hardly moves. "
    'Drag M = <span class="ss-drag" data-of=\'.ss-plane\' data-field="M" data-label="Vocabulary M">1000</span>.</p>'
)
NAMES = "and,wave,sail,harbour/cloud,wing,runway"
LAB = ".ss-lab[data-preset]"
# Which curves of the small lab aren't dimmed, by word and law.
BRIGHT = """() => {
  const { charts, picture } = document.querySelector('.ss-lab[data-preset]').lab;
  return charts.z.lit;
}"""
LIT = "els => els.filter(e => e.classList.contains('ss-lit')).map(e => e.firstChild.textContent.trim())"
SETTLED = """() => document.fonts.ready.then(
  () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
)"""
OPACITY = "els => els.map(e => Number(getComputedStyle(e).opacity))"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a page with a text, the essay's pictures, the plane that grows and a small lab."""
    small = lab_html("etaZ=0.1&dyn=ideal", "still.svg", "In words.", play=False, show="rho", names=NAMES, lens=True)
    growing = f'<div id="growing">{widget_html("plane", steps=True)}</div>'
    return write_essay(tmp_path_factory.mktemp("light"), PROSE + small + growing)


@pytest.fixture
def text(address: str, page: Page) -> Page:
    page.goto(address)
    page.wait_for_function("!document.querySelector('.ss-lab:not([data-state=done])')")
    # Pictures are drawn again when fonts are there. What then moves away under the pointer would go dark.
    page.evaluate(SETTLED)
    return page


def tokens(page: Page) -> list[str]:
    return page.locator(".ss-sentence .ss-token").evaluate_all(LIT)


def test_words_and_laws_of_a_text_have_names_once_a_paragraph(text: Page) -> None:
    assert text.locator("#text .ss-name").all_inner_texts() == ["the paper’s law (10)", "and", "wave", "the gradient"]
    assert text.locator(".ss-lab .ss-name, a .ss-name").count() == 0


@pytest.mark.parametrize("way", ["hover", "focus", "tap"])
def test_a_word_lights_up_its_places_its_bar_and_its_curves(way: str, text: Page) -> None:
    word = text.locator("#text .ss-name", has_text="wave")
    if way == "tap":
        word.dispatch_event("pointerover", {"pointerType": "touch"})
    else:
        getattr(word, way)()
    assert tokens(text) == ["wave"] * 3
    bars = text.locator(f"{LAB} .ss-lab-bars li")
    assert bars.evaluate_all(LIT) == ["wave"]
    assert bars.evaluate_all(OPACITY) == [0.25, 1, 0.25, 0.25]
    assert text.evaluate(BRIGHT) == ["wave ideal", "wave true"]
    assert word.get_attribute("aria-pressed") == "true"
    text.keyboard.press("Escape")
    assert tokens(text) == []
    assert bars.evaluate_all(OPACITY) == [1] * 4
    assert len(text.evaluate(BRIGHT)) == 8


def test_an_entry_of_a_legend_lights_up_what_it_names(text: Page) -> None:
    entries = text.locator(f"{LAB} .ss-lab-legend span")
    entries.filter(has_text="harbour").focus()
    assert text.evaluate(BRIGHT) == ["harbour ideal", "harbour true"]
    assert tokens(text) == ["harbour"]
    text.keyboard.press("Tab")  # to the style of the law, which is all of its curves
    assert text.evaluate(BRIGHT) == [f"{word} ideal" for word in ("and", "wave", "sail", "harbour")]
    assert tokens(text) == []


def test_a_law_lights_up_its_curves_and_arrows(text: Page) -> None:
    text.locator("#text .ss-name", has_text="the gradient").hover()
    assert text.evaluate(BRIGHT) == [f"{word} true" for word in ("and", "wave", "sail", "harbour")]
    lit = text.locator(".ss-plane path.ss-gradient").first.evaluate("e => e.classList.contains('ss-lit')")
    assert lit
    assert text.locator(".ss-plane path.ss-update").first.evaluate("e => getComputedStyle(e).opacity") == "0.25"


def test_a_word_that_no_picture_knows_dims_nothing(text: Page) -> None:
    """Control: a name without a bar or a curve leaves the pictures as they are."""
    text.evaluate("document.dispatchEvent(new CustomEvent('ss-light', { detail: 'storm' }))")
    assert len(text.evaluate(BRIGHT)) == 8


def test_a_number_of_the_text_moves_a_picture_by_pointer_and_by_key(text: Page) -> None:
    number = text.locator(".ss-drag")
    field = text.locator(".ss-plane [data-field=M] [type=text]").first
    share = text.evaluate("document.querySelector('.ss-plane').lab.share")
    # While the page is still laid out, the number can move away under the pointer. Once it is held, it has the focus.
    for _ in range(20):
        number.hover(position={"x": 10, "y": 8})
        text.mouse.down()
        if number.evaluate("number => document.activeElement === number"):
            break
        text.mouse.up()
    box = number.bounding_box()
    assert box is not None
    text.mouse.move(box["x"] + 70, box["y"] + 8)
    text.mouse.up()
    dragged = number.inner_text()
    assert float(dragged) > 2000
    assert dragged == field.input_value()
    assert text.evaluate("document.querySelector('.ss-plane').lab.share") < share
    number.press("Home")
    assert number.inner_text() == field.input_value() != dragged
    assert number.get_attribute("aria-valuetext") == field.input_value()
    field.fill("555")
    text.wait_for_function("document.querySelector('.ss-drag').textContent === '555'")


def test_the_arrows_come_one_at_a_time(text: Page) -> None:
    growing = text.locator("#growing")
    arrows = growing.locator("svg path:not(.ss-head, .ss-sample, .ss-f)")
    counts, said = [arrows.count()], [growing.locator(".ss-lab-words").inner_text()]
    for _ in range(5):
        growing.get_by_role("button", name="Next arrow").press("Enter")
        counts.append(arrows.count())
        said.append(growing.locator(".ss-lab-words").inner_text())
    assert counts == [0, 1, 2, 3, 4, 5]
    assert len(set(said)) == 6
    assert growing.get_by_role("button", name="Next arrow").is_disabled()
    growing.get_by_role("button", name="Back").click()
    assert arrows.count() == 4
    growing.get_by_role("button", name="All arrows").click()
    assert arrows.count() == 5
    lecture = text.locator(".ss-plane:not(#growing *) svg path:not(.ss-head, .ss-sample, .ss-f)")
    assert lecture.count() == 5  # without steps all arrows are there from the start


@pytest.mark.parametrize(("motion", "name"), [("reduce", "none"), ("no-preference", "ss-grow")])
def test_an_arrow_grows_only_where_motion_is_welcome(
    motion: str, name: str, address: str, browser: BrowserContext
) -> None:
    page = browser.new_page()
    page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
    page.goto(address)
    page.locator("#growing").get_by_role("button", name="Next arrow").click()
    assert page.locator("#growing .ss-grown g").first.evaluate("e => getComputedStyle(e).animationName") == name
    page.close()


def test_on_the_first_page_the_name_of_a_law_lights_up_its_row_and_its_curve(tmp_path: Path, page: Page) -> None:
    body = "<p>By <em>the gradient</em> nothing moves.</p>" + widget_html("opening")
    page.emulate_media(reduced_motion="reduce")
    page.goto(write_page(tmp_path, body, essay=essay_script(ROOT)))
    page.wait_for_function("document.querySelector('.ss-opening').dataset.state === 'done'")
    page.locator("p .ss-name").focus()
    lit = page.locator(".ss-row-name.ss-lit, .ss-curve.ss-lit")
    named = lit.evaluate_all("els => els.map(e => e.dataset.name)")
    assert named == 2 * ["law:true"]  # its row and its curve
