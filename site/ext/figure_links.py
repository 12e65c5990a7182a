"""Below each figure of a chapter stand a link to it and its picture as a file, to take into a
talk.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from stored_once import key_in

_PIECES = re.compile(
    r'<div class="cell [^"]*" id="(?P<cell>[^"]+)">'
    r'|(?P<figure><img alt="[^"]*" src="(?P<address>[^"]*_images/[^"]+\.png)" />'
    r"(?P<linked></a>)?(?:\s*<p>.*?</p>)?)",
    re.DOTALL,
)


def with_links(body: str, begins: str) -> str:
    """Put links below each figure and its caption into a page's HTML; the copy in a card, itself a
    link, gets none.

    The names of the files begin with the book's key and the page's id.
    """
    cell = ""

    def add(piece: re.Match[str]) -> str:
        nonlocal cell
        cell = piece["cell"] or cell
        if not piece["figure"] or piece["linked"] or not cell:
            return piece[0]
        file = f'<a href="{piece["address"]}" download="{begins}-{cell}.png">PNG</a>'
        return (
            f'{piece[0]}<p class="ss-take"><a href="#{cell}">Link to this figure</a> · {file}</p>'
        )

    return _PIECES.sub(add, body)


def add_links(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if doctree is not None and app.builder.name == "html":
        begins = f"{key_in(Path(app.srcdir))}-{pagename.rpartition('/')[2]}"
        context["body"] = with_links(context["body"], begins)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", add_links, priority=600)  # after the search has read the page
    return {"parallel_read_safe": True, "parallel_write_safe": True}
