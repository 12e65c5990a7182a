"""Gives every check of a chapter the id under which other pages link to it; refutations have theirs already."""

from itertools import count
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from scansnap_core.ledger.display import check_anchor

CHECK = '<section class="ss-check '
PROOF = f"{CHECK}ss-proved"


def anchor_checks(app: Sphinx, doctree: nodes.document, document: str) -> None:
    numbers = count(1)
    for node in doctree.findall(nodes.raw):
        text = node.astext() if node.get("format") == "html" else ""
        if text.startswith(CHECK) and not text.startswith(PROOF):
            anchored = f'<section id="{check_anchor(next(numbers))}" {text.removeprefix("<section ")}'
            node.children, node.rawsource = [nodes.Text(anchored)], anchored


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", anchor_checks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
