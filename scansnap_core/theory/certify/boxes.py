"""An inequality over a box, by halving the box until Arb's balls decide every part of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy as sp
from flint import arb, ctx

from scansnap_core.base.bad_input import BadInput
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.balls import (
    PRECISION,
    UNKNOWN,
    at,
    on_balls,
    read_bounds,
    taylor,
    written,
)
from scansnap_core.theory.certify.language import Term, check_bounds, read

Part = list[tuple[arb, arb]]
Value = Callable[[Sequence[arb]], arb]
Slope = Callable[[Sequence[arb], int], arb]

_BUDGET = 20_000
_GRID = 12
"""The number of parts into which the search for a counterexample divides each side of a box."""
_FAR = 4
"""A positive interval whose ends are further apart than this factor is halved on the logarithmic
scale.
"""


def positive(
    expression: Any, box: Mapping[sp.Symbol, tuple[Any, Any]], *, budget: int = _BUDGET
) -> Certificate:
    """Certify that a term is defined and positive on a closed box.

    Each part is decided by the ball of the term, or by the mean value form f(c) + f'(box)(box - c)
    where the term and its derivatives are defined on all of the part. If neither decides, it is
    halved in the direction that contributes most.

    Parameters
    ----------
    expression
        A term of the language of claims.
    box
        For each of its variables the two ends, which belong to the box: terms without variables.
    budget
        How many parts are looked at.

    Returns
    -------
    Certificate
        Proved if every part was decided. Else its gap is a point at which the term is certainly not
        positive, or the first part that wasn't decided, with its coordinates.

    Raises
    ------
    BadInput
        If the term or an end isn't of the language, or the box leaves the sign that a symbol was
        made with.

    Examples
    --------
    >>> from sympy import Symbol, exp
    >>> u = Symbol("u")
    >>> positive(exp(u) - 1 - u, {u: (1, 2)}).proved
    True
    >>> positive(exp(u) - 3 - u, {u: (1, 2)}).gap
    'u = 1.5: −0.0183109'
    """
    term = read(expression, list(box))
    if not box:
        return at(expression, {})
    with ctx.workprec(PRECISION):
        return _cover(on_balls(term), _slope(term), term.names, read_bounds(box), budget)


def _slope(term: Term) -> Slope:
    """Make the function from balls, and a variable's place, to a ball of the term's derivative."""
    coefficients = taylor(term, 1)
    return lambda balls, place: coefficients(balls, place)[1]


def _cover(
    value: Value, slope: Slope, names: Sequence[str], bounds: Part, budget: int = _BUDGET
) -> Certificate:
    """Certify that ``value`` is positive on a box, part by part, as `positive` says.

    Parameters
    ----------
    value, slope
        Functions from a ball for each variable to a ball of the value, and of its derivative by the
        variable with a given place.
    names
        The variables', for the certificate's words.
    bounds
        Balls of each variable's two ends.
    budget
        How many parts are looked at. If they aren't enough, the points of a grid are tried as
        counterexamples.
    """
    # The ends are balls themselves: the parts cover all that they may be, and a counterexample lies
    # inside of them all.
    waiting = [[(low.lower(), high.upper()) for low, high in bounds]]
    seen = 0
    inner = [(low.upper(), high.lower()) for low, high in bounds]
    while waiting:
        part = waiting.pop()
        seen += 1
        balls = [low.union(high) for low, high in part]
        if (found := value(balls)) > 0:
            continue

        # The mean value form. Each variable adds at most its slope times how far it is from the
        # middle; a spread that isn't known leaves the sum undecided.
        middle = [_middle(*ends) for ends in part]
        at_middle = value(middle)
        if gap := _counterexample(at_middle, names, middle, inner):
            return _boxes(seen, gap, false=True)
        spreads = [UNKNOWN] * len(part)
        if found.is_finite():
            spreads = [
                slope(balls, i) * (b - m)
                for i, (b, m) in enumerate(zip(balls, middle, strict=True))
            ]
        # The sum holds the value at the middle, which isn't surely negative there. A ball's radius
        # is rounded up, so that the sum doesn't end at 0 unless it is 0, which was refused.
        if at_middle + sum(spreads, arb(0)) > 0:
            continue
        if seen >= budget:
            for point in map(list, itertools.product(*itertools.starmap(_grid, inner))):
                if gap := _counterexample(value(point), names, point, inner):
                    return _boxes(seen, gap, false=True)
            where = ", ".join(
                f"{s} in [{written(a)}, {written(b)}]"
                for s, (a, b) in zip(names, part, strict=True)
            )
            return _boxes(seen, f"{where}: undecided after {seen} boxes")
        widest = _direction(spreads, part)
        low, high = part[widest]
        halves = (middle[widest], high), (low, middle[widest])
        waiting += [
            [half if i == widest else ends for i, ends in enumerate(part)] for half in halves
        ]
    return _boxes(seen)


def _counterexample(found: arb, names: Sequence[str], point: list[arb], bounds: Part) -> str:
    """Write a point and the value there, if it lies within the bounds and the value surely isn't
    positive; else "".
    """
    if found <= 0 and all(low <= x <= high for x, (low, high) in zip(point, bounds, strict=True)):
        return (
            f"{', '.join(f'{s} = {written(x)}' for s, x in zip(names, point, strict=True))}: "
            f"{written(found)}"
        )
    return ""


def _grid(low: arb, high: arb) -> list[arb]:
    """Return evenly spaced points from one end to the other, both included."""
    between = range(1, _GRID)
    return [
        low,
        *[((low * (_GRID - share) + high * share) / _GRID).mid() for share in between],
        high,
    ]


def _boxes(seen: int, gap: str = "", false: bool = False) -> Certificate:
    return Certificate("interval", not gap, f"{seen} {'box' if seen == 1 else 'boxes'}", gap, false)


def _middle(low: arb, high: arb) -> arb:
    """Return the point at which an interval is halved: its mean, or its geometric mean if its ends
    are far apart.
    """
    far = low > 0 and high > _FAR * low
    return (low * high).sqrt().mid() if far else ((low + high) / 2).mid()


def _direction(spreads: list[arb], part: Part) -> int:
    """Choose the place of the variable that is halved: the one with the largest spread, or, where
    spreads aren't known, with the longest side relative to its values.
    """
    if all(spread.is_finite() for spread in spreads):
        sizes = [float(spread.abs_upper()) for spread in spreads]
    else:
        sizes = [float((high - low).mid() / (1 + abs(low.mid()))) for low, high in part]
    return max(range(len(sizes)), key=sizes.__getitem__)


def positive_from_zero(expression: Any, variable: sp.Symbol, end: Any, order: int) -> Certificate:
    """Certify that a term with a zero at 0 is positive on (0, end].

    Near 0 no ball of it can be positive. But if its derivatives below some order vanish at 0, and
    that one is positive from 0 to a point, then by Taylor's theorem so is the term.

    Parameters
    ----------
    expression
        A term of the language of claims in the one variable, smooth on [0, end].
    variable, end
        As `positive` takes them.
    order
        Of the zero: how many derivatives, from the 0th on, vanish at 0. Each is checked exactly.

    Raises
    ------
    BadInput
        If the term or the end isn't of the language, or the end isn't positive.

    Examples
    --------
    >>> from sympy import Symbol, exp
    >>> u = Symbol("u")
    >>> positive_from_zero(exp(u) - 1 - u, u, 3, order=2).proved
    True
    """
    term = read(expression, [variable])
    with ctx.workprec(PRECISION):
        [(last, _)] = read_bounds({variable: (end, end)})
        check_bounds(variable, 0, last, beyond=True)
        if not last > 0:
            raise BadInput(
                f"{variable} from 0 to {end}", "the end is positive", "substitute -x for x"
            )
        value = on_balls(term)
        coefficients = taylor(term, order + 1)
        others = [
            number
            for number, at_zero in enumerate(coefficients([arb(0)], 0)[:order])
            if not at_zero.is_zero()
        ]
        gap = f"{variable} = 0: derivative {others[0]} isn't 0" if others else ""

        def derivative(balls: Sequence[arb]) -> arb:
            """Return the derivative of this order, over order!."""
            return coefficients(balls, 0)[order]

        def slope(balls: Sequence[arb], place: int) -> arb:
            """Return the derivative of `derivative`."""
            return (order + 1) * coefficients(balls, place)[order + 1]

        # Where the derivative is positive from 0 to a start, the term is, too; beyond the start the
        # term's own balls decide.
        start = last.lower()
        for _ in range(40):
            if below := _counterexample(value([start]), term.names, [start], [(arb(0), start)]):
                return Certificate("interval", False, "a point", below, false=True)
            if not others:
                near = _cover(derivative, slope, term.names, [(arb(0), start)], budget=200)
                if near:
                    break
                gap = f"derivative {order} near 0: {near.gap}"
            # Whatever comes nearer to 0 will do; what isn't near is looked at by itself.
            start = start / 2
        else:
            return Certificate("interval", False, "derivatives", gap)
        far = _cover(value, _slope(term), term.names, [(start, last)])
        how = f"derivative {order} near 0: {near.how}; beyond: {far.how}"
        return Certificate("interval", far.proved, how, far.gap, far.false)
