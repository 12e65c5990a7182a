"""The page of equations: what it says of an equation, and where its links lead on the built site."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import equations as extension
from playwright.sync_api import Page

from scansnap_core.book.equations import Equation, Trial, by_equation, read_equations
from scansnap_core.book.errata import Erratum, read_errata
from scansnap_core.ledger import read_pages
from tests.findings import a_check, a_refutation
from tests.site.book import ROOT

LEMMA = read_pages(ROOT)["lemma_06"]
WHAT = "size *of* $h^*$ <b>"


def test_an_equation_shows_its_formula_its_trials_and_what_is_unsure_and_an_untouched_one_is_red() -> None:
    wrong = a_refutation("wrong", what=WHAT, repair="twice")
    trials = Trial(LEMMA, a_check("size", what=WHAT)), Trial(LEMMA, wrong)
    equations = [
        Equation(number, "Sec. 1", "step", LEMMA, "x^2", tried, unsure)
        for number, tried, unsure in ((1, trials[:1], ""), (2, (), ""), (7, trials, "a sign"))
    ]
    page = extension.page(equations, {7: [Erratum("E3", "slip", "none", ())]}, "{}.html".format)
    for shown in (
        "- **1** hold in numbers",
        "- **1** are tried nowhere",
        '<a class="ss-holds" href="#eq-1" title="holds">1</a>',
        '<a class="ss-fails" href="#eq-2" title="untouched">2</a>',
        "(eq-7)=\n### (7)\n\n$$\nx^2\n$$",
        '<a href="lemma_06.html#claim-size">Lemma 6</a>, numeric: size \\*of\\* $h^*$ &lt;b&gt;',
        '<a href="lemma_06.html#claim-wrong">',
        "Repair: twice.",
        "a sign",
        'fails as printed</span> · erratum <a class="ss-number" href="errata.html#e3">E3</a> · ',
    ):
        assert shown in page
    assert "tried nowhere" not in extension.page(equations[:1], {}, "{}.html".format)


def text_of(markup: str) -> str:
    return " ".join(
        unescape(re.sub('<span class="visually-hidden">.*?</span>|<[^>]*>', "", markup))
        .replace("\\(", "$")
        .replace("\\)", "$")
        .split()
    )


def test_links_lead_to_the_cells_that_try_the_equations(site: Path) -> None:
    assert 'href="equations.html#eq-85"' in (site / "chapters/modules.html").read_text(encoding="utf8")
    page = (site / "chapters" / "equations.html").read_text(encoding="utf8")
    assert re.findall(r'id="(eq-\d+)"', page) == [f"eq-{number}" for number in range(1, 139)]
    folders = {path.stem: path.parent.name for path in (ROOT / "chapters").rglob("*.ipynb")}
    chapters = {
        name: (site / "chapters" / folder.replace("chapters", "") / f"{name}.html").read_text(encoding="utf8")
        for name, folder in folders.items()
    }
    trials = [trial for equation in read_equations(ROOT) for trial in equation.trials]
    links = re.findall(r'<a href="(?:\w+/)?(\w+)\.html#(claim-\w+)"', page)
    assert links == [(trial.page.id, trial.anchor) for trial in trials]
    for trial in trials:
        places = chapters[trial.page.id].split(f'id="{trial.anchor}"')
        assert len(places) == 2, (trial.page.id, trial.anchor)
        head = re.search(
            r'<span class="ss-what">(.*?)</span>\s*(?:<span class="ss-number">|<br>|</summary>)', places[1], re.DOTALL
        )
        assert head, (trial.page.id, trial.anchor)
        said = " ".join(trial.entry.what.split())
        assert text_of(head[1]) in (said, f"{said}.", f"{said}:")  # a number follows all but proofs


def test_equations_with_an_erratum_link_it_and_it_links_them(site: Path) -> None:
    page = (site / "chapters" / "equations.html").read_text(encoding="utf8")
    linked = {
        int(number): re.findall(r'href="errata\.html#e\d+">(E\d+)</a>', section)
        for number, section in re.findall(r'id="eq-(\d+)"(.*?)(?=id="eq-|</article>)', page, re.DOTALL)
    }
    found = by_equation(read_errata(ROOT), read_equations(ROOT))
    assert {number: links for number, links in linked.items() if links} == {
        number: [erratum.number for erratum in errata] for number, errata in found.items()
    }
    index = (site / "chapters" / "errata.html").read_text(encoding="utf8").partition("ss-errata-index")[2]
    assert set(re.findall(r'href="equations\.html#eq-(\d+)"', index.partition("</ul>")[0])) == set(map(str, found))


def test_a_link_to_a_folded_equation_unfolds_it(site: Path, page: Page) -> None:
    address = (site / "chapters" / "equations.html").as_uri()
    page.goto(address)
    assert page.locator("h3").count() == 138
    assert not page.locator("h3 >> visible=true").count()
    page.locator(".ss-equation-map a[href='#eq-88']").click()
    page.locator("#eq-88").wait_for(state="visible")
    page.emulate_media(media="print")
    assert page.locator("h3 >> visible=true").count() == 138
