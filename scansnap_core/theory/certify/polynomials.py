"""Polynomial inequalities without a box: by z3, by coefficients, and on a ray together with exponentials."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import sympy as sp
import z3
from flint import fmpq, fmpq_poly

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.balls import enclose, written

EFFORT = 20_000_000
"""z3 stops after so many steps of its own count, on any machine. What it hasn't decided by then isn't proved."""
_PROBES = tuple(sp.Rational(x) for x in ("0", "1/8", "1/3", "1/2", "1", "2", "5", "100"))
"""A counterexample is looked for at these points."""
LENGTHS = 42
"""So many lengths of an interval are tried, each half as long as the one before."""

_RELATIONS: dict[type, Any] = {
    sp.StrictGreaterThan: lambda a, b: a > b,
    sp.GreaterThan: lambda a, b: a >= b,
    sp.StrictLessThan: lambda a, b: a < b,
    sp.LessThan: lambda a, b: a <= b,
    sp.Equality: lambda a, b: a == b,
    sp.Unequality: lambda a, b: a != b,
}


def decide(claim: Any, *assumptions: Any) -> Certificate:
    """Certify that a relation between polynomials follows from others, for all real values of their symbols.

    z3 looks for reals that meet all assumptions and not the claim; it is proved if there are none. An exponential or
    logarithm enters as a symbol of its own, with what is known of it as an assumption, such as s >= 0 for
    s = e^u - 1 - u.

    Parameters
    ----------
    claim, assumptions
        SymPy relations or Boolean combinations of them, of polynomials with rational coefficients. The sign that a
        symbol was made with is assumed too. A quotient's denominator has to be other than 0 by the
        assumptions, for z3 gives a division by 0 any value.

    Returns
    -------
    Certificate
        Its gap is a counterexample, or that z3 gave up.

    Examples
    --------
    >>> from sympy import symbols
    >>> x, y = symbols("x y", real=True)
    >>> decide(x**2 + y**2 >= 2 * x * y).proved
    True
    >>> decide(x**2 >= x, x >= 0).gap
    'a counterexample: x = 1/2'
    """
    for given in (claim, *assumptions):
        if not isinstance(given, sp.logic.boolalg.Boolean):
            rule = "z3 decides relations of SymPy's"
            raise BadInput(f"{given!r}", rule, "pass e.g. x >= 0, or Ne(u, v) for u != v")
    symbols = sorted(set[sp.Symbol]().union(*(given.free_symbols for given in (claim, *assumptions))), key=str)
    for one, other in itertools.pairwise(symbols):
        if one.name == other.name:
            rule = "two symbols of one name are two variables, which z3 and a reader would take for one"
            raise BadInput(f"symbol {one}", rule, "use one symbol, or another name")
    assumed = [sign for symbol in symbols for sign in _signs(symbol)] + [_formula(given) for given in assumptions]
    conceivable, solver = _solved(assumed)
    if conceivable == z3.unsat:
        value = ", ".join(map(str, assumptions))
        raise BadInput(value, "assumptions can all be true", "mend what contradicts the others")
    answer = conceivable
    if conceivable == z3.sat:
        answer, solver = _solved([*assumed, z3.Not(_formula(claim))])
    how = "z3 finds no counterexample"
    if answer == z3.unsat:
        return Certificate("decision", True, how)
    if answer == z3.unknown:
        return Certificate("decision", False, "z3", f"z3 gave up: {solver.reason_unknown()}")
    model = solver.model()
    letters = sorted((name for name in model.decls() if name.arity() == 0), key=str)
    point = ", ".join(f"{name} = {model[name]}" for name in letters)
    return Certificate("decision", False, "z3", f"a counterexample: {point}", false=True)


def _solved(formulas: list[Any]) -> tuple[Any, z3.Solver]:
    solver = z3.Solver()  # a second check of one solver takes another, slower way
    solver.set("rlimit", EFFORT)
    solver.add(*formulas)
    return solver.check(), solver


def cleared(quotient: sp.Expr) -> sp.Expr:
    """Multiply numerator and denominator: the product has the quotient's sign wherever the quotient is defined.

    Examples
    --------
    >>> from sympy import symbols
    >>> x, y = symbols("x y")
    >>> cleared(x / y - 1)
    y*(x - y)
    """
    numerator, denominator = sp.fraction(sp.together(quotient))
    return numerator * denominator


def _signs(symbol: sp.Symbol) -> list[Any]:
    """Return the signs that SymPy knows of a symbol; it would drop them from an assumption as true."""
    letter = _term(symbol)
    known = {"positive": letter > 0, "negative": letter < 0, "nonnegative": letter >= 0, "nonpositive": letter <= 0}
    return [relation for name, relation in known.items() if getattr(symbol, f"is_{name}")]


def _formula(relation: Any) -> Any:
    relation = sp.sympify(relation)
    if relation in (sp.true, sp.false):
        return z3.BoolVal(bool(relation))
    if isinstance(relation, sp.And | sp.Or | sp.Not):
        parts = [_formula(part) for part in relation.args]
        return {sp.And: z3.And, sp.Or: z3.Or, sp.Not: z3.Not}[relation.func](*parts)
    if type(relation) not in _RELATIONS:
        raise BadInput(f"{relation}", "z3 decides relations", "pass e.g. x >= 0")
    return _RELATIONS[type(relation)](_term(relation.lhs), _term(relation.rhs))


def _term(expression: sp.Expr) -> Any:
    match expression:
        case sp.Symbol():
            return z3.Real(expression.name)
        case sp.Rational():
            return z3.Q(int(expression.p), int(expression.q))
        case sp.Add():
            return z3.Sum(*map(_term, expression.args))
        case sp.Mul():
            return z3.Product(*map(_term, expression.args))
        case sp.Pow(exp=power) if power.is_Integer:
            base = z3.Product(*[_term(expression.base)] * abs(int(power)))
            return 1 / base if power.is_negative else base
    raise BadInput(f"{expression}", "z3 decides polynomials", "give what isn't one a symbol")


def nonnegative_coefficients(expression: sp.Expr, *variables: sp.Symbol) -> Certificate:
    """Certify that a polynomial is not negative where its variables aren't, because none of its coefficients is.

    Its coefficients are rational. Shift its variables, such as M = 2 + m, to say where they start.

    Returns
    -------
    Certificate
        Its gap is a point at which the polynomial is negative, or, if none was found, the first negative coefficient.

    Examples
    --------
    >>> from sympy import symbols
    >>> m, s = symbols("m s")
    >>> nonnegative_coefficients((1 + m) ** 2 - m, m).proved
    True
    >>> nonnegative_coefficients((1 + m) ** 2 - 3 * m, m).gap
    'the coefficient of m is -1'
    >>> nonnegative_coefficients((1 + m) ** 2 - 5 * m, m).gap
    '-1/4 at m = 1/2'
    """
    polynomial = sp.Poly(sp.expand(expression), *variables)
    terms = polynomial.terms()
    for _, coefficient in terms:
        _rational(coefficient)
    negative = next((term for term in terms if term[1] < 0), None)
    if negative is None:
        return Certificate("algebra", True, f"{len(terms)} coefficients, none negative")
    for point in itertools.product(*[_PROBES] * len(variables)):
        if (value := polynomial.eval(dict(zip(variables, point, strict=True)))) < 0:
            where = ", ".join(f"{v} = {x}" for v, x in zip(variables, point, strict=True))
            return Certificate("algebra", False, "coefficients", f"{value} at {where}", false=True)
    monomial = sp.prod(v**p for v, p in zip(variables, negative[0], strict=True))
    return Certificate("algebra", False, "coefficients", f"the coefficient of {monomial} is {negative[1]}")


def nonnegative_between(coefficients: Sequence[Any], low: Any, high: Any) -> Certificate:
    """Certify that a polynomial in one variable is not negative between two rational numbers.

    (1 + x)^n P((low + high x)/(1 + x)) runs over the interval as x runs from 0 on. Where none of its coefficients is
    negative, P isn't either; otherwise the interval is halved.

    All are rational numbers. The coefficients begin with the constant; the smaller end comes first.

    Returns
    -------
    Certificate
        Its gap is a point at which the polynomial is negative, or an interval too short to be halved again.

    Examples
    --------
    >>> nonnegative_between([1, -4, 4], 0, 1).proved
    True
    >>> nonnegative_between([1, -4, 3], 0, 1).gap
    '-1/4 at 1/2'
    """
    polynomial = fmpq_poly([_rational(number) for number in coefficients])
    waiting, parts = [(_rational(low), _rational(high))], 0
    if not _rational(low) < _rational(high):
        raise BadInput(f"from {low} to {high}", "an interval's smaller end comes first", "swap them")
    for _ in range(LENGTHS):
        undecided = []
        for first, last in waiting:
            parts += 1
            middle = (first + last) / 2
            if polynomial(middle) < 0:
                return Certificate("algebra", False, "coefficients", f"{polynomial(middle)} at {middle}", false=True)
            if not all(number >= 0 for number in _on_a_ray(polynomial, first, last)):
                undecided.append((first, middle, last))
        if not undecided:
            return Certificate("algebra", True, f"coefficients on {parts} {'interval' if parts == 1 else 'intervals'}")
        waiting = [half for first, middle, last in undecided for half in ((first, middle), (middle, last))]
    first, _, last = undecided[0]
    return Certificate("algebra", False, "coefficients", f"undecided from {first} to {last}")


def _rational(number: Any) -> fmpq:
    if isinstance(number, fmpq):
        return number
    exact = sp.sympify(number)
    if not exact.is_Rational:
        rule = "a proof takes rational numbers, no floating-point ones"
        raise BadInput(f"{number}", rule, "write e.g. Rational(1, 10)")
    return fmpq(int(exact.p), int(exact.q))


def _on_a_ray(polynomial: fmpq_poly, first: fmpq, last: fmpq) -> list[fmpq]:
    """Compute the coefficients of (1 + x)^n P((first + last x)/(1 + x)), by Horner's rule."""
    result, power = fmpq_poly(), fmpq_poly([1])
    for coefficient in reversed(polynomial(fmpq_poly([first, last - first])).coeffs()):
        result = fmpq_poly([0, 1]) * result + coefficient * power
        power *= fmpq_poly([1, 1])
    return list(result.coeffs())


def positive_on_ray(expression: sp.Expr, variable: sp.Symbol, start: Any) -> Certificate:
    """Certify that a sum of polynomials times exponentials e^(kx) is positive beyond a point, up to infinity.

    A function that isn't negative at the start and rises is positive beyond it, and a factor e^(-kx) changes no sign.
    So the exponentials are taken away, the lowest first, by differentiating until its polynomial is gone; the
    polynomial that is left has no root on the ray, by Sturm's theorem.

    Parameters
    ----------
    expression
        A sum of p_k(x) e^(kx), k = 0, 1, 2..., rational coefficients.
    variable
    start
        A rational number. The expression may be 0 there.

    Returns
    -------
    Certificate
        Its gap is a point at which the expression is negative, or, if none was found, where the proof stopped: some
        derivative may be negative where the function isn't.

    Examples
    --------
    >>> from sympy import Symbol, exp
    >>> u = Symbol("u")
    >>> positive_on_ray(exp(u) - 1 - u - u**2 / 2, u, 0).proved
    True
    >>> positive_on_ray(exp(u) - 1 - u - u**2, u, 0).gap
    '−0.00747655 at u = 1/8'
    """
    _rational(start)
    found = _positive_on_ray(expression, variable, sp.Rational(start))
    for point in () if found else [start + probe for probe in _PROBES]:
        if (value := enclose(expression, {variable: point})) < 0:
            return Certificate("algebra", False, found.how, f"{written(value)} at {variable} = {point}", false=True)
    return found


def _positive_on_ray(expression: sp.Expr, variable: sp.Symbol, start: sp.Rational) -> Certificate:
    parts = _exponentials(expression, variable)
    derivatives = 0
    *lower, highest = sorted(parts)
    for lowest in lower:
        for _ in range(parts[lowest].degree() + 1):
            exact = sum(polynomial.eval(start) * sp.exp((k - lowest) * start) for k, polynomial in parts.items())
            if not (exact >= 0 if exact.is_Rational else enclose(exact, {}) > 0):
                where = f"derivative {derivatives} at {variable} = {start}"
                return Certificate("algebra", False, "derivatives", f"{where} is {exact}")
            parts = {k: polynomial.diff() + (k - lowest) * polynomial for k, polynomial in parts.items()}
            derivatives += 1
        del parts[lowest]
    polynomial = parts[highest]
    beyond = polynomial.count_roots(start, None) - (polynomial.eval(start) == 0)
    if polynomial.LC() <= 0 or beyond:
        return Certificate("algebra", False, "Sturm", f"{polynomial.as_expr()} isn't positive beyond {start}")
    word = "derivative" if derivatives == 1 else "derivatives"
    return Certificate("algebra", True, f"{derivatives} {word}, then Sturm")


def _exponentials(expression: sp.Expr, variable: sp.Symbol) -> dict[int, sp.Poly]:
    base = sp.Dummy("base")
    polynomial = sp.Poly(sp.powsimp(sp.expand(expression)).subs(sp.exp(variable), base).expand(), base)
    found = {power: sp.Poly(part, variable) for (power,), part in polynomial.terms()}
    rational = all(part.get_domain() in (sp.QQ, sp.ZZ) for part in found.values())
    if not rational:
        rule = "polynomials with rational coefficients times exponentials of the one variable"
        raise BadInput(f"{expression}", rule, "give its other symbols values")
    return found
