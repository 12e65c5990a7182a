"""The book as one PDF: ``PYTHONPATH=site python -m printing OUT.pdf`` prints the site under
``_build/html``.

All pages of the built site are put on one, with folded code left out and links turned inwards, and
the machine's own Chromium prints it. Jupyter Book's own ``pdfhtml`` was tried: it makes no outline,
no tags and no page numbers, and it starts only the browser that Playwright downloads.
"""

import argparse
import os
import posixpath
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag
from playwright.sync_api import PdfMargins, sync_playwright
from sphinx_external_toc.parsing import parse_toc_yaml

from scansnap_core.base import files

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build/html"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOOTER = (
    '<div style="width: 100%; font: 8px sans-serif; text-align: center">'
    '<span class="pageNumber"></span> / <span class="totalPages"></span></div>'
)
MARGIN: PdfMargins = {"top": "18mm", "bottom": "18mm", "left": "17mm", "right": "17mm"}
PATIENCE = 30 * 60 * 1000  # milliseconds: hundreds of pages take minutes
LEFT_OUT = "script, style, .headerlink, details.above-input, details.ss-symbols, .ss-lab"
REFERENCES = ("for", "aria-labelledby", "aria-describedby")
"""Attributes that hold ids."""
PRINT = """
  body { background: white; }
  .page { break-before: page; margin: 0 auto; }
  :is(figure, img, svg, tr, .ss-check, .ss-refutation, .ss-verdict, div.math) {
    break-inside: avoid;
  }
  :is(h1, h2, h3, h4) { break-after: avoid; }
  pre, code { white-space: pre-wrap !important; overflow-wrap: anywhere; }
  .ss-scroll, div.math, mjx-container, .output { overflow: visible !important; }
  article a { text-decoration: none; }
"""


def main() -> None:
    """Put all pages on one, which lies in the site for as long as it's printed, and print it."""
    parser = argparse.ArgumentParser(prog="python -m printing", description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    browser = find_browser()
    if browser is None:
        raise SystemExit(
            "No Chromium or Chrome was found on PATH or in $CHROMIUM: install one to print the "
            "book."
        )
    if not SITE.is_dir():
        raise SystemExit(f"{SITE} isn't there: `make site` builds it.")
    page = SITE / "printed.html"
    try:
        page.write_text(book_html(SITE, parts_of_book(ROOT)), encoding="utf8")
        print_page(browser, page, out)
    finally:
        page.unlink(missing_ok=True)
    print(f"The book: {out}")


def find_browser() -> str | None:
    """Return the path of a Chromium or Chrome: $CHROMIUM, else the first on PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def print_page(browser: str, page: Path, out: Path) -> None:
    """Print a page from the disk as a tagged PDF, A4, with an outline of its headings and numbered
    pages.
    """
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            tab = opened.new_page(color_scheme="light", reduced_motion="reduce")
            tab.set_default_timeout(PATIENCE)
            tab.goto(page.as_uri(), wait_until="load")
            tab.evaluate(
                "async () => "
                "{ await window.MathJax?.startup?.promise; await document.fonts.ready; }"
            )
            printed = tab.pdf(
                format="A4",
                margin=MARGIN,
                print_background=True,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOTER,
                outline=True,
                tagged=True,
            )
        finally:
            opened.close()
    files.save(out, printed)


def parts_of_book(root: Path) -> list[tuple[str | None, list[str]]]:
    """Return the parts of the contents: a caption, and its pages without suffix; the first page
    stands alone.
    """
    contents = parse_toc_yaml(root / "_toc.yml").root
    parts = [(part.caption, [str(page) for page in part.items]) for part in contents.subtrees]
    return [(None, [contents.docname]), *parts]


def book_html(site: Path, parts: Iterable[tuple[str | None, list[str]]]) -> str:
    """Make one page of the articles of all others, to lie in the site's folder."""
    parts = list(parts)
    documents = {page for _, pages in parts for page in pages}
    first = BeautifulSoup(
        (site / f"{parts[0][1][0]}.html").read_text(encoding="utf8"), "html.parser"
    )
    body = []
    for caption, pages in parts:
        for number, document in enumerate(pages):
            heading = f"<h1>{caption}</h1>" if caption and number == 0 else ""
            html = (site / f"{document}.html").read_text(encoding="utf8")
            body.append(
                '<div class="page" '
                f'id="{slug(document)}">{heading}{article(html, document, documents)}</div>'
            )
    head = head_of(first, parts[0][1][0])
    return (
        f'<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf8">{head}'
        f"<style>{PRINT}</style></head>"
        f'<body><main class="bd-content">{"".join(body)}</main></body></html>'
    )


def slug(document: str) -> str:
    """Return the anchor of a page."""
    return document.replace("/", "--")


def moved(address: str, document: str) -> str:
    """Return an address on a page, as seen from the site's folder."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(document), address))


def head_of(page: BeautifulSoup, document: str) -> str:
    """Return the title, the styles, and what sets mathematics."""
    kept = [page.title, *page.select('link[rel="stylesheet"]')]
    kept += [s for s in page.select("script") if "mathjax" in f"{s.get('src')}{s.string}".lower()]
    for tag in kept:
        for name in ("href", "src"):
            if tag and tag.get(name):
                tag[name] = moved(str(tag[name]), document)
    return "".join(map(str, kept))


def article(html: str, document: str, documents: set[str]) -> str:
    """Return a page's text as a part of the whole: its headings a level lower, its anchors named
    after it.
    """
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
    for name, value in [
        (name, str(value)) for name, value in tag.attrs.items() if not isinstance(value, list)
    ]:
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
    """Find where a link leads in the whole; None if it leads to what isn't printed."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return address
    target = (
        document if not parts.path else moved(unquote(parts.path), document).removesuffix(".html")
    )
    if target not in documents:
        return None
    # A fragment such as K=3 is a setting of the lab, not an anchor.
    return f"#{slug(target)}" + (
        f"--{parts.fragment}" if parts.fragment and "=" not in parts.fragment else ""
    )


if __name__ == "__main__":
    main()
