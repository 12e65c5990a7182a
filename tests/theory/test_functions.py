"""Every closed form of the paper against the paper's formula in 50-digit arithmetic."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from mpmath import mp, mpf

from scansnap_core.theory import formulas
from scansnap_core.theory.formulas import K, M, P, attention, eta_Y, z_m
from scansnap_core.theory.functions import function_of, of_matrices, stable_form
from tests.refusing import refuses
from tests.theory.test_formulas import REFERENCES

VOCABULARIES = [2.0, 3.0, 34.0, 1000.0, 1e6, 1e9, 1e12]
GROWTHS = [0.0, 1e-9, 1e-3, 1.0, 27.0, 40.0, 700.0, 1e4]
"""Values of M h."""
LARGEST = 1e300
"""Where the value itself has no place in float64, nothing finite can be asked for."""


@pytest.fixture(autouse=True)
def _fifty_digits() -> Iterator[None]:
    with mp.workdps(50):
        yield


def decoder_points() -> Iterator[dict[str, float]]:
    for vocab_size in VOCABULARIES:
        for growth in GROWTHS:
            yield {
                "M": vocab_size, "h_": growth / vocab_size, "eta_Y": 0.7, "t": 11.0, "K": 5.0, "eta_Z": 0.3,
                "omega_1_": 0.3,
            }  # fmt: skip


def time_points() -> Iterator[dict[str, float]]:
    for vocab_size in VOCABULARIES:
        for rate in (1e-3, 1.0, 1e3):
            for time in (0.0, 1e-12, 1e-3, 1.0, 1e6, 1e15):
                yield {"M": vocab_size, "t": time, "eta_Y": rate}


def attention_points() -> Iterator[dict[str, float]]:
    for exponent in (-300.0, -1.0, 0.0, 1e-9, 5.0, 300.0):
        yield {
            "z": 7 + exponent, "z_0": 7.0, "r_0": 0.4, "chi_": math.exp(exponent), "c_l": math.exp(exponent / 3),
            "c_other": 0.8, "f_0": 0.6, "B_": abs(exponent), "Gamma_": abs(exponent), "C_0": 0.1, "gamma_": 0.3,
            "K": 5.0, "rho": 0.02,
        }  # fmt: skip


GRIDS = {
    decoder_points: (
        "h_rate", "h_step", "h_implicit", "alpha_target", "alpha_other", "gamma", "Gamma", "t_0_prime", "t_0",
    ),
    time_points: ("h",),
    attention_points: (
        "B", "B_shared", "z_snap", "xi_snap", "r", "chi", "r_grown", "chi_lower", "chi_upper",
    ),
}  # fmt: skip
POINTS = {name: points for points, names in GRIDS.items() for name in names}


def arguments_of(name: str) -> tuple[str, ...]:
    """Return the reference's arguments, by the names of the registry."""
    return tuple(signature(REFERENCES[name]).parameters)


def worst_error(name: str, expression: sp.Expr) -> float:
    """The largest relative error over the grid; of a sum, relative to its largest term."""
    arguments = arguments_of(name)
    function, worst = function_of(expression, [getattr(formulas, each) for each in arguments]), 0.0
    for point in POINTS[name]():
        values = [point[argument] for argument in arguments]
        exact = REFERENCES[name](*map(mpf, values))
        if abs(exact) > LARGEST:
            continue
        scale = abs(exact) + abs(mpf(point["t"] * point["M"]) if name == "h_implicit" else 0) + (name == "r")
        if name == "h":
            scale += 1 / mpf(point["M"])  # W is exact to rounding in M h; clocks.h makes it relative
        got = float(function(*values))
        assert math.isfinite(got)
        # e^x is as exact as x, which x makes relative; below 1e-300 a value loses digits, then vanishes
        exponent = abs(mpmath.log(abs(exact) + mpf("1e-300")))
        bound = scale * (1 + point.get("M", 0) * point.get("h_", 0) + exponent) + mpf("1e-290")
        worst = max(worst, float(abs(mpf(got) - exact) / bound))
    return worst


@pytest.mark.parametrize("name", POINTS)
def test_formula_is_finite_and_exact(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert worst_error(name, getattr(formulas, name)) < 1e-14


def attention_cases() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    for scale in (1.0, 30.0, 1e3, 1e4):
        yield rng.dirichlet(np.ones(6)), rng.uniform(-scale, scale, size=6)
    yield np.full(6, 1 / 6), np.full(6, -1e4)
    yield rng.dirichlet(np.full(6, 0.01)).clip(1e-12), np.linspace(-1e4, 1e4, 6)


@pytest.mark.parametrize(("name", "power"), [("c", 1), ("f", 2)])
def test_attention_is_finite_and_exact(name: str, power: int) -> None:
    function = function_of(getattr(formulas, name), (P, z_m))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for probs, logits in attention_cases():
            weights = [mpf(p) * mpmath.exp(mpf(x)) for p, x in zip(probs, logits, strict=True)]
            norm = mpmath.root(mpmath.fsum(w**power for w in weights), power)
            got = np.asarray(function(probs, logits))
            for value, weight in zip(got, weights, strict=True):
                # z is exact to its rounding, which e^z makes relative
                assert abs(mpf(value) - weight / norm) <= mpf("1e-15") * (4 + np.abs(logits).max())
            assert (got**power).sum() == pytest.approx(1, rel=1e-12, abs=0)


@pytest.mark.parametrize(("name", "power"), [("c", 1), ("f", 2)])
def test_attention_is_normalised_over_tokens_1_to_M(name: str, power: int) -> None:
    weights = [P[i] * sp.exp(z_m[i]) for i in (1, 2, 3)]
    norm = sp.root(sp.Add(*(weight**power for weight in weights)), power)
    formula = getattr(formulas, name).subs(M, 3).doit()
    assert [sp.simplify(formula.subs(formulas.l, i) - weights[i - 1] / norm) for i in (1, 2, 3)] == [0, 0, 0]


def test_a_formula_of_matrices_is_one_matrix() -> None:
    low, high = sp.symbols("low high")
    overlaps = sp.Matrix([[0, low], [low, 0]])
    inverse = sp.Matrix([[1, -low], [-low, 1]]) / (1 - low**2)
    found = of_matrices(attention.E_prime, {formulas.E: overlaps})
    assert sp.simplify(found - (sp.eye(2) - inverse)) == sp.zeros(2)
    inputs, heights = sp.Matrix([[1, low], [0, high], [high, 0]]), sp.Matrix([[1, 0, 2], [high, 1, 1]])
    values = {
        formulas.F: inputs, formulas.E_prime_: overlaps, formulas.Theta: sp.diag(low, high), formulas.W_bar: heights
    }  # fmt: skip
    by_hand = inputs * (sp.eye(2) - overlaps) * sp.diag(1 + low, 1 + high) * heights
    assert (of_matrices(attention.Y, values) - by_hand).expand() == sp.zeros(3)


x, y = sp.symbols("x y", real=True)


@pytest.mark.parametrize(
    ("expression", "at", "value"),
    [
        (K * x * sp.exp(y) / (1 + sp.exp(y)), (3.0, 2.0, 1e3), 6.0),
        (3 * sp.exp(y) / (2 + 5 * sp.exp(y)), (1.0, 1.0, 1e3), 0.6),
        (3 * sp.exp(y) / (2 + 5 * sp.exp(y)), (1.0, 1.0, 0.5), 3 * math.exp(0.5) / (2 + 5 * math.exp(0.5))),
        (sp.exp(y) / (2 + 5 * sp.exp(y)) ** 2, (1.0, 1.0, 0.5), math.exp(0.5) / (2 + 5 * math.exp(0.5)) ** 2),
        (sp.exp(2 * y) / (2 + 5 * sp.exp(y)) ** 2, (1.0, 1.0, 1e3), 0.04),
        (sp.exp(x) / (1 + sp.exp(y)), (1.0, 2.0, 0.5), math.exp(2) / (1 + math.exp(0.5))),
        (1 / (sp.exp(y) - sp.exp(-y)), (1.0, 1.0, 0.5), 1 / (math.exp(0.5) - math.exp(-0.5))),
        (sp.sqrt(1 + sp.exp(x) * sp.exp(-y)), (1.0, 1e3, 1e3), math.sqrt(2)),
        ((1 + sp.exp(y)) ** 2, (1.0, 1.0, 0.5), (1 + math.exp(0.5)) ** 2),
        (sp.log(3 + x), (1.0, 1e-9, 1.0), math.log(3)),
        (sp.log(x + y), (1.0, 1e-20, 1e-20), math.log(2e-20)),
    ],
)
def test_quotients_of_exponentials(expression: sp.Expr, at: tuple[float, ...], value: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(function_of(expression, (K, x, y))(*at)) == pytest.approx(value, rel=1e-9, abs=0)


MAIN_BRANCH = "W is evaluated on its main branch, of an exponential with a positive factor"
A_NUMBER = "a number or an array of numbers"
EVERY_SYMBOL = "every symbol of a formula is an argument"
EVERY_LETTER = "every letter gets a matrix"
T_0 = (formulas.t_0_prime, (K, M, eta_Y))
VALUES: list[tuple[tuple[Any, ...], str, str]] = [
    ((1, 2), "2 values", "this function takes 3: K, M, eta_Y"),
    (("a", 2, 3), "K = 'a'", A_NUMBER),
    ((2, [[1], [1, 2]], 3), "M = [[1], [1, 2]]", A_NUMBER),
    (([1, 2], [1, 2, 3], 3), "values of shapes K (2,), M (3,), eta_Y ()", "they broadcast to one"),
]
BAD: list[tuple[Callable[..., Any], tuple[Any, ...], str, str]] = [
    *(
        (function_of, (getattr(formulas, name), (M,)), f"LambertW(-1/(M - 1), {branch})", MAIN_BRANCH)
        for name, branch in (("J_lower", 0), ("J_upper", -1), ("omega_0", 0), ("omega_1", -1))
    ),
    *(
        (function_of, (sp.LambertW(sp.exp(x), branch), (x,)), f"LambertW(exp(x), {branch})", MAIN_BRANCH)
        for branch in (-1, 1)
    ),
    (function_of, (formulas.alpha_target, ("h", M, 3.0)), "the argument 'h'", "arguments are symbols"),
    (function_of, (formulas.h_rate, (eta_Y,)), "no argument for M, h", EVERY_SYMBOL),
    (function_of, (formulas.c, (P,)), "no argument for z", EVERY_SYMBOL),
    *((call, ("K", (K,)), "expression = 'K'", "a formula is SymPy's") for call in (function_of, stable_form)),
    (function_of, (formulas.t_0_prime, (K, K, M, M, eta_Y)), "the argument K twice", "each symbol is one argument"),
    *((function_of(*T_0), values, value, rule) for values, value, rule in VALUES),
    (of_matrices, (formulas.E_prime, {}), "no matrix for E", EVERY_LETTER),
    (of_matrices, (formulas.F * formulas.E, {}), "no matrix for E, F", EVERY_LETTER),
    *(
        (
            of_matrices,
            (formulas.E_prime, {formulas.E: sp.zeros(*shape)}),
            f"E of shape {shape}",
            f"K is {shape[0]} elsewhere",
        )
        for shape in ((2, 3), (3, 2))
    ),
]


@pytest.mark.parametrize(("call", "arguments", "value", "rule"), BAD)
def test_bad_input_is_refused(call: Callable[..., Any], arguments: tuple[Any, ...], value: str, rule: str) -> None:
    with refuses(value, rule):
        call(*arguments)
