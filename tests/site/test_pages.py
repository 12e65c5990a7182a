"""The built site: where it leads, each page in a real browser, and for each detector a page on which it must fire."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

import pytest
from playwright.sync_api import Page, Playwright
from pybtex.database import parse_string

from scansnap_core.book.citation import read_citation
from scansnap_core.book.cited import shown_of
from scansnap_core.book.errata import errata_json, read_errata
from scansnap_core.book.notebooks import read_stored
from scansnap_core.ledger import read_pages, statements
from scansnap_core.ledger.cards import page_cited
from scansnap_core.sweeps.defaults import DEFAULTS, written
from scansnap_core.theory.formulas import FORMULAS, SYMBOLS
from tests.site.book import ROOT, documents
from tests.site.browser import RUN_ONCE, faults, open_browser, open_still_tab

STATEMENTS = statements(read_pages(ROOT))
CITED = read_citation(ROOT)


def read(site: Path, document: str) -> str:
    return (site / f"{document}.html").read_text(encoding="utf8")


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
def test_chapter_has_launch_buttons_and_says_how_to_check_it(site: Path, statement: str) -> None:
    page, path = read(site, f"chapters/statements/{statement}"), rf"[^\"]*chapters/statements/{statement}\.ipynb"
    assert re.search(rf"https://mybinder\.org/v2/gh/{path}", page)
    assert f"<code>.venv/bin/scansnap verify {statement}</code>" in page


def test_code_page_has_every_module_and_sets_formulas_as_mathematics(site: Path) -> None:
    page, paths = read(site, "chapters/modules"), (ROOT / "scansnap_core").rglob("*.py")
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    assert set(re.findall(r'id="module-([\w.]+)"', page)) == modules
    assert r"\frac{\eta_{Y}}{M + e^{M h} - 1}" in page
    listed = re.findall(r'id="scansnap_core\.theory\.formulas\.\w+\.(\w+)"', page)
    assert [name for name in (*FORMULAS, *SYMBOLS) if listed.count(name) != 1] == []


def test_the_defaults_of_a_sweep_stand_on_the_page_on_using_the_package(site: Path) -> None:
    rows = re.findall(r"<tr.*?</tr>", read(site, "chapters/using"), re.DOTALL)
    cells = [re.sub(r"<[^>]+>", "", cell) for row in rows for cell in re.findall(r"<td>(.*?)</td>", row, re.DOTALL)[:2]]
    shown = dict(zip(map(str.strip, cells[::2]), map(str.strip, cells[1::2]), strict=True))
    assert {key: shown[key] for key in DEFAULTS} == {key: written(default.value) for key, default in DEFAULTS.items()}


def test_errata_and_the_cells_that_show_them_link_each_other_and_each_has_a_citation(site: Path) -> None:
    page = read(site, "chapters/errata")
    errata, cited = read_errata(ROOT), re.findall(r"<pre>(@misc.*?)</pre>", page, re.DOTALL)
    assert re.findall(r'<section class="ss-erratum" id="(\w+)"', page) == [erratum.anchor for erratum in errata]
    for erratum, text in zip(errata, cited, strict=True):
        ((key, entry),) = parse_string(unescape(text), "bibtex").entries.items()
        assert key == f"scansnap-{erratum.number}"
        assert entry.fields["title"] == f"Erratum {erratum.number}: {erratum.places[0].name}"
        assert entry.fields["note"].endswith(rf"{CITED.url}chapters/errata.html\#{erratum.anchor}")
        for place in erratum.places:
            (address,) = set(re.findall(rf'href="([^"#]*\b{place.page.id}\.html)#{place.cell}"', page))
            shown = (site / "chapters" / address).read_text(encoding="utf-8")
            head = re.findall(rf'id="{place.cell}"><p class="ss-head"><a [^>]*href="([^"]*)">(E\d+)</a>', shown)
            assert [(link.rpartition("/")[2], number) for link, number in head] == [
                (f"errata.html#{erratum.anchor}", erratum.number)
            ]


def test_the_files_for_scripts_and_citation_managers_are_there(site: Path) -> None:
    page = read(site, "chapters/errata")
    for file in ("errata.json", "scansnap.bib"):
        assert f'href="../{file}"' in page
    errata = json.loads((site / "errata.json").read_text(encoding="utf-8"))
    assert errata == errata_json(ROOT)
    for address in [place["address"] for erratum in errata["errata"] for place in (erratum, *erratum["places"])]:
        document, _, anchor = address.partition("#")
        assert (site / document).read_text(encoding="utf-8").count(f'id="{anchor}"') == 1
    cited = parse_string((site / "scansnap.bib").read_text(encoding="utf-8"), "bibtex")
    assert list(cited.entries) == ["scansnap", "tian2023"]


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


def test_card_shows_the_stored_numbers_and_leads_to_the_cells_and_pages_that_have_them(site: Path) -> None:
    cards = 0
    verdicts = read_stored(ROOT).verdicts
    for page_id, verdict in verdicts.items():
        (document,) = (d for d in documents() if d.rpartition("/")[2] == page_id)
        page = read(site, document)
        assert ('class="ss-card-at-head' in page) is bool(verdict.card)
        if not verdict.card:
            continue
        cards += 1
        card = page[page.index('class="ss-card-at-head') : page.index("</div>\n<", page.index("</dl>"))]
        numbers = []
        for row in verdict.card:
            numbers += [row.number] if row.number else []
            numbers += [shown_of(name, verdicts[page_cited(name)])["number"] for name in row.cited.split()]
        assert re.findall(r'<p class="ss-number">.*?<strong>(.*?)</strong>', card) == [*map(escape, numbers)]
        links = re.findall(r'href="#((?!term-)[\w-]+)"', card)
        assert len(links) == sum(bool(row.number) for row in verdict.card) + bool(verdict.figure)
        assert [link for link in links if page.count(f'id="{link}"') != 1] == []
        cited = re.findall(r'<a href="([^"#]+)#(claim-[\w-]+)"', card)
        assert len(cited) == sum(len(row.cited.split()) for row in verdict.card)
        for address, claim in cited:
            other = f"{document.rpartition('/')[0]}/{address.removesuffix('.html')}"
            assert read(site, other).count(f'id="{claim}"') == 1
        assert card.count("<img") == card.count('class="ss-card-caption') == bool(verdict.figure)
    assert cards


def test_pages_with_a_lab_and_no_others_load_its_styles_and_scripts(site: Path) -> None:
    for document in documents():
        page = read(site, document)
        loaded = [f"_static/lab/{part}" in page for part in ("", "lab.css", "uPlot.min.css")]
        assert loaded == [re.search('class="ss-lab[ "]', page) is not None] * 3, document


@pytest.fixture(scope="module")
def address(site: Path, served: str) -> str:
    return f"{served}/{site.name}"


@pytest.fixture(scope="module")
def inspected(playwright: Playwright) -> Iterator[Page]:
    """A tab in which `faults` looks at one page after another: one process compiles what they share once."""
    with open_browser(playwright, RUN_ONCE) as browser:
        yield open_still_tab(browser)


@pytest.mark.parametrize("document", documents())
def test_page_is_sound(document: str, address: str, inspected: Page) -> None:
    assert faults(inspected, f"{address}/{document}.html") == []


def test_pages_outside_the_contents_are_sound(site: Path, address: str, inspected: Page) -> None:
    rest = sorted({str(page.relative_to(site)) for page in site.rglob("*.html") if "_static" not in page.parts})
    rest = [page for page in rest if page.removesuffix(".html") not in documents()]
    rest.remove("index.html")  # it leads away at once
    rest.remove("404.html")  # it is shown at other addresses than its own
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


BAD_PAGE = """<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,">
<style>:root body { background: white; color: black }</style>
<script src="SITE/_static/mathjax/tex-chtml.js" defer></script>
<script src="missing.js"></script><script>console.error('no'); console.warn('no'); throw new Error('no')</script>
<main><h1>A page</h1><button></button><article><h4>Too deep</h4><img alt="" src="https://example.org/a.png">
<div style="width: 1500px">wide</div><p style="color: #777; background: #888">faint</p>
<p>Words around <a href="#" style="color: #111; text-decoration: none">a link</a></p><span class="math">x</span>
<div style="width: 200px">\\[\\rule{196px}{1ex}\\]</div>
<span class="math">\\(\\frac{1}\\)</span> <span class="math">\\(\\nosuchcommand\\)</span></article></main>"""
FAULTS = [
    *("request off the machine", "request failed", "status 404", "console error", "console warning", "script error"),
    *("TeX error", "unknown TeX command", "mathematics not set", "image without alternative text", "faint text"),
    *("formula of", "font of the machine"),
    *("px wide in a window of 1400", "px wide in a window of 390", "light background in dark mode"),
    *(f"axe-core, {rule} in a window of 390" for rule in ("link-in-text-block (serious)", "heading-order (moderate)")),
    *(f"axe-core, button-name (critical) in a window of {width}" for width in (390, 1400)),
]


def test_each_fault_of_a_bad_page_is_found(site: Path, served: str, inspected: Page) -> None:
    """Control: on the pages of the book the same look finds nothing."""
    (site.parent / "bad.html").write_text(BAD_PAGE.replace("SITE", site.name), encoding="utf8")
    found = faults(inspected, f"{served}/bad.html")
    assert [fault for fault in FAULTS if not any(fault in entry for entry in found)] == []
