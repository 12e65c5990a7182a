"""Closed forms as data: what each states, where the paper has it, where it holds, and which clock
it runs on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import sympy as sp

from scansnap_core.base.rules import Rule, optional, takes, whole

Origin = Literal["printed", "repaired", "ours"]

STEPS = "steps of batch size 1"
OWN_STEPS = "steps of batch size 1 that show the class"
"""If K classes are equally frequent, 1 in K of all steps shows the class."""

SYMBOLS: dict[str, Symbol] = {}
"""This holds every symbol of the formulas, by the name under which it is imported."""
FORMULAS: dict[str, Formula] = {}
"""This holds every closed form, by the name under which it is imported."""


@dataclass(frozen=True)
class Symbol:
    """A letter of the paper.

    Attributes
    ----------
    name : str
        The name under which it is imported.
    expression : sympy.Expr
        A `sympy.Symbol`, an `IndexedBase`, or a `MatrixSymbol`, with what may be assumed of it.
    meaning : str
        One sentence, with the unit if it has one.
    """

    name: str
    expression: sp.Basic
    meaning: str


@dataclass(frozen=True)
class Formula:
    """A closed form.

    Attributes
    ----------
    name : str
        The name under which it is imported, the paper's own where it has one.
    expression : sympy.Expr
        The closed form under the paper's symbols.
    place : str
        Where the paper has it, equation numbers in parentheses: "Lemma 9, (85)".
    meaning : str
        What it is, in one sentence.
    origin : {"printed", "repaired", "ours"}
        As the paper prints it (or as it says in words); with a slip put right; not in the paper.
    region : sympy.Basic
        Relations between its symbols under which it is real and finite, besides what each symbol is
        assumed to be.
    conditions : str
        When it says something about the model: the assumptions, the stage of training, what was
        left out.
    clock : str
        The unit of its time, where it takes one.
    """

    name: str
    expression: sp.Basic
    place: str
    meaning: str
    origin: Origin = "printed"
    region: sp.Basic = sp.true
    conditions: str = ""
    clock: str = ""

    @property
    def equations(self) -> tuple[int, ...]:
        """Return the paper's numbers: those in parentheses in `place`, "(125)-(128)" being four.

        Examples
        --------
        >>> FORMULAS["Gamma"].equations
        (125, 126, 127, 128)
        """
        spans = re.findall(r"\((\d+)\)(?:-\((\d+)\))?", self.place)
        return tuple(
            number for first, last in spans for number in range(int(first), int(last or first) + 1)
        )

    @property
    def symbols(self) -> frozenset[str]:
        """Return the names under which its symbols are imported.

        Examples
        --------
        >>> sorted(FORMULAS["gamma"].symbols)
        ['M', 'h_']
        """
        indexed = self.expression.atoms(sp.IndexedBase)
        plain = self.expression.atoms(sp.Symbol, sp.MatrixSymbol) - {base.label for base in indexed}
        return frozenset(
            name for name, symbol in SYMBOLS.items() if symbol.expression in indexed | plain
        )


def record_symbol(name: str, expression: sp.Basic, meaning: str) -> sp.Basic:
    """Enter a symbol under a name of its own, and return it."""
    return _entered(SYMBOLS, Symbol(name, expression, meaning))


def record(name: str, expression: sp.Basic, *stated: Any, **known: Any) -> sp.Basic:
    """Enter a closed form under a name of its own, as :class:`Formula` takes it, and return its
    expression.
    """
    return _entered(FORMULAS, Formula(name, expression, *stated, **known))


def _entered(book: dict[str, Any], entry: Symbol | Formula) -> sp.Basic:
    if entry.name in SYMBOLS or entry.name in FORMULAS:
        raise ValueError(f"{entry.name} stands in the registry already")
    book[entry.name] = entry
    return entry.expression


_TEXT = Rule(
    lambda value: isinstance(value, str), "words and symbols are text", 'pass e.g. find("speed")'
)


@takes(word=_TEXT, equation=optional(whole(example=85)), symbol=optional(_TEXT))
def find(
    word: str = "", *, equation: int | None = None, symbol: str | None = None
) -> list[Formula]:
    """Find the closed forms that match every argument given, in the order of the paper's topics.

    Parameters
    ----------
    word
        Part of the name, the place, the meaning or the conditions; capitals don't matter.
    equation
        A number of the paper.
    symbol
        The name under which a symbol is imported.

    Examples
    --------
    >>> [formula.name for formula in find(equation=85)]
    ['gamma']
    >>> [formula.name for formula in find("speed", symbol="h_")]
    ['gamma']
    >>> find("Delta before")[0].expression
    sqrt(N)*sqrt(log(1/delta))
    """
    return [
        formula
        for formula in FORMULAS.values()
        if word.lower()
        in " ".join((formula.name, formula.place, formula.meaning, formula.conditions)).lower()
        and (equation is None or equation in formula.equations)
        and (symbol is None or symbol in formula.symbols)
    ]
