"""The first time that a part of a page names a symbol or an equation of the glossary, it links to
the meaning.

A script shows that meaning under the pointer, on focus and at a tap. The meanings are those of the
page's own list of symbols (`symbols`), so they stand in the sources once.

The setting ``glossary_letters`` names the letters, as `tex_symbols` does; without it all letters of
the notation are marked. ``glossary_equations`` lists the numbers of the equations.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape, unescape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from tex_symbols import symbols

_LIST = '<details class="ss-symbols">'
NAMED = re.compile(r"(?<![\w)])\((?P<number>\d+)\)")
"""What may be an equation's number."""
_PIECES = re.compile(
    r"<(?P<unmarked>a|button|code|dt|figcaption|h[1-6]|pre|script|style|summary|svg)\b.*?</(?P=unmarked)>|<[^>]*>"
    rf"|\\\[.*?\\\]|\\\((?P<tex>.+?)\\\)|{NAMED.pattern}",
    re.DOTALL,
)
"""Tags, elements that keep their text, displayed formulas; and what may be a term: formulas and
numbers.
"""


@dataclass(frozen=True)
class Entry:
    """Tells where a page's list explains a term (``anchor``), where more stands, and how the term
    is spoken.
    """

    anchor: str
    address: str
    spoken: str
    needs_index: bool = False


def marked(body: str, known: Mapping[str, Entry]) -> str:
    """Link, in a page's HTML, the first mention of each known term below each heading of the second
    level.

    Parameters
    ----------
    body : str
    known : mapping
        From a letter's name in `tex_symbols`, or an equation's number, to what the page's list has
        of it.
    """
    text, fold, rest = body.partition(_LIST)
    shown: set[str] = set()

    def mark(piece: re.Match[str]) -> str:
        if piece["unmarked"] == "h2":
            shown.clear()
        named = letters(unescape(piece["tex"]), known) if piece["tex"] else [piece["number"]]
        new = [name for name in named if name in known and name not in shown]
        if not new:
            return piece[0]
        shown.update(new)
        entries = [known[name] for name in new]
        words = ", ".join(entry.spoken for entry in entries)
        heard = f'<span class="visually-hidden">{escape(words)}</span>' if piece["tex"] else ""
        anchors = " ".join(entry.anchor for entry in entries)
        return (
            f'<a class="ss-term" href="{entries[0].address}" '
            f'data-terms="{anchors}">{piece[0]}{heard}</a>'
        )

    return _PIECES.sub(mark, text) + fold + rest


def letters(tex: str, known: Mapping[str, Entry]) -> list[str]:
    """Return the known letters of a formula; one that has an index in the list means something else
    without it.
    """
    found = [
        s.name
        for s in symbols(tex)
        if s.name in known and (s.indexed or not known[s.name].needs_index)
    ]
    return list(dict.fromkeys(found))


def mark_page(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    known = getattr(app.env, "glossary", {}).get(pagename)
    if known and app.builder.name == "html":
        context["body"] = marked(context["body"], known)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("glossary_letters", None, "env")
    app.add_config_value("glossary_equations", [], "env")
    app.add_css_file("glossary.css")
    app.add_js_file("glossary.js")
    app.connect("html-page-context", mark_page, priority=600)  # after the search has read the page
    return {"parallel_read_safe": True, "parallel_write_safe": True}
