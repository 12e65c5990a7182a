"""The cover of a box: nothing is left out of it, nothing false is proved, and a gap says where."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from scansnap_core.theory.certify import at, positive, positive_from_zero
from scansnap_core.theory.certify.boxes import _direction
from tests.refusing import refuses

u, v = sp.symbols("u v", real=True)
HIDDEN = sp.Rational(1, 10_000)
"""The square of the radius of a disc in which a claim is false."""


def point_of(gap: str) -> dict[sp.Symbol, float]:
    """Return the point that a gap names; the value there isn't positive."""
    where, _, value = gap.rpartition(": ")
    assert value.startswith("−") or value == "0"
    return {
        sp.Symbol(name, real=True): float(x.replace("−", "-"))
        for name, _, x in (part.partition(" = ") for part in where.split(", "))
    }


@pytest.mark.parametrize("x", [0.1, 0.35, 0.65, 0.9])
@pytest.mark.parametrize("y", [2.2, 2.7, 3.3, 3.8])
def test_no_part_of_a_box_is_left_out(x: float, y: float) -> None:
    disc = (u - sp.Rational(str(x))) ** 2 + (v - sp.Rational(str(y))) ** 2 - HIDDEN
    found = positive(disc, {u: (0, 1), v: (2, 4)})
    assert not found.proved
    point = point_of(found.gap)
    assert (point[u] - x) ** 2 + (point[v] - y) ** 2 <= float(HIDDEN)
    assert positive(disc + 2 * HIDDEN, {u: (0, 1), v: (2, 4)}).proved


@settings(deadline=None, max_examples=40)
@given(
    st.tuples(st.integers(-8, 8), st.integers(-8, 8)),
    st.tuples(st.integers(-8, 8), st.integers(1, 8)),
    st.tuples(st.integers(-8, 8), st.integers(1, 8)),
    st.sampled_from([-2, -1, 1, 2]),
)
def test_a_claim_is_proved_exactly_where_it_is_true(
    centre: tuple[int, int], first: tuple[int, int], second: tuple[int, int], above: int
) -> None:
    box = {u: (first[0], sum(first)), v: (second[0], sum(second))}
    least = sum((min(max(c, low), high) - c) ** 2 for c, (low, high) in zip(centre, box.values(), strict=True))
    bowl = (u - centre[0]) ** 2 + (v - centre[1]) ** 2 - least + sp.Rational(above, 10)
    assert positive(bowl, box).proved == (above > 0)


def test_nought_is_not_positive() -> None:
    assert not positive(u, {u: (0, 1)}, budget=50).proved
    assert positive(u - sp.Rational(3, 2), {u: (1, 2)}).gap == "u = 1.5: 0"
    assert not positive(sp.Integer(0), {u: (0, 1)}).proved
    assert not at(sp.Integer(0), {}).proved


@pytest.mark.parametrize(
    ("ends", "value", "rule"),
    [
        ((2, 1), "u from 2 to 1", "a box has real ends, the smaller first"),
        ((sp.LambertW(-1), 2), "u from LambertW(-1) to 2", "a box has real ends, the smaller first"),
        (
            (0, sp.oo),
            "oo",
            "a claim is made of rational numbers, real variables, + - * /, integer powers, exp, log, sqrt and real W",
        ),
    ],
)
def test_a_box_has_real_ends_in_order(ends: tuple[Any, Any], value: str, rule: str) -> None:
    with refuses(value, rule):
        positive(u**2 + 1, {u: ends})


def test_the_mean_value_form_looks_at_both_sides() -> None:
    assert not positive(10 - u, {u: (1, 16)}).proved  # its middle is 4, so that one side is far longer
    assert positive(u * (1 - u) + sp.Rational(1, 5), {u: (0, 1)}).proved


@pytest.mark.parametrize(
    ("ends", "middle"),
    [
        ((1, 2), 1.5),
        ((1, 3.5), 2.25),
        ((1, 4), 2.5),
        ((1, 6.25), 2.5),
        ((1, 16), 4),
        ((16, 68.0625), 33),
        ((2, 12.5), 5),
        ((2, 7), 4.5),
        ((0.25, 4), 1),
        ((0, 8), 4),
        ((-0.5, 8), 3.75),
        ((-2, -1), -1.5),
        ((-4, 4), 0),
    ],
)
def test_a_box_is_halved_by_factors_where_its_ends_are_far_apart(ends: tuple[float, float], middle: float) -> None:
    exact = sp.Rational(ends[0]), sp.Rational(ends[1])
    assert point_of(positive(sp.Integer(-1), {u: exact}).gap) == {u: middle}


@pytest.mark.parametrize(
    ("expression", "boxes"),
    [
        (sp.exp(u), "1 box"),
        (1 + u, "1 box"),
        ((u - 1) ** 2 - u + 2, "7 boxes"),
        (sp.exp(-u) - u / 40 + u**2, "5 boxes"),
    ],
)
def test_boxes_are_counted(expression: sp.Expr, boxes: str) -> None:
    assert positive(expression, {u: (0, 3)}).how == boxes


def test_the_budget_is_what_is_looked_at() -> None:
    gap = positive((u - sp.sqrt(2)) ** 2, {u: (1, 2)}, budget=7).gap
    assert gap.endswith("undecided after 7 boxes")


@pytest.mark.parametrize(
    ("expression", "box", "gap"),
    [
        (u - sp.Rational(1, 1000), {u: (0, 1)}, "u = 0: −0.001"),
        (1 - u - sp.Rational(1, 1000), {u: (0, 1)}, "u = 1: −0.001"),
        ((u - 3) ** 2 - sp.Rational(1, 10**6), {u: (2, 5)}, "u = 3: −10⁻⁶"),
        ((u + 3) ** 2, {u: (-5, -2)}, "u = −3: 0"),
        ((4 * u - 1) ** 2 + (3 * v - 8) ** 2 - HIDDEN, {u: (0, 1), v: (2, 3)}, "u = 0.25, v = 2.66667: −0.0001"),
    ],
)
def test_a_grid_is_searched_for_a_counterexample_before_a_claim_is_undecided(
    expression: sp.Expr, box: Any, gap: str
) -> None:
    found = positive(expression, box, budget=3)
    assert (found.proved, found.false, found.gap) == (False, True, gap)


def test_what_is_false_at_the_middle_of_a_box_is_false_and_not_undecided() -> None:
    found = positive(-sp.exp(u), {u: (0, 1)})
    assert (found.false, found.how, found.gap[:16]) == (True, "1 box", "u = 0.5: −1.6487")
    assert positive_from_zero(-(u**2), u, 1, order=2).false
    undecided = positive_from_zero(u**2 * (u - sp.Rational(1, 10**14)), u, 1, order=2)
    assert (undecided.proved, undecided.false) == (False, False)


@pytest.mark.parametrize(("ends", "allowed"), [((0, 2), True), ((-1, 2), False), ((-2, 0), True), ((-2, 1), False)])
def test_a_box_keeps_the_sign_that_its_symbol_was_made_with(ends: tuple[int, int], allowed: bool) -> None:
    signed = sp.Symbol("s", nonnegative=ends[1] == 2 or None, nonpositive=ends[0] == -2 or None)
    if allowed:
        assert positive(3 + signed, {signed: ends}).proved
        return
    with refuses(
        f"s from {ends[0]}.0… to {ends[1]}.0…",
        "SymPy has simplified the expression by the sign that the symbol was made with",
    ):
        positive(3 + signed, {signed: ends})


def test_a_box_of_no_variable_is_a_number() -> None:
    assert positive(sp.exp(1) - 2, {}).how == "a number"


def test_a_counterexample_lies_inside_of_ends_that_are_rounded() -> None:
    third = sp.Rational(1, 3)  # the balls of its ends reach beyond them, to where the term is negative
    found = positive(3 * u - 1 + sp.Rational(1, 10**30), {u: (third, 1)}, budget=3)
    assert (found.proved, found.false) == (False, False)
    assert positive(3 * u - 1, {u: (third - sp.Rational(1, 10**9), 1)}, budget=3).false


@pytest.mark.parametrize("expression", [1 + sp.log(u) - sp.log(2 * u), 3 + (u**2 - 1) / (u - 1), 1 / u**2])
def test_what_is_not_defined_on_a_part_is_neither_proved_nor_false(expression: sp.Expr) -> None:
    found = positive(expression, {u: (-2, 5)}, budget=500)
    assert (found.proved, found.false) == (False, False)


INFINITE = [arb("inf"), arb(1)]


@pytest.mark.parametrize(
    ("part", "widest"),
    [
        ([(0, 1), (10, 12)], 0),
        ([(1, 3), (0.1, 0.6)], 0),
        ([(10, 20), (0, 1)], 1),
        ([(60, 160), (0, 2)], 1),
        ([(0.5, 1.5), (0, 1.5)], 1),
        ([(-10, 0), (0, 1)], 1),
    ],
)
def test_where_no_slope_tells_the_relatively_widest_direction_is_halved(part: Any, widest: int) -> None:
    assert _direction(INFINITE, [(arb(low), arb(high)) for low, high in part]) == widest


def test_slopes_tell_the_direction() -> None:
    part = [(arb(0), arb(9)), (arb(0), arb(1))]
    assert _direction([arb(0, 1), arb(0, 2)], part) == 1
    assert _direction([arb(0, 2), arb(0, 1)], part) == 0


RISEN = sp.exp(u) - 1 - u - u**2 / 2


@pytest.mark.parametrize(
    ("expression", "end", "order", "proved"),
    [
        (u * (2 - u), sp.Rational(19, 10), 1, True),  # it falls from 1 on
        (u * (2 - u), sp.Rational(21, 10), 1, False),
        (u + 2 * u**2, 1, 1, True),  # its derivative is negative at -1, which is no matter
        (-u + 100 * u**2, 1, 1, False),
        (RISEN, 5, 3, True),
        (RISEN - u**2 / 2, 5, 3, False),
        (RISEN - u**3 / 5, 5, 3, False),
    ],
)
def test_from_nought_on_by_the_derivative_and_then_by_itself(
    expression: sp.Expr, end: sp.Expr, order: int, proved: bool
) -> None:
    assert positive_from_zero(expression, u, end, order).proved == proved


def test_both_parts_are_counted() -> None:
    found = positive_from_zero(u * (2 - u), u, sp.Rational(19, 10), order=1)
    assert found.how == "derivative 1 near 0: 1 box; beyond: 3 boxes"


@pytest.mark.parametrize("slope", [1, -1, -sp.Rational(1, 10**10)])
def test_a_derivative_that_does_not_vanish_at_nought_is_named_however_small(slope: sp.Expr) -> None:
    found = positive_from_zero(slope * u + u**2, u, 1, order=2)
    if slope > 0:
        assert (found.gap, found.false) == ("u = 0: derivative 1 isn't 0", False)
        return
    where, value = found.gap.removeprefix("u = ").split(": ")
    assert found.false
    assert (where, value) == ("1", "0") or ("10⁻" in where and value.startswith("−"))


@pytest.mark.parametrize(
    ("number", "gap"), [(2, ""), (sp.Rational(1, 2), ""), (0, "0"), (-1, "−1"), (sp.Rational(-1, 2), "−0.5")]
)
def test_a_number_is_positive_or_named(number: Any, gap: str) -> None:
    found = at(sp.sympify(number), {})
    assert (found.proved, found.gap) == (not gap, f"a number: {gap}" if gap else "")
    assert (found.how, found.false) == ("a number", bool(gap))
    assert at(u * number, {u: 1}).gap == (f"at u = 1: {gap}" if gap else "")
