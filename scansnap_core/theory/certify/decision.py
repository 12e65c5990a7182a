"""Inequalities between polynomials of any number of real variables, decided by z3."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import z3

from scansnap_core.base.bad_input import BadInput
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.language import EXACT, OPERATORS, RELATIONS, TRUTH, read_claim

EFFORT = 20_000_000
"""z3 stops after this number of its own steps, the same on any machine. What it hasn't decided by
then isn't proved.
"""


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
