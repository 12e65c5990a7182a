"""SymPy expressions on Arb's balls: what comes out holds the value for every argument inside the balls put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import arb, arb_poly, ctx, fmpq

from scansnap_core.bad_input import BadInput
from scansnap_core.digits import with_power

PRECISION = 80
"""A midpoint has so many bits by default. The radius comes on top: a lack of bits widens a ball, never falsifies it."""

Compiled = Callable[[Sequence[arb]], arb]


def ball(value: Any) -> arb:
    """Make a ball around a number: an integer, fraction, float (its exact value), SymPy number or ball."""
    if isinstance(value, arb):
        return value
    if isinstance(value, sp.Expr):
        return enclose(value, {})
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


def enclose(expression: sp.Expr, values: Mapping[sp.Symbol, Any], precision: int = PRECISION) -> arb:
    """Compute a ball that holds an expression's value.

    Parameters
    ----------
    expression
        Built from +, *, powers, exp, log, sqrt and Lambert's W (both real branches), rational numbers, pi and e.
    values
        For each of its symbols a number or a ball; the result holds the value at every point of the balls.
    precision
        In bits.

    Returns
    -------
    flint.arb
        Not finite where the expression isn't defined on all of the balls.

    Examples
    --------
    >>> from sympy import Symbol, log
    >>> u = Symbol("u")
    >>> enclose(u - log(u), {u: 1}).contains(1)
    True
    """
    symbols = list(values)
    with ctx.workprec(precision):
        return compiled(expression, symbols)([ball(values[symbol]) for symbol in symbols])


def compiled(expression: sp.Expr, symbols: Sequence[sp.Symbol]) -> Compiled:
    """Make a function from balls for the symbols, in their order, to the ball of an expression.

    What stands in the expression several times is computed once.
    """
    places = {symbol: place for place, symbol in enumerate(symbols)}
    steps: list[Compiled] = []

    def place(part: sp.Expr) -> int:
        if part not in places:
            steps.append(_step(part, [place(argument) for argument in _arguments(part)]))
            places[part] = len(places)
        return places[part]

    last = place(sp.sympify(expression))

    def value(balls: Sequence[arb]) -> arb:
        known = list(balls)
        for step in steps:
            known.append(step(known))
        return known[last]

    return value


def _arguments(expression: sp.Expr) -> Sequence[sp.Expr]:
    """Return the arguments of an expression that are balls, and not a power or a branch by number."""
    by_number = expression.is_Pow and (expression.exp.is_Integer or expression.exp == sp.S.Half)
    return expression.args[:1] if by_number or isinstance(expression, sp.LambertW) else expression.args


def _step(expression: sp.Expr, parts: list[int]) -> Compiled:
    """Compute an expression's ball from balls known before; its arguments' balls have the places ``parts``."""
    if expression.is_Rational:
        ratio = fmpq(int(expression.p), int(expression.q))
        return lambda known: arb(ratio)
    if expression is sp.E:
        return lambda known: arb.const_e()
    if expression is sp.pi:
        return lambda known: arb.pi()
    match expression, parts:
        case sp.Add(), _:
            return lambda known: sum((known[part] for part in parts), arb(0))
        case sp.Mul(), _:
            return lambda known: math.prod((known[part] for part in parts), start=arb(1))
        case sp.exp(), [part]:
            return lambda known: known[part].exp()
        case sp.log(), [part]:
            return lambda known: known[part].log()
        case sp.Pow(exp=sp.S.Half), [part]:
            return lambda known: known[part].sqrt()
        case sp.Pow(exp=power), [part]:
            return lambda known: _power(known[part], int(power))
        case sp.Pow(), [base, exponent]:
            return lambda known: known[base] ** known[exponent]
        case sp.LambertW(args=(_, *branch)), [part]:
            return lambda known: lambert(known[part], *map(int, branch))
    rule = "a ball is known for sums, products, powers, exp, log, Lambert's W and numbers"
    raise BadInput(f"{expression}", rule, "rewrite it, or give its symbols values")


def _power(base: arb, power: int) -> arb:
    if power < 0:
        return 1 / _power(base, -power)
    return (arb_poly([base]) ** power)[0]  # base**power isn't finite for a ball whose middle is 0


def written(number: arb) -> str:
    """Write six digits of a ball's midpoint, for messages; fewer where it is a round number."""
    mantissa, _, exponent = str(number.mid().str(6, radius=False)).partition("e")
    return with_power(mantissa, int(exponent or 0))


def lambert(argument: arb, branch: int = 0) -> arb:
    """Compute a ball of Lambert's W on a real branch.

    W is monotone on either branch, so that a ball's ends give it. Near the branch point -1/e Arb has no bound
    for a wide ball, but narrow ones for these ends, because they are exact numbers.

    Parameters
    ----------
    argument
        At least -1/e; below 0 for the branch -1.
    branch
        0 (W >= -1) or -1 (W <= -1).

    Returns
    -------
    flint.arb
        Not finite for a ball that reaches outside: below -1/e, or on the branch -1 to 0.

    Examples
    --------
    >>> lambert(arb(-0.25), -1).overlaps(arb("-2.153292364110349649"))
    True
    """
    if branch not in (0, -1):
        raise BadInput(f"branch = {branch}", "W has two real branches", "pass 0 or -1")
    return argument.lower().lambertw(branch).union(argument.upper().lambertw(branch))
