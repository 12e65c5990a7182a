"""Inequalities between polynomials: what is proved is true, and what is false or can't be decided isn't proved."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product

import pytest
import sympy as sp
from flint import fmpq, fmpq_poly
from hypothesis import given
from hypothesis import strategies as st

from scansnap_core import BadInput
from scansnap_core.theory.certify import polynomials
from scansnap_core.theory.certify.polynomials import (
    cleared,
    decide,
    nonnegative_between,
    nonnegative_coefficients,
    positive_on_ray,
)

u, v = sp.symbols("u v", positive=True)
x, y = sp.symbols("x y", real=True)
HALF = sp.Rational(1, 2)
RELATIONS = [sp.Gt, sp.Ge, sp.Lt, sp.Le, sp.Eq, sp.Ne]


def test_an_undecided_interval_is_one_part_in_two_to_the_41st() -> None:
    found = nonnegative_between([4, 0, -4, 0, 1], 1, 2)  # (x^2 - 2)^2, whose zero no halving meets
    interval = re.fullmatch("undecided from (.*) to (.*)", found.gap)
    assert interval is not None
    first, last = map(Fraction, interval.groups())
    assert first < math.sqrt(2) < last
    assert last - first == Fraction(1, 2**41)
    assert not found.proved


@pytest.mark.parametrize(
    ("coefficients", "how"),
    [
        ([0], "coefficients on 1 interval"),
        ([2, 1], "coefficients on 1 interval"),
        ([1, -4, 4], "coefficients on 3 intervals"),  # it has its zero at 1/2, where the first halves meet
    ],
)
def test_intervals_are_counted(coefficients: list[int], how: str) -> None:
    found = nonnegative_between(coefficients, 0, 1)
    assert found.proved
    assert found.how == how
    below = nonnegative_between([-1], 0, 1)  # at the middle
    assert (below.gap, below.proved, below.false) == ("-1 at 1/2", False, True)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=5), st.fractions(-2, 2, max_denominator=4))
def test_coefficients_on_a_ray(coefficients: list[int], first: Fraction) -> None:
    last = first + Fraction(3, 2)
    P = fmpq_poly(coefficients)
    found = polynomials._on_a_ray(P, *(fmpq(end.numerator, end.denominator) for end in (first, last)))
    for at in range(1, 7):
        x = (first + last * at) / (1 + at)
        known = (1 + at) ** P.degree() * sum(c * x**k for k, c in enumerate(coefficients)) if P else 0
        assert sum(Fraction(int(c.p), int(c.q)) * at**k for k, c in enumerate(found)) == known


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 1), (2, 1), (HALF, 1)])
def test_a_relation_means_what_it_says(relation: type, a: sp.Expr, b: sp.Expr) -> None:
    holds = bool(relation(a, b))
    assert decide(relation(x, b), x + a <= 2 * a, x >= a).proved == holds
    assert decide(relation(x, b), sp.Eq(x, a)).proved == holds
    if holds:
        assert decide(sp.false, relation(x, b), sp.Eq(x, a)).false
    else:
        with pytest.raises(BadInput, match="assumptions can all be true"):
            decide(sp.false, relation(x, b), sp.Eq(x, a))


SIGNS = {
    "positive": [sp.Rational(1, 10**9), HALF, 2],
    "negative": [-sp.Rational(1, 10**9), -HALF, -2],
    "nonnegative": [0, HALF, 2],
    "nonpositive": [0, -HALF, -2],
}
"""Numbers of each sign, among them those next to its end."""


@pytest.mark.parametrize("sign", SIGNS)
def test_a_symbols_sign_is_assumed_and_no_more(sign: str) -> None:
    s = sp.Symbol("s", **{sign: True})
    for relation, bound in product(RELATIONS, (-HALF, 0, HALF)):
        found = decide(relation(x, bound), sp.Eq(x, s))
        assert found.proved == all(relation(number, bound) for number in SIGNS[sign]), (relation, bound)


@pytest.mark.parametrize(
    ("claim", "assumptions", "holds"),
    [
        (1 / x > 0, [x > 0], True),
        (1 / x > 1, [x > 0], False),
        (1 / x**2 <= 1, [x >= 1], True),
        (sp.Eq(1 / x**3, sp.Rational(1, 8)), [sp.Eq(x, 2)], True),
        (sp.Eq(3 / x**2, sp.Rational(1, 3)), [sp.Eq(x, 3)], True),
        (sp.Eq(x**3, 8), [sp.Eq(x, 2)], True),
        (x / y + y / x >= 2, [x > 0, y > 0], True),
        (x / y + y / x > 2, [x > 0, y > 0], False),
        (x > 0, [x > y, y >= 0], True),
        (x > 0, [x >= y, y >= 0], False),
        (sp.And(x > 0, x < 2), [sp.Eq(x, 1)], True),
        (sp.And(x > 0, x < 2), [sp.Eq(x, 3)], False),
        (sp.Not(sp.And(x > 1, x < 1)), [], True),
        (sp.Or(x < y, x >= y), [], True),
    ],
)
def test_what_follows_is_proved_and_what_does_not_is_not(claim: sp.Expr, assumptions: list, holds: bool) -> None:
    assert decide(claim, *assumptions).proved == holds


def test_a_counterexample_is_a_point() -> None:
    found = decide(1 / x > 0, x >= 0, x <= 0)
    assert found.gap == "a counterexample: x = 0"
    assert not found.proved


def test_what_z3_gives_up_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polynomials, "EFFORT", 1)
    letters = sp.symbols("a:7", positive=True)
    found = decide((sum(letters) / 7) ** 7 >= sp.prod(letters))
    assert found.gap.startswith("z3 gave up: ")
    assert not found.proved


@pytest.mark.parametrize("quotient", [x / y - 1, 1 / x - 1 / y, (x - 2) / (y + x), x * y - 3])
def test_a_cleared_quotient_keeps_its_sign(quotient: sp.Expr) -> None:
    polynomial = cleared(quotient)
    assert polynomial.is_polynomial(x, y)
    for point in product((-3, -HALF, sp.Rational(2, 3), 4), (-1, sp.Rational(1, 3), 5)):
        at = dict(zip((x, y), point, strict=True))
        assert sp.sign(polynomial.subs(at)) == sp.sign(quotient.subs(at))


def test_a_negative_coefficient_is_named() -> None:
    found = nonnegative_coefficients(u**2 + 3 - 2 * u**3 * v**2 + v, u, v)
    assert (found.gap, found.false) == ("-17216/27 at u = 1/3, v = 100", True)
    assert nonnegative_coefficients((1 + u) ** 2 - 5 * u, u).gap == "-1/4 at u = 1/2"
    found = nonnegative_coefficients(u**2 - u * v + v**2, u, v)
    assert (found.gap, found.proved, found.false) == ("the coefficient of u*v is -1", False, False)
    assert nonnegative_coefficients(u**2 / 2 + 3 * v, u, v).how == "2 coefficients, none negative"


@pytest.mark.parametrize(
    ("expression", "start", "holds"),
    [
        (x, 0, True),  # 0 at the start
        (x, -1, False),
        ((x - 1) ** 2, 1, True),
        (x * (x - 1), 1, True),
        (x * (x - 1), 0, False),
        (x * (x - 1) * (x - 2), 1, False),
        (5 - x, 0, False),
        (-1 - x, 0, False),
        (sp.Integer(-1), 0, False),
        (sp.Integer(1), 0, True),
        (sp.exp(x) - 2, 1, True),  # e - 2 < 1
        (sp.exp(x) - 3, 1, False),  # e - 3 > -1
        (sp.exp(x) - 1, 0, True),
        (sp.exp(x) - 1, sp.Rational(-1, 2), False),
        (sp.exp(x) - 2, 0, False),
        (sp.exp(2 * x) - 2 * sp.exp(x) + 1, 0, True),
        (sp.exp(2 * x) - 2 * sp.exp(x) + 1 - x**2, 0, True),  # e^x - 1 > x
        (sp.exp(3 * x) - sp.exp(x) - 2 * x, 0, True),
        (sp.exp(3 * x) - sp.exp(2 * x) - sp.exp(x) - x, 0, False),
        (-sp.exp(x), 0, False),
        (x * sp.exp(x) - sp.exp(x) + 1, 0, True),
        (sp.exp(x) - x**3, 5, True),
        (sp.exp(x) - x**3, 4, False),
    ],
)
def test_on_a_ray(expression: sp.Expr, start: sp.Expr, holds: bool) -> None:
    assert positive_on_ray(expression, x, start).proved == holds


def test_derivatives_are_counted_and_the_negative_one_is_named() -> None:
    assert positive_on_ray(sp.exp(x) - 1 - x - x**2 / 2, x, 0).how == "3 derivatives, then Sturm"
    assert positive_on_ray(x**2 + 1, x, 0).how == "0 derivatives, then Sturm"
    assert positive_on_ray(sp.exp(x) - 1, x, 0).how == "1 derivative, then Sturm"
    found = positive_on_ray(sp.exp(x) - 1 - x - x**2, x, 0)
    assert (found.gap, found.false) == ("−0.00747655 at x = 1/8", True)
    found = positive_on_ray(sp.exp(x) - x, x, -1)
    assert (found.gap, found.proved, found.false) == ("derivative 1 at x = -1 is -1 + exp(-1)", False, False)
    assert positive_on_ray(x - 3, x, 1).gap == "−2 at x = 1"


def test_what_is_no_polynomial_is_refused() -> None:
    with pytest.raises(BadInput, match="rational coefficients"):
        positive_on_ray(sp.exp(u) - v, u, 1)
    for claim, rule in ((sp.exp(u) > 2, "z3 decides polynomials"), (u + v, "z3 decides relations")):
        with pytest.raises(BadInput, match=rule):
            decide(claim)
