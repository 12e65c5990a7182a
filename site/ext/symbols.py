"""A folded list of the symbols of each page, with what they mean and a link to their row on the
page Notation.

The page Notation is the document ``notation``, or in a small book its first page. A table there
whose head begins with "paper" and "meaning" explains symbols. What a letter means on one page alone
stands in `OWN`, by the page: a formula that shows it, and its meaning there.

The list has the equations of the glossary too (`glossary`), which takes what it shows from the
list. A table whose head begins with "dynamics" and "definition" says what these equations stand
for, and one that begins with "assumption" and "meaning" what the page's assumptions ask.
`page_symbols` chooses what a page's list has.
"""

import html
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from glossary import Entry
from page_symbols import (
    ASSUMPTIONS,
    DYNAMICS,
    OWN,
    SYMBOLS,
    Explained,
    assumptions_named,
    equations_named,
    explained_by,
    explanations,
    own_meanings,
    row_of_dynamics,
    used_in,
)
from sphinx.application import Sphinx
from sphinx.util import logging
from stored_once import place_of
from tex_symbols import Symbol, symbols

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.book.equations import EQUATIONS_FILE, equation_anchor

SYMBOL_ROW = "symbol-"
"""The anchors of its rows begin so."""
_IN_OUTPUT = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """A row of the notation tables: its anchor, a name for screen readers, the formula that stands
    there, and its meaning.
    """

    anchor: str
    spoken: str
    formula: nodes.math
    meaning: nodes.entry


@dataclass(frozen=True)
class Notation:
    """What the notation tables explain, and their rows by their places."""

    known: dict[str, Explained]
    rows: dict[int, Row]
    assumptions: dict[str, nodes.row]


def anchor_of(symbol: Symbol) -> str:
    """Name the row of a symbol."""
    spelled = symbol.name.replace("'", "-prime").replace("*", "star")
    return SYMBOL_ROW + re.sub(r"[^A-Za-z0-9]+", "-", symbol.accent + spelled).strip("-")


def read_notation(doctree: nodes.document) -> Notation:
    """Read the tables of notation; each row that explains a symbol gets an anchor."""
    tables = list(rows_under(SYMBOLS, doctree))
    formulas = [list(row[0].findall(nodes.math)) for row in tables]
    known = explained_by([[formula.astext() for formula in row] for row in formulas])
    rows: dict[int, Row] = {}
    for entry in known.values():
        if entry.row in rows:
            continue
        row = tables[entry.row]
        row["ids"].append(anchor_of(entry.symbol))
        rows[entry.row] = Row(
            row["ids"][0],
            f"{entry.symbol.accent} {entry.symbol.words}".strip(),
            formulas[entry.row][entry.formula].deepcopy(),
            row[1].deepcopy(),
        )
    assumptions = {}
    for row in rows_under(ASSUMPTIONS, doctree):
        name = row[0].astext()
        row["ids"].append(nodes.make_id(name))
        assumptions[name] = row
    return Notation(known, rows, assumptions)


def rows_under(head: list[str], doctree: nodes.document) -> Iterator[nodes.row]:
    """Yield the rows of the tables whose head begins so."""
    for table in doctree.findall(nodes.table):
        if [entry.astext() for entry in next(table.findall(nodes.thead))[0]][: len(head)] == head:
            yield from next(table.findall(nodes.tbody))


def dynamics_of(doctree: nodes.document, numbers: Collection[int]) -> dict[int, nodes.row]:
    """Find each glossary equation's row."""
    rows = list(rows_under(DYNAMICS, doctree))
    words = [[cell.astext() for cell in row] for row in rows]
    found = {}
    for number in numbers:
        place = row_of_dynamics(words, number)
        if place is None:
            rule = f"no row of a table that begins with {' and '.join(DYNAMICS)} names it"
            raise BadInput(
                f"glossary_equations: {number}", rule, "add the row, or remove the number"
            )
        found[number] = rows[place]
    return found


def note_rows(app: Sphinx, doctree: nodes.document) -> None:
    if app.env.docname == place_of("notation", Path(app.srcdir)):
        numbers = app.config.glossary_equations
        app.env.notation = read_notation(doctree)  # type: ignore[attr-defined]
        app.env.dynamics = dynamics_of(doctree, numbers)  # type: ignore[attr-defined]


def formulas_of(doctree: nodes.document) -> list[str]:
    """List the TeX of a page's formulas, those in its outputs too."""
    tex = [
        node.astext()
        for node in doctree.findall(lambda n: isinstance(n, nodes.math | nodes.math_block))
    ]
    outputs = (
        html.unescape(node.astext())
        for node in doctree.findall(nodes.raw)
        if "html" in node["format"]
    )
    return tex + [a or b for output in outputs for a, b in _IN_OUTPUT.findall(output)]


def in_words(meaning: str) -> nodes.paragraph:
    """Make a paragraph of a text with mathematics between dollar signs."""
    parts = [
        nodes.math("", part) if at % 2 else nodes.Text(part)
        for at, part in enumerate(meaning.split("$"))
        if part
    ]
    return nodes.paragraph("", "", *parts)


def read_own(app: Sphinx) -> None:
    path = Path(app.srcdir) / OWN
    printed = Path(app.srcdir) / EQUATIONS_FILE
    env: Any = app.env
    env.own_symbols = files.read(path, example="correct it") if path.is_file() else {}
    sections = files.read(printed, example="restore it")["sections"] if printed.is_file() else []
    env.formulas = {row["number"]: row["formula"] for part in sections for row in part["equations"]}
    env.glossary = {}


def list_symbols(app: Sphinx, doctree: nodes.document, document: str) -> None:
    env: Any = app.env
    notation = place_of("notation", Path(app.srcdir))
    table: Notation = getattr(env, "notation", None) or Notation({}, {}, {})
    text = doctree.astext()
    named = equations_named(text, {*app.config.glossary_equations} & {*env.formulas})
    assumed = assumptions_named(text, table.assumptions)
    used = used_in([*formulas_of(doctree), *(env.formulas[number] for number in named)])
    try:
        own = own_meanings(env.own_symbols.get(Path(document).name, {}), used)
    except ValueError as fault:
        logging.getLogger(__name__).warning("%s: %s", OWN, fault, location=document)
        own = {}
    explained = explanations(used, table.known, own)
    rows = sorted({entry.row for entry in explained.values()})
    if document == notation or not (rows or own or named or assumed):
        return
    relative = app.builder.get_relative_uri
    letters = app.config.glossary_letters
    entries = env.glossary[document] = {}
    items = nodes.definition_list()

    def add(anchor: str, term: list[nodes.Node], *meaning: nodes.Node) -> None:
        items.append(
            nodes.definition_list_item(
                "", nodes.term("", "", *term, ids=[anchor]), nodes.definition("", *meaning)
            )
        )

    def link(address: str, *shown: nodes.Node) -> list[nodes.Node]:
        return [nodes.reference("", "", *shown, internal=True, refuri=address)]

    for number in named:
        equations = relative(document, place_of("equations", Path(app.srcdir)))
        address = f"{equations}#{equation_anchor(number)}"
        entries[str(number)] = Entry(f"term-{number}", address, "")
        add(
            f"term-{number}",
            link(address, nodes.Text(f"({number})")),
            *meaning_of(env.dynamics[number], env.formulas[number]),
        )
    for name in assumed:
        assumption = table.assumptions[name]
        address = f"{relative(document, notation)}#{assumption['ids'][0]}"
        add(
            f"term-{assumption['ids'][0]}",
            link(address, nodes.Text(name)),
            *assumption[1].deepcopy().children,
        )
    for place in rows:
        row = table.rows[place]
        address = f"{relative(document, notation)}#{row.anchor}"
        anchor = f"term-{row.anchor.removeprefix(SYMBOL_ROW)}"
        names = [
            symbol.name
            for symbol, entry in explained.items()
            # A letter whose row has an accent isn't the letter alone.
            if entry.row == place and not entry.symbol.accent
        ]
        entries |= {
            name: Entry(anchor, address, row.spoken, table.known[name].needs_index)
            for name in names
            if letters is None or name in letters
        }
        # A formula alone gives a link no name.
        heard = nodes.inline("", row.spoken, classes=["visually-hidden"])
        add(anchor, link(address, row.formula.deepcopy(), heard), *row.meaning.deepcopy().children)
    for at, (letter, (tex, meaning)) in enumerate(own.items()):
        symbol = symbols(tex)[0]
        if letters is None or letter in letters:
            entries[letter] = Entry(
                f"term-own-{at}", f"#term-own-{at}", symbol.words, symbol.indexed
            )
        add(f"term-own-{at}", [nodes.math("", tex)], in_words(f"here {meaning}"))
    summary = f'<details class="ss-symbols"><summary>Symbols on this page ({len(items)})</summary>'
    page = next(doctree.findall(nodes.section), doctree)
    page += [
        nodes.raw("", summary, format="html"),
        items,
        nodes.raw("", "</details>", format="html"),
    ]


def meaning_of(row: nodes.row, formula: str) -> list[nodes.Node]:
    """Return an equation's name among the dynamics, its formula, and its definition."""
    name = row[0].deepcopy()[0].children
    definition = row[1].deepcopy()[0].children
    return [
        nodes.paragraph("", "", *name, nodes.Text(": "), nodes.math("", formula)),
        nodes.paragraph("", "", *definition),
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("glossary")
    app.connect("builder-inited", read_own)
    app.connect("doctree-read", note_rows)
    app.connect("doctree-resolved", list_symbols)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
