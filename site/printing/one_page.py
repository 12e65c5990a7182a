"""All pages of the built site on one, for printing: folded code left out, links turned inwards."""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag
from sphinx_external_toc.parsing import parse_toc_yaml

LEFT_OUT = "script, style, .headerlink, details.above-input, details.ss-symbols, .ss-lab"
REFERENCES = ("for", "aria-labelledby", "aria-describedby")
"""Attributes that hold ids."""
PRINT = """
  body { background: white; }
  .page { break-before: page; margin: 0 auto; }
  :is(figure, img, svg, tr, .ss-check, .ss-refutation, .ss-verdict, div.math) { break-inside: avoid; }
  :is(h1, h2, h3, h4) { break-after: avoid; }
  pre, code { white-space: pre-wrap !important; overflow-wrap: anywhere; }
  .ss-scroll, div.math, mjx-container, .output { overflow: visible !important; }
  article a { text-decoration: none; }
"""


def parts_of_book(root: Path) -> list[tuple[str | None, list[str]]]:
    """The parts of the table of contents: a caption, and its pages without suffix; the first page stands alone."""
    contents = parse_toc_yaml(root / "_toc.yml").root
    parts = [(part.caption, [str(page) for page in part.items]) for part in contents.subtrees]
    return [(None, [contents.docname]), *parts]


def book_html(site: Path, parts: Iterable[tuple[str | None, list[str]]]) -> str:
    """One page with the articles of all others, to lie in the site's folder."""
    parts = list(parts)
    documents = {page for _, pages in parts for page in pages}
    first = BeautifulSoup((site / f"{parts[0][1][0]}.html").read_text(encoding="utf8"), "html.parser")
    body = []
    for caption, pages in parts:
        for number, document in enumerate(pages):
            heading = f"<h1>{caption}</h1>" if caption and number == 0 else ""
            html = (site / f"{document}.html").read_text(encoding="utf8")
            body.append(f'<div class="page" id="{slug(document)}">{heading}{article(html, document, documents)}</div>')
    head = head_of(first, parts[0][1][0])
    return (
        f'<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf8">{head}'
        f"<style>{PRINT}</style></head>"
        f'<body><main class="bd-content">{"".join(body)}</main></body></html>'
    )


def slug(document: str) -> str:
    """The anchor of a page."""
    return document.replace("/", "--")


def moved(address: str, document: str) -> str:
    """An address on a page, as seen from the site's folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(document), address))


def head_of(page: BeautifulSoup, document: str) -> str:
    """Title, styles, and what sets mathematics."""
    kept = [page.title, *page.select('link[rel="stylesheet"]')]
    kept += [s for s in page.select("script") if "mathjax" in f"{s.get('src')}{s.string}".lower()]
    for tag in kept:
        for name in ("href", "src"):
            if tag and tag.get(name):
                tag[name] = moved(str(tag[name]), document)
    return "".join(map(str, kept))


def article(html: str, document: str, documents: set[str]) -> str:
    """A page's text as a part of the whole: its headings a level lower, its anchors named after it."""
    text = BeautifulSoup(html, "html.parser").select_one("article")
    assert text is not None  # the theme puts a page's text there
    for left_out in text.select(LEFT_OUT):
        left_out.decompose()
    for still in text.select("noscript"):
        still.unwrap()
    for heading in text.find_all(re.compile("^h[1-5]$")):
        heading.name = f"h{int(heading.name[1]) + 1}"
    for tag in text.find_all(True):
        turn_inwards(tag, document, documents)
    return str(text)


def turn_inwards(tag: Tag, document: str, documents: set[str]) -> None:
    """Rewrite the ids and addresses of an element."""
    for name, value in [(name, str(value)) for name, value in tag.attrs.items() if not isinstance(value, list)]:
        if name == "id" or name in REFERENCES:
            tag[name] = " ".join(f"{slug(document)}--{part}" for part in value.split())
        elif name == "src":
            tag[name] = value if urlsplit(value).scheme else moved(value, document)
        elif name in ("href", "xlink:href"):
            address = inward(value, document, documents)
            if address is None:
                del tag[name]
            else:
                tag[name] = address
        elif "url(#" in value:
            tag[name] = value.replace("url(#", f"url(#{slug(document)}--")


def inward(address: str, document: str, documents: set[str]) -> str | None:
    """Where a link leads in the whole; None if it leads to what isn't printed."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return address
    target = document if not parts.path else moved(unquote(parts.path), document).removesuffix(".html")
    if target not in documents:
        return None
    # a fragment such as K=3 is a setting of the lab, not an anchor
    return f"#{slug(target)}" + (f"--{parts.fragment}" if parts.fragment and "=" not in parts.fragment else "")
