"""Gives every check of a chapter the id under which other pages link to it; refutations have theirs already."""

from itertools import count
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from scansnap_core.ledger.display import check_anchor

CHECK = '<section class="ss-check '


def anchor_checks(app: Sphinx, doctree: nodes.document, document: str) -> None:
    numbers = count(1)
    for node in doctree.findall(nodes.raw):
        if node.get("format") == "html" and (text := node.astext()).startswith(CHECK):
            anchored = f'<section id="{check_anchor(next(numbers))}" {text.removeprefix("<section ")}'
            node.children, node.rawsource = [nodes.Text(anchored)], anchored


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", anchor_checks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
