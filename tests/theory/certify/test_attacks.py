"""Attacks: false statements that might be certified, true ones that might be called false, and what is no claim."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Dummy, Eq, LambertW, Ne, Rational, Symbol, cos, exp, floor, log, pi, sign, sin, sqrt

from scansnap_core import BadInput
from scansnap_core.theory.certify import (
    as_pair,
    at,
    decide,
    enclose,
    nonnegative_between,
    positive,
    positive_from_zero,
    positive_on_ray,
    vanishes,
)
from scansnap_core.theory.certify.overlaps import E_prime_word, E_word
from scansnap_core.theory.formulas import K, rho

z, u, w = Symbol("z"), Symbol("u", real=True), Symbol("w", real=True)
p, n = Symbol("p", positive=True), Symbol("n", negative=True)
e, k, odd = Symbol("e", even=True), Symbol("k", integer=True), Symbol("o", odd=True)
nought, other = Symbol("O", zero=True), Symbol("x", real=True, nonzero=True)
first, second, third = Dummy("a", real=True), Symbol("a", real=True), Dummy("b", real=True)
half, tiny = Rational(1, 2), Rational(1, 10**30)
twice = (1 / (1 + rho) - (1 - rho) / (1 - rho**2)) * E_word  # 0

ATTACKS: dict[str, list[Callable[[], bool]]] = {
    "a mean value form across a jump": [
        lambda: positive(sqrt(z**2) / z + half, {z: (-1, 3)}).proved,
        lambda: positive(sqrt((z - 1) ** 2) / (z - 1) + half, {z: (-4, 7)}).proved,
        lambda: positive(z / sqrt(z**2) + half, {z: (-1, 3)}).proved,
        lambda: positive(exp(log(z**2) / 2) / z + half, {z: (-1, 3)}).proved,
    ],
    "a mean value form across a pole or the end of a domain": [
        lambda: positive(1 + log(u) - log(2 * u), {u: (-1000, 1001)}, budget=2000).proved,
        lambda: positive(1 + log(3 * u) - log(u), {u: (-1, 5)}).proved,
        lambda: positive(2 + log(u**2) - log(3 * u**2), {u: (-1, 3)}).proved,
        lambda: positive(1 + sqrt(u) - sqrt(u) * (1 + u) + u * sqrt(u), {u: (-1, 3)}).proved,
        lambda: positive((u**2 - 1) / (u - 1) + 2, {u: (0, 3)}, budget=2000).proved,
        lambda: positive(1 / u**2, {u: (-1, 1)}).proved,
        lambda: positive(1 + (u + 1) / u - 1 / u, {u: (-1, 3)}, budget=2000).proved,
        lambda: positive(3 + LambertW(u, -1) - LambertW(2 * u, -1), {u: (Rational(-1, 8), 1)}, budget=999).proved,
    ],
    "an assumption that is narrower than the box": [
        lambda: positive(sign(p) - half, {p: (0, 1)}).proved,
        lambda: positive(1 - 0**p, {p: (0, 1)}).proved,
        lambda: positive(half - sqrt(n**2) / 9 - n / 9, {n: (0, 9)}).proved,
        lambda: positive(sp.Abs(sign(other)) - half, {other: (-1, 1)}).proved,
        lambda: positive((-1) ** e, {e: (1, 1)}).proved,
        lambda: positive((-1) ** e, {e: (1, 3)}).proved,
        lambda: positive(-((-1) ** odd), {odd: (2, 2)}).proved,
        lambda: positive(half - sin(pi * k), {k: (0, 1)}).proved,
        lambda: positive(cos(2 * pi * k) - half, {k: (0, 1)}).proved,
        lambda: positive(1 + 1 / (1 + nought) - 2 * cos(nought * 9), {nought: (0, 5)}).proved,
    ],
    "two symbols of one name": [
        lambda: decide(Eq(first + third, second + third)).proved,
        lambda: decide(Eq(first, second)).proved,
        lambda: decide(first * second + third**2 >= 0).proved,
        lambda: decide(second >= 0, Symbol("a", positive=True) > 1).proved,
    ],
    "an assumption that only some procedures look at": [
        lambda: at(1 - sqrt(p**2), {p: -3}).proved,
        lambda: at(1 - 0**p, {p: 0}).proved,
        lambda: at((-1) ** e, {e: 1}).proved,
        lambda: at(-sqrt(n**2), {n: 3}).proved,
        lambda: bool(enclose(1 - sqrt(p**2), {p: -3}) > 0),
        lambda: bool(enclose((-1) ** e, {e: 1}) > 0),
        lambda: positive_on_ray(-sqrt(n**2), n, 0).proved,
        lambda: positive_on_ray(1 - 0**p, p, -1).proved,
        lambda: positive_on_ray((-1) ** e, e, 0).proved,
        lambda: positive_from_zero(-sqrt(n**2), n, 1, order=1).proved,
        lambda: decide(sin(pi * k) + u**2 >= 0, u > k).proved,
        lambda: decide(Ne(k, half)).proved,
    ],
    "a function for a variable": [
        lambda: positive(log(u), {log(u): (1, 2)}).proved,
        lambda: at(exp(u), {exp(u): -1}).false,
        lambda: decide(log(u) ** 2 >= 0).proved,
        lambda: decide(floor(u) <= u - half, u > 5).proved,
        lambda: positive_on_ray(cos(u) + 1, u, 0).proved,
        lambda: positive_on_ray(1 + floor(u), u, 0).proved,
    ],
    "a term that falls away": [
        lambda: as_pair(5) == as_pair(7),
        lambda: as_pair(K) == as_pair(rho),
        lambda: as_pair(sp.ZeroMatrix(K, K)) == as_pair(rho),
    ],
    "a true statement that is called false": [
        lambda: decide(1 / u**2 >= 0).false,
        lambda: decide(1 / u**2 + 1 / u**4 > 0, u >= 0).false,
        lambda: decide((u**2 - 1) / (u - 1) <= w + u + 1, w > 0).false,
        lambda: decide(k**2 >= k).false,
        lambda: decide(k * (k - 1) >= 0).false,
        lambda: decide(e**2 >= 2 * e).false,
        lambda: positive(3 * u - 1 + tiny, {u: (Rational(1, 3), 1)}, budget=3).false,
        lambda: positive(exp(1) - u + tiny, {u: (0, sp.E)}, budget=3).false,
        lambda: vanishes(twice).false,
    ],
    "a number that isn't what it says": [
        lambda: at(u - Rational(1, 10), {u: 0.1}).proved,
        lambda: at(Rational(3, 10) - u, {u: 0.1 + 0.2 - 1e-16}).proved,
        lambda: bool(enclose(u - Rational(1, 10), {u: 0.1}) > 0),
        lambda: positive(u - Rational(1, 10), {u: (0.1, 1)}).proved,
        lambda: positive_from_zero(u * (Rational(1, 10) - u) + tiny * u, u, sp.Float("0.1"), order=1).proved,
        lambda: positive_on_ray(u - Rational(1, 10), u, 0.1).proved,
        lambda: decide(u > Rational(1, 10), u >= 0.1 + 1e-17, u <= 1).proved,
        lambda: nonnegative_between([-0.1, 1], Rational(1, 10), 1).proved,
    ],
}
"""Ways to certify a falsehood, by kind; most of them once did. True means that it was certified."""


@pytest.mark.parametrize(
    "attack", [pytest.param(each, id=f"{kind} {i}") for kind, every in ATTACKS.items() for i, each in enumerate(every)]
)
def test_no_attack_certifies_a_falsehood(attack: Callable[[], bool]) -> None:
    with contextlib.suppress(BadInput):
        assert not attack()


def everywhere(expression: Any) -> list[Callable[[], Any]]:
    """Put an expression in u and w into every procedure."""
    box = {u: (1, 2), w: (1, 2)}
    return [
        lambda: positive(expression, box),
        lambda: at(expression, dict.fromkeys(box, 1)),
        lambda: enclose(expression, dict.fromkeys(box, 1)),
        lambda: positive_from_zero(expression, u, 1, order=1),
        lambda: positive_on_ray(expression, u, 0),
        lambda: decide(sp.Ge(expression, 0, evaluate=False), u > 0, w > 0),
        lambda: decide(u > 0, sp.Le(0, expression, evaluate=False), u > 1),
        lambda: positive(u + w, {u: (0, expression), w: (0, 1)}),
        lambda: vanishes(expression * E_word),
    ]


FOREIGN: list[Callable[[sp.Expr], Any]] = [
    *[
        lambda part, function=function: function(part - w**3)
        for function in (
            sp.sin,
            sp.Abs,
            sign,
            floor,
            sp.gamma,
            sp.factorial,
            sp.atan,
            sp.Heaviside,
        )
    ],
    lambda part: sp.Max(part, -3 - w, evaluate=False),
    lambda part: sp.Piecewise((part, u > 1), (w, True)),
    lambda part: sp.Mod(part, 2),
    lambda part: sp.Integral(part, (u, 0, 1)),
    lambda part: sp.Derivative(part * w, w),
    lambda part: sp.Sum(part, (k, 1, 3)),
    lambda part: part * sp.Float("0.1"),
    lambda part: part + sp.I,
    lambda part: part * pi,
    lambda part: part + Dummy("u", real=True),
    lambda part: part + Symbol("u", positive=True),
    lambda part: part * k,
    lambda part: part + Symbol("prime", prime=True),
    lambda part: (part + 9) ** w,
    lambda part: 2**part,
    lambda part: LambertW(part, 1),
    lambda part: part * sp.MatrixSymbol("A", 2, 2)[0, 0],
    lambda part: sp.Function("f")(part),
    lambda part: sp.UnevaluatedExpr(part),
]
TERMS = st.recursive(
    st.sampled_from([u, w, u + w, Rational(2, 3) * u]),
    lambda part: st.one_of(
        st.tuples(part, part).map(sum),
        st.tuples(part, part).map(sp.prod),
        part.map(lambda f: 1 / (1 + f**2)),
        part.map(exp),
        part.map(lambda f: log(2 + f)),
        part.map(lambda f: sqrt(f + 3)),
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=int(os.environ.get("EXAMPLES", "60")))
@given(st.sampled_from(FOREIGN), TERMS, st.sampled_from([lambda f: f, lambda f: u + f, lambda f: w / (3 + f), exp]))
def test_what_is_not_of_the_language_is_refused_everywhere(foreign: Any, part: sp.Expr, outer: Any) -> None:
    expression = outer(foreign(part))
    for attempt in everywhere(expression):
        with pytest.raises(BadInput):
            attempt()


@pytest.mark.parametrize(
    "thing",
    [
        0.5,
        np.float64(1),
        np.int64(1),
        True,
        "u",
        None,
        1j,
        [u],
        sp.Matrix([u]),
        u > 0,
        sp.true,
        sp.oo,
        sp.zoo,
        sp.nan,
        {u: 1},
    ],
)
def test_what_is_no_term_is_refused_everywhere(thing: Any) -> None:
    for attempt in (
        lambda: positive(thing, {u: (1, 2)}),
        lambda: at(thing, {u: 1}),
        lambda: at(u, {u: thing}),
        lambda: positive_from_zero(thing, u, 1, order=1),
        lambda: positive_on_ray(thing, u, 0),
        lambda: nonnegative_between([1, thing], 0, 1),
        lambda: as_pair(thing),
        lambda: vanishes(thing),
    ):
        with pytest.raises(BadInput):
            attempt()


@pytest.mark.parametrize(
    ("procedure", "arguments"),
    [
        (decide, (u >= 0, p > 1, sp.Symbol("u", positive=True) > 1)),
        (decide, (Eq(u, 7), w > 1, w < 0)),
        (decide, (u > 5, p + u < 0, u > 0)),
        (decide, (u > 5, sp.false)),
        (decide, (u > 5, False)),
        (decide, (u != w,)),  # Python's True
        (decide, (p + 1 > 0,)),  # SymPy's true
        (decide, (sp.And(u, w > 0),)),
        (decide, (Eq(u > 0, w > 0),)),
        (decide, (sp.Implies(u > 0, w > 0),)),
        (positive, (1 + p, {p: (Rational(-1, 9), 2)})),
        (positive, (1 + p, {p: (0, 2)})),
        (positive, (1 - n, {n: (-1, 0)})),
        (positive, (E_word, {E_word: (0, 1)})),
        (positive, (u + w, {u: (0, 1)})),
        (at, (u + w, {u: 1})),
        (positive_on_ray, (u + w, u, 0)),
        (positive_from_zero, (u + w, u, 1, 1)),
        (positive, (u, {u: (1, 2), Symbol("u", positive=True): (1, 2)})),
        (positive_on_ray, (p, p, -1)),
        (positive_on_ray, (u, u, sp.oo)),
        (positive_from_zero, (u, u, -1, 1)),
        (nonnegative_between, ([1], 1, 0)),
        (vanishes, (E_word**-1 * E_prime_word * E_word - (E_word - E_prime_word),)),
        (vanishes, (E_word ** Symbol("n", integer=True),)),
        (vanishes, (exp(E_word) - 1,)),
        (vanishes, (twice,)),
        (as_pair, ((sp.Identity(3) + sp.OneMatrix(3, 3)) ** 2,)),
        (as_pair, ((sp.Identity(K) + sp.OneMatrix(K, K)) ** -1,)),
        (as_pair, (floor(rho) * sp.Identity(K),)),
    ],
)
def test_what_is_refused(procedure: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput):
        procedure(*arguments)
