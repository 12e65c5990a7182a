"""Write the cell "Symbols on this page" of each chapter: ``make symbols``.

Who opens a notebook in JupyterLab or on GitHub has no hover and no list at the page's end, as the
site does. So the second cell of a chapter says, folded, what its symbols, its equations of the
dynamics and its assumptions mean, in the words of the page Notation. The site leaves the cell out.
"""

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
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

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.book.equations import EQUATIONS_FILE
from scansnap_core.ledger.contents import chapter_paths
from scansnap_core.ledger.registry import read_json

ROOT = Path(__file__).parents[1]
NOTATION = Path("chapters", "notation.ipynb")
CELL_ID = "symbols-on-this-page"
REMEDY = "run make symbols"
_FORMULA = re.compile(r"\$(.+?)\$")
_IN_HTML = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_MARKDOWN = MarkdownIt().use(dollarmath_plugin, double_inline=True).use(amsmath_plugin)


class Notation(NamedTuple):
    """What the page Notation and the files beside it say, as Markdown."""

    symbols: list[list[str]]
    known: dict[str, Explained]
    dynamics: dict[int, list[str]]
    assumptions: dict[str, str]
    formulas: dict[int, str]
    own: dict[str, dict[str, str]]


def read_notation(book: Path) -> Notation:
    """Read the tables of the page Notation, and the files of equations and of letters."""
    texts = list(_texts(read_json(book / NOTATION)))
    symbols = list(_rows_under(SYMBOLS, texts))
    sections = files.read(book / EQUATIONS_FILE, example="restore it")["sections"]
    formulas = {row["number"]: row["formula"] for part in sections for row in part["equations"]}
    settings = yaml.safe_load((book / "_config.yml").read_text(encoding="utf8"))
    rows = list(_rows_under(DYNAMICS, texts))
    dynamics = {}
    for number in settings["sphinx"]["config"]["glossary_equations"]:
        place = row_of_dynamics(rows, number)
        if place is None:
            rule = f"no row of a table that begins with {' and '.join(DYNAMICS)} names it"
            raise BadInput(
                f"glossary_equations: {number}", rule, "add the row to the page Notation"
            )
        dynamics[number] = rows[place]
    return Notation(
        symbols,
        explained_by([_FORMULA.findall(row[0]) for row in symbols]),
        dynamics,
        {row[0].strip("*"): row[1] for row in _rows_under(ASSUMPTIONS, texts)},
        formulas,
        files.read(book / OWN, example="correct it"),
    )


def _texts(notebook: dict[str, Any]) -> Iterator[str]:
    """Yield the Markdown of a notebook, in its cells and in what they show."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and cell["id"] != CELL_ID:
            yield "".join(cell["source"])
        for output in cell.get("outputs", []):
            yield "".join(output.get("data", {}).get("text/markdown", ""))


def _rows_under(head: list[str], texts: list[str]) -> Iterator[list[str]]:
    """Yield the rows of the tables whose head begins so, as the Markdown of their cells."""
    for text in texts:
        inside = False
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("|"):
                inside = False
            elif cells[: len(head)] == head:
                inside = True
            elif inside and not set(line) <= set("|- "):
                yield cells


def formulas_of(notebook: dict[str, Any]) -> Iterator[str]:
    """Yield the TeX of a notebook's formulas, those in its outputs too."""
    for text in _texts(notebook):
        blocks = _MARKDOWN.parse(text)
        for token in blocks + [child for block in blocks for child in block.children or []]:
            if token.type in ("math_inline", "math_inline_double", "math_block", "amsmath"):
                yield token.content
    for shown in _html(notebook):
        for inline, displayed in _IN_HTML.findall(html.unescape(shown)):
            yield inline or displayed


def words_of(notebook: dict[str, Any]) -> str:
    """Return a notebook's text, its code and what its outputs say."""
    code = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    shown = (html.unescape(_TAG.sub("", text)) for text in _html(notebook))
    return "\n".join([*map(_without_addresses, _texts(notebook)), *code, *shown])


def _html(notebook: dict[str, Any]) -> Iterator[str]:
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            yield "".join(output.get("data", {}).get("text/html", ""))


def _without_addresses(text: str) -> str:
    return _LINK.sub(r"\1", text)


def symbols_cell(
    notebook: dict[str, Any], path: Path, book: Path, notation: Notation
) -> str | None:
    """Return the text of a chapter's cell; None if it uses nothing that has to be explained.

    Raises
    ------
    ValueError
        If `OWN` explains a letter that the chapter doesn't use.
    """
    words = words_of(notebook)
    named = equations_named(words, notation.dynamics)
    used = used_in([*formulas_of(notebook), *(notation.formulas[number] for number in named)])
    own = own_meanings(notation.own.get(path.stem, {}), used)
    explained = explanations(used, notation.known, own)

    equations = []
    for number in named:
        name, definition = notation.dynamics[number][:2]
        formula = notation.formulas[number]
        equations.append(f"- ({number}), {name}: ${formula}$<br>{_sentence(definition)}")
    assumed = [
        f"- *{name}*: {notation.assumptions[name]}"
        for name in assumptions_named(words, notation.assumptions)
    ]
    letters = [
        f"- {notation.symbols[row][0]}: {notation.symbols[row][1]}"
        for row in sorted({entry.row for entry in explained.values()})
    ]
    letters += [f"- ${tex}$: here {meaning}" for tex, meaning in own.values()]
    groups = {"Equations": equations, "Assumptions": assumed, "Symbols": letters}
    count = sum(map(len, groups.values()))
    if not count:
        return None
    notation_page = os.path.relpath(book / NOTATION, path.parent).replace(os.sep, "/")
    return "\n\n".join(
        [
            f"<details><summary><b>Symbols on this page</b> ({count})</summary>",
            *(f"**{name}**\n\n" + "\n".join(items) for name, items in groups.items() if items),
            f"[Notation]({notation_page}) has all symbols, and their names in the code.",
            "</details>",
        ]
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def with_symbols(notebook: dict[str, Any], text: str | None) -> dict[str, Any]:
    """Return a notebook whose second cell is the list of symbols."""
    cells = [cell for cell in notebook["cells"] if cell["id"] != CELL_ID]
    if text is not None:
        cell = {
            "cell_type": "markdown",
            "id": CELL_ID,
            "metadata": {"tags": ["remove-cell"]},
            "source": text.splitlines(keepends=True),
        }
        cells.insert(1, cell)
    return {**notebook, "cells": cells}


def chapters(book: Path) -> list[Path]:
    """Return the notebooks that have such a cell: all but Notation itself."""
    return [path for path in chapter_paths(book / "chapters") if path != book / NOTATION]


def as_written(stored: str, path: Path, book: Path, notation: Notation) -> str:
    """Return what a chapter's file has to hold.

    Parameters
    ----------
    stored
        What it holds.
    path
        Where it lies in the book.
    """
    notebook = json.loads(stored)
    try:
        text = symbols_cell(notebook, path, book, notation)
    except ValueError as fault:
        raise BadInput(f"{OWN}: {path.stem}", str(fault), "remove the letter there") from None
    return json.dumps(with_symbols(notebook, text), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the cells."""
    notation = read_notation(ROOT)
    for path in chapters(ROOT):
        stored = path.read_text(encoding="utf8")
        files.save(path, as_written(stored, path, ROOT, notation))


if __name__ == "__main__":
    main()
