"""Intervals of mpmath, with derivatives: whether a claim over a box or at a point holds.

They know what Arb's balls know in :mod:`scansnap_core.theory.certify`, by other means.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import sympy as sp
from mpmath import iv

from scansnap_core.theory.certify.language import Term, read

PRECISION = 80
PROVED = "proved"
FALSE = "false"
NO_ANSWER = "no answer"

iv.prec = PRECISION


class UndefinedError(ArithmeticError):
    """A term that isn't defined on all of an interval, as far as intervals tell."""


@dataclass(frozen=True)
class Dual:
    """An interval of a term's values, and those of its derivatives by each variable."""

    value: Any
    slopes: tuple[Any, ...]

    def chain(self, value: Any, slope: Any) -> Dual:
        """Return a function's value here, given its derivative."""
        return Dual(value, tuple(slope * each for each in self.slopes))


def _sum(*parts: Dual) -> Dual:
    return Dual(
        sum(part.value for part in parts),
        tuple(map(sum, zip(*[part.slopes for part in parts], strict=True))),
    )


def _product(*parts: Dual) -> Dual:
    first, *rest = parts
    for other in rest:
        slopes = zip(first.slopes, other.slopes, strict=True)
        first = Dual(
            first.value * other.value, tuple(a * other.value + first.value * b for a, b in slopes)
        )
    return first


def _power(base: Dual, exponent: int) -> Dual:
    if exponent < 0 and 0 in base.value:
        raise UndefinedError
    slope = exponent * base.value ** (exponent - 1) if exponent not in (0, 1) else iv.mpf(exponent)
    return base.chain(base.value**exponent, slope)


def _exp(argument: Dual) -> Dual:
    value = iv.exp(argument.value)
    return argument.chain(value, value)


def _log(argument: Dual) -> Dual:
    if not argument.value.a > 0:
        raise UndefinedError
    return argument.chain(iv.log(argument.value), 1 / argument.value)


def _sqrt(argument: Dual) -> Dual:
    if not argument.value.a > 0:
        raise UndefinedError
    value = iv.sqrt(argument.value)
    return argument.chain(value, 1 / (2 * value))


def _lambert(argument: Dual, branch: int) -> Dual:
    """W is monotone on both branches: an end is moved outward until w e^w, on intervals, shows that
    it is beyond.
    """
    low = argument.value.a
    high = argument.value.b
    if not low > -iv.exp(-1) or (branch == -1 and not high < 0):
        raise UndefinedError
    first, last = (low, high) if branch == 0 else (high, low)
    value = iv.mpf([_beyond(first, branch, -1), _beyond(last, branch, 1)])
    if -1 in value:
        raise UndefinedError
    return argument.chain(value, 1 / (iv.exp(value) * (1 + value)))


def _beyond(argument: Any, branch: int, side: int) -> Any:
    with mpmath.workprec(PRECISION + 20):
        near = mpmath.lambertw(mpmath.mpf(argument.mid), branch).real
        for power in range(PRECISION - 10, 0, -4):
            end = iv.mpf(near + side * (1 + abs(near)) * mpmath.mpf(2) ** -power)
            there = end * iv.exp(end)
            rises = (
                there >= argument if side * (1 if branch == 0 else -1) > 0 else there <= argument
            )
            if rises and (end >= -1 if branch == 0 else end <= -1):
                return end
    raise UndefinedError


def on_intervals(term: Term) -> Callable[[Sequence[Any]], Dual]:
    """Make the function from a term's variables' intervals to its value's and derivatives'."""
    count = len(term.names)
    zeros = (iv.mpf(0),) * count
    compute = term.compiled(
        {
            "sum": _sum,
            "product": _product,
            "power": _power,
            "exp": _exp,
            "log": _log,
            "sqrt": _sqrt,
            "W0": lambda argument: _lambert(argument, 0),
            "W-1": lambda argument: _lambert(argument, -1),
            "number": lambda number: Dual(iv.mpf(number.numerator) / number.denominator, zeros),
        }
    )
    ones = [tuple(iv.mpf(int(i == place)) for i in range(count)) for place in range(count)]
    return lambda box: compute([Dual(x, one) for x, one in zip(box, ones, strict=True)])


def _interval(end: Any) -> Any:
    return on_intervals(read(end))([]).value


def over_box(expression: Any, box: Mapping[sp.Symbol, tuple[Any, Any]], until: float) -> str:
    """Tell whether a term is positive on a box: by intervals of its value, or of its value and its
    derivatives.
    """
    value = on_intervals(read(expression, list(box)))
    ends = [(_interval(low), _interval(high)) for low, high in box.values()]
    waiting = [[iv.mpf([low.a, high.b]) for low, high in ends]]
    while waiting:
        if time.monotonic() > until:
            return NO_ANSWER
        part = waiting.pop()
        middle = [iv.mpf(x.mid) for x in part]
        try:
            found = value(part)
            if found.value.a > 0:
                continue
            moved = [
                slope * (x - m) for slope, x, m in zip(found.slopes, part, middle, strict=True)
            ]
            if (value(middle).value + sum(moved)).a > 0:
                continue
            sizes = [float((each.b - each.a).mid) for each in moved]
        except UndefinedError:
            sizes = [float((x.b - x.a).mid) for x in part]
        with contextlib.suppress(UndefinedError):
            inside = all(
                low.b <= m.a and m.b <= high.a for m, (low, high) in zip(middle, ends, strict=True)
            )
            if inside and value(middle).value.b <= 0:
                return FALSE
        widest = max(range(len(sizes)), key=sizes.__getitem__)
        low = part[widest].a
        high = part[widest].b
        cut = middle[widest]
        if low > 0 and high > 4 * low:
            cut = iv.mpf(iv.sqrt(low * high).mid)
        if not low < cut < high:
            return NO_ANSWER
        halves = (iv.mpf([cut.a, high.b]), iv.mpf([low.a, cut.b]))
        waiting += [
            [half if place == widest else x for place, x in enumerate(part)] for half in halves
        ]
    return PROVED


def at_point(expression: Any, values: Mapping[sp.Symbol, Any]) -> str:
    """Tell whether a term is positive at a point."""
    try:
        found = on_intervals(read(expression, list(values)))(
            [_interval(value) for value in values.values()]
        ).value
    except UndefinedError:
        return NO_ANSWER
    return PROVED if found.a > 0 else FALSE if found.b <= 0 else NO_ANSWER


def from_zero(expression: Any, variable: sp.Symbol, end: Any, order: int, until: float) -> str:
    """Tell whether a term with a zero of some order at 0 is positive from there to an end."""
    derivatives = [expression]
    for _ in range(order):
        derivatives.append(sp.diff(derivatives[-1], variable))
    vanish = all(sp.simplify(each.subs(variable, 0)) == 0 for each in derivatives[:-1])
    start = end
    while time.monotonic() < until:
        if over_box(expression, {variable: (start, end)}, until) == FALSE:
            return FALSE
        if (
            vanish
            and over_box(derivatives[-1], {variable: (0, start)}, min(until, time.monotonic() + 2))
            == PROVED
        ):
            return over_box(expression, {variable: (start, end)}, until)
        start = start / sp.Integer(2)
    return NO_ANSWER
