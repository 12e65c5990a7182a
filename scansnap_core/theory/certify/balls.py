"""Terms on Arb's balls: what comes out holds the value for every argument inside the balls put
in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy as sp
from flint import arb, arb_series, ctx, fmpq

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.digits import with_power
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.language import OPERATORS, Arithmetic, Term, check_bounds, read

PRECISION = 80
"""The bits of a midpoint by default. The radius comes on top: a lack of bits widens a ball,
never falsifies it.
"""

UNKNOWN = arb("nan")
"""The value of a term that isn't defined on all of the balls; it is neither positive nor
negative.
"""


class _UndefinedError(ArithmeticError):
    """An operation isn't defined, or not bounded, on all of a ball."""


def _defined(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let a function of a ball, or of a series, raise where its value isn't finite: elsewhere it
    is defined.

    Arb gives NaN or an infinite ball where an argument reaches outside of a function's domain. A
    later operation could make a finite ball of that again, so it is noticed at once.
    """

    def checked(argument: Any) -> Any:
        """Return the function's value, or raise if it, or a coefficient of it, isn't finite."""
        value = function(argument)
        if not all(
            ball.is_finite()
            for ball in (value.coeffs() if isinstance(value, arb_series) else [value])
        ):
            raise _UndefinedError
        return value

    return checked


def lambert(argument: Any, branch: int) -> Any:
    """Compute a ball of Lambert's W on the branch 0 (W >= -1) or -1 (W <= -1), or a series of them.

    W is monotone on either branch, so that a ball's ends give it. Near the branch point -1/e Arb
    has no bound for a wide ball, but narrow ones for these ends, because they are exact numbers.

    Returns
    -------
    flint.arb or flint.arb_series
        Not finite for a ball that reaches outside: below -1/e, or on the branch -1 to 0.

    Examples
    --------
    >>> lambert(arb(-0.25), -1).overlaps(arb("-2.153292364110349649"))
    True
    """
    if isinstance(argument, arb_series):
        derivatives = argument.lambertw(branch).coeffs()[1:]
        return arb_series([lambert(argument[0], branch), *derivatives], argument.prec)
    return argument.lower().lambertw(branch).union(argument.upper().lambertw(branch))


_inverse = _defined(
    lambda argument: argument.inv() if isinstance(argument, arb_series) else 1 / argument
)


def _power(base: Any, exponent: int) -> Any:
    # base**exponent isn't finite for a ball whose middle is 0
    power = math.prod([base] * abs(exponent), start=arb(1))
    return _inverse(power) if exponent < 0 else power


BALLS: Arithmetic = {
    **OPERATORS,
    "number": lambda number: arb(fmpq(number.numerator, number.denominator)),
    "power": _power,
    "exp": _defined(lambda argument: argument.exp()),
    "log": _defined(lambda argument: argument.log()),
    "sqrt": _defined(lambda argument: argument.sqrt()),
    "W0": _defined(lambda argument: lambert(argument, 0)),
    "W-1": _defined(lambda argument: lambert(argument, -1)),
}


def on_balls(term: Term) -> Callable[[Sequence[arb]], arb]:
    """Make the function from balls for a term's variables to a ball of its value, or `UNKNOWN`."""
    compute = term.compiled(BALLS)

    def value(variables: Sequence[arb]) -> arb:
        """Return a ball of the term's value for any points of the variables' balls."""
        try:
            return compute(variables)
        except (_UndefinedError, ZeroDivisionError):
            return UNKNOWN

    return value


def taylor(term: Term, order: int) -> Callable[[Sequence[arb], int], list[arb]]:
    """Make a function of balls and of a variable's place: a term's coefficients in powers of that
    variable's change.

    There are ``order`` + 1 of them; the one of power k holds the k-th derivative over k! at every
    point of the balls.
    """
    compute = term.compiled(BALLS)

    def coefficients(variables: Sequence[arb], place: int) -> list[arb]:
        """Return the coefficients, the constant one first; all are `UNKNOWN` where the term or a
        derivative isn't defined.
        """
        # The term is evaluated at the power series x + 1·change in place of the variable x.
        changed: list[Any] = list(variables)
        changed[place] = arb_series([variables[place], 1], order + 1)
        try:
            series = arb_series([0], order + 1) + compute(changed)
        except (_UndefinedError, ZeroDivisionError):
            return [UNKNOWN] * (order + 1)
        return [series[power] for power in range(order + 1)]

    return coefficients


def read_bounds(box: Mapping[sp.Symbol, tuple[Any, Any]]) -> list[tuple[arb, arb]]:
    """Compute balls of each variable's ends, which are terms without variables.

    An end that isn't finite, ends out of order, or beyond the sign of their symbol raise
    `BadInput`.
    """
    bounds = []
    for symbol, ends in box.items():
        low = on_balls(read(ends[0]))([])
        high = on_balls(read(ends[1]))([])
        if not low.lower() <= high.upper():
            raise BadInput(
                f"{symbol} from {ends[0]} to {ends[1]}",
                "a box has real ends, the smaller first",
                "swap them",
            )
        check_bounds(symbol, low, high)
        bounds.append((low, high))
    return bounds


def enclose(expression: Any, values: Mapping[sp.Symbol, Any], precision: int = PRECISION) -> arb:
    """Compute a ball that holds a term's value at a point.

    Parameters
    ----------
    expression
        A term of the language of claims.
    values
        For each of its variables a term without variables, such as a rational number.
    precision
        In bits.

    Returns
    -------
    flint.arb
        Not a number where the term isn't defined, as far as the balls of its parts tell.

    Raises
    ------
    BadInput
        If the term or a value isn't of the language, or beyond the sign that a symbol was made
        with.

    Examples
    --------
    >>> from sympy import Symbol, log
    >>> u = Symbol("u")
    >>> enclose(u - log(u), {u: 1}).contains(1)
    True
    """
    with ctx.workprec(precision):
        bounds = read_bounds({symbol: (value, value) for symbol, value in values.items()})
        return on_balls(read(expression, list(values)))([ball for ball, _ in bounds])


def at(expression: Any, values: Mapping[sp.Symbol, Any], precision: int = PRECISION) -> Certificate:
    """Certify that a term is positive at a point, or a number if it has no variables; arguments
    are `enclose`'s.

    It is false, too, if the ball of its value has no positive number; between the two it isn't
    decided.
    """
    value = enclose(expression, values, precision)
    where = ", ".join(
        f"{symbol} = {written(enclose(number, {}))}" for symbol, number in values.items()
    )
    place = f"at {where}" if values else "a number"
    gap = "" if value > 0 else f"{place}: {written(value) if value.is_finite() else 'not defined'}"
    return Certificate(
        "interval", not gap, f"a value {place}" if values else place, gap, false=bool(value <= 0)
    )


def written(number: arb) -> str:
    """Write six digits of a ball's midpoint, for messages; fewer where it is a round number."""
    mantissa, _, exponent = str(number.mid().str(6, radius=False)).partition("e")
    return with_power(mantissa, int(exponent or 0))
