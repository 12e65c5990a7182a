"""The gate: what it reads means what SymPy means by it, and a procedure sees nothing else."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy as sp

from scansnap_core.theory.certify.language import EXACT, OPERATORS, RELATIONS, TRUTH, check_bounds, read, read_claim
from tests.refusing import refuses

u, v = sp.symbols("u v", real=True)
FLOATS = {
    **OPERATORS,
    "number": float,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "W0": lambda x: float(sp.LambertW(x)),
    "W-1": lambda x: float(sp.LambertW(x, -1)),
}


@pytest.mark.parametrize(
    "expression",
    [
        u,
        sp.Rational(2, 3),
        u - v / 3,
        u**3 * v**-2,
        sp.sqrt(u) ** 3,
        1 / sp.sqrt(v),
        u ** sp.Rational(-5, 3),
        sp.E * u,
        sp.exp(-u) + sp.log(v + sp.E**2),
        2 ** sp.Rational(1, 3) * sp.sqrt(2),
        sp.LambertW(u) - sp.LambertW(-v / 9, -1),
        (u + v) * (u + v) ** 2 / (1 + 1 / (u + v)),
    ],
    ids=str,
)
def test_a_term_has_the_value_of_the_expression(expression: sp.Expr) -> None:
    value = read(expression, [u, v]).compiled(FLOATS)([1.25, 0.5])
    assert value == pytest.approx(float(expression.subs({u: 1.25, v: 0.5})), rel=1e-14)


def test_what_stands_several_times_is_one_step() -> None:
    term = read(sp.exp(u + v) + (u + v) / (2 + sp.exp(u + v)), [u, v])
    assert [operation for operation, _, _ in term.steps].count("exp") == 1
    assert term.names == ("u", "v")
    assert term.divides
    assert not read(u**2, [u]).divides


def test_numbers_are_exact() -> None:
    for given in (3, Fraction(3), sp.Integer(3)):
        assert read(given).compiled(EXACT)([]) == 3
    assert read(u / 3 + 2 / u, [u]).compiled(EXACT)([Fraction(5, 7)]) == Fraction(5, 21) + Fraction(14, 5)
    with pytest.raises(ZeroDivisionError):
        read(1 / u, [u]).compiled(EXACT)([Fraction(0)])


@pytest.mark.parametrize("relation", [sp.Gt, sp.Ge, sp.Lt, sp.Le, sp.Eq, sp.Ne])
@pytest.mark.parametrize("value", [-1, 0, 1])
def test_a_formula_has_the_truth_of_the_relation(relation: type, value: int) -> None:
    truth = {**EXACT, **TRUTH}
    holds = bool(relation(value, 0))
    point = [Fraction(value), Fraction(0)]
    for formula, expected in (
        (relation(u, v), holds),
        (sp.Not(relation(u, v)), not holds),
        (sp.And(relation(u, v), v < 1), holds),
        (sp.Or(relation(u, v), v > 1), holds),
        (sp.true, True),
        (sp.false, False),
    ):
        assert read(formula, [u, v]).compiled(truth)(point) == expected


def test_the_sign_of_a_symbol_is_among_what_is_known() -> None:
    made = {"positive": ">", "negative": "<", "nonnegative": ">=", "nonpositive": "<="}
    for way, sign in made.items():
        _, [known] = read_claim(sp.Symbol("s", **{way: True}) ** 3 < u, [])
        assert [operation for operation, _, _ in known.steps if operation in RELATIONS] == [sign]
    assert read_claim(u < v, [])[1] == []
    assert read_claim(sp.Symbol("z") < v, [])[1] == []


@pytest.mark.parametrize(
    ("made", "low", "high", "beyond", "inside"),
    [
        ("real", -1, 1, False, True),
        ("positive", 0, 1, False, False),
        ("positive", 0, 1, True, True),
        ("positive", -1, 1, True, False),
        ("positive", 1, 2, False, True),
        ("nonnegative", 0, 1, False, True),
        ("nonnegative", -1, 1, True, False),
        ("negative", -1, 0, False, False),
        ("negative", -2, -1, False, True),
        ("nonpositive", -1, 0, False, True),
        ("nonpositive", -1, 1, False, False),
    ],
)
def test_bounds_lie_within_the_sign(made: str, low: int, high: int, beyond: bool, inside: bool) -> None:
    symbol = sp.Symbol("s", **{made: True})
    if inside:
        check_bounds(symbol, low, high, beyond=beyond)
        return
    with refuses(
        f"s from {low} to {high}", "SymPy has simplified the expression by the sign that the symbol was made with"
    ):
        check_bounds(symbol, low, high, beyond=beyond)


def test_an_operation_that_a_procedure_lacks_is_named() -> None:
    with refuses("exp in a claim", "this procedure knows number, power, product, sum"):
        read(sp.exp(u), [u]).compiled(EXACT)
    with refuses("the variable v", "a claim's variables have bounds"):
        read(u + v, [u])
