"""Claims whose truth is known by other means: no false one is certified, whichever procedure is asked."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from scansnap_core import BadInput
from scansnap_core.theory.certify.boxes import positive
from scansnap_core.theory.certify.overlaps import ONES, E_prime_word, E_word, as_pair, normal_form, vanishes
from scansnap_core.theory.certify.polynomials import (
    decide,
    nonnegative_between,
    nonnegative_coefficients,
    positive_on_ray,
)
from scansnap_core.theory.formulas import E_prime_equal, K, rho

x, y, u, v = sp.symbols("x y u v", real=True)
p = sp.Symbol("p", positive=True)
NEAR = st.integers(1, 9).map(lambda n: Fraction(n, 10**12))
BOUNDED = settings(deadline=None, max_examples=int(os.environ.get("EXAMPLES", "25")))
"""EXAMPLES=10000 draws more, for a night's run."""
ENDS = st.fractions(-3, 3, max_denominator=9)


def rational(number: Fraction) -> sp.Rational:
    return sp.Rational(number.numerator, number.denominator)


@BOUNDED
@given(ENDS, NEAR, st.sampled_from([1, 2]), st.booleans())
def test_planted_roots(root: Fraction, width: Fraction, power: int, lifted: bool) -> None:
    """(x - r)^2 -+ width^2 dips below 0 on an interval of 1e-12 around r, or stays above."""
    a, w = rational(root), rational(width)
    dip = sp.expand(((x - a) ** 2 + (w**2 if lifted else -(w**2))) * (x**2 + 1) ** (power - 1))
    coefficients = [number if number.is_Rational else None for number in reversed(sp.Poly(dip, x).all_coeffs())]
    for found in (
        nonnegative_between(coefficients, a - 1, a + rational(Fraction(4, 3))),
        decide(dip >= 0, x >= a - 1, x <= a + 1),
        positive(dip, {x: (a - 1, a + 1)}, budget=300),
        positive_on_ray(dip, x, a - 1),
    ):
        assert lifted or not found.proved
        assert not (lifted and found.false)


@BOUNDED
@given(ENDS, st.fractions(0, 1, max_denominator=7).filter(bool), st.booleans())
def test_the_ends_belong_to_a_box(low: Fraction, length: Fraction, at_high: bool) -> None:
    """c (x - end) is 0 at one end, which most often is no binary fraction."""
    first, last = rational(low), rational(low + length)
    slope = (last - x) if at_high else (x - first)
    assert not positive(slope, {x: (first, last)}, budget=200).proved
    assert positive(slope + sp.Rational(1, 10**9), {x: (first, last)}).proved


@BOUNDED
@given(ENDS, st.sampled_from([1, 2, 3]), st.sampled_from([sp.log, sp.sqrt, lambda s: 1 / s, sp.LambertW]))
def test_planted_poles_and_ends_of_domains(pole: Fraction, power: int, function: Any) -> None:
    """Nothing is certified over a box on part of which the function isn't defined, however positive the rest."""
    a = rational(pole)
    beyond = sp.E**-1 if function is sp.LambertW else 0
    claim = function((x - a) ** (2 * power - 1) - beyond) + 100
    box = {x: (a - sp.Rational(1, 3), a + sp.Rational(2, 3))}
    assert not positive(claim, box, budget=200).proved


@BOUNDED
@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3))
def test_quadratic_forms(a: int, b: int, c: int) -> None:
    form = a * x**2 + b * x * y + c * y**2
    definite = a >= 0 and c >= 0 and b * b <= 4 * a * c
    found = decide(sp.Ge(form, 0), x < 5)
    assert (found.proved, found.false) == (definite, not definite)
    s, t = sp.symbols("s t")
    certificate = nonnegative_coefficients(a * s**2 + b * s * t + c * t**2, s, t)
    copositive = a >= 0 and c >= 0 and (b >= 0 or b * b <= 4 * a * c)
    assert not certificate.proved or copositive
    assert not certificate.false or not copositive


@pytest.mark.parametrize(
    ("expression", "box"),
    [
        (sp.LambertW(u) + 2, (-100, 0)),
        (-sp.LambertW(u, -1), (-10, sp.Rational(-1, 10))),
        (-sp.LambertW(u, -1), (sp.Rational(-1, 10), 0)),
        (u**2 - u / 10**10, (0, 1)),
        (3 * u - 1, (sp.Rational(1, 3), 1)),
        (1 / u**2, (-1, 1)),
    ],
)
def test_what_is_not_true_on_all_of_a_box(expression: sp.Expr, box: Any) -> None:
    assert not positive(expression, {u: box}, budget=2000).proved


def test_equal_overlaps_of_every_size_are_pairs() -> None:
    one = sp.Identity(K)
    E, E_prime = rho * (ONES - one), E_prime_equal * ONES - E_prime_equal * one * (1 + (K - 1) * rho)
    assert as_pair((one + E) * (one - E_prime)) == (1, 0)
    assert as_pair((one + E) * (one + E_prime)) != (1, 0)
    assert as_pair(ONES**2) == (0, K)


def test_words_in_E_and_its_inverse() -> None:
    assert vanishes((1 - E_prime_word) * (1 + E_word) - 1)
    assert vanishes(E_word * E_prime_word * E_word - E_word**2 + E_word - E_prime_word)
    assert not vanishes(E_word * E_prime_word - E_word)
    assert normal_form(E_word**2 * E_prime_word) == E_word**2 - E_word + E_prime_word


@pytest.mark.parametrize(
    ("procedure", "arguments"),
    [
        (decide, (x >= 0, sp.Symbol("x", positive=True) > 1)),
        (decide, (sp.Eq(sp.Dummy("a"), sp.Dummy("a")),)),
        (decide, (sp.Symbol("a", real=True) * sp.Dummy("a", real=True) >= 0,)),
        (decide, (sp.Eq(u, 7), x > 1, x < 0)),
        (decide, (u > 5, p + u < 0, u > 0)),
        (decide, (u > 5, sp.false)),
        (decide, (u > 5, False)),
        (decide, (u != v,)),  # Python's True
        (decide, (u > 0.5,)),
        (positive, (1 - sp.sqrt(p**2), {p: (-3, -2)})),
        (positive, (1 + p, {p: (sp.Rational(-1, 9), 2)})),
        (positive, (u, {u: (0.1, 1)})),
        (positive, (u, {u: (sp.Float("0.3"), 1)})),
        (vanishes, (E_word**-1 * E_prime_word * E_word - (E_word - E_prime_word),)),
        (normal_form, (E_word ** sp.Symbol("n", integer=True),)),
        (as_pair, ((sp.Identity(3) + sp.OneMatrix(3, 3)) ** 2,)),
        (as_pair, ((sp.Identity(K) + sp.OneMatrix(K, K)) ** -1,)),
        (nonnegative_coefficients, (0.1 * x, x)),
        (nonnegative_between, ([1, -0.1], 0, 1)),
        (nonnegative_between, ([1], 1, 0)),
        (positive_on_ray, (x, x, 0.1)),
    ],
)
def test_what_is_refused(procedure: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput):
        procedure(*arguments)
