"""Follows the links of a site's pages: each has to end at a file, an anchor in it, or a setting that the lab takes."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from lab import setting_of

from scansnap_core.bad_input import BadInput
from tests.site.book import ROOT

ADDRESSES = {"href", "src", "xlink:href", "poster", "data"}
FIELDS = {"K", "M", "rho", "T", "etaY", "etaZ"}
"""The calculator takes these and more; its own test reads what it does with them."""
WORD_OF_CODE = re.compile(r'<span class="[a-z]\w?\w?">([^<]*)</span>')
"""Two thirds of all elements, and no link is among them."""


class Page(HTMLParser):
    """Holds what a page links to, what can be linked in it, and whether it has a lab."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {"", "top"}
        self.has_lab = self.has_calculator = False
        self.feed(WORD_OF_CODE.sub(r"\1", html))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ADDRESSES and value is not None:
                self.links.add(value)
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            self.has_lab = self.has_lab or (name, value) == ("class", "ss-lab")
            self.has_calculator = self.has_calculator or (name, value) == ("data-widget", "calculator")


@cache
def read_page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf8"))


def fault_of(link: str, page: Path) -> str:
    """Say what is wrong with a link on a page, or nothing."""
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return ""
    target = (page.parent / unquote(address.path)).resolve() if address.path else page
    if not target.is_file():
        return f"{link}: no such file"
    anchor = unquote(address.fragment)
    if target.suffix != ".html" or anchor in read_page(target).anchors:
        return ""
    if read_page(target).has_calculator and {field for field, _ in parse_qsl(anchor)} & FIELDS:
        return ""
    if not (read_page(target).has_lab and "=" in anchor):
        return f"{link}: no such anchor"
    try:
        setting_of(anchor, ROOT)
    except (BadInput, ValueError) as fault:
        return f"{link}: {fault}"
    return ""


def broken_links(page: Path) -> list[str]:
    """The faults of all links that a built page holds."""
    return sorted(fault for link in read_page(page).links if (fault := fault_of(link, page)))
