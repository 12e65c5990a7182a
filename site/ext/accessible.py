"""Mends what the theme and its companions print that a screen reader or a keyboard stumbles over.

Each mend is named for the rule of axe-core that it answers; `layout.html` sends every page through
them.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MENDS = {
    # A button's or a summary's own words are its name. Another name breaks voice control, in which
    # a user says the words that are seen.
    "label-content-name-mismatch": [
        (r'(<button class="btn search-button-field[^>]*) aria-label="[^"]*"', r"\1"),
        (r'(<i class="theme-switch [^>]*) title="[^"]*"', r"\1"),
        (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    ],
    # All that a page shows lies in a landmark, the book's name above the contents too.
    "region": [
        (r'(<div id="pst-primary-sidebar")', r'\1 role="complementary" aria-label="The book"')
    ],
    # A reference is no list item, and its old role is deprecated.
    "aria-required-children": [
        (r'<div role="list" class="citation-list">', '<div class="citation-list">')
    ],
    "aria-deprecated-role": [(r' role="doc-biblioentry"', "")],
    # An empty cell heads nothing.
    "empty-table-header": [(r"<th([^>]*)>\s*(?:<p>\s*</p>)?\s*</th>", r"<td\1></td>")],
}


def mended(page: str) -> str:
    """Return a page's HTML with all mends."""
    for pairs in MENDS.values():
        for pattern, replacement in pairs:
            page = re.sub(pattern, replacement, page)
    return page


def offer(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give the template its function."""
    context["mended"] = mended


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
