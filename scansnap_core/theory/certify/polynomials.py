"""Polynomial inequalities in one variable: by coefficients, and on a ray together with
exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import arb, ctx, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly

from scansnap_core.base.bad_input import BadInput
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.balls import PRECISION, on_balls, written
from scansnap_core.theory.certify.language import EXACT, OPERATORS, Term, check_bounds, read

LENGTHS = 42
"""So many lengths of an interval are tried, each half as long as the one before."""
_PROBES = tuple(map(Fraction, ("0", "1/8", "1/3", "1/2", "1", "2", "5", "100")))
"""A counterexample is looked for at these points."""


def nonnegative_between(coefficients: Sequence[Any], low: Any, high: Any) -> Certificate:
    """Certify that a polynomial in one variable is not negative between two rational numbers.

    (1 + x)^n P((low + high x)/(1 + x)) runs over the interval as x runs from 0 on. Where none of
    its coefficients is negative, P isn't either; otherwise the interval is halved.

    All are rational numbers. The coefficients begin with the constant; the smaller end comes first.

    Returns
    -------
    Certificate
        Its gap is a point at which the polynomial is negative, or an interval too short to be
        halved again.

    Examples
    --------
    >>> nonnegative_between([1, -4, 4], 0, 1).proved
    True
    >>> nonnegative_between([1, -4, 3], 0, 1).gap
    '-1/4 at 1/2'
    """
    polynomial = fmpq_poly([_rational(number) for number in coefficients])
    waiting = [(_rational(low), _rational(high))]
    parts = 0
    if not _rational(low) < _rational(high):
        raise BadInput(
            f"from {low} to {high}", "an interval's smaller end comes first", "swap them"
        )
    for _ in range(LENGTHS):
        undecided = []
        for first, last in waiting:
            parts += 1
            middle = (first + last) / 2
            if polynomial(middle) < 0:
                return Certificate(
                    "algebra",
                    False,
                    "coefficients",
                    f"{polynomial(middle)} at {middle}",
                    false=True,
                )
            if not all(number >= 0 for number in _on_a_ray(polynomial, first, last)):
                undecided.append((first, middle, last))
        if not undecided:
            return Certificate(
                "algebra",
                True,
                f"coefficients on {parts} {'interval' if parts == 1 else 'intervals'}",
            )
        waiting = [
            half for first, middle, last in undecided for half in ((first, middle), (middle, last))
        ]
    first, _, last = undecided[0]
    return Certificate("algebra", False, "coefficients", f"undecided from {first} to {last}")


def _rational(number: Any) -> fmpq:
    """Convert a rational number of SymPy's or Python's to one of FLINT's."""
    if isinstance(number, fmpq):
        return number
    exact = read(number).compiled(EXACT)([])
    return fmpq(exact.numerator, exact.denominator)


def _on_a_ray(polynomial: fmpq_poly, first: fmpq, last: fmpq) -> list[fmpq]:
    """Compute the coefficients of (1 + x)^n P((first + last x)/(1 + x)), the constant first.

    With s = x/(1 + x) the argument is first + (last - first) s. So P is expanded in s, and Horner's
    rule multiplies each coefficient of s^k by x^k (1 + x)^(n - k).
    """
    result = fmpq_poly()
    power = fmpq_poly([1])
    for coefficient in reversed(polynomial(fmpq_poly([first, last - first])).coeffs()):
        result = fmpq_poly([0, 1]) * result + coefficient * power
        power *= fmpq_poly([1, 1])
    return list(result.coeffs())


def positive_on_ray(expression: Any, variable: sp.Symbol, start: Any) -> Certificate:
    """Certify that a sum of polynomials times exponentials e^(kx) is positive beyond a point, up to
    infinity.

    A function that isn't negative at the start and rises is positive beyond it, and a factor
    e^(-kx) changes no sign. So the exponentials are taken away, the lowest first, by
    differentiating until its polynomial is gone; the polynomial that is left has no root on the
    ray, by Sturm's theorem.

    Parameters
    ----------
    expression
        A term of the language of claims, a sum of p_k(x) e^(kx) with integers k.
    variable
    start
        A rational number. The expression may be 0 there.

    Returns
    -------
    Certificate
        Its gap is a point at which the expression is negative, or, if none was found, where the
        proof stopped: some derivative may be negative where the function isn't.

    Raises
    ------
    BadInput
        If it is no such sum, or the ray leaves the sign that the symbol was made with.

    Examples
    --------
    >>> from sympy import Symbol, exp
    >>> u = Symbol("u")
    >>> positive_on_ray(exp(u) - 1 - u - u**2 / 2, u, 0).proved
    True
    >>> positive_on_ray(exp(u) - 1 - u - u**2, u, 0).gap
    '−0.00747655 at u = 1/8'
    """
    term = read(expression, [variable])
    first = _rational(start)
    check_bounds(variable, first, math.inf, beyond=True)
    found = _positive_on_ray(_exponentials(term), str(variable), first)
    with ctx.workprec(PRECISION):
        for probe in () if found else _PROBES:
            point = first + _rational(probe)
            value = on_balls(term)([arb(point)])
            if value < 0 or (probe and value <= 0):
                return Certificate(
                    "algebra",
                    False,
                    found.how,
                    f"{written(value)} at {variable} = {point}",
                    false=True,
                )
    return found


def _positive_on_ray(parts: dict[int, fmpq_poly], name: str, start: fmpq) -> Certificate:
    """Certify that the sum of p_k(x) e^(kx) is positive beyond the start, from its p_k by k.

    ``name`` is the variable's, for the certificate's words.
    """
    derivatives = 0
    *lower, highest = sorted(parts)
    # The sum is divided by e^(lowest x) and differentiated until its lowest polynomial is gone.
    # Each derivative has to begin at 0 or more.
    for lowest in lower:
        for _ in range(parts[lowest].degree() + 1):
            value = _at_start(parts, lowest, start)
            if not value >= 0:
                gap = f"derivative {derivatives} at {name} = {start} is {written(arb(value))}"
                return Certificate("algebra", False, "derivatives", gap)
            parts = {
                k: polynomial.derivative() + (k - lowest) * polynomial
                for k, polynomial in parts.items()
            }
            derivatives += 1
        del parts[lowest]

    # What is left is the sign of one polynomial: beyond the start it has no root, and in the end it
    # is positive.
    polynomial = parts[highest]
    coefficients = [
        sp.Rational(int(number.p), int(number.q)) for number in reversed(polynomial.coeffs())
    ]
    exact = sp.Poly(coefficients or [0], sp.Symbol(name))
    beyond = exact.count_roots(sp.Rational(int(start.p), int(start.q)), None) - (
        polynomial(start) == 0
    )
    if exact.LC() <= 0 or beyond:
        return Certificate(
            "algebra", False, "Sturm", f"{exact.as_expr()} isn't positive beyond {start}"
        )
    word = "derivative" if derivatives == 1 else "derivatives"
    return Certificate("algebra", True, f"{derivatives} {word}, then Sturm")


def _at_start(parts: dict[int, fmpq_poly], lowest: int, start: fmpq) -> fmpq | arb:
    """Compute the sum of p_k e^((k - lowest) x) at the start: exactly where every exponential is
    1, else as a ball.
    """
    values = {k - lowest: polynomial(start) for k, polynomial in parts.items()}
    if start == 0 or not any(value for k, value in values.items() if k):
        return sum(values.values(), fmpq(0))
    with ctx.workprec(PRECISION):
        return sum((value * arb(k * start).exp() for k, value in values.items()), arb(0))


def _exponentials(term: Term) -> dict[int, fmpq_poly]:
    """Compute the polynomials p_k, by k, of a term that is a sum of p_k(x) e^(kx).

    It is computed as a polynomial in x and e = e^x. A term that is no such sum raises `BadInput`.
    """
    context = fmpq_mpoly_ctx.get(("x", "e"))
    x, e = context.gens()

    def power(base: fmpq_mpoly, exponent: int) -> fmpq_mpoly:
        """Take a power, which is a polynomial if nothing but a number is divided by."""
        if exponent < 0 and not base.is_constant():
            raise BadInput(
                f"a division by {base}",
                "this procedure knows polynomials",
                "multiply by the divisor",
            )
        return base**exponent

    def exponential(argument: fmpq_mpoly) -> fmpq_mpoly:
        """Write e^(kx) as the k-th power of e."""
        k = argument.to_dict().get((1, 0), fmpq(0))
        if argument != k * x or k.q != 1 or k < 0:
            rule = "an exponential here is e^(kx) with a natural number k"
            raise BadInput(
                f"the exponential of {argument}", rule, "multiply by e^x, or scale the variable"
            )
        return e ** int(k.p)

    number = {"number": lambda number: context.constant(_rational(number))}
    polynomial = term.compiled({**OPERATORS, **number, "power": power, "exp": exponential})([x])
    parts: dict[int, list[fmpq]] = {}
    for (power_of_x, k), coefficient in polynomial.to_dict().items():
        coefficients = parts.setdefault(k, [])
        coefficients += [fmpq(0)] * (power_of_x + 1 - len(coefficients))
        coefficients[power_of_x] = coefficient
    return {k: fmpq_poly(coefficients) for k, coefficients in (parts or {0: []}).items()}
