"""Tests what stands around a page's text: mends of the theme, folded parts, and the line that says how to check it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from accessible import MENDS, mended
from sidebar import folded

PART = '<p aria-level="2" class="caption" role="heading"><span class="caption-text">{}</span></p>\n<ul>{}</ul>'
HERE = '<li class="toctree-l1 current active"><a href="#">here</a></li>'


def test_the_first_part_and_the_one_of_the_page_are_open() -> None:
    page = folded(PART.format("One", "<li>a</li>") + PART.format("Two", "<li>b</li>") + PART.format("Three", HERE))
    opened = re.findall(r'<details class="ss-part"( open|)><summary class="caption"><span .*?>(\w+)</span>', page)
    assert opened == [(" open", "One"), ("", "Two"), (" open", "Three")]
    assert page.count("<ul>") == page.count("</ul></details>") == 3


@pytest.mark.parametrize("rule", MENDS)
def test_what_is_mended_is_there_to_be_mended(rule: str, site: Path) -> None:
    """Each mend has left its trace, so that a theme that no longer needs one is noticed."""
    traces = {
        "label-content-name-mismatch": ("statements/lemma_06", '<summary>\n<p class="collapsed'),
        "region": ("index", 'id="pst-primary-sidebar" role="complementary"'),
        "aria-required-children": ("references", '<div class="citation-list">'),
        "aria-deprecated-role": ("references", 'class="citation"'),
        "empty-table-header": ("beyond/path_of_memory", "<td></td>"),
    }
    page, trace = traces[rule]
    assert trace in re.sub(r'<td class="head">', "<td>", (site / f"chapters/{page}.html").read_text(encoding="utf8"))


def test_mends_leave_the_rest_alone() -> None:
    page = '<th scope="col">x</th><button class="btn" aria-label="Close">x</button><p title="t"></p>'
    assert mended(page) == page
    assert mended("<th>\n<p></p></th>") == "<td></td>"
