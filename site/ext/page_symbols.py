"""Which rows of the page Notation explain what a page uses: its symbols, equations and assumptions.

The site lists them at a page's end (`symbols`), and the tool ``tools.symbols`` in its notebook.
Both choose them here, each from the formulas and the words that it shows.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from glossary import NAMED
from tex_symbols import Symbol, symbols

OWN = Path("chapters", "symbols.yaml")
SYMBOLS = ["paper", "meaning"]
"""Tables that say what a symbol means begin so."""
DYNAMICS = ["dynamics", "definition"]
"""The table that says what an equation of the glossary stands for begins so."""
ASSUMPTIONS = ["assumption", "meaning"]
"""The table that says what the paper assumes begins so; its rows are named like *Assumption 2*."""
_ARGUMENTS = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class Explained:
    """A symbol that a row explains, with the place of the row, and of the formula in its first cell
    that shows the symbol.
    """

    symbol: Symbol
    row: int
    formula: int
    needs_index: bool
    needs_argument: bool


def explained_by(rows: Sequence[Sequence[str]]) -> dict[str, Explained]:
    """Map symbols, by accent and name, to the rows that explain them.

    Parameters
    ----------
    rows
        The TeX of the formulas in the first cell of each row.
    """
    found: dict[str, Explained] = {}
    alone: list[Explained] = []
    with_others: list[Explained] = []
    for row, formulas in enumerate(rows):
        for place, tex in enumerate(formulas):
            own = symbols(_ARGUMENTS.sub("", tex.partition("=")[0]))
            kept = alone if len(own) == 1 else with_others
            for symbol in own:
                needs_index = symbol.indexed and not symbol.name.startswith("\\")
                kept.append(Explained(symbol, row, place, needs_index, "\\lvert" in tex))
    # A letter that stands alone in some row is explained there, and not where it is beside others.
    for entry in alone + with_others:
        found.setdefault(entry.symbol.accent + entry.symbol.name, entry)
    return found


def meant_by(symbol: Symbol, known: Mapping[str, Explained]) -> Explained | None:
    """Find what explains a symbol; a Latin letter with an index there, or a set's element, needs
    the same index.
    """
    entry = known.get(symbol.accent + symbol.name) or known.get(symbol.name)
    if (
        entry is None
        or (entry.needs_index and not symbol.indexed)
        or (entry.needs_argument and not symbol.applied)
    ):
        return None
    return entry


def used_in(formulas: Iterable[str]) -> list[Symbol]:
    """List the symbols of a page's formulas, each once, so that each reading lists the same ones in
    the same order.
    """
    return list(dict.fromkeys(symbol for tex in formulas for symbol in symbols(tex)))


def explanations(
    used: Iterable[Symbol], known: Mapping[str, Explained], own: Collection[str]
) -> dict[Symbol, Explained]:
    """Map the symbols of a page to what explains them, but for those with a meaning of their own
    there.

    A letter and the same letter with an accent are two symbols, with an entry each.
    """
    return {
        symbol: entry
        for symbol in used
        if symbol.name not in own and (entry := meant_by(symbol, known))
    }


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


def equations_named(text: str, numbers: Collection[int]) -> list[int]:
    """List those of the equations that a text names, by their numbers."""
    return sorted({int(match["number"]) for match in NAMED.finditer(text)} & {*numbers})


def row_of_dynamics(rows: Sequence[Sequence[str]], number: int) -> int | None:
    """Find an equation's row: the first that is named for it, or else whose definition names it.

    Parameters
    ----------
    rows
        The words of each row's cells.
    number
        The equation's.
    """
    named = (at for cell in (0, 1) for at, row in enumerate(rows) if f"({number})" in row[cell])
    return next(named, None)


def assumptions_named(text: str, names: Iterable[str]) -> list[str]:
    """List those of the assumptions that a text names.

    Examples
    --------
    >>> assumptions_named("as Assumptions 1(c) and 2 say", ["Assumption 1", "Assumption 3"])
    ['Assumption 1']
    """
    found = []
    for name in names:
        word, _, number = name.rpartition(" ")
        if re.search(rf"\b{word}s?\s(?:\d\S*\s(?:and|or)\s)?{number}\b", text):
            found.append(name)
    return found
