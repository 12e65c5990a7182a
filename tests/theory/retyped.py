"""Which arithmetic in a source is a closed form of the registry, typed once more.

An expression is evaluated at one point, its variables in every order. Whatever they are called, and however the terms
are arranged, one order gives the number that the closed form gives. Matrices count as numbers. What this can't see:
a closed form that is only a part of a longer product or sum, one with numbers in place of symbols (other than those of
`OPTIONAL`), one spread over several assignments, and sums over an index.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
import sympy as sp
from scipy import special

from scansnap_core.theory.formulas import FORMULAS, SYMBOLS, Formula

POINT = (1.7320508, 2.2360680, 1.4142136, 2.7456787, 1.9128119, 1.2599210, 2.5198421)
"""Where expressions are evaluated: above 1, so that M - 1 is positive."""
LEAST, LEAST_POLYNOMIAL = 4, 6
"""Closed forms of fewer operations, such as r(0) chi, are typed where they are needed."""
OPTIONAL = {"sigma": 0, "theta": 0, "theta_other": 0, "omega_1_": 0, "K": 1, "eta_Y": 1}
"""What is often left out of a closed form, which is the same form still."""

Kind = tuple[int, bool]
"""How many variables there are, and whether a matrix is inverted."""

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.MatMult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_FUNCTIONS: dict[tuple[str, int], Callable[..., Any]] = {
    ("exp", 1): np.exp,
    ("expm1", 1): np.expm1,
    ("log", 1): np.log,
    ("log1p", 1): np.log1p,
    ("sqrt", 1): np.sqrt,
    ("expit", 1): lambda x: 1 / (1 + np.exp(-x)),
    ("logaddexp", 2): lambda x, y: np.log(np.exp(x) + np.exp(y)),
    ("LambertW", 1): special.lambertw,
    ("LambertW", 2): lambda x, branch: special.lambertw(x, np.asarray(branch).real.astype(int)),
    ("Rational", 2): np.divide,
    ("inv", 0): np.reciprocal,
    ("inv", 1): np.reciprocal,
    **dict.fromkeys((("float", 1), ("asarray", 1), ("mpf", 1), ("Integer", 1)), lambda x: x),
}
"""By name and how many arguments are in the parentheses."""


def retyped(source: str) -> Iterator[tuple[str, str]]:
    """The closed forms in a source, by name, with the code that repeats them, the longest first."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.expr) and (name := _name(node)):
            yield name, ast.unparse(node)


@cache
def known() -> dict[Kind, dict[str, complex]]:
    """The values of the closed forms of `LEAST` operations or more, with and without what is often left out."""
    found: dict[Kind, dict[str, complex]] = defaultdict(dict)
    for formula in FORMULAS.values():
        optional = [name for name in OPTIONAL if name in formula.symbols]
        for size in range(len(optional) + 1):
            for left_out in combinations(optional, size):
                node = _as_python(formula, left_out)
                least = LEAST_POLYNOMIAL if formula.expression.is_polynomial() else LEAST
                if node is not None and _operations(node) >= least:
                    variables = _variables(node)
                    value = complex(_value(node, dict(zip(variables, map(complex, POINT), strict=False))))
                    kind = len(variables), formula.expression.has(sp.Inverse)
                    found[kind][" without ".join([formula.name, *left_out])] = value
    return found


def _as_python(formula: Formula, left_out: tuple[str, ...]) -> ast.expr | None:
    expression = formula.expression
    if expression.has(sp.Sum):
        return None
    matrices = expression.atoms(sp.MatrixSymbol)
    if not matrices:
        expression = expression.subs({SYMBOLS[name].expression: OPTIONAL[name] for name in left_out})
    letters = sorted(matrices or expression.free_symbols, key=str)
    plain = {
        letter: sp.MatrixSymbol(f"v{i}", *letter.shape) if matrices else sp.Symbol(f"v{i}")
        for i, letter in enumerate(letters)
    }
    return ast.parse(sp.sstr(expression.xreplace(plain)), mode="eval").body


def _name(node: ast.expr) -> str | None:
    variables = _variables(node)
    candidates = known().get((len(variables), any(_called(part)[0] == "inv" for part in _parts(node))))
    if not candidates or _operations(node) < LEAST:
        return None
    orders = _orders(len(variables))
    with np.errstate(all="ignore"):
        values = np.atleast_1d(_value(node, dict(zip(variables, orders.T, strict=True))))
    return next(
        (name for name, value in candidates.items() if np.isclose(values, value, rtol=1e-9, atol=0).any()), None
    )


@cache
def _orders(size: int) -> np.ndarray:
    return np.array(list(permutations(POINT[:size])), dtype=complex)


def _called(node: ast.AST) -> tuple[str, int]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments, keywords=[]):
            return name, len(arguments)
    return "", 0


def _arguments(node: ast.expr) -> list[ast.expr] | None:
    """What an operation works on; None of what is a variable here."""
    match node:
        case ast.Constant(value=int() | float()):
            return []
        case _ if _is_unit(node):
            return []
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=inner) | ast.Attribute(value=inner, attr="T" | "real"):
            return [inner]
        case ast.Call(func=ast.Attribute(value=inner, attr="inv"), args=[]):
            return [inner]
        case ast.Call(args=arguments) if _called(node) in _FUNCTIONS:
            return arguments
    return None


def _is_unit(node: ast.expr) -> bool:
    """Whether it is the unit matrix, in Python or as SymPy prints it."""
    return _called(node)[0] == "eye" or (isinstance(node, ast.Name) and node.id == "I")


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """An expression's operations and variables."""
    yield node
    for argument in _arguments(node) or ():
        yield from _parts(argument)


def _variables(node: ast.expr) -> list[str]:
    return sorted({ast.unparse(part) for part in _parts(node) if _arguments(part) is None})


def _operations(node: ast.expr) -> int:
    return sum(isinstance(part, ast.BinOp | ast.UnaryOp | ast.Call) or _is_unit(part) for part in _parts(node))


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    arguments = _arguments(node)
    if arguments is None:
        return values[ast.unparse(node)]
    of = [_value(argument, values) for argument in arguments]
    match node:
        case ast.Constant(value=int() | float() as number):
            return complex(number)
        case ast.BinOp(op=op):
            return _OPERATIONS[type(op)](*of)
        case ast.UnaryOp():
            return -of[0]
        case ast.Attribute():
            return of[0]
        case ast.Call() if _called(node) in _FUNCTIONS:
            return _FUNCTIONS[_called(node)](*of)
    return 1.0 + 0j  # the unit matrix
