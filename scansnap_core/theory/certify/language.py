"""The language of claims, and the gate to it: what a procedure certifies was read here first, and
all else is refused.

A term is made of rational numbers, real variables, +, -, *, /, integer powers, exp, log, sqrt and
the two real branches of Lambert's W; relations between terms may be joined by and, or and not. A
variable is known by its name, and bounded by what a procedure is given: a box, a ray, or relations.
So its symbol carries no assumption of its own but that it is real, or its sign, and its bounds have
to lie within that.

SymPy rewrites an expression as it is written down: log(u) - log(u) is 0, and sqrt(p**2) is p where
p is positive. The claim is what SymPy prints after that.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.logic.boolalg import Boolean, BooleanAtom

from scansnap_core.base.bad_input import BadInput

Arithmetic = Mapping[str, Callable[..., Any]]
"""What some kind of numbers makes of each operation of the language that it has; ``"number"`` is
given a `Fraction`.
"""

OPERATORS: Arithmetic = {
    "sum": lambda *parts: sum(parts),
    "product": lambda *parts: math.prod(parts),
    "power": pow,
}
RELATIONS: Arithmetic = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
EXACT: Arithmetic = {**OPERATORS, "number": lambda number: number}
"""Fractions; a division by 0 raises `ZeroDivisionError`."""
TRUTH: Arithmetic = {
    **RELATIONS,
    "and": lambda *parts: all(parts),
    "or": lambda *parts: any(parts),
    "not": operator.not_,
}

_TERMS = {sp.Add: "sum", sp.Mul: "product", sp.exp: "exp", sp.log: "log"}
_COMPARED = {sp.Gt: ">", sp.Ge: ">=", sp.Lt: "<", sp.Le: "<=", sp.Eq: "==", sp.Ne: "!="}
_JOINED = {sp.And: "and", sp.Or: "or", sp.Not: "not"}
_BRANCHES = {(): "W0", (sp.S.Zero,): "W0", (sp.S.NegativeOne,): "W-1"}
_SIGNS = {
    frozenset(sp.Symbol("x", **{made: True}).assumptions0.items()): sign
    for made, sign in [
        ("commutative", None),
        ("real", None),
        ("positive", sp.Gt),
        ("negative", sp.Lt),
        ("nonnegative", sp.Ge),
        ("nonpositive", sp.Le),
    ]
}
"""All that may be assumed of a symbol, as SymPy keeps it, and the relation to 0 that it says."""


@dataclass(frozen=True)
class Term:
    """A term or a formula of the language, as steps. What stands in it several times is one
    step.
    """

    names: tuple[str, ...]
    """Its variables. Their values are known first, in this order."""
    steps: tuple[tuple[str, tuple[int, ...], Any], ...]
    """An operation, the places of the values that it is applied to, and the value of a number or
    exponent of a power. What comes out has the next place."""
    place: int
    """Of the term's value."""

    @property
    def divides(self) -> bool:
        """Whether it has a quotient."""
        return any(operation == "power" and given < 0 for operation, _, given in self.steps)

    def compiled(self, arithmetic: Arithmetic) -> Callable[[Sequence[Any]], Any]:
        """Make the function from its variables' values, in the order of ``names``, to its own.

        ``arithmetic`` says with what kind of numbers it computes. An operation that the arithmetic
        lacks raises `BadInput`.
        """
        if lacking := sorted({operation for operation, _, _ in self.steps} - arithmetic.keys()):
            rule = f"this procedure knows {', '.join(sorted(arithmetic))}"
            raise BadInput(f"{lacking[0]} in a claim", rule, "give that part a variable of its own")
        steps = [
            (_prepared(arithmetic[operation], given), places)
            for operation, places, given in self.steps
        ]

        def value(variables: Sequence[Any]) -> Any:
            known = list(variables)
            for step, places in steps:
                known.append(step(*[known[place] for place in places]))
            return known[self.place]

        return value


def _prepared(operation: Callable[..., Any], given: Any) -> Callable[..., Any]:
    """Return a step's function: a number is made once, and a power has its exponent."""
    if isinstance(given, Fraction):
        number = operation(given)
        return lambda: number
    return operation if given is None else lambda base: operation(base, given)


def read_variables(symbols: Iterable[Any]) -> dict[str, Any]:
    """Read variables: each one's name, and the relation to 0 that its symbol was made with, or
    None.

    What is no symbol, is assumed more of, or has a name twice raises `BadInput`.
    """
    signs: dict[str, Any] = {}
    for symbol in symbols:
        assumed = frozenset(symbol.assumptions0.items()) if type(symbol) is sp.Symbol else None
        if assumed not in _SIGNS:
            rule = "a claim's variable is a symbol, real or of a sign, of which no more is assumed"
            raise BadInput(sp.srepr(symbol), rule, "make it with real=True")
        if symbol.name in signs:
            rule = "two symbols of one name are two variables, which a reader would take for one"
            raise BadInput(f"symbol {symbol}", rule, "use one symbol, or another name")
        signs[symbol.name] = _SIGNS[assumed]
    return signs


def check_bounds(symbol: sp.Symbol, low: Any, high: Any, *, beyond: bool = False) -> None:
    """Raise `BadInput` unless a variable's bounds keep to the sign that its symbol was made with.

    SymPy may have simplified the claim by that sign, and then says nothing about other values. Both
    bounds are values of the variable, but the lower one isn't if ``beyond`` is true, as on a ray.
    """
    [sign] = read_variables([symbol]).values()
    above = low > 0 or (beyond and low >= 0)
    inside = {None: True, sp.Gt: above, sp.Ge: low >= 0, sp.Lt: high < 0, sp.Le: high <= 0}
    if not inside[sign]:
        rule = "SymPy has simplified the expression by the sign that the symbol was made with"
        raise BadInput(
            f"{symbol} from {low} to {high}", rule, "make the symbol with real=True alone"
        )


def read(expression: Any, symbols: Sequence[sp.Symbol] = ()) -> Term:
    """Read a term or a formula.

    Parameters
    ----------
    expression
        A SymPy expression, relation or combination of relations, an `int` or a `Fraction`.
    symbols
        The variables, in their order. It need not have all of them.

    Raises
    ------
    BadInput
        If a part isn't of the language, such as a floating-point number, or is a symbol without
        bounds.

    Examples
    --------
    >>> from sympy import Symbol
    >>> u = Symbol("u")
    >>> read((u + 1) ** 2 / 3, [u]).compiled(EXACT)([Fraction(1, 2)])
    Fraction(3, 4)
    """
    names = tuple(read_variables(symbols))
    places: dict[Any, int] = {symbol: place for place, symbol in enumerate(symbols)}
    steps: list[tuple[str, tuple[int, ...], Any]] = []

    def place(part: Any) -> int:
        """Return the place of a part's value, after the steps that it needs were added."""
        if part not in places:
            operation, parts, given = _step(part)
            steps.append((operation, tuple([place(each) for each in parts]), given))
            places[part] = len(names) + len(steps) - 1
        return places[part]

    if type(expression) in (int, Fraction):
        expression = sp.Rational(expression)
    if not isinstance(expression, sp.Basic):
        raise BadInput(
            f"{expression!r}",
            "a claim is made of SymPy's expressions",
            "write e.g. Rational(1, 10)",
        )
    last = place(expression)
    return Term(names, tuple(steps), last)


def _step(part: sp.Basic) -> tuple[str, Sequence[sp.Basic], Any]:
    """Read the outermost operation of an expression.

    Returns its name, the parts that it is applied to, and the value of a number or the exponent of
    a power, else None. What isn't of the language raises `BadInput`.
    """
    function = part.func
    parts = part.args
    of_terms = [isinstance(each, sp.Expr) for each in parts]
    if isinstance(part, sp.Rational):
        return "number", (), Fraction(int(part.p), int(part.q))
    if part is sp.E:
        return "exp", [sp.S.One], None
    if isinstance(part, BooleanAtom):
        return "and" if part else "or", (), None  # of nothing
    if function in _JOINED and not any(of_terms):
        return _JOINED[function], parts, None
    if function in _TERMS | _COMPARED and all(of_terms):
        return (_TERMS | _COMPARED)[function], parts, None
    match function, parts:
        case sp.Pow, (base, sp.S.Half):
            return "sqrt", [base], None
        case sp.Pow, (base, sp.Integer() as exponent):
            return "power", [base], int(exponent)
        case sp.Pow, (base, sp.Rational(q=2) as exponent):
            return "power", [sp.Pow(base, sp.S.Half, evaluate=False)], int(exponent.p)
        # SymPy writes exp(exponent * log(base)) like this.
        case sp.Pow, (base, sp.Rational() as exponent):
            return "exp", [sp.Mul(exponent, sp.log(base, evaluate=False), evaluate=False)], None
        case sp.LambertW, (argument, *branch) if tuple(branch) in _BRANCHES:
            return _BRANCHES[tuple(branch)], [argument], None
        case sp.Symbol, _:
            raise BadInput(
                f"the variable {part}",
                "a claim's variables have bounds",
                "say between which it lies",
            )
    rule = (
        "a claim is made of rational numbers, real variables, + - * /, integer powers, exp, log, "
        "sqrt and real W"
    )
    raise BadInput(f"{part!s:.200}", rule, "rewrite it, or give it a variable of its own")


def read_claim(claim: Any, assumptions: Sequence[Any]) -> tuple[Term, list[Term]]:
    """Read a formula and those that it is to follow from, all in the same variables; their signs
    are among these.

    One that isn't of the language, or a claim that SymPy has made True or False, raises `BadInput`.
    """
    for given in (claim, *assumptions):
        if not isinstance(given, Boolean) or isinstance(given, sp.Expr):
            raise BadInput(
                f"{given!r}",
                "a claim is a relation of SymPy's",
                "pass e.g. x >= 0, or Ne(u, v) for u != v",
            )
    if isinstance(claim, BooleanAtom):
        rule = "SymPy made the claim that, by what it assumes of the symbols"
        raise BadInput(
            f"{claim}", rule, "make them with real=True, and assume here what is known of them"
        )
    symbols = sorted(
        set[sp.Symbol]().union(*(given.free_symbols for given in (claim, *assumptions))), key=str
    )
    signs = zip(symbols, read_variables(symbols).values(), strict=True)
    known = [sign(symbol, 0, evaluate=False) for symbol, sign in signs if sign]
    return read(claim, symbols), [read(given, symbols) for given in (*known, *assumptions)]
