"""A folded list of the symbols of each page, with what they mean and a link to their row on the
page Notation.

The page Notation is the document ``notation``, or in a small book its first page. A table there
whose head begins with "paper" and "meaning" explains symbols. What a letter means on one page alone
stands in `OWN`, by the page: a formula that shows it, and its meaning there.

The list has the equations of the glossary too (`glossary`), which takes what it shows from the
list. A table whose head begins with "dynamics" and "definition" says what these equations stand
for.
"""

import html
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from glossary import NAMED, Entry
from sphinx.application import Sphinx
from sphinx.util import logging
from stored_once import place_of
from tex_symbols import Symbol, symbols

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.book.equations import EQUATIONS_FILE, equation_anchor

OWN = Path("chapters", "symbols.yaml")
SYMBOL_ROW = "symbol-"
"""The anchors of its rows begin so."""
HEAD = ["paper", "meaning"]
"""Tables that say what a symbol means begin so."""
DYNAMICS = ["dynamics", "definition"]
"""The table that says what an equation of the glossary stands for begins so."""
_IN_OUTPUT = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_ARGUMENTS = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class Row:
    """A row of the notation tables: its anchor, a name for screen readers, the symbol as it stands
    there, and its meaning.

    ``plain`` is false where the symbol itself has an accent.
    """

    anchor: str
    spoken: str
    formula: nodes.math
    meaning: nodes.entry
    needs_index: bool
    needs_argument: bool
    plain: bool = True


def meant_by(symbol: Symbol, rows: dict[str, Row]) -> Row | None:
    """Find the row of a symbol; a Latin letter with an index there, or a set's element, needs the
    same index.
    """
    row = rows.get(symbol.accent + symbol.name) or rows.get(symbol.name)
    if (
        row is None
        or (row.needs_index and not symbol.indexed)
        or (row.needs_argument and not symbol.applied)
    ):
        return None
    return row


def notation_rows(doctree: nodes.document) -> dict[str, Row]:
    """Map symbols to the notation tables' rows that explain them; each row with one gets an
    anchor.
    """
    found: dict[str, Row] = {}
    rest: list[tuple[Symbol, nodes.row, nodes.math]] = []

    def add(symbol: Symbol, row: nodes.row, formula: nodes.math) -> None:
        if symbol.accent + symbol.name in found:
            return
        if not row["ids"]:
            spelled = symbol.name.replace("'", "-prime").replace("*", "star")
            row["ids"].append(
                SYMBOL_ROW + re.sub(r"[^A-Za-z0-9]+", "-", symbol.accent + spelled).strip("-")
            )
        needs_index = symbol.indexed and not symbol.name.startswith("\\")
        found[symbol.accent + symbol.name] = Row(
            row["ids"][0],
            f"{symbol.accent} {symbol.words}".strip(),
            formula.deepcopy(),
            row[1].deepcopy(),
            needs_index,
            "\\lvert" in formula.astext(),
            not symbol.accent,
        )

    for row in rows_under(HEAD, doctree):
        for formula in row[0].findall(nodes.math):
            own = symbols(_ARGUMENTS.sub("", formula.astext().partition("=")[0]))
            if len(own) == 1:
                add(own[0], row, formula)
            else:
                rest += [(symbol, row, formula) for symbol in own]
    for symbol, row, formula in rest:  # letters that stand beside others only
        add(symbol, row, formula)
    return found


def rows_under(head: list[str], doctree: nodes.document) -> Iterator[nodes.row]:
    """Yield the rows of the tables whose head begins so."""
    for table in doctree.findall(nodes.table):
        if [entry.astext() for entry in next(table.findall(nodes.thead))[0]][: len(head)] == head:
            yield from next(table.findall(nodes.tbody))


def dynamics_of(doctree: nodes.document, numbers: Collection[int]) -> dict[int, nodes.row]:
    """Find each glossary equation's row: the first that is named for it, or else whose definition
    names it.
    """
    rows = list(rows_under(DYNAMICS, doctree))
    found = {}
    for number in numbers:
        named = (row for cell in (0, 1) for row in rows if f"({number})" in row[cell].astext())
        row = next(named, None)
        if row is None:
            rule = f"no row of a table that begins with {' and '.join(DYNAMICS)} names it"
            raise BadInput(
                f"glossary_equations: {number}", rule, "add the row, or remove the number"
            )
        found[number] = row
    return found


def note_rows(app: Sphinx, doctree: nodes.document) -> None:
    if app.env.docname == place_of("notation", Path(app.srcdir)):
        numbers = app.config.glossary_equations
        app.env.notation_rows = notation_rows(doctree)  # type: ignore[attr-defined]
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


def own_meanings(
    formulas: Mapping[str, str], used: Collection[Symbol]
) -> dict[str, tuple[str, str]]:
    """Map a letter to the formula that shows it and to its meaning on a page.

    Raises
    ------
    ValueError
        If a formula shows none of the symbols that the page uses.
    """
    found = {symbols(tex)[0].name: (tex, meaning) for tex, meaning in formulas.items()}
    if unused := [
        tex for name, (tex, _) in found.items() if name not in {symbol.name for symbol in used}
    ]:
        raise ValueError(f"the page doesn't use {', '.join(unused)}")
    return found


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
    known: dict[str, Row] = getattr(env, "notation_rows", {})
    # A dictionary keeps the page's order, so that each build lists the same symbols in the same
    # way.
    shown = dict.fromkeys(symbol for tex in formulas_of(doctree) for symbol in symbols(tex))
    try:
        own = own_meanings(env.own_symbols.get(Path(document).name, {}), shown)
    except ValueError as fault:
        logging.getLogger(__name__).warning("%s: %s", OWN, fault, location=document)
        own = {}
    # A letter and the same letter with an accent are two symbols, with a row each.
    explained = {
        symbol: row
        for symbol in shown
        if symbol.name not in own and (row := meant_by(symbol, known))
    }
    used = {row.anchor for row in explained.values()}
    rows: dict[str, Row] = {}
    for row in known.values():  # a row of two symbols is shown by its first
        if row.anchor in used:
            rows.setdefault(row.anchor, row)
    numbers = {int(match["number"]) for match in NAMED.finditer(doctree.astext())}
    named = sorted(numbers & set(app.config.glossary_equations) & set(env.formulas))
    if document == notation or not (rows or own or named):
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
    for row in rows.values():
        address = f"{relative(document, notation)}#{row.anchor}"
        anchor = f"term-{row.anchor.removeprefix(SYMBOL_ROW)}"
        names = [
            symbol.name
            for symbol, other in explained.items()
            if other.anchor == row.anchor and other.plain
        ]
        entries |= {
            name: Entry(anchor, address, row.spoken, row.needs_index)
            for name in names
            if letters is None or name in letters
        }
        # A formula alone gives a link no name.
        name = nodes.inline("", row.spoken, classes=["visually-hidden"])
        add(anchor, link(address, row.formula.deepcopy(), name), *row.meaning.deepcopy().children)
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
