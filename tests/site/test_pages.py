"""The built site: where it leads, each page in a real browser, and for each detector a page on which it must fire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import escape, unescape
from pathlib import Path
from uuid import uuid4

import pytest
from lab_widgets import ESSAY
from playwright.sync_api import Page, Playwright
from pybtex.database import parse_string

from scansnap_core.book.errata import errata_json, read_errata
from scansnap_core.book.notebooks import read_stored
from scansnap_core.ledger import read_pages, statements
from scansnap_core.theory.formulas import FORMULAS, SYMBOLS
from tests.site.book import ROOT, documents
from tests.site.browser import RUN_ONCE, faults, open_browser, open_tab

STATEMENTS = statements(read_pages(ROOT))


def read(site: Path, document: str) -> str:
    return (site / f"{document}.html").read_text(encoding="utf8")


@pytest.mark.parametrize(("drawing", "page"), [("ss-board", "verdicts"), ("ss-graph", "graph")])
def test_board_and_graph_link_every_statement(site: Path, drawing: str, page: str) -> None:
    home = read(site, f"chapters/{page}")
    drawn = home[home.index(f'class="{drawing}"') :].partition("</table>" if drawing == "ss-board" else "</svg>")[0]
    linked = set(re.findall(r'href="statements/(\w+)\.html"', drawn))
    assert set(STATEMENTS) <= linked


@pytest.mark.parametrize("statement", STATEMENTS)
def test_chapter_links_what_it_rests_on_and_what_rests_on_it(site: Path, statement: str) -> None:
    page = read(site, f"chapters/statements/{statement}")
    links = page[page.index("ss-links") :].partition("</dl>")[0]
    shown = {
        re.sub("<.*?>", "", term): re.findall(r'href="(\w+)\.html"', rest)
        for term, _, rest in (part.partition("</dt>") for part in links.split("<dt>")[1:])
    }
    own = STATEMENTS[statement]
    assert shown == {
        "The statement rests on": list(own.uses),
        "Its proof rests on": list(own.proof_uses),
        "Statements that rest on it": [s.id for s in STATEMENTS.values() if statement in s.uses],
        "Proofs that rest on it": [s.id for s in STATEMENTS.values() if statement in s.proof_uses],
    }


def test_a_link_by_a_statements_name_leads_to_it_and_its_page_quotes_it(site: Path) -> None:
    names = {page.name: page.id for page in STATEMENTS.values()}
    referred = set()
    for document in documents():
        page = read(site, document)
        for address, text in re.findall(r'<a class="reference internal" href="([^"#]*)[^"]*"[^>]*>(.*?)</a>', page):
            if (name := re.sub("<.*?>", "", text).strip()) in names:
                assert address.endswith(f"{names[name]}.html"), (document, name)
                referred.add(name)
        if (own := STATEMENTS.get(document.rpartition("/")[2])) is not None:
            assert re.search(rf"<blockquote>\s*<div><p><strong>{own.name}, as printed", page), document
    assert len(referred) > 10


@pytest.mark.parametrize("statement", STATEMENTS)
def test_chapter_has_launch_buttons(site: Path, statement: str) -> None:
    page = read(site, f"chapters/statements/{statement}")
    assert re.search(rf"https://mybinder\.org/v2/gh/[^\"]*chapters/statements/{statement}\.ipynb", page)
    assert re.search(rf"https://colab\.research\.google\.com/github/[^\"]*chapters/statements/{statement}\.ipynb", page)


def test_code_page_has_every_module(site: Path) -> None:
    paths = (ROOT / "scansnap_core").rglob("*.py")
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    assert set(re.findall(r'id="module-([\w.]+)"', read(site, "chapters/modules"))) == modules


def test_code_page_sets_formulas_as_mathematics(site: Path) -> None:
    page = read(site, "chapters/modules")
    assert r"\frac{\eta_{Y}}{M + e^{M h} - 1}" in page
    assert set(re.findall(r'id="scansnap_core\.theory\.formulas\.\w+\.(\w+)"', page)) >= {*FORMULAS, *SYMBOLS}


def test_errata_and_the_cells_that_show_them_link_each_other(site: Path) -> None:
    page = read(site, "chapters/errata")
    errata = read_errata(ROOT)
    assert re.findall(r'<section class="ss-erratum" id="(\w+)"', page) == [erratum.anchor for erratum in errata]
    for erratum in errata:
        for place in erratum.places:
            (address,) = set(re.findall(rf'href="([^"#]*\b{place.page.id}\.html)#{place.cell}"', page))
            shown = (site / "chapters" / address).read_text(encoding="utf-8")
            (refutation,) = re.findall(
                rf'id="{place.cell}"><p class="ss-head"><a [^>]*href="([^"]*)">(E\d+)</a>', shown
            )
            assert refutation[0].endswith(f"errata.html#{erratum.anchor}")
            assert refutation[1] == erratum.number


def test_what_links_an_erratum_meets_its_anchor(site: Path) -> None:
    anchors = set(re.findall(r'id="(e\d+)"', read(site, "chapters/errata")))
    pages = {document: read(site, document) for document in documents()}
    linked = {document: set(re.findall(r'href="[^"]*errata\.html#(e\d+)"', page)) for document, page in pages.items()}
    assert {"chapters/index", "chapters/verdicts"} <= {document for document, links in linked.items() if links}
    numbered = {erratum.anchor for erratum in read_errata(ROOT)}
    assert numbered <= set().union(*linked.values()) <= anchors  # which retired numbers keep


def test_the_files_for_scripts_and_citation_managers_are_there(site: Path) -> None:
    page = read(site, "chapters/errata")
    for file in ("errata.json", "scansnap.bib"):
        assert f'href="../{file}"' in page
    errata = json.loads((site / "errata.json").read_text(encoding="utf-8"))
    assert errata == errata_json(ROOT)
    for address in [place["address"] for erratum in errata["errata"] for place in (erratum, *erratum["places"])]:
        document, _, anchor = address.partition("#")
        assert (site / document).read_text(encoding="utf-8").count(f'id="{anchor}"') == 1
    assert list(parse_string((site / "scansnap.bib").read_text(encoding="utf-8"), "bibtex").entries) == [
        "scansnap",
        "tian2023",
    ]


def test_each_erratum_has_a_citation(site: Path) -> None:
    page = read(site, "chapters/errata")
    cited = [
        parse_string(unescape(text), "bibtex").entries for text in re.findall(r"<pre>(@misc.*?)</pre>", page, re.DOTALL)
    ]
    assert [list(entries) for entries in cited] == [[f"scansnap-{erratum.number}"] for erratum in read_errata(ROOT)]
    for erratum, entries in zip(read_errata(ROOT), cited, strict=True):
        fields = next(iter(entries.values())).fields
        assert fields["title"] == f"Erratum {erratum.number}: {erratum.places[0].name}"
        assert fields["note"].endswith(rf"errata.html\#{erratum.anchor}")


def test_each_figure_has_a_link_and_a_picture_to_take_along(site: Path) -> None:
    taken = 0
    for document in documents():
        page = read(site, document)
        links = re.findall(r'<p class="ss-take"><a href="#([\w-]+)">.*?<a href="([^"]+)" download', page)
        assert len(links) == len(set(re.findall(r'<img [^>]*src="([^"]*_images/[^"]*\.png)"', page))), document
        assert [cell for cell, _ in links if page.count(f'id="{cell}"') != 1] == []
        assert all((site / document).parent.joinpath(picture).is_file() for _, picture in links)
        taken += len(links)
    assert taken


def test_card_shows_the_stored_numbers_and_leads_to_cells_of_the_page(site: Path) -> None:
    cards = 0
    for page_id, verdict in read_stored(ROOT).verdicts.items():
        (document,) = (d for d in documents() if d.rpartition("/")[2] == page_id)
        page = read(site, document)
        assert ('class="ss-card-at-head' in page) is ("card" in verdict)
        if "card" not in verdict:
            continue
        cards += 1
        card = page[page.index('class="ss-card-at-head') : page.index("</div>\n<", page.index("</dl>"))]
        assert re.findall(r'<p class="ss-number">\s*<strong>(.*?)</strong>', card) == [
            escape(row["number"]) for row in verdict["card"] if row["number"]
        ]
        links = re.findall(r'href="#((?!term-)[\w-]+)"', card)
        assert len(links) == sum(bool(row["number"]) for row in verdict["card"]) + bool(verdict["figure"])
        assert [link for link in links if page.count(f'id="{link}"') != 1] == []
        assert card.count("<img") == bool(verdict["figure"])
    assert cards


def test_only_pages_with_a_lab_load_its_script(site: Path) -> None:
    pages = {document: read(site, document) for document in documents()}
    labs = {document for document, page in pages.items() if 'class="ss-lab"' in page}
    calculators, pairs, essays = (
        {document for document, page in pages.items() if any(f'data-widget="{name}"' in page for name in names)}
        for names in (["calculator"], ["pair"], ESSAY)
    )
    assert "chapters/lab" in labs
    assert calculators == {"chapters/calculator"}
    assert "chapters/essay" in essays
    charts, styled = labs | calculators | pairs, labs | calculators | essays
    users = {"lab.js": labs, "calculator.js": calculators, "essay.js": essays, "uPlot.iife.min.js": charts}
    for part, known in (users | {"lab.css": styled, "uPlot.min.css": styled}).items():
        assert {document for document, page in pages.items() if f"_static/lab/{part}" in page} == known
        assert (site / "_static/lab" / part).is_file()


@pytest.fixture(scope="module")
def address(site: Path, served: str) -> str:
    return f"{served}/{site.name}"


@pytest.fixture(scope="module")
def inspected(playwright: Playwright) -> Iterator[Page]:
    with open_browser(playwright, RUN_ONCE) as browser, open_tab(browser) as opened:
        yield opened


@pytest.mark.parametrize("document", documents())
def test_page_is_sound(document: str, address: str, inspected: Page) -> None:
    assert faults(inspected, f"{address}/{document}.html") == []


def test_pages_outside_the_contents_are_sound(site: Path, address: str, inspected: Page) -> None:
    rest = sorted({str(page.relative_to(site)) for page in site.rglob("*.html") if "_static" not in page.parts})
    rest = [page for page in rest if page.removesuffix(".html") not in documents()]
    rest.remove("index.html")
    assert {"genindex.html", "search.html"} <= set(rest)
    assert {page: found for page in rest if (found := faults(inspected, f"{address}/{page}"))} == {}


def test_front_door_leads_to_the_home_page(address: str, page: Page) -> None:
    page.goto(f"{address}/index.html")
    page.wait_for_url("**/chapters/index.html")


def test_no_formula_holds_a_link_that_runs_a_script(site: Path, page: Page) -> None:
    page.goto((site / "chapters/index.html").as_uri())
    formulas = r"\(\href{javascript:alert(1)}{x} \href{JaVaScRiPt:alert(1)}{y} \href{data:,a}{z} \href{#top}{t}\)"
    links = page.evaluate(
        """async formulas => {
          await MathJax.startup.promise;
          const place = document.querySelector('article').appendChild(document.createElement('span'));
          place.className = 'math';
          place.textContent = formulas;
          await MathJax.typesetPromise([place]);
          const links = [...place.querySelectorAll('[href]')].map(e => e.getAttribute('href'));
          return [place.querySelectorAll('mjx-mi').length, ...new Set(links)];  // a screen reader has its own copy
        }""",
        formulas,
    )
    assert links == [4, "#top"]


MATHJAX = '<script src="MATHJAX/tex-mml-chtml.js" defer></script>'
BAD_PAGES = {
    "request off the machine": '<img alt="a" src="https://example.org/a.png">',
    "request failed": '<img alt="a" src="https://example.org/a.png">',
    "status 404": '<script src="missing.js"></script>',
    "console error": "<script>console.error('no')</script>",
    "console warning": "<script>console.warn('no')</script>",
    "script error": "<script>throw new Error('no')</script>",
    "TeX error": MATHJAX + r'<span class="math">\(\frac{1}\)</span>',
    "unknown TeX command": MATHJAX + r'<span class="math">\(\nosuchcommand\)</span>',
    "mathematics not set": r'<span class="math">\(x\)</span>',
    "px wide in a window of 1400": '<div style="width: 1500px">wide</div>',
    "px wide in a window of 390": '<div style="width: 400px">wide</div>',
    "image without alternative text": '<img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    "faint text": '<p style="color: #777; background: #888">faint</p>',
    "light background in dark mode": "<style>:root body {background: white; color: black}</style>",
    "axe-core, button-name (critical) in a window of 390": "<button></button>",
    "axe-core, button-name (critical) in a window of 1400": "</article><button></button><article>",
    "axe-core, color-contrast (serious) in a window of 390": (
        '</article><p style="color: #777; background: #888">faint</p><article>'
    ),
    "axe-core, color-contrast (serious) in a window of 1400": (
        "</article><style>@media (width > 1000px) and (prefers-color-scheme: dark) { b { color: #222 } }</style>"
        "<p><b>faint where it is dark and wide</b></p><article>"
    ),
    "axe-core, link-in-text-block (serious) in a window of 390": (
        '<p>Words around <a href="#" style="color: #fff; text-decoration: none">a link</a> of nearly their colour</p>'
    ),
    "axe-core, link-in-text-block (serious) in a window of 1400": (
        '</article><p>Words around <a href="#" style="color: #111; text-decoration: none">a link</a></p><article>'
    ),
    "axe-core, heading-order (moderate) in a window of 390": "<h4>Too deep</h4>",
    "axe-core, empty-table-header (minor)": "<table><tr><th></th><th>x</th></tr><tr><td>1</td><td>2</td></tr></table>",
    "axe-core, scrollable-region-focusable (serious) in a window of 390": (
        f'<pre style="overflow: auto; width: 300px" tabindex="-1">{"wide " * 99}</pre>'
    ),
}
GOOD_PAGE = MATHJAX + r'<p>Text, <span class="math">\(\boldsymbol{x}\)</span></p><div style="width: 300px">narrow</div>'


PAGE = """<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,">
<style>
  body { background: white; color: black }
  @media (prefers-color-scheme: dark) { body { background: black; color: white } }
</style>
<main><h1>A page</h1><article>BODY</article></main>"""


@pytest.fixture
def found_on(site: Path, served: str, inspected: Page) -> Callable[[str], list[str]]:
    """The faults of a page with a given body, which lies beside the site."""

    def find(body: str) -> list[str]:
        page = PAGE.replace("BODY", body).replace("MATHJAX/", f"{site.name}/_static/mathjax/")
        name = f"{uuid4()}.html"  # an address of its own, since the browser keeps a cache
        (site.parent / name).write_text(page, encoding="utf8")
        return faults(inspected, f"{served}/{name}")

    return find


@pytest.mark.parametrize("fault", BAD_PAGES)
def test_detector_fires(fault: str, found_on: Callable[[str], list[str]]) -> None:
    found = found_on(BAD_PAGES[fault])
    assert any(fault in entry for entry in found), found


def test_detectors_are_silent_on_a_good_page(found_on: Callable[[str], list[str]]) -> None:
    assert found_on(GOOD_PAGE) == []
