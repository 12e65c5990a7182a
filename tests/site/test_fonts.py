"""The site's fonts: every character of every page is in them, and what a reader loads stays small."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from playwright.sync_api import Page, Response

from tests.site.book import ROOT, documents

FONTS = ROOT / "site/static/fonts"
NOT_TEXT = re.compile(r"<(script|style|title)\b.*?</\1>|<[^>]*>", re.DOTALL)
SPACES = set("\n\t\r")
FIRST_PAGE_BYTES = 2_500_000


def characters_of(*names: str) -> set[str]:
    return {chr(code) for name in names for code in TTFont(FONTS / f"{name}.woff2").getBestCmap()}


def text_of(page: Path) -> str:
    return unescape(NOT_TEXT.sub("", page.read_text(encoding="utf-8")))


def missing(text: str, characters: set[str]) -> set[str]:
    return set(text) - characters - SPACES


@pytest.mark.parametrize("face", ["sans", "sans-italic"])
def test_every_character_of_the_pages_is_in_the_fonts(site: Path, face: str) -> None:
    characters = characters_of(face, "signs")
    lacking = {document: missing(text_of(site / f"{document}.html"), characters) for document in documents()}
    assert {document: found for document, found in lacking.items() if found} == {}


def test_a_character_that_no_font_has_is_found() -> None:
    """Control: a letter of another script, between letters that the fonts have."""
    assert missing("x 漢 ✓", characters_of("sans", "signs")) == {"漢"}


def test_code_has_its_own_letters() -> None:
    assert missing("".join(map(chr, range(0x20, 0x7F))), characters_of("mono")) == set()


def test_nothing_is_shipped_that_no_page_loads(site: Path) -> None:
    """Icons are a font's letters; a script that draws them, and maps of scripts, would be 3.6 MB."""
    files = [path.name for path in (site / "_static").rglob("*") if path.is_file()]
    assert [name for name in files if name.startswith("fontawesome.js") or name.endswith(".js.map")] == []
    assert any(name.endswith(".js") for name in files)


def test_the_first_page_is_no_heavier_than_it_may_be(served: str, site: Path, page: Page) -> None:
    loaded = dict[str, int]()

    def note(response: Response) -> None:
        loaded[response.url] = int(response.header_value("content-length") or 0)

    page.on("response", note)
    page.goto(f"{served}/{site.name}/chapters/index.html")
    page.wait_for_function("!document.querySelector('.ss-lab:not([data-state=done])')")
    page.evaluate("async () => { await MathJax.startup.promise; await document.fonts.ready; }")

    assert any(address.endswith("sans.woff2") for address in loaded)
    assert sum(loaded.values()) <= FIRST_PAGE_BYTES
