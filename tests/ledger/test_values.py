import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch

from scansnap_core.ledger.values import NoEvidence, holds, is_infinite, requirement, scalar, written, written_bound
from tests.refusing import refuses

x, y = sp.symbols("x y")
f = sp.Function("f")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.123"), (-0.5, "−0.5"), (2.0, "2"), (1234.5, "1230"), (120.0, "120"), (0.0001, "0.0001"),
        (123456.7, "1.23 × 10⁵"), (1.5e-5, "1.5 × 10⁻⁵"), (-1.25e9, "−1.25 × 10⁹"), (0.00009994, "9.99 × 10⁻⁵"),
        (99_900.0, "99900"), (100_000.0, "10⁵"), (1e300, "10³⁰⁰"), (math.inf, "∞"), (-math.inf, "−∞"), (True, "true"),
        (0, "0"), (50272, "50272"), (-999_999, "−999999"), (999_999, "999999"), (10**6, "10⁶"), (-(10**6), "−10⁶"),
        (10**7, "10⁷"), (10**400, "10⁴⁰⁰"), (sp.Integer(10) ** 400, "10⁴⁰⁰"), (sp.Integer(3), "3"),
        (Fraction(1, 3), "1/3"), (sp.Rational(1, 3), "1/3"), (sp.sqrt(2), "1.41"),
        (Fraction(-999_999, 2), "−999999/2"), (Fraction(2, 999_999), "2/999999"),
        (Fraction(1_000_001, 2), "5 × 10⁵"), (Fraction(1, 10**6), "10⁻⁶"),
        (0.8125, "0.812"), (0.8135, "0.814"), (0.8125000001, "0.812"),  # a tie is broken by nine digits
        (0.812500001, "0.813"), (0.8124999999, "0.812"),
    ],
)  # fmt: skip
def test_a_number_is_written_exactly_or_in_three_digits(value: Any, text: str) -> None:
    assert written(value, "≠", 77) == text


@pytest.mark.parametrize("noise", [0, 1e-15, -1e-15, 3e-13])
@pytest.mark.parametrize(("value", "text"), [(0.8125, "0.812"), (1.0, "1"), (0.0625, "0.0625"), (99950.0, "10⁵")])
def test_rounding_noise_changes_no_text(value: float, text: str, noise: float) -> None:
    assert written(value * (1 + noise), "≠", 77) == text


@pytest.mark.parametrize("value", [0.0, 1e-17, -1e-17, 3.3e-13, 9.9e-10])
def test_rounding_level_is_written_as_the_relation_that_it_meets(value: float) -> None:
    assert written(value, "≤", 1e-9) == "≤ 10⁻⁹"
    assert written(value, ">", 1e-9) == "≤ 10⁻⁹"
    assert written(value, "≤", 0.6) == written(value, ">", 2e-6) == "< 10⁻⁶"  # so a loose bound is seen


def test_digits_that_read_like_the_bounds_give_way_to_the_relation() -> None:
    assert written(0.99999, "<", 1) == "< 1"
    assert written(0.8121, "≤", 0.8119) == "> 0.812"


def test_a_bound_is_written_however_small() -> None:
    assert requirement("≤", 2.5e-12) == "≤ 2.5 × 10⁻¹²"
    assert requirement("=", 0) == "= 0"
    assert written_bound(sp.zeros(2, 3)) == "0 (2×3)"
    assert written_bound(sp.ones(2, 3)) == "the 2×3 matrix"
    assert written_bound(x + 1) == "x + 1"


@pytest.mark.parametrize("one", [np.float32(0.5), np.float64(0.5), np.array([0.5]), torch.tensor(0.5), 0.5])
def test_one_number_in_any_wrapping(one: Any) -> None:
    assert scalar(one, "it") == 0.5


def test_anything_else_is_refused_and_nan_is_no_evidence() -> None:
    for several in (np.zeros(2), torch.zeros(2, 2)):
        with refuses(f"it of shape {tuple(several.shape)}", "a check compares one number"):
            scalar(several, "it")
    for other in (1j, "1", None, [1.0]):
        with refuses(f"it of type {type(other).__name__}", "a check compares one real number or a SymPy value"):
            scalar(other, "it")
    for nan in (math.nan, np.float32("nan"), torch.tensor(math.nan), sp.nan, sp.Matrix([0, sp.nan])):
        with pytest.raises(NoEvidence, match="it is NaN"):
            scalar(nan, "it")


@pytest.mark.parametrize(("one", "other"), [(1.0, math.nextafter(1, 2)), (0.0, 5e-324), (Fraction(1, 3), 1 / 3)])
def test_numbers_are_equal_to_the_last_bit(one: Any, other: Any) -> None:
    assert holds(one, "=", one)
    assert not holds(one, "≠", one)
    assert not holds(one, "=", other)
    assert holds(one, "≠", other)


def test_symbolic_equality_is_structural_and_difference_proven() -> None:
    assert holds(sp.expand((x + 1) ** 2) - x**2, "=", 2 * x + 1)
    assert not holds(x, "=", 0)
    assert holds(x, "≠", 0)
    assert holds(sp.Symbol("p", positive=True), ">", 0)
    assert not holds(sp.Symbol("p", positive=True), "≤", 0)


@pytest.mark.parametrize(
    ("value", "relation"),
    [
        (sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, "="),
        (f(x) - f(y), "="),
        (f(x) - f(y), "≠"),
        (sp.Matrix([0, f(x) - f(y)]), "="),
        (x, ">"),
        (sp.Matrix([sp.sin(2 * x) - 2 * sp.sin(x) * sp.cos(x)]), "="),
    ],
)
def test_what_sympy_cant_decide_is_no_evidence(value: Any, relation: str) -> None:
    """Neither what is zero though it isn't simplified, nor what is zero for some functions only, differs provably."""
    bound = sp.zeros(*value.shape) if hasattr(value, "shape") else 0
    with pytest.raises(NoEvidence, match="can't decide"):
        holds(value, relation, bound)


a, b = sp.symbols("a b", positive=True)
n = sp.Symbol("n", integer=True, positive=True)
q = sp.Symbol("q", negative=True)


@pytest.mark.parametrize(
    "value",
    [3 * sp.sqrt(a) - 3 * a / (2 * b) - 3 * b / 2, a / b - b / a, x / y - 1, (-1) ** n - 1 / n, sp.sqrt(-q) + 1 / q],
)
def test_where_sympy_gives_up_one_point_shows_a_difference(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a formula divides by zero at 0, the hash seed decides whether SymPy finds out that it isn't zero."""
    monkeypatch.setattr(sp.Expr, "equals", lambda self, other: None)
    assert holds(value, "≠", 0)
    assert not holds(value, "=", 0)


@pytest.mark.parametrize(
    "value",
    [
        sp.sqrt(x**2 + 2 * x + 1) - sp.sqrt((x + 1) ** 2),
        sp.sin(a) ** 2 / a + sp.cos(a) ** 2 / a - 1 / a,
        sp.sqrt(-a) - 1,
        sp.Symbol("k", even=True) - 1,
    ],
)
def test_a_point_shows_nothing_where_no_digit_is_sure_or_no_number_fits(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unsimplified zero, a complex value, a symbol whose assumptions no number that is tried meets."""
    monkeypatch.setattr(sp.Expr, "equals", lambda self, other: None)
    with pytest.raises(NoEvidence, match="can't decide"):
        holds(value, "≠", 0)


def test_symbolic_values_are_written_as_relations_unless_they_are_numbers() -> None:
    assert written(sp.zeros(2, 2), "=", sp.zeros(2, 2)) == "= 0 (2×2)"
    assert written(x**2 + 1, "=", 0) == "≠ 0"
    value = 1 / (2 * sp.E)
    assert written(value, "=", value) == requirement("=", value)
    assert written(sp.pi / 3, "=", value) == "1.05"


def test_whoever_knows_the_relation_says_it_and_sympy_isnt_asked() -> None:
    undecided = f(x) - f(y)
    with pytest.raises(NoEvidence):
        written(undecided, "=", 0)
    assert written(undecided, "=", 0, met=False) == "≠ 0"


def test_an_exact_number_is_written_however_small() -> None:
    assert written(Fraction(1, 10**9), "≤", 1) == "10⁻⁹"
    assert written(2e-9, "≤", 1) == "< 10⁻⁶"
    assert written(1e-6, "≤", 1) == "10⁻⁶"


def test_infinity_is_known() -> None:
    assert [is_infinite(value) for value in (math.inf, -sp.oo, sp.zoo, sp.Matrix([1, sp.oo]), 1e308, sp.I)] == [
        True
    ] * 4 + [False] * 2


def test_zero_has_one_way_to_be_written_and_a_complex_number_no_digits() -> None:
    assert {requirement("=", zero) for zero in (0, 0.0, -0.0, Fraction(0), sp.Integer(0))} == {"= 0"}
    assert written(sp.I, "≠", 0) == "≠ 0"


def test_matrices_differ_provably_in_shape_or_in_an_entry() -> None:
    undecided = sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1
    assert not holds(sp.Matrix([undecided, 1]), "=", sp.zeros(2, 1))
    assert not holds(sp.Matrix([1, undecided]), "=", sp.zeros(2, 1))
    assert not holds(sp.zeros(2, 2), "=", 0)
    assert not holds(sp.zeros(2, 1), "=", sp.zeros(1, 2))
    assert holds(sp.zeros(2, 1), "≠", sp.zeros(1, 2))
    assert not holds(x, "≠", x)
    assert holds(sp.ImmutableMatrix([x, 0]), "=", sp.Matrix([x, 0]))


def test_only_a_matrix_of_zeros_is_written_as_0() -> None:
    assert {written_bound(bound) for bound in (sp.Matrix([[-1, 0]]), sp.Matrix([[0, x]]))} == {"the 1×2 matrix"}
