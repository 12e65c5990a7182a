"""The book as a PDF: a small site of three pages, printed, and read again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from printing import book_html, inward, parts_of_book, print_page
from pypdf import PdfReader

from tests.site.book import ROOT, documents
from tests.site.browser import browser_or_skip

HEAD = '<html lang="en"><title>Book</title><link rel="stylesheet" href="../_static/a.css"><script src="x.js"></script>'
PAGES = {
    "chapters/index": '<section id="home"><h1>A small book<a class="headerlink" href="#home">#</a></h1>'
    '<p>See <a href="deep/one.html#here">there</a> and <a href="../genindex.html">the index</a>.</p>'
    '<div class="ss-lab"></div><noscript><p>a still picture</p></noscript></section>',
    "chapters/deep/one": '<section id="one"><h1>One</h1><img src="../../_images/a.png" alt="A picture">'
    '<details class="hide above-input"><pre>folded = 1</pre></details><pre>shown = 1</pre><h2 id="here">Here</h2>'
    '<svg><g marker-end="url(#tip)"></g><marker id="tip"></marker></svg></section>',
    "chapters/two": '<section id="one"><h1>Two</h1>'
    '<p><a href="deep/one.html">back</a>, <a href="#one">up</a></p></section>',
}
PARTS = [(None, ["chapters/index"]), ("Part A", ["chapters/deep/one", "chapters/two"])]


@pytest.fixture
def whole(tmp_path: Path) -> str:
    for name, body in PAGES.items():
        path = tmp_path / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{HEAD}<body><nav>menu</nav><article>{body}</article>", encoding="utf8")
    return book_html(tmp_path, PARTS)


def test_one_page_holds_all_that_is_printed(whole: str) -> None:
    for kept in ("A small book", "shown = 1", "a still picture", 'src="_images/a.png"', 'href="_static/a.css"'):
        assert kept in whole
    for left_out in ("folded", "ss-lab", "menu", "headerlink", "x.js"):
        assert left_out not in whole


def test_anchors_are_told_apart_and_links_lead_inwards(whole: str) -> None:
    assert whole.count('id="chapters--deep--one--one"') == whole.count('id="chapters--two--one"') == 1
    for link in ("chapters--deep--one--here", "chapters--deep--one", "chapters--two--one"):
        assert f'href="#{link}"' in whole
        assert f'id="{link}"' in whole
    assert 'marker-end="url(#chapters--deep--one--tip)"' in whole
    assert "genindex" not in whole


@pytest.mark.parametrize(
    ("address", "turned"),
    [
        ("https://example.org/a#b", "https://example.org/a#b"),
        ("../lab.html#K=3&rho=0.1", "#lab"),
        ("../lab.html#K", "#lab--K"),
        ("../_sources/a.ipynb", None),
    ],
)
def test_where_a_link_leads(address: str, turned: str | None) -> None:
    assert inward(address, "deep/one", {"lab", "deep/one"}) == turned


def test_parts_are_those_of_the_contents() -> None:
    parts = parts_of_book(ROOT)
    assert [page for _, pages in parts for page in pages] == documents()
    assert parts[0] == (None, ["chapters/index"])
    assert all(caption for caption, _ in parts[1:])


def test_the_pdf_has_outline_tags_and_page_numbers(tmp_path: Path, whole: str) -> None:
    page, out = tmp_path / "printed.html", tmp_path / "book.pdf"
    page.write_text(whole, encoding="utf8")
    with ThreadPoolExecutor(1) as elsewhere:  # a thread drives one browser, and other tests may have one open
        elsewhere.submit(print_page, browser_or_skip(), page, out).result()
    pdf = PdfReader(out)

    def titles(outline: list) -> list:
        return [titles(entry) if isinstance(entry, list) else entry.title for entry in outline]

    assert titles(pdf.outline) == ["A small book", "Part A", ["One", ["Here"], "Two"]]
    root: Any = pdf.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert "/StructTreeRoot" in root
    assert root["/Lang"] == "en"
    assert [text.extract_text().split("\n")[-1].strip() for text in pdf.pages] == ["1 / 3", "2 / 3", "3 / 3"]
    links: Any = pdf.pages[0]["/Annots"]
    assert [link.get_object()["/Dest"] for link in links] == ["/chapters--deep--one--here"]
