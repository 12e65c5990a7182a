"""A folded list of the symbols of each page, with what they mean and a link to their row on the page Notation.

What a letter means on one page alone stands in `OWN`, by the page: a formula that shows it, and its meaning there.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from tex_symbols import Symbol, symbols

from scansnap_core import files

NOTATION = "chapters/notation"
OWN = Path("chapters", "symbols.yaml")
SYMBOL_ROW = "symbol-"
"""How the anchors of its rows begin."""
HEAD = ["paper", "meaning"]
"""How the tables begin that say what a symbol means."""
_IN_OUTPUT = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_ARGUMENTS = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class Row:
    """A row of the notation tables: its anchor, a name for ears, the symbol as it stands there, and its meaning."""

    anchor: str
    spoken: str
    formula: nodes.math
    meaning: nodes.entry
    needs_index: bool
    needs_argument: bool


def meant_by(symbol: Symbol, rows: dict[str, Row]) -> Row | None:
    """The row of a symbol; a Latin letter that has an index there, or a set its element, is another without it."""
    row = rows.get(symbol.accent + symbol.name) or rows.get(symbol.name)
    if row is None or (row.needs_index and not symbol.indexed) or (row.needs_argument and not symbol.applied):
        return None
    return row


def notation_rows(doctree: nodes.document) -> dict[str, Row]:
    """The rows of the notation tables by the symbols they explain; each row with one gets an anchor."""
    found: dict[str, Row] = {}
    rest: list[tuple[Symbol, nodes.row, nodes.math]] = []

    def add(symbol: Symbol, row: nodes.row, formula: nodes.math) -> None:
        if symbol.accent + symbol.name in found:
            return
        if not row["ids"]:
            spelled = symbol.name.replace("'", "-prime").replace("*", "star")
            row["ids"].append(SYMBOL_ROW + re.sub(r"[^A-Za-z0-9]+", "-", symbol.accent + spelled).strip("-"))
        needs_index = symbol.indexed and not symbol.name.startswith("\\")
        found[symbol.accent + symbol.name] = Row(
            row["ids"][0],
            symbol.words,
            formula.deepcopy(),
            row[1].deepcopy(),
            needs_index,
            "\\lvert" in formula.astext(),
        )

    for table in doctree.findall(nodes.table):
        head = next(table.findall(nodes.thead))[0]
        if [entry.astext() for entry in head][: len(HEAD)] != HEAD:
            continue
        for row in next(table.findall(nodes.tbody)):
            for formula in row[0].findall(nodes.math):
                own = symbols(_ARGUMENTS.sub("", formula.astext().partition("=")[0]))
                if len(own) == 1:
                    add(own[0], row, formula)
                else:
                    rest += [(symbol, row, formula) for symbol in own]
    for symbol, row, formula in rest:  # letters that stand beside others only
        add(symbol, row, formula)
    return found


def note_rows(app: Sphinx, doctree: nodes.document) -> None:
    if app.env.docname == NOTATION:
        app.env.notation_rows = notation_rows(doctree)  # type: ignore[attr-defined]


def formulas_of(doctree: nodes.document) -> list[str]:
    """The TeX of a page's formulas, those in its outputs too."""
    tex = [node.astext() for node in doctree.findall(lambda n: isinstance(n, nodes.math | nodes.math_block))]
    outputs = (html.unescape(node.astext()) for node in doctree.findall(nodes.raw) if "html" in node["format"])
    return tex + [a or b for output in outputs for a, b in _IN_OUTPUT.findall(output)]


def own_meanings(formulas: Mapping[str, str], used: set[Symbol]) -> dict[str, tuple[str, str]]:
    """From a letter to the formula that shows it and to what it means on a page.

    Raises
    ------
    ValueError
        If a formula shows none of the symbols that the page uses.
    """
    found = {symbols(tex)[0].name: (tex, meaning) for tex, meaning in formulas.items()}
    if unused := [tex for name, (tex, _) in found.items() if name not in {symbol.name for symbol in used}]:
        raise ValueError(f"the page doesn't use {', '.join(unused)}")
    return found


def in_words(meaning: str) -> nodes.paragraph:
    """A text with mathematics between dollar signs."""
    parts = [nodes.math("", part) if at % 2 else nodes.Text(part) for at, part in enumerate(meaning.split("$")) if part]
    return nodes.paragraph("", "", *parts)


def read_own(app: Sphinx) -> None:
    path = Path(app.srcdir) / OWN
    app.env.own_symbols = files.read(path, example="correct it") if path.is_file() else {}  # type: ignore[attr-defined]


def list_symbols(app: Sphinx, doctree: nodes.document, document: str) -> None:
    known: dict[str, Row] = getattr(app.env, "notation_rows", {})
    shown = {symbol for tex in formulas_of(doctree) for symbol in symbols(tex)}
    try:
        own = own_meanings(app.env.own_symbols.get(Path(document).name, {}), shown)  # type: ignore[attr-defined]
    except ValueError as fault:
        logging.getLogger(__name__).warning("%s: %s", OWN, fault, location=document)
        own = {}
    used = {row.anchor for symbol in shown if symbol.name not in own and (row := meant_by(symbol, known))}
    rows: dict[str, Row] = {}
    for row in known.values():  # a row of two symbols is shown by its first
        if row.anchor in used:
            rows.setdefault(row.anchor, row)
    if document == NOTATION or not (rows or own):
        return
    address = app.builder.get_relative_uri(document, NOTATION)
    items = nodes.definition_list()
    for row in rows.values():
        name = nodes.inline("", row.spoken, classes=["visually-hidden"])  # a formula alone gives a link no name
        link = nodes.reference("", "", row.formula.deepcopy(), name, internal=True, refuri=f"{address}#{row.anchor}")
        meaning = nodes.definition("", *row.meaning.deepcopy().children)
        items += nodes.definition_list_item("", nodes.term("", "", link), meaning)
    for tex, meaning in own.values():
        items += nodes.definition_list_item(
            "", nodes.term("", "", nodes.math("", tex)), nodes.definition("", in_words(f"here {meaning}"))
        )
    summary = f'<details class="ss-symbols"><summary>Symbols on this page ({len(rows) + len(own)})</summary>'
    page = next(doctree.findall(nodes.section), doctree)
    page += [nodes.raw("", summary, format="html"), items, nodes.raw("", "</details>", format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", read_own)
    app.connect("doctree-read", note_rows)
    app.connect("doctree-resolved", list_symbols)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
