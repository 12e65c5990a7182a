"""Links inside the site, those that scripts make too: each leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page

from tests.site.book import documents
from tests.site.lab_page import wait_for_picture
from tests.site.links import broken_links, fault_of, read_page


def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts and page.name != "404.html"]
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
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        page.locator(".ss-lab [data-field=M] [type=text] >> nth=0").fill("2000")
        page.wait_for_function("document.querySelector('.ss-lab-link').getAttribute('href')?.includes('M=2000')")
        links = page.evaluate("[...document.querySelectorAll('[href]')].map(e => e.getAttribute('href'))")
        assert any(link.startswith("#") and "M=2000" in link for link in links), path
        assert [fault for link in links if (fault := fault_of(link, path))] == [], path
