"""The machine's Chromium: where it is, and how it prints."""

import os
import shutil
from pathlib import Path

from playwright.sync_api import PdfMargins, sync_playwright

from scansnap_core import files

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOOTER = (
    '<div style="width: 100%; font: 8px sans-serif; text-align: center">'
    '<span class="pageNumber"></span> / <span class="totalPages"></span></div>'
)
MARGIN: PdfMargins = {"top": "18mm", "bottom": "18mm", "left": "17mm", "right": "17mm"}
PATIENCE = 30 * 60 * 1000  # milliseconds: hundreds of pages take minutes


def find_browser() -> str | None:
    """The path of a Chromium or Chrome: $CHROMIUM, else the first on PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def print_page(browser: str, page: Path, out: Path) -> None:
    """Print a page from the disk as a tagged PDF, A4, with an outline of its headings and numbered pages."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        try:
            tab = opened.new_page(color_scheme="light", reduced_motion="reduce")
            tab.set_default_timeout(PATIENCE)
            tab.goto(page.as_uri(), wait_until="load")
            tab.evaluate("async () => { await window.MathJax?.startup?.promise; await document.fonts.ready; }")
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
