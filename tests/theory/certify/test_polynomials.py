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
from scansnap_core.theory.certify import decision, polynomials
from scansnap_core.theory.certify.decision import decide
from scansnap_core.theory.certify.polynomials import nonnegative_between, positive_on_ray
from tests.refusing import refuses

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
        assert decide(x > y, relation(x, b), sp.Eq(x, a)).false
    else:
        with refuses(f"({relation(x, b)}, {sp.Eq(x, a)})", "assumptions can all be true"):
            decide(x > y, relation(x, b), sp.Eq(x, a))


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
        (sp.Or(x < y, x > y - 1), [], True),
    ],
)
def test_what_follows_is_proved_and_what_does_not_is_not(claim: sp.Expr, assumptions: list, holds: bool) -> None:
    assert decide(claim, *assumptions).proved == holds


def test_a_counterexample_is_a_point() -> None:
    found = decide(x > 0, x >= 0, x <= 0)
    assert found.gap == "a counterexample: x = 0"
    assert not found.proved


def test_what_z3_gives_up_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "EFFORT", 1)
    letters = sp.symbols("a:7", positive=True)
    found = decide((sum(letters) / 7) ** 7 >= sp.prod(letters))
    assert found.gap.startswith("z3 gave up: ")
    assert not found.proved


@pytest.mark.parametrize(
    ("claim", "assumptions", "gap"),
    [
        (1 / x**2 > 0, [], "the claim isn't defined at x = 0"),
        (1 / x**2 - 1 / (2 * x**2) > 0, [x <= 0], "the claim isn't defined at x = 0"),
        ((x**2 - 1) / (x - 1) <= x + 1, [x >= 1], "the claim isn't defined at x = 1"),
        (1 / (1 / x - 1) > 0, [x >= 0, x < 1], "the claim isn't defined at x = 0"),
        (1 / x**2 > 0, [x > 0], ""),
        ((x**2 - 1) / (x - 1) <= x + 1, [x > 1], ""),
        (x > 0, [1 / x > 0, sp.Ne(x, 0)], ""),
        (x * y >= 1, [y >= 1 / x, x > 0], ""),
        (1 / x > 1, [x >= 0], "a counterexample: x = "),
        (1 / x > 1, [x <= 0], "a counterexample: x = -"),
        (y >= 1, [sp.Eq(x**2, 2), y >= x, x > 0], ""),
        (y >= 2, [sp.Eq(x**2, 2), sp.Eq(y, x), x > 0], "a counterexample that isn't rational: x = 1.41"),
    ],
)
def test_a_claim_is_defined_where_it_is_proved(claim: sp.Expr, assumptions: list, gap: str) -> None:
    found = decide(claim, *assumptions)
    assert found.gap.startswith(gap)
    assert found.proved == (not gap)
    assert found.false == gap.startswith("a counterexample: ")


def test_an_assumption_is_defined_by_the_others() -> None:
    for assumed in ([1 / x > 0], [1 / x > 0, 1 / (1 + x) > 0], [x >= 1, 1 / y > 0]):
        with refuses(f"{tuple(assumed)}", "those that divide are defined by the others"):
            decide(x > 0, *assumed)


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
    assert (found.gap, found.proved, found.false) == ("derivative 1 at x = -1 is −0.632121", False, False)
    assert positive_on_ray(x - 3, x, 1).gap == "−2 at x = 1"


def test_what_is_no_polynomial_is_refused() -> None:
    for expression in (sp.exp(u) - v, sp.exp(u**2), sp.exp(u / 2), sp.exp(u + 1), sp.exp(-u), u / (1 + u), sp.log(u)):
        with pytest.raises(BadInput):
            positive_on_ray(expression, u, 1)
    for claim, value, rule in (
        (
            sp.exp(u) > 2,
            "exp in a claim",
            "this procedure knows !=, <, <=, ==, >, >=, and, not, number, or, power, product, sum",
        ),
        (u + v, "u + v", "a claim is a relation of SymPy's"),
        (u > 0, "True", "SymPy made the claim that, by what it assumes of the symbols"),
    ):
        with refuses(value, rule):
            decide(claim)
