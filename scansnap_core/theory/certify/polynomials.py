"""Polynomial inequalities without a box: by z3, by coefficients, and on a ray together with
exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
import z3
from flint import arb, ctx, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.balls import PRECISION, on_balls, written
from scansnap_core.theory.certify.language import (
    EXACT,
    OPERATORS,
    RELATIONS,
    TRUTH,
    Term,
    check_bounds,
    read,
    read_claim,
)

EFFORT = 20_000_000
"""z3 stops after this number of its own steps, the same on any machine. What it hasn't decided by
then isn't proved.
"""
LENGTHS = 42
"""So many lengths of an interval are tried, each half as long as the one before."""
_PROBES = tuple(map(Fraction, ("0", "1/8", "1/3", "1/2", "1", "2", "5", "100")))
"""A counterexample is looked for at these points."""


class _GaveUpError(Exception):
    """z3 has reached its limit, or says that it can't tell."""


def decide(claim: Any, *assumptions: Any) -> Certificate:
    """Certify that a relation is defined and follows from others, for all real values of their
    variables.

    z3 looks for reals that meet all assumptions, and at which the claim isn't defined or isn't
    true. It is proved if there are none. An exponential or logarithm enters as a variable of its
    own, with what is known of it as an assumption, such as s >= 0 for s = e^u - 1 - u.

    Parameters
    ----------
    claim
        A relation of quotients of polynomials with rational coefficients, or several joined by And,
        Or and Not.
    assumptions
        The same of polynomials. The sign that a symbol was made with is assumed too.

    Returns
    -------
    Certificate
        Its gap is a counterexample, which is rational and was tried exactly, or what z3 leaves
        open.

    Raises
    ------
    BadInput
        If one of them isn't of the language of claims, the assumptions contradict one another, or
        SymPy has made the claim True or False.

    Examples
    --------
    >>> from sympy import symbols
    >>> x, y = symbols("x y", real=True)
    >>> decide(x**2 + y**2 >= 2 * x * y).proved
    True
    >>> decide(x**2 >= x, x >= 0).gap
    'a counterexample: x = 1/2'
    """
    wanted, region = read_claim(claim, assumptions)
    letters = [z3.Real(name) for name in wanted.names]
    divisors: list[Any] = []

    def power(base: Any, exponent: int) -> Any:
        """Write a power for z3, and note what is divided by."""
        if exponent >= 0:
            return z3.Product([base] * exponent)
        divisors.append(base)  # z3 gives a quotient by 0 any value
        return 1 / z3.Product([base] * -exponent)

    def a_divisor_is_0() -> Any:
        """Say, to z3, that one of the divisors noted so far is 0."""
        return z3.Or(*[divisor == 0 for divisor in divisors])

    joints = {
        "and": z3.And,
        "or": z3.Or,
        "not": z3.Not,
        "number": lambda x: z3.Q(x.numerator, x.denominator),
    }
    arithmetic = {**OPERATORS, **RELATIONS, **joints, "power": power}

    # Compiling notes divisors, so the order counts: assumptions that don't divide, then those that
    # do, whose divisors `unclear` has, then the claim.
    known = [given.compiled(arithmetic)(letters) for given in region if not given.divides]
    plain = list(known)
    known += [given.compiled(arithmetic)(letters) for given in region if given.divides]
    unclear = [*plain, a_divisor_is_0()]
    fails = z3.Not(wanted.compiled(arithmetic)(letters))
    try:
        if _point(known, letters) is None:
            raise BadInput(
                f"{assumptions}", "assumptions can all be true", "mend what contradicts the others"
            )
        if _point(unclear, letters) is not None:
            raise BadInput(
                f"{assumptions}",
                "those that divide are defined by the others",
                "multiply by the divisor",
            )
        false = _point([*known, z3.Not(a_divisor_is_0()), fails], letters)
        undefined = _point([*known, a_divisor_is_0()], letters)
    except _GaveUpError as why:
        return Certificate("decision", False, "z3", f"z3 gave up: {why}")
    if false is None and undefined is None:
        return Certificate("decision", True, "z3 finds no counterexample")
    point = false or undefined or []
    where = ", ".join(
        f"{name} = {number}" for name, number in zip(wanted.names, point, strict=True)
    )
    if false is None:
        return Certificate("decision", False, "z3", f"the claim isn't defined at {where}")
    if not all(isinstance(number, Fraction) for number in point):
        return Certificate(
            "decision", False, "z3", f"a counterexample that isn't rational: {where}"
        )

    # z3's counterexample is believed after it was tried with fractions.
    exactly = {**EXACT, **TRUTH}
    if wanted.compiled(exactly)(point) or not all(
        given.compiled(exactly)(point) for given in region
    ):
        return Certificate("decision", False, "z3", f"z3's counterexample is none: {where}")
    return Certificate("decision", False, "z3", f"a counterexample: {where}", false=True)


def _point(formulas: list[Any], letters: list[Any]) -> list[Any] | None:
    """Let z3 find a point at which all formulas are true: a value for each letter, a fraction where
    it is rational.

    It is None if there is no such point; what z3 can't tell raises.
    """
    solver = z3.Solver()  # a second check of one solver takes another, slower way
    solver.set("rlimit", EFFORT)
    solver.add(*formulas)
    answer = solver.check()
    if answer == z3.unknown:
        raise _GaveUpError(solver.reason_unknown())
    if answer == z3.unsat:
        return None
    values = [solver.model().eval(letter, model_completion=True) for letter in letters]
    return [value.as_fraction() if z3.is_rational_value(value) else value for value in values]


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
