"""Balls of expressions: against exact fractions, against mpmath, and against what mathematics knows of their widths."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy as sp
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from scansnap_core.theory.certify import at, balls, enclose
from scansnap_core.theory.certify.balls import lambert, on_balls, taylor, written
from scansnap_core.theory.certify.language import read

u, v = sp.symbols("u v", real=True)


def ball_of(expression: sp.Expr, values: dict[sp.Symbol, Any]) -> arb:
    with ctx.workprec(balls.PRECISION):
        return on_balls(read(expression, list(values)))([arb(value) for value in values.values()])


def holds(ball: arb, exact: Fraction) -> bool:
    with ctx.workprec(300):
        return bool(ball.overlaps(arb(fmpq(exact.numerator, exact.denominator))) and ball.rad() < 1e-18 * abs(ball))


@pytest.mark.parametrize("power", range(-5, 6))
@pytest.mark.parametrize("base", [Fraction(-7, 3), Fraction(-1, 2), Fraction(5, 7)])
def test_integer_powers_of_either_sign(base: Fraction, power: int) -> None:
    expression = sp.Pow(u, power, evaluate=False)
    assert holds(enclose(expression, {u: base}), base**power)
    assert holds(enclose(2 * expression - v, {u: base, v: Fraction(1, 3)}), 2 * base**power - Fraction(1, 3))


@pytest.mark.parametrize("middle", [-0.5, 0, 0.5])
@pytest.mark.parametrize("power", range(6))
def test_a_power_is_known_around_nought(middle: float, power: int) -> None:
    ball = ball_of(sp.Pow(u, power, evaluate=False), {u: arb(middle, 1)})
    assert all(ball.contains(arb(middle + shift / 8) ** power) for shift in range(-8, 9))
    assert ball.rad() <= 2 * (abs(middle) + 1) ** power


def test_a_quotient_by_what_may_be_nought_is_not_finite() -> None:
    for middle in (0, 0.5):
        assert not ball_of(1 / u**2, {u: arb(middle, 1)}).is_finite()


@pytest.mark.parametrize(
    "expression",
    [
        sp.exp(u / 2) + 1,
        3 - sp.log(u),
        sp.sqrt(u) - v,
        1 / sp.sqrt(u) + v,
        sp.cbrt(u) * v,
        u ** sp.Rational(3, 2) - v,
        u ** sp.Rational(-5, 7) - 2 ** sp.Rational(1, 3),
        sp.E**v - sp.E,
        sp.LambertW(u) + v,
        sp.LambertW(-v / 8) - u,
        sp.LambertW(-v / 8, -1) - u,
    ],
    ids=str,
)
@pytest.mark.parametrize(("first", "second"), [(0.75, 1.25), (7, 0.5)])
def test_functions_against_another_library(expression: sp.Expr, first: float, second: float) -> None:
    ball = ball_of(expression, {u: first, v: second})
    with mpmath.workdps(60), ctx.workprec(200):
        known = arb(str(sp.lambdify([u, v], expression, "mpmath")(mpmath.mpf(first), mpmath.mpf(second))))
        assert ball.overlaps(known)
    assert ball.rad() < 1e-18


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (arb(2) / 3, "0.666667"),
        (arb(1234567), "1.23457 × 10⁶"),
        (arb(1.5, 0.2), "1.5"),
        (arb(-30), "−30"),
        (arb(0), "0"),
    ],
)
def test_a_message_has_six_digits_of_the_middle(number: arb, text: str) -> None:
    assert written(number) == text


def test_what_stands_several_times_is_computed_once() -> None:
    term = read((u**3 + 1) * sp.exp(u**3) / (u**3 + 2), [u])
    assert sorted(given for operation, _, given in term.steps if operation == "power") == [-1, 3]
    assert ball_of((u**3 + 1) * sp.exp(u**3) / (u**3 + 2), {u: 1}).overlaps(2 * arb.const_e() / 3)


@given(st.floats(-5, 5), st.floats(0, 1))
def test_a_ball_holds_the_values_of_its_points(middle: float, radius: float) -> None:
    expression = sp.exp(u) * (u - 2) ** 3 / (1 + u**2) + sp.sqrt(2) * u
    ball = ball_of(expression, {u: arb(middle, radius)})
    for shift in (-1, 0, 1):  # in balls: rounded to floats, an end may lie outside
        assert ball.overlaps(ball_of(expression, {u: arb(middle) + shift * arb(radius)}))


@settings(deadline=None, max_examples=20)
@given(st.integers(-16, 16), st.integers(0, 8))
def test_derivatives_hold_those_at_every_point(middle: int, radius: int) -> None:
    expression = sp.exp(u) * (u - 2) ** 3 / (1 + u**2) + sp.log(u**2 + 2) + sp.LambertW(u**2 + 1) + sp.sqrt(u**2 + 1)
    with ctx.workprec(balls.PRECISION):
        found = taylor(read(expression, [u]), 2)([arb(middle, radius) / 8], 0)
        for shift in (-radius, 0, radius):
            for order, ball in enumerate(found):
                exact = sp.diff(expression, u, order).subs(u, sp.Rational(middle + shift, 8)) / sp.factorial(order)
                assert ball.overlaps(enclose(exact, {}))


def test_where_a_term_is_not_defined_its_ball_is_no_number() -> None:
    part = arb(0.5, 1)
    for expression in (1 / u - 1 / u**2, sp.log(u) * u, sp.exp(1 / u), sp.sqrt(u) + 9, u * sp.LambertW(u - 1)):
        assert not ball_of(expression, {u: part}).is_finite()
        assert not taylor(read(expression, [u]), 1)([part], 0)[1].is_finite()
    assert at(sp.log(u), {u: -1}).gap == "at u = −1: not defined"


@pytest.mark.parametrize("branch", [0, -1])
@pytest.mark.parametrize("bits", [2, 20, 60, 79, 120])
def test_lambert_is_narrow_near_its_branch_point(bits: int, branch: int) -> None:
    with ctx.workprec(balls.PRECISION):
        x = ((-1 / arb.const_e()).upper() + arb(2) ** -bits).mid()
        near = lambert(x, branch)
    with ctx.workprec(400):
        known = x.lambertw(branch)
    assert near.contains(known)
    assert near.rad() < 1e-20


def test_lambert_at_its_branch_point_and_outside() -> None:
    at_minus_one_over_e = -1 / arb.const_e()
    for branch in (0, -1):
        assert not lambert(at_minus_one_over_e, branch).is_finite()  # the ball reaches below -1/e
        assert not lambert(arb(-0.4), branch).is_finite()
    assert not lambert(arb(0.5), -1).is_finite()
    assert lambert(arb(-0.2, 0.05), -1).contains(lambert(arb(-0.22), -1))
    assert lambert(arb(-0.2), 0) > -1 > lambert(arb(-0.2), -1)
