"""What machines read on the site: search engines, citation managers, previews of shared links. A missing tag is red."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import BrowserContext, Route
from repository import pages_address

from scansnap_core.book.citation import name_of, read_citation
from tests.site.book import PDF, ROOT, documents
from tests.site.browser import faults, open_still_tab
from tests.site.links import broken_links

CITED = read_citation(ROOT)
HOME = "chapters/index"
OTHERS = {"404.html", "genindex.html", "py-modindex.html", "search.html"}
TEX = re.compile(r"[\\{}$]|\[\d+\]")
"""What a plain sentence doesn't have: TeX, and the number of a reference."""


@cache
def head_of(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf8").partition("</head>")[0], "html.parser")


def tags_of(path: Path) -> dict[str, list[str]]:
    """Map the name of each tag of a page's head to what its tags say."""
    found: dict[str, list[str]] = {}
    for tag in head_of(path).select("meta[name], meta[property]"):
        found.setdefault(str(tag.get("name") or tag.get("property")), []).append(str(tag["content"]))
    return found


def facts_of(path: Path) -> dict[str, object]:
    (script,) = head_of(path).select('script[type="application/ld+json"]')
    facts = json.loads(str(script.string))
    assert isinstance(facts, dict)
    return facts


@pytest.mark.parametrize("document", documents())
def test_a_page_says_what_it_is_and_how_it_is_cited(site: Path, document: str) -> None:
    path, address = site / f"{document}.html", f"{CITED.url}{document}.html"
    tags, is_home = tags_of(path), document == HOME
    ((description,), (title,)) = tags["description"], tags["citation_title"]
    assert 40 <= len(description) <= 300
    assert not TEX.search(description + title)
    assert [str(link["href"]) for link in head_of(path).select('link[rel="canonical"]')] == [address]
    assert str(head_of(path).title.string) == (CITED.title if is_home else f"{title} — {CITED.title}")  # type: ignore[union-attr]

    day = CITED.released
    highwire = {
        "citation_title": [CITED.title] if is_home else [title],
        "citation_author": [name_of(author) for author in CITED.authors],
        "citation_publication_date": [f"{day.year}/{day.month:02}/{day.day:02}"],
        "citation_language": ["en"],
        "citation_public_url": [address],
        "citation_fulltext_html_url": [address],
    }
    if is_home:
        more = {"citation_pdf_url": [f"{CITED.url}{PDF}"], "citation_keywords": ["; ".join(CITED.keywords)]}
    else:
        more = {"citation_inbook_title": [CITED.title]}
    assert {name: said for name, said in tags.items() if name.startswith("citation_")} == highwire | more

    shared = {name: said for name, (said, *again) in tags.items() if name.startswith("og:") and not again}
    (image, words) = (shared.pop(name) for name in ("og:image", "og:image:alt"))
    assert (site / image.removeprefix(CITED.url)).is_file()
    assert words
    assert shared == {
        "og:title": title,
        "og:type": "website",
        "og:url": address,
        "og:site_name": CITED.title,
        "og:description": description,
    }

    facts = facts_of(path)
    assert facts["@type"] == ("Book" if is_home else "Chapter")
    assert [facts[key] for key in ("name", "description", "url")] == [title, description, address]
    assert [facts[key] for key in ("version", "datePublished")] == [CITED.version, CITED.released.isoformat()]
    assert facts["author"] == [{"@type": "Organization", "name": name_of(author)} for author in CITED.authors]
    book = {"@type": "Book", "name": CITED.title, "url": f"{CITED.url}{HOME}.html"}
    assert facts.get("isPartOf") == (None if is_home else book)


def test_no_two_pages_say_the_same(site: Path) -> None:
    for name in ("description", "citation_title"):
        said = [tags_of(site / f"{document}.html")[name][0] for document in documents()]
        assert len(set(said)) == len(said)


def test_the_books_facts_name_the_paper_and_the_pdf(site: Path) -> None:
    facts = facts_of(site / f"{HOME}.html")
    assert isinstance(facts["about"], list)
    assert isinstance(facts["encoding"], dict)
    (paper,) = facts["about"]
    assert [author["name"] for author in paper["author"]][::3] == ["Yuandong Tian", "Simon S. Du"]
    assert facts["encoding"]["contentUrl"] == f"{CITED.url}{PDF}"


def test_the_root_page_leads_to_the_first_page_and_says_the_same(site: Path) -> None:
    root, home = head_of(site / "index.html"), head_of(site / f"{HOME}.html")
    (refresh,) = root.select('meta[http-equiv="Refresh"]')
    assert refresh["content"] == f"0; url={HOME}.html"
    for said in ("title", 'link[rel="canonical"]', 'script[type="application/ld+json"]'):
        assert root.select(said) == home.select(said) != []
    assert tags_of(site / "index.html") == tags_of(site / f"{HOME}.html")


def test_the_sitemap_lists_the_pages_and_crawlers_find_it(site: Path) -> None:
    places = ElementTree.parse(site / "sitemap.xml").getroot().iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")
    assert sorted(str(place.text) for place in places) == sorted(f"{CITED.url}{name}.html" for name in documents())
    assert f"\nSitemap: {CITED.url}sitemap.xml\n" in (site / "robots.txt").read_text()


def test_pages_that_nobody_searches_for_are_not_indexed(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    hidden = {str(path.relative_to(site)) for path in pages if tags_of(path).get("robots") == ["noindex"]}
    assert hidden == OTHERS


def test_an_address_that_does_not_exist_has_a_whole_page(site: Path, served: str, browser: BrowserContext) -> None:
    """A server shows it at any address, so that its own links begin at the server's root."""
    page = open_still_tab(browser)
    prefix = urlsplit(CITED.url).path
    missing = f"{served}{prefix}chapters/old/nowhere.html"
    page.route(
        f"{served}{prefix}**", lambda route: route.continue_(url=route.request.url.replace(prefix, f"/{site.name}/"))
    )

    def show(route: Route) -> None:
        route.fulfill(path=site / "404.html")

    page.route(missing, show)
    assert faults(page, missing) == []
    assert page.locator("article h1").inner_text() == "Page not found"
    page.close()
    moved = site / "404-here.html"
    moved.write_text((site / "404.html").read_text(encoding="utf8").replace(f'"{prefix}', '"'), encoding="utf8")
    assert broken_links(moved) == []
    moved.unlink()


@pytest.mark.parametrize("document", documents())
def test_a_page_has_a_date_a_version_and_links_to_correct_it(site: Path, document: str) -> None:
    page = BeautifulSoup((site / f"{document}.html").read_text(encoding="utf8"), "html.parser")
    (edition,) = page.select(".ss-edition")
    (time,) = edition.select("time")
    assert time["datetime"] == CITED.released.isoformat()
    assert f"Version {CITED.version}," in edition.text
    links = {str(link["href"]) for link in edition.select("a")}
    assert f"{CITED.url}{PDF}" in links
    assert any(link.endswith("changes.html") or link == "#" for link in links)
    (offered,) = page.select(".ss-page-links")
    cited = offered.select_one("details p").text  # type: ignore[union-attr]
    assert f", version {CITED.version}, {CITED.released.year}. {CITED.url}{document}.html" in cited
    assert not re.search(r"[.?!]\.", cited)
    bibtex, report, edit = (str(link["href"]) for link in offered.select("a"))
    assert (site / document).parent.joinpath(bibtex).resolve() == (site / "scansnap.bib").resolve()
    assert report.startswith(f"{CITED.repository}/issues/new?title=A+fault+on+the+page")
    suffix = "ipynb" if (ROOT / f"{document}.ipynb").is_file() else "md"
    assert edit == f"{CITED.repository}/edit/main/{document}.{suffix}"
    buttons = {str(link["href"]) for link in page.select(".article-header-buttons a[href]")}
    assert f"{CITED.repository}/edit/main/{document}.{suffix}" in buttons
    assert any(
        link.startswith(f"{CITED.repository}/issues/new?title=Issue%20on%20page%20%2F{document}") for link in buttons
    )


def test_what_changed_begins_with_the_version_that_is_cited() -> None:
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf8"), re.MULTILINE)
    assert heads[0] == f"{CITED.version} ({CITED.released.isoformat()})"
    assert heads == sorted(heads, key=lambda head: [int(part) for part in head.split()[0].split(".")], reverse=True)


def test_the_addresses_are_those_of_the_repository() -> None:
    config = (ROOT / "_config.yml").read_text(encoding="utf8")
    assert re.findall(r"^  url: (\S+)$", config, re.MULTILINE) == [CITED.repository]
    assert pages_address(CITED.repository.removeprefix("https://github.com/")) == CITED.url
    project = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    assert f'Homepage = "{CITED.url}"' in project
    assert f'Repository = "{CITED.repository}"' in project
