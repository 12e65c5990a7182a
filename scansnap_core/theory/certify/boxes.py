"""An inequality over a box, by halving the box until Arb's balls decide every part of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import arb, ctx

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.balls import PRECISION, Compiled, ball, compiled, enclose, written

Ends = list[tuple[arb, arb]]

_GRID = 12
"""The search for a counterexample divides each side of a box into so many parts."""
_FAR = 4
"""A positive interval whose ends are further apart than this factor is halved on the logarithmic scale."""


def positive(
    expression: sp.Expr,
    box: Mapping[sp.Symbol, tuple[Any, Any]],
    *,
    budget: int = 20_000,
) -> Certificate:
    """Certify that an expression is positive on a closed box.

    Each part is decided by the ball of the expression, or by the mean value form f(c) + f'(box)(box - c); if neither
    decides, it is halved in the direction that contributes most.

    Parameters
    ----------
    expression
        As :func:`~scansnap_core.theory.certify.enclose` takes it.
    box
        For each symbol its two ends, both included: numbers, SymPy numbers or balls, rounded outwards. A floating-point
        number has to be what its decimal says, as 0.5 is and 0.1 isn't.
    budget
        How many parts are looked at.

    Returns
    -------
    Certificate
        Proved if every part was decided. Else its gap is a point at which the expression is certainly not positive, or
        the first part that wasn't decided, with its coordinates.

    Examples
    --------
    >>> from sympy import Symbol, exp
    >>> u = Symbol("u")
    >>> positive(exp(u) - 1 - u, {u: (1, 2)}).proved
    True
    >>> positive(exp(u) - 3 - u, {u: (1, 2)}).gap
    'u = 1.5: −0.0183109'
    """
    symbols = list(box)
    with ctx.workprec(PRECISION):
        whole = [_ends(symbol, *box[symbol]) for symbol in symbols]
        letters = [sp.Dummy(symbol.name) for symbol in symbols]  # of no known sign, on which sp.diff would dwell
        plain = sp.sympify(expression).xreplace(dict(zip(symbols, letters, strict=True)))
        value = compiled(plain, letters)
        slopes = [compiled(sp.diff(plain, letter), letters) for letter in letters]
        return _cover(value, slopes, symbols, whole, budget)


def _cover(value: Compiled, slopes: list[Compiled], symbols: list[sp.Symbol], whole: Ends, budget: int) -> Certificate:
    waiting, seen = [whole], 0
    while waiting:
        part = waiting.pop()
        seen += 1
        balls = [low.union(high) for low, high in part]
        if value(balls) > 0:
            continue
        middle = [_middle(*ends) for ends in part]
        at_middle = value(middle)
        if at_middle <= 0:
            where = ", ".join(f"{s} = {written(m)}" for s, m in zip(symbols, middle, strict=True))
            return _boxes(seen, f"{where}: {written(at_middle)}", false=True)
        spreads = [slope(balls) * (b - m) for slope, b, m in zip(slopes, balls, middle, strict=True)]
        # The sum holds the value at the middle, which isn't surely negative there. A ball's radius is rounded
        # up, so that the sum doesn't end at 0 unless it is 0, which was refused.
        if at_middle + sum(spreads, arb(0)) > 0:
            continue
        if seen >= budget:
            if found := _counterexample(value, symbols, whole):
                return _boxes(seen, found, false=True)
            where = ", ".join(f"{s} in [{written(a)}, {written(b)}]" for s, (a, b) in zip(symbols, part, strict=True))
            return _boxes(seen, f"{where}: undecided after {seen} boxes")
        widest = _direction(spreads, part)
        low, high = part[widest]
        halves = (middle[widest], high), (low, middle[widest])
        waiting += [[half if i == widest else ends for i, ends in enumerate(part)] for half in halves]
    return _boxes(seen)


def _counterexample(value: Compiled, symbols: list[sp.Symbol], whole: Ends) -> str:
    """Find a grid point of the box at which the expression is certainly not positive; empty if there is none."""
    for shares in itertools.product(range(_GRID + 1), repeat=len(symbols)):
        point = [((low * (_GRID - i) + high * i) / _GRID).mid() for i, (low, high) in zip(shares, whole, strict=True)]
        inside = all(low <= x <= high for x, (low, high) in zip(point, whole, strict=True))
        if inside and (found := value(point)) <= 0:
            return f"{', '.join(f'{s} = {written(x)}' for s, x in zip(symbols, point, strict=True))}: {written(found)}"
    return ""


def _boxes(seen: int, gap: str = "", false: bool = False) -> Certificate:
    return Certificate("interval", not gap, f"{seen} {'box' if seen == 1 else 'boxes'}", gap, false)


def _ends(symbol: sp.Symbol, low: Any, high: Any) -> tuple[arb, arb]:
    first, last = ball(low).lower(), ball(high).upper()
    if not (first.is_finite() and last.is_finite() and first <= last):
        rule = "a box has finite ends, the smaller one first"
        raise BadInput(f"{symbol} from {low} to {high}", rule, "substitute for an infinite end")
    for end in (low, high):
        if isinstance(end, float | sp.Float) and Fraction(str(end)) != Fraction(float(end)):
            rule = "an end is exact, and no floating-point number is that decimal"
            raise BadInput(f"{symbol} to {end}", rule, "write e.g. Rational(1, 10)")
    if (symbol.is_nonnegative and first < 0) or (symbol.is_nonpositive and last > 0):
        rule = "SymPy has simplified the expression by the sign that the symbol was made with"
        raise BadInput(f"{symbol} from {low} to {high}", rule, "make the symbol with real=True alone")
    return first, last


def _middle(low: arb, high: arb) -> arb:
    far = low > 0 and high > _FAR * low
    return (low * high).sqrt().mid() if far else ((low + high) / 2).mid()


def _direction(spreads: list[arb], part: Ends) -> int:
    if all(spread.is_finite() for spread in spreads):
        sizes = [float(spread.abs_upper()) for spread in spreads]
    else:
        sizes = [float((high - low).mid() / (1 + abs(low.mid()))) for low, high in part]
    return max(range(len(sizes)), key=sizes.__getitem__)


def positive_from_zero(expression: sp.Expr, variable: sp.Symbol, end: Any, order: int) -> Certificate:
    """Certify that an expression with a zero at 0 is positive on (0, end].

    Near 0 no ball of it can be positive. But if its derivatives below some order vanish at 0, and that one is positive
    from 0 to a point, then by Taylor's theorem so is the expression.

    Parameters
    ----------
    expression
        In the one variable, smooth on [0, end].
    variable, end
    order
        Of the zero: how many derivatives, from the 0th on, vanish at 0. Each is checked exactly.

    Examples
    --------
    >>> from sympy import Symbol, exp
    >>> u = Symbol("u")
    >>> positive_from_zero(exp(u) - 1 - u, u, 3, order=2).proved
    True
    """
    derivative = expression
    for number in range(order):
        if (slope := sp.simplify(derivative.subs(variable, 0))) != 0:
            gap = f"{variable} = 0: derivative {number}, the first that isn't 0, is {slope}"
            return Certificate("interval", False, "derivatives", gap, false=bool(at(-slope, {})))
        derivative = sp.diff(derivative, variable)
    start = ball(end)
    for _ in range(40):
        if at(-expression, {variable: start}):
            gap = f"{variable} = {written(start)}: {written(enclose(expression, {variable: start}))}"
            return Certificate("interval", False, "a point", gap, false=True)
        near = positive(derivative, {variable: (0, start)}, budget=200)
        if near:
            break
        # Whatever comes nearer to 0 will do; what isn't near is looked at by itself.
        start = start / 2
    else:
        return Certificate("interval", False, near.how, f"derivative {order} near 0: {near.gap}")
    far = positive(expression, {variable: (start, end)})
    return Certificate(
        "interval", far.proved, f"derivative {order} near 0: {near.how}; beyond: {far.how}", far.gap, far.false
    )


def at(expression: sp.Expr, values: Mapping[sp.Symbol, Any], precision: int = PRECISION) -> Certificate:
    """Certify that an expression is positive at a point, or a number if it has no symbols; ``precision`` is in bits."""
    value = enclose(expression, values, precision)
    where = ", ".join(f"{symbol} = {written(ball(number))}" for symbol, number in values.items())
    place = f"at {where}" if values else "a number"
    gap = "" if value > 0 else f"{place}: {written(value)}"
    return Certificate("interval", not gap, f"a value {place}" if values else place, gap, false=bool(value <= 0))
