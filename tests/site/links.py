"""Follows the links of a site's pages: each has to end at a file, an anchor in it, or a setting that the lab takes."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from lab import setting_of

from scansnap_core.base.bad_input import BadInput
from tests.site.book import ROOT

FIELDS = {"K", "M", "rho", "T", "etaY", "etaZ"}
"""The calculator takes these and more; its own test reads what it does with them."""


class Page(NamedTuple):
    """Holds what a page links to, what can be linked in it, and whether it has a lab."""

    links: set[str]
    anchors: set[str]
    has_lab: bool
    has_calculator: bool


@cache
def read_page(path: Path) -> Page:
    html = path.read_text(encoding="utf8")
    links = {unescape(link) for link in re.findall(r'\s(?:xlink:)?(?:href|src|poster|data)="([^"]*)"', html)}
    anchors = {unescape(anchor) for anchor in re.findall(r'\sid="([^"]*)"', html)}
    return Page(links, anchors | {"", "top"}, 'class="ss-lab"' in html, 'data-widget="calculator"' in html)


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
