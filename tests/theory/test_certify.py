"""Certificates are right where they say proved, and refuse what is false or can't be decided."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy as sp
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from scansnap_core import BadInput
from scansnap_core.theory import formulas
from scansnap_core.theory.certify import (
    as_pair,
    at,
    balls,
    enclose,
    lambert,
    normal_form,
    positive,
    positive_from_zero,
    vanishes,
)
from scansnap_core.theory.certify.overlaps import ONES, E_prime_word, E_word
from scansnap_core.theory.formulas import K, rho

u, v = sp.symbols("u v", positive=True)


def test_what_stands_several_times_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(base: arb, power: int) -> arb:
        asked.append(power)
        return base**power

    monkeypatch.setattr(balls, "_power", noted)
    assert enclose((u**3 + 1) * sp.exp(u**3) / (u**3 + 2), {u: 1}).overlaps(2 * arb.const_e() / 3)
    assert asked == [3, -1]


@given(st.floats(-5, 5), st.floats(0, 1))
def test_a_ball_holds_the_values_of_its_points(middle: float, radius: float) -> None:
    expression = sp.exp(u) * (u - 2) ** 3 / (1 + u**2) + sp.sqrt(2) * u
    ball = enclose(expression, {u: arb(middle, radius)})
    for shift in (-1, 0, 1):  # in balls: rounded to floats, an end may lie outside
        assert ball.overlaps(enclose(expression, {u: arb(middle) + shift * arb(radius)}))


def test_rationals_stay_exact() -> None:
    assert enclose(sp.Rational(1, 3) * 3 - 1, {}) == 0
    assert enclose(u / 3, {u: Fraction(1, 7)}).overlaps(arb(1) / 21)


@pytest.mark.parametrize("expression", [sp.sin(u), u + v, sp.Float(0.99) * u])
def test_what_a_ball_cannot_hold_is_refused(expression: sp.Expr) -> None:
    with pytest.raises(BadInput, match="a ball is known for"):
        enclose(expression, {u: 1})


@pytest.mark.parametrize("branch", [0, -1])
@pytest.mark.parametrize("x", [-0.3678, -0.367879, -0.36787944117144, -0.2, -1e-6])
def test_lambert_solves_its_equation_on_either_branch(x: float, branch: int) -> None:
    w = lambert(arb(x), branch)
    assert w.is_finite()
    assert (w * w.exp()).overlaps(arb(x))
    assert w.rad() < 1e-3
    assert (w >= -1 if branch == 0 else w <= -1) or w.overlaps(arb(-1))


def test_lambert_at_its_branch_point_and_outside() -> None:
    at_minus_one_over_e = -1 / arb.const_e()
    for branch in (0, -1):
        assert not lambert(at_minus_one_over_e, branch).is_finite()  # the ball reaches below -1/e
        inside = lambert(at_minus_one_over_e.upper(), branch)
        assert abs(inside + 1) < 1e-6
        assert not lambert(arb(-0.4), branch).is_finite()
    assert not lambert(arb(0.5), -1).is_finite()
    assert lambert(arb(-0.2, 0.05), -1).contains(lambert(arb(-0.22), -1))
    with pytest.raises(BadInput, match="branch = 1"):
        lambert(arb(1), 1)


def test_boxes_decide_in_several_variables() -> None:
    square = u**2 + v**2 - sp.Rational(199, 100) * u * v
    assert positive(square, {u: (1, 100), v: (1, 100)}).proved
    found = positive(square - u * v / 50, {u: (1, 100), v: (1, 100)})
    assert not found.proved
    assert ": -" in found.gap


def test_a_box_that_cannot_be_decided_is_named_and_not_counted() -> None:
    found = positive((u - sp.sqrt(2)) ** 2, {u: (1, 2)}, budget=500)
    assert not found.proved
    assert found.gap.startswith("u in [1.4142")
    assert "undecided after 500 boxes" in found.gap


@pytest.mark.parametrize("ends", [(2, 1), (1, sp.oo), (0, arb.pos_inf())])
def test_a_box_has_finite_ends(ends: tuple[object, object]) -> None:
    with pytest.raises(BadInput):
        positive(u, {u: ends})


def test_an_end_belongs_to_the_box() -> None:
    assert positive(u - 1, {u: (sp.Rational(1001, 1000), 2)}).proved
    assert not positive(u - 1, {u: (1, 2)}, budget=100).proved


def test_a_zero_at_the_left_end() -> None:
    assert positive_from_zero(sp.exp(u) - 1 - u - u**2 / 2, u, 5, order=3).proved
    assert not positive_from_zero(sp.exp(u) - 1 - u - u**2, u, 5, order=3).proved
    assert (
        "derivative 2, the first that isn't 0, is -1" in positive_from_zero(sp.exp(u) - 1 - u - u**2, u, 5, order=3).gap
    )
    assert not positive_from_zero(sp.exp(u) - 1 - u - u**2 / 2 - u**3 / 5, u, 5, order=3).proved


def test_at_a_point() -> None:
    assert at(u - 1, {u: 2}).proved
    assert at(u - 1, {u: 1}).gap == "at u = 1: 0"


def test_equal_overlaps_of_every_size() -> None:
    one = sp.Identity(K)
    E = rho * (ONES - one)
    E_prime = formulas.E_prime_equal * ONES - formulas.E_prime_equal * one * (1 + (K - 1) * rho)
    assert as_pair((one + E) * (one - E_prime)) == (1, 0)
    assert as_pair((one + E) * (one + E_prime)) != (1, 0)
    assert as_pair(ONES**2) == (0, K)


def test_words_in_E_and_its_inverse() -> None:
    assert vanishes((1 - E_prime_word) * (1 + E_word) - 1)
    assert vanishes(E_word * E_prime_word * E_word - E_word**2 + E_word - E_prime_word)
    assert not vanishes(E_word * E_prime_word - E_word)
    assert normal_form(E_word**2 * E_prime_word) == E_word**2 - E_word + E_prime_word
