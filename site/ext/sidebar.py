"""Folds the parts of the book in the sidebar, but for the first and the one that the page is in."""

import re
from itertools import count
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PART = re.compile(
    r'<p aria-level="2" class="caption" role="heading">'
    r'(<span class="caption-text">.*?</span>)</p>\s*(<ul.*?</ul>)',
    re.DOTALL,
)


def folded(page: str) -> str:
    """Return a page's HTML with each part of its contents in a ``details``."""
    numbers = count()

    def fold(part: re.Match[str]) -> str:
        shown = " open" if next(numbers) == 0 or 'class="toctree-l1 current' in part[2] else ""
        return (
            f'<details class="ss-part"{shown}><summary '
            f'class="caption">{part[1]}</summary>{part[2]}</details>'
        )

    return PART.sub(fold, page)


def offer(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give the template its function."""
    context["folded"] = folded


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
