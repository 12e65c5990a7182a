"""Claims whose truth is known by other means: no false one is certified, whichever procedure is asked."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from scansnap_core.theory.certify.boxes import positive
from scansnap_core.theory.certify.decision import decide
from scansnap_core.theory.certify.overlaps import ONES, E_prime_word, E_word, as_pair, vanishes
from scansnap_core.theory.certify.polynomials import nonnegative_between, positive_on_ray
from scansnap_core.theory.formulas import E_prime_equal, K, rho

x, y, u, v = sp.symbols("x y u v", real=True)
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
        decide(sp.Ge(dip, 0, evaluate=False), x >= a - 1, x <= a + 1),
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
    found = decide(sp.Ge(form, 0, evaluate=False), x < 5)
    assert (found.proved, found.false) == (definite, not definite)
    copositive = a >= 0 and c >= 0 and (b >= 0 or b * b <= 4 * a * c)
    found = decide(sp.Ge(form, 0, evaluate=False), x >= 0, y >= 0)
    assert (found.proved, found.false) == (copositive, not copositive)


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


POSITIVE = st.fractions(Fraction(1, 9), 3, max_denominator=9).map(rational)
RISING = st.recursive(
    st.sampled_from([u, v]) | POSITIVE,
    lambda part: st.one_of(
        st.tuples(part, part).map(sum),
        st.tuples(part, part).map(sp.prod),
        part.map(lambda f: f**2),
        part.map(lambda f: 1 - 1 / (1 + f)),
        part.map(lambda f: sp.exp(f / 4)),
        part.map(lambda f: sp.log(1 + f)),
        part.map(lambda f: sp.sqrt(f + sp.Rational(1, 3))),
        part.map(sp.LambertW),
        part.map(lambda f: 1 + sp.LambertW(-1 / (3 + f))),
    ),
    max_leaves=6,
)
"""Terms that are positive and rise with both variables where these are positive."""


def number(expression: sp.Expr, first: sp.Expr, second: sp.Expr) -> mpmath.mpf:
    """Compute a value by another library, in 60 digits."""
    with mpmath.workdps(60):
        return mpmath.mpmathify(
            sp.lambdify([u, v], expression, "mpmath")(*(x.p / mpmath.mpf(x.q) for x in (first, second)))
        )


@BOUNDED
@given(RISING, POSITIVE, POSITIVE, POSITIVE, st.booleans(), st.booleans())
def test_planted_least_values(
    term: sp.Expr, first: sp.Expr, second: sp.Expr, side: sp.Expr, from_above: bool, true: bool
) -> None:
    """A rising term is least at the box's low corner, and a falling one at its high one."""
    box = {u: (first, first + side), v: (second, second + side)}
    corner = [high if from_above else low for low, high in box.values()]
    least = sp.Rational(str(number(term, *corner)))
    room = (1 + least) / (10**6 if true else -(10**6))
    claim = least - term + room if from_above else term - least + room
    found = positive(claim, box, budget=3000)
    assert not (found.false if true else found.proved)


@BOUNDED
@given(RISING, RISING, ENDS, ENDS, st.fractions(0, 2, max_denominator=5).filter(bool))
def test_what_is_certified_holds_at_points(
    one: sp.Expr, other: sp.Expr, low: Fraction, end: Fraction, side: Fraction
) -> None:
    """Terms of the language over any box, where parts of them may not be defined."""
    box = {u: (rational(low), rational(low + side)), v: (rational(end), rational(end + side))}
    found = positive(one - other / 2, box, budget=300)
    for share in map(sp.Rational, ("0", "1/7", "1/2", "1")):
        for other_share in map(sp.Rational, ("0", "2/3", "1")):
            point = [lo + part * (hi - lo) for part, (lo, hi) in zip((share, other_share), box.values(), strict=True)]
            if found.proved:
                try:
                    assert number(one - other / 2, *point) > 0
                except TypeError:  # a complex number isn't compared
                    pytest.fail(f"{one - other / 2} isn't real at {point}")


@BOUNDED
@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=3),
    ENDS,
    ENDS,
    st.integers(-1, 1),
    st.booleans(),
    st.booleans(),
)
def test_planted_sums_of_squares(
    forms: list[tuple[int, int]], first: Fraction, second: Fraction, above: int, divided: bool, strictly: bool
) -> None:
    """A sum of squares that are all 0 at one point, and what is added to it; divided by one, it isn't defined there."""
    a, b = rational(first), rational(second)
    squares = [(n * (x - a) + m * (y - b)) ** 2 for n, m in forms]
    total = sum(squares) + sp.Rational(above, 10**6)
    divided = divided and squares[0] != 0
    if divided:
        total = sp.Mul(total, sp.Pow(squares[0], -1, evaluate=False), evaluate=False)
    holds = above > 0 or (above == 0 and not strictly)
    found = decide((sp.Gt if strictly else sp.Ge)(total, 0, evaluate=False), x < a + 1, x > a - 1)
    assert not found.proved or (holds and not divided)
    assert not found.false or not holds


def test_equal_overlaps_of_every_size_are_pairs() -> None:
    one = sp.Identity(K)
    E, E_prime = rho * (ONES - one), E_prime_equal * ONES - E_prime_equal * one * (1 + (K - 1) * rho)
    assert as_pair((one + E) * (one - E_prime)) == (1, 0)
    assert as_pair((one + E) * (one + E_prime)) != (1, 0)
    assert as_pair(ONES**2) == (0, K)


def test_words_in_E_and_its_inverse() -> None:
    assert vanishes((1 - E_prime_word) * (1 + E_word) - 1)
    assert vanishes(E_word * E_prime_word * E_word - E_word**2 + E_word - E_prime_word)
    assert vanishes(E_word**2 * E_prime_word - (E_word**2 - E_word + E_prime_word))
    W = sp.Symbol("W", commutative=False)
    assert vanishes((1 + E_word) * (1 - E_prime_word) * W - W)
    for word in (E_word * E_prime_word - E_word, W * E_word - E_word * W, E_prime_word - E_word, 1 + 0 * W):
        assert (vanishes(word).proved, vanishes(word).false) == (False, True)
