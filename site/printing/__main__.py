"""``PYTHONPATH=site python -m printing OUT.pdf``: print the site under ``_build/html``."""

import argparse
from pathlib import Path

from printing.chromium import find_browser, print_page
from printing.one_page import book_html, parts_of_book

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build/html"


def main() -> None:
    """Put all pages on one, which lies in the site for as long as it's printed, and print it."""
    parser = argparse.ArgumentParser(prog="python -m printing", description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    browser = find_browser()
    if browser is None:
        raise SystemExit("No Chromium or Chrome was found on PATH or in $CHROMIUM: install one to print the book.")
    if not SITE.is_dir():
        raise SystemExit(f"{SITE} isn't there: `make site` builds it.")
    page = SITE / "printed.html"
    try:
        page.write_text(book_html(SITE, parts_of_book(ROOT)), encoding="utf8")
        print_page(browser, page, out)
    finally:
        page.unlink(missing_ok=True)
    print(f"The book: {out}")


if __name__ == "__main__":
    main()
