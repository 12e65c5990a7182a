"""A book about another paper: the example's two pages, built with the site's extensions, know nothing of this one's."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page
from pybtex.database import parse_string

from scansnap_core.cli import main
from tests.site.book import ROOT, SETTINGS
from tests.site.conftest import build_site
from tests.site.links import broken_links

EXAMPLE = ROOT / "examples" / "own_book"
HOME, LEMMA = "chapters/index.html", "chapters/lemma_1.html"
FOREIGN = re.compile(
    r"\bscan\b|\bsnap\b|scan-and-snap|scansnap\.bib|\bTian\b|Transformer|attention|token|true gradient|\bSGD\b"
    r"|\(88\)|make install",
    re.IGNORECASE,
)
"""What belongs to the paper of this repository's own book, or to the repository."""
SEARCH = "[...document.querySelectorAll('#ss-results a')].map(link => link.getAttribute('href'))"
CITED = {
    "cff-version": "1.2.0",
    "message": "Cite it.",
    "title": "Steps that contract, executable",
    "version": "0.3",
    "date-released": "2026-11-29",
    "license": "BSD-3-Clause",
    "url": "https://example.org/steps/",
    "repository-code": "https://github.com/name/steps",
    "abstract": "A lemma on gradient descent, verified.",
    "keywords": ["descent"],
    "authors": [{"family-names": "Name", "given-names": "Your"}],
}
FOR_MACHINES = ("citable", "downloads", "repository")


def begin_book(folder: Path) -> Path:
    """Begin a book as the page says: a copy of the example, and of the folder `site`."""
    shutil.copytree(EXAMPLE, folder)
    return Path(shutil.copytree(ROOT / "site", folder / "site", ignore=shutil.ignore_patterns("__pycache__"))).parent


def build(book: Path) -> Path:
    assert build_site(book, 1, book) == ""
    return book / "_build" / "html"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf8")


@pytest.fixture(scope="module")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(begin_book(tmp_path_factory.mktemp("own") / "book"))


def read(site: Path, page: str) -> BeautifulSoup:
    return BeautifulSoup((site / page).read_text(encoding="utf8"), "html.parser")


def texts(page: BeautifulSoup | Tag, selector: str) -> list[str]:
    return [" ".join(element.get_text().split()) for element in page.select(selector)]


def foreign_in(site: Path) -> dict[str, set[str]]:
    """The words of this repository's own paper, by the files of a site in which a reader finds them."""
    pages = [*site.glob("*.html"), *site.glob("chapters/*.html"), *site.glob("*.json"), *site.glob("*.bib")]
    written = [site / "_static/previews.js", site / "_static/search/documents.js"]
    found = {path.name: set(FOREIGN.findall(path.read_text(encoding="utf8"))) for path in (*pages, *written)}
    return {name: words for name, words in found.items() if words}


def test_the_example_stores_what_it_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--book", str(EXAMPLE)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"lemma_1 +Each step contracts +holds under a condition +1 1 4 ", printed)


def test_a_page_ends_with_how_to_check_it(own_site: Path) -> None:
    article = read(own_site, LEMMA).select_one("article")
    assert article is not None
    last = article.select(".cell, .ss-check-yourself")[-1]
    assert last.get_text() == "To check this yourself: scansnap verify lemma_1."


def test_a_cards_rows_and_the_boards_columns_are_the_papers(own_site: Path) -> None:
    card = read(own_site, LEMMA).select_one(".ss-card-at-head")
    assert card is not None
    assert texts(card, "dt") == ["as printed", "repaired", "under noise"]
    assert texts(card, ".ss-word") == ["holds under a condition", "as printed", "in part"]
    board = read(own_site, HOME).select_one(".ss-board")
    assert board is not None
    assert texts(board, "thead th") == ["statement", "checks", "verdict", "noise"]
    assert [str(link["href"]) for link in board.select("tbody a")] == ["lemma_1.html", "#e1"]
    assert texts(board, ".ss-under") == ["in part"]


def test_the_graph_and_the_errata_stand_on_the_first_page(own_site: Path) -> None:
    home = read(own_site, HOME)
    assert [(node["data-id"], node["href"]) for node in home.select(".ss-graph a")] == [("lemma_1", "lemma_1.html")]
    (erratum,) = home.select(".ss-erratum")
    assert erratum["id"] == "e1"
    assert "for every step" in erratum.text
    (number,) = read(own_site, LEMMA).select(".ss-refutation .ss-head a.ss-number")
    assert number["href"] == "index.html#e1"
    (listed,) = json.loads((own_site / "errata.json").read_text(encoding="utf8"))["errata"]
    assert listed["address"] == "chapters/index.html#e1"


def test_all_links_lead_somewhere(own_site: Path) -> None:
    assert [broken_links(own_site / name) for name in (HOME, LEMMA, "search.html")] == [[], [], []]


def test_the_search_finds_the_lemma(own_site: Path, page: Page) -> None:
    page.goto((own_site / "search.html").as_uri())
    field = page.locator(".ss-search input")
    for query, address in {"noise": LEMMA, "smallest eigenvalue": f"{HOME}#symbol-mu", "Lemma 1": LEMMA}.items():
        field.fill(query)
        field.press("Enter")
        assert page.evaluate(SEARCH)[0].startswith(address), query
    field.fill("attention")
    field.press("Enter")
    assert page.evaluate(SEARCH) == []


@pytest.mark.parametrize(
    ("name", "link", "words"),
    [
        (LEMMA, "a.ss-term[data-terms=term-mu]", "the smallest eigenvalue of the quadratic's matrix"),
        (HOME, "a.ss-term[data-terms=number-lemma-1-too-large]", "every step of gradient descent contracts by"),
        (HOME, "p a.reference.internal[href='lemma_1.html']", "On a quadratic, each step of gradient descent"),
    ],
)
def test_a_term_a_number_and_a_link_show_their_words(
    own_site: Path, page: Page, name: str, link: str, words: str
) -> None:
    page.goto((own_site / name).as_uri())
    tip = page.locator("#ss-tip")
    page.locator(link).first.focus()  # unlike the pointer's, the words on focus stay while formulas move the page
    tip.wait_for(state="visible")
    assert words in tip.inner_text().replace("’", "'")


def test_no_page_says_anything_of_this_repositorys_paper(own_site: Path) -> None:
    assert foreign_in(own_site) == {}


def test_the_settings_of_the_own_book_would_be_seen(tmp_path: Path) -> None:
    """Control: with them the pages name this repository's paper."""
    site = tmp_path
    for name in ("_static/search/documents.js", "_static/previews.js"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).touch()
    (site / "search.html").write_text(SETTINGS["html_context"]["search_hint"])
    (site / "index.html").write_text(SETTINGS["check_yourself"])
    assert foreign_in(site) == {"search.html": {"(88)"}, "index.html": {"make install"}}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return begin_book(tmp_path / "book")


def test_a_row_that_the_paper_does_not_name_is_refused(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control of the card's rows; nothing is executed."""
    toc = book / "_toc.yml"
    toc.write_text(re.sub(r" +dynamics:.*\n.*\n", "", toc.read_text()))
    assert main(["verify", "--book", str(book)]) == 1
    said = "lemma_1.yaml: card.noise: a card has figure, printed, repaired; add or remove it"
    assert said in capsys.readouterr().err


def test_a_number_that_is_no_equation_of_the_glossary_stops_the_build(book: Path) -> None:
    """Control: what a book configures has to be there."""
    change(book / "_config.yml", "    language: en\n", "    language: en\n    glossary_equations: [3]\n")
    said = build_site(book, 1, book)
    assert "glossary_equations: 3: no row of a table that begins with dynamics and definition names it" in said


def test_a_book_with_an_address_and_pages_of_its_own_is_cited_as_itself(book: Path) -> None:
    (book / "CITATION.cff").write_text(yaml.safe_dump(CITED))
    extensions = "".join(f"    {name}: site/ext\n" for name in FOR_MACHINES)
    change(book / "_config.yml", "    verdict_card: site/ext\n", f"    verdict_card: site/ext\n{extensions}")
    repository = "repository:\n  url: https://github.com/name/steps\n"
    change(book / "_config.yml", "{navbar_persistent: []}", "{footer_content_items: [edition.html]}")
    change(book / "_config.yml", "execute:\n", f"{repository}html: {{use_repository_button: true}}\nexecute:\n")
    change(book / "_toc.yml", "meta:\n", "meta:\n  key: steps\n")
    home = book / "chapters" / "index.md"
    errata = "## Errata\n\n```{errata} constant\n```\n"
    change(home, errata, "")
    (book / "chapters" / "errata.md").write_text(errata.removeprefix("#"))
    change(book / "_toc.yml", "  - file: chapters/lemma_1\n", "  - file: chapters/lemma_1\n  - file: chapters/errata\n")

    site = build(book)
    assert list(parse_string((site / "steps.bib").read_text(encoding="utf8"), "bibtex").entries) == ["steps"]
    assert texts(read(site, HOME), ".ss-edition") == ["Version 0.3, 29 November 2026."]
    (number,) = read(site, LEMMA).select(".ss-refutation .ss-head a.ss-number")
    assert number["href"] == "errata.html#e1"
    (entry,), (cited,) = (texts(read(site, "chapters/errata.html"), f".ss-cite {tag}") for tag in ("pre", "p"))
    assert entry.startswith("@misc{steps-E1, ")
    assert cited.endswith("version 0.3, 2026. https://example.org/steps/chapters/errata.html#e1")
    assert foreign_in(site) == {}
