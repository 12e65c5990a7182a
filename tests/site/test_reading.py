"""Tests what helps with reading a page: folded code, and a list of what the symbols mean."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.parsers.docutils_ import Parser
from page_symbols import OWN, meant_by, own_meanings
from playwright.sync_api import Page
from symbols import SYMBOL_ROW, formulas_of, in_words, read_notation, read_own
from tex_symbols import symbols

from tests.refusing import refuses

PAGE = "chapters/statements/lemma_06.html"
FOLDED = "details.above-input"
OPEN = f"document.querySelectorAll('{FOLDED}[open]').length"
# Counts what is folded at each frame that is painted while a page loads
WATCH = f"""window.folded = [];
(function look() {{
  window.folded.push(document.querySelectorAll('{FOLDED}:not([open])').length);
  if (document.readyState !== 'complete') requestAnimationFrame(look);
}})();"""


CUT_OFF = """[...document.querySelectorAll('mjx-container:not([display="true"])')].filter(formula =>
  formula.getBoundingClientRect().width > formula.closest('p, li, dd, dt, td, th, h2, h3, div').clientWidth
  && getComputedStyle(formula).overflowX !== 'auto').length"""


WIDE = """[...document.querySelectorAll('div.math, div.math mjx-container')].filter(formula =>
  formula.scrollWidth > formula.clientWidth + 1 && getComputedStyle(formula).overflowX === 'auto')"""
BEGINS = f"""{WIDE}.map(formula => {{
  formula.scrollLeft = -10000;
  return formula.scrollLeft;
}})"""


def test_on_a_phone_a_wide_displayed_formula_begins_at_its_beginning(site: Path, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "chapters/statements/theorem_3.html").as_uri())
    page.wait_for_function(f"{WIDE}.length > 1")
    assert set(page.evaluate(BEGINS)) == {0}
    assert page.evaluate(f"{WIDE}.every(formula => formula.closest('div.math').matches('.ss-goes-on'))")
    said, rows = page.evaluate(
        """[...document.querySelectorAll('div.math')].map(e => getComputedStyle(e, '::after').content)
          .reduce(([said, rows], words) => [said + words.includes('sideways'), rows + 1], [0, 0])"""
    )
    assert 1 <= said < rows


def test_on_a_phone_a_wide_formula_scrolls_and_in_the_dark_a_figure_is_dark(site: Path, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto((site / "chapters/statements/lemma_09.html").as_uri())
    page.wait_for_selector(".ss-wide")
    assert page.evaluate(CUT_OFF) == page.locator("mjx-container[tabindex='0']:not(.ss-wide, [display])").count() == 0
    assert "invert" in page.locator(".ss-card-figure img").evaluate("figure => getComputedStyle(figure).filter")


SEEN = "controls => controls.filter(control => control.checkVisibility() && control.offsetHeight > 0).length"


def test_every_control_is_seen_while_all_is_folded(site: Path, page: Page) -> None:
    page.goto((site / "chapters/statements/theorem_2.html").as_uri())
    assert page.locator(".ss-check[open]").count() == 0 < page.locator("details.ss-check .ss-values").count()
    assert page.locator(".ss-control").evaluate_all(SEEN) == page.locator(".ss-check").count()


# The pixels of an inch in which the card's picture was drawn, 160 of its own pixels
INCH = "figure => figure.width / figure.naturalWidth * 160"


def test_the_picture_at_the_head_has_a_caption_and_text_of_twelve_pixels(site: Path, page: Page) -> None:
    """A legend of 9 points; the control is the width that such a picture had before."""
    page.set_viewport_size({"width": 1400, "height": 900})
    for chapter in ("statements/theorem_1", "statements/lemma_03", "beyond/one_passage"):
        page.goto((site / f"chapters/{chapter}.html").as_uri())
        figure = page.locator(".ss-card-figure img")
        assert 9 / 72 * figure.evaluate(INCH) >= 12
        assert page.locator(".ss-card-at-head .ss-card-caption").inner_text() != ""
    figure.evaluate("figure => figure.style.maxWidth = '30rem'")
    assert 9 / 72 * figure.evaluate(INCH) < 12


def test_a_switch_opens_all_code_and_remembers(site: Path, page: Page) -> None:
    page.goto((site / PAGE).as_uri())
    switch = page.locator(".ss-code-switch")
    cells = page.locator(FOLDED).count()
    assert cells > 3
    assert (switch.get_attribute("aria-pressed"), page.evaluate(OPEN)) == ("false", 0)
    switch.focus()
    page.keyboard.press("Enter")
    assert (switch.get_attribute("aria-pressed"), page.evaluate(OPEN)) == ("true", cells)

    page.add_init_script(WATCH)
    page.goto((site / "chapters/statements/theorem_4.html").as_uri())
    # Chromium hands what one page stored to another process a moment later
    page.wait_for_function("localStorage.getItem('ss-code') === 'shown'")
    page.reload()
    assert page.locator(".ss-code-switch").get_attribute("aria-pressed") == "true"
    assert page.evaluate(OPEN) == page.locator(FOLDED).count() > 3
    assert set(page.evaluate("window.folded")) == {0}  # nothing jumped

    page.locator(".ss-code-switch").focus()
    page.keyboard.press("Space")
    page.reload()
    assert (page.locator(".ss-code-switch").get_attribute("aria-pressed"), page.evaluate(OPEN)) == ("false", 0)
    page.locator(f"{FOLDED} summary").first.click()  # a cell of its own still opens
    assert page.evaluate(OPEN) == 1


def test_pages_without_folded_code_have_no_switch(site: Path) -> None:
    for name, switches in ((PAGE, 1), ("chapters/lab.html", 0), ("search.html", 0)):
        assert (site / name).read_text(encoding="utf8").count(
            '<button type="button" class="btn btn-sm ss-code-switch'
        ) == switches


def symbols_listed(site: Path, name: str) -> list[str]:
    text = (site / name).read_text(encoding="utf8")
    shown = text.partition('<details class="ss-symbols">')[2].partition("</details>")[0]
    return re.findall(rf'href="[./]*notation\.html#{SYMBOL_ROW}([\w-]+)"', shown)


def test_a_page_lists_its_symbols(site: Path) -> None:
    listed = symbols_listed(site, PAGE)
    assert {"h", "eta-Y", "M"} <= set(listed)
    assert len(listed) == len(set(listed))
    assert not {"chi", "B", "xi"} & set(listed)  # Lemma 6 doesn't speak of them
    assert {"chi", "B", "xi", "r"} <= set(symbols_listed(site, "chapters/statements/theorem_3.html"))
    assert symbols_listed(site, "chapters/notation.html") == []


def test_a_letter_and_the_same_letter_with_an_accent_are_two_symbols(site: Path) -> None:
    listed = symbols_listed(site, "chapters/statements/lemma_01.html")
    assert (listed.count("Y"), listed.count("dotY")) == (1, 1)
    text = (site / "chapters/statements/lemma_01.html").read_text(encoding="utf8")
    assert '<span class="visually-hidden">dot y</span>' in text  # two links have two names
    assert {"c", "tildec"} <= set(symbols_listed(site, "chapters/equations.html"))


def test_a_letter_that_means_something_else_on_a_page_is_said_to(site: Path) -> None:
    text = (site / "chapters/law/law_overlaps.html").read_text(encoding="utf8")
    shown = text.partition('<details class="ss-symbols">')[2].partition("</details>")[0]
    assert re.search(r"r_n.{1,200}here ", shown, re.DOTALL)
    assert "r" not in symbols_listed(site, "chapters/law/law_overlaps.html")
    assert "E" in symbols_listed(site, "chapters/law/law_overlaps.html")
    assert not {"E", "F"} & set(symbols_listed(site, "chapters/law/law_sampling.html"))  # a mean, and a mean's name


def test_an_own_meaning_is_of_a_letter_that_the_page_uses() -> None:
    used = set(symbols(r"\hat r_n + s"))
    assert own_meanings({"r_n": "a rest"}, used) == {"r": ("r_n", "a rest")}
    with pytest.raises(ValueError, match="the page doesn't use H_n"):
        own_meanings({"r_n": "a rest", "H_n": "what was gathered"}, used)


def test_a_page_that_has_its_own_meanings_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / OWN).parent.mkdir(parents=True)
    (tmp_path / OWN).write_text("lemma_06: {}\nlemma_06: {}\n")
    app: Any = SimpleNamespace(srcdir=tmp_path, env=SimpleNamespace())
    with refuses(f"file {tmp_path / OWN}: key 'lemma_06' twice in line 2", "the keys of a mapping differ"):
        read_own(app)


def test_a_meaning_has_words_and_mathematics() -> None:
    assert [type(node) for node in in_words("one of $x$ and $y$").children] == [nodes.Text, nodes.math] * 2


def test_an_output_speaks_of_no_letters_of_its_markup() -> None:
    document = publish_doctree("")
    document += nodes.raw("", r"<p>\(f_{n&#x27;} &gt; 0\)</p>", format="html")
    assert formulas_of(document) == ["f_{n'} > 0"]


def test_the_list_unfolds_and_leads_to_the_row(site: Path, page: Page) -> None:
    page.goto((site / PAGE).as_uri())
    page.locator(".ss-symbols summary").focus()
    page.keyboard.press("Enter")
    link = page.locator(".ss-symbols a[href$='#symbol-eta-Y']")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/notation.html#symbol-eta-Y")
    assert "learning rate" in page.locator("tr:target").inner_text()


TABLE = """| paper | meaning |
| --- | --- |
| $\\gamma\\iota_n$ | two |
| $\\gamma(t)$, Lemma 9 | speed |
| $f_n$, $F$ | seen |
| $E'$ | corrected |
| $\\lvert\\Omega(l)\\rvert$ | holders |
| $n = x_{T+1}$ | label |
| LN | no formula |

| other | table |
| --- | --- |
| $Q$ | nothing |
"""


@pytest.fixture
def doctree() -> nodes.document:
    settings = {"myst_enable_extensions": ["dollarmath"]}
    return publish_doctree(TABLE, parser=Parser(), settings_overrides=settings)


@pytest.mark.parametrize(
    ("tex", "meaning"),
    [
        (r"\gamma(s)", "speed"),  # the row in which it stands alone
        (r"\iota", "two"),
        (r"\dot f_{nl}", "seen"),
        ("f", None),  # a letter that has an index there means something else without one
        ("E'_{nn}", "corrected"),
        ("E", None),
        ("n", "label"),
        ("x_{T+1}", None),
        (r"|\Omega(l)| = 1", "holders"),
        (r"\Omega e^{\Omega} = 1", None),  # a number
        ("Q", None),
    ],
)
def test_a_symbol_has_the_meaning_of_its_row(tex: str, meaning: str | None, doctree: nodes.document) -> None:
    notation = read_notation(doctree)
    entry = meant_by(symbols(tex)[0], notation.known)
    assert (entry and notation.rows[entry.row].meaning.astext()) == meaning
