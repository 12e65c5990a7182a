"""Links inside the site, those that scripts make too: each leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.site.book import documents
from tests.site.lab_page import wait_for_picture
from tests.site.links import broken_links, fault_of, read_page


def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    assert {page: found for page in pages if (found := broken_links(page))} == {}
    linked = {link for page in pages for link in read_page(page).links}
    assert sum("#" in link for link in linked) > 300


def test_links_made_by_scripts_lead_somewhere(site: Path, page: Page) -> None:
    with_lab = [path for document in documents() if read_page(path := site / f"{document}.html").has_lab]
    assert site / "chapters/lab.html" in with_lab
    page.route("**/mathjax/**", lambda route: route.abort())  # it makes no links, and takes most of a page's time
    for path in with_lab:
        if re.search('ss-first|data-show|data-widget="calculator"', path.read_text(encoding="utf8")):
            continue  # there the lab shows some fields at most, and no link to a setting
        page.goto(path.as_uri())
        wait_for_picture(page)
        page.locator(".ss-lab [data-field=M] [type=text] >> nth=0").fill("2000")
        page.wait_for_function("document.querySelector('.ss-lab-link').getAttribute('href')?.includes('M=2000')")
        links = page.evaluate("[...document.querySelectorAll('[href]')].map(e => e.getAttribute('href'))")
        assert any(link.startswith("#") and "M=2000" in link for link in links), path
        assert [fault for link in links if (fault := fault_of(link, path))] == [], path


BAD = {
    "missing.html": "no such file",
    "b.html#nowhere": "no such anchor",
    "#nowhere": "no such anchor",
    "b.html#K=3": "no such anchor",  # it has no lab
    "lab.html#K=1": "2 to 10",
    "lab.html#q=3": "fields of the lab",
    "picture.png": "no such file",
}
GOOD = (
    "b.html",
    "b.html#here",
    "#own",
    "lab.html#K=3&rho=0.1",
    "https://example.org/#x",
    "data:,",
    "b%2Ehtml",
    "?q=1#own",
)


@pytest.fixture
def small_site(tmp_path: Path) -> Path:
    (tmp_path / "b.html").write_text('<p id="here">')
    (tmp_path / "lab.html").write_text('<div class="ss-lab"></div>')
    return tmp_path / "a.html"


@pytest.mark.parametrize("link", BAD)
def test_a_bad_link_is_found(link: str, small_site: Path) -> None:
    small_site.write_text(f'<p id="own"><svg><a href="{link}"></a></svg>')
    (found,) = broken_links(small_site)
    assert BAD[link] in found


def test_good_links_are_left_alone(small_site: Path) -> None:
    small_site.write_text('<p id="own">' + "".join(f'<a href="{link}">x</a>' for link in GOOD))
    assert broken_links(small_site) == []
