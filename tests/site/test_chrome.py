"""Tests what stands around a page's text: mends of the theme, folded parts, and the line that says how to check it."""

from __future__ import annotations

import re
from pathlib import Path

from accessible import mended
from sidebar import folded

PART = '<p aria-level="2" class="caption" role="heading"><span class="caption-text">{}</span></p>\n<ul>{}</ul>'
HERE = '<li class="toctree-l1 current active"><a href="#">here</a></li>'


def test_the_first_part_and_the_one_of_the_page_are_open() -> None:
    page = folded(PART.format("One", "<li>a</li>") + PART.format("Two", "<li>b</li>") + PART.format("Three", HERE))
    opened = re.findall(r'<details class="ss-part"( open|)><summary class="caption"><span .*?>(\w+)</span>', page)
    assert opened == [(" open", "One"), ("", "Two"), (" open", "Three")]
    assert page.count("<ul>") == page.count("</ul></details>") == 3


def test_a_folds_own_words_name_it(site: Path) -> None:
    """The rule of axe-core that forbids another name is experimental; the rules behind the other mends are on."""
    page = (site / "chapters/statements/lemma_06.html").read_text(encoding="utf8")
    assert '<summary>\n<p class="collapsed' in page


def test_mends_leave_the_rest_alone() -> None:
    page = '<th scope="col">x</th><button class="btn" aria-label="Close">x</button><p title="t"></p>'
    assert mended(page) == page
    assert mended("<th>\n<p></p></th>") == "<td></td>"
