"""The registry: every closed form against the paper's in 50 digits, where it holds, and where the paper has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import mpmath
import pytest
import sympy as sp
from mpmath import exp, lambertw, log, mp, mpf, sqrt

from scansnap_core.ledger import read_pages, statements
from scansnap_core.theory import formulas
from scansnap_core.theory.formulas import FORMULAS, SYMBOLS, attention, decoder, find, registry, symbols
from tests.refusing import refuses

ROOT = Path(__file__).parents[2]

POINT = {
    "M": "7.3", "K": "2.6", "T": "12.5", "N": "31", "N_bar": "11", "eta_Y": "0.7", "eta_Z": "0.3", "t": "5.2",
    "i": "9", "mu": "0.6", "delta": "0.1", "epsilon": "0.05", "h_": "0.31", "e_": "0.4", "omega_1_": "0.2",
    "Delta_1_": "0.8", "Delta_2_": "0.45", "q_0_": "-0.2", "q_1_": "1.2", "rho": "0.15", "rho_0": "1.3",
    "x": "-0.35", "lambda_1": "0.25", "lambda_": "0.4", "Ep_own": "-0.06", "Ep_other": "0.11", "Ep_rest": "0.23",
    "sigma": "-0.07", "theta": "0.13", "theta_other": "-0.09", "own_logit": "2.1", "Delta_": "3.4", "z": "-0.8",
    "z_0": "0.3", "c_l": "0.5", "c_other": "0.3", "f_l": "0.6", "f_other": "0.35", "f_0": "0.45", "overlap": "0.12",
    "r_0": "0.9", "chi_": "1.7", "gamma_": "0.55", "Gamma_": "1.9", "B_": "0.65", "xi_": "0.21", "C_0": "0.33",
}  # fmt: skip
"""One value for every symbol, in general position."""


def h_by_newton(time: mpf, vocab_size: mpf, rate: mpf) -> mpf:
    """The root of Eqn 45 for h. The left side is convex and grows, so Newton from the right comes down to it."""
    v = min(vocab_size * rate * time / (vocab_size - 1), mpmath.log1p(vocab_size * rate * time))
    for _ in range(200):
        step = (mpmath.expm1(v) + (vocab_size - 1) * v - vocab_size * rate * time) / (mpmath.exp(v) + vocab_size - 1)
        v -= step
        if abs(step) <= abs(v) * mpf(10) ** -45:
            break
    return v / vocab_size


REFERENCES: dict[str, Callable[..., Any]] = {
    "z_force": lambda f_l, overlap, f_other: f_l * (overlap * f_l - f_other),
    "z_rate_distinct": lambda eta_Z, f_l, xi_: eta_Z * f_l**2 * xi_,
    "z_rate_common": lambda eta_Z, f_l, xi_: -eta_Z * (1 - f_l**2) * xi_,
    "z_force_symmetric": lambda f_l, overlap: -(f_l**2) * (1 - overlap),
    "r": lambda c_l, c_other: c_l**2 / c_other**2 - 1,
    "chi": lambda z, z_0: exp(2 * (z - z_0)),
    "r_grown": lambda r_0, chi_: r_0 * chi_,
    "chi_lower": lambda f_0, B_: exp(2 * f_0**2 * B_),
    "chi_upper": lambda B_: exp(2 * B_),
    "lambda_prime": lambda x: x / (1 + x),
    "E_prime_size": lambda lambda_1, lambda_: lambda_1 / (1 - lambda_),
    "E_prime_gap": lambda lambda_1: lambda_1**2 / (1 - lambda_1),
    "E_prime_equal": lambda rho, K: rho / ((1 - rho) * (1 + (K - 1) * rho)),
    "iota": lambda sigma, q_1_, theta, Ep_own, q_0_, Ep_rest: (
        (1 + sigma) * (q_1_ * (1 + theta) * (1 - Ep_own) - q_0_ * Ep_rest)
    ),
    "beta_printed": lambda sigma, q_1_, theta, Ep_other, q_0_, theta_other, Ep_rest: (
        (1 + sigma) * (q_1_ * (1 + theta) * Ep_other + q_0_ * ((1 + theta_other) + Ep_rest))
    ),
    "beta": lambda sigma, q_1_, theta, Ep_other, q_0_, theta_other, Ep_rest: (
        (1 + sigma) * (q_1_ * (1 + theta) * Ep_other + q_0_ * (-(1 + theta_other) + Ep_rest))
    ),
    "pull": lambda sigma, q_1_, theta, Ep_own, q_0_, Ep_rest: (
        (1 + sigma) * (q_1_ * (1 + theta) * -Ep_own + abs(q_0_) * Ep_rest)
    ),
    "xi_equal": lambda rho, K: (K - 1) * rho**2 / ((1 - rho) * (1 + (K - 1) * rho)),
    "beta_true": lambda rho, own_logit: exp(rho * own_logit) + mpmath.expm1(rho * own_logit) / (rho * own_logit) - 1,
    "count_bound": lambda N, delta: sqrt(N / 2 * log(2 / delta)) + 1,
    "count_bound_wide": lambda N, delta: sqrt(N * log(2 / delta)),
    "Delta": lambda N, delta: sqrt(N * log(1 / delta)),
    "h_spread": lambda h_, Delta_, N_bar: h_ * Delta_ / N_bar,
    "error_slope": lambda M, eta_Y: M / (M - 1) * eta_Y / 4,
    "sigma_bound": lambda eta_Y, Delta_: eta_Y * Delta_ / 3,
    "theta_bound": lambda K, N, delta: K / sqrt(N) * sqrt(log(K / delta)),
    "share_bound": lambda T, delta: sqrt(log(2 / delta) / (2 * (T - 1))),
    "h_rate": lambda eta_Y, M, h_: eta_Y / (M - 1 + exp(M * h_)),
    "h_step": lambda eta_Y, M, h_: h_ + eta_Y / (M - 1 + exp(M * h_)),
    "h_implicit": lambda M, h_, eta_Y, t: exp(M * h_) + (M - 1) * M * h_ - M * eta_Y * t - 1,
    "h": lambda M, eta_Y, t: h_by_newton(t, M, eta_Y),
    "time_of_h": lambda M, h_, eta_Y: (exp(M * h_) + (M - 1) * M * h_ - 1) / (M * eta_Y),
    "alpha_target": lambda M, h_: exp(M * h_) / (M - 1 + exp(M * h_)),
    "alpha_other": lambda M, h_: 1 / (M - 1 + exp(M * h_)),
    "error_factor": lambda M, h_: (M - 1) / (M - 1 + exp(M * h_)),
    "zeta": lambda M, e_: M / (M - 1) * (e_ - 1 / M),
    "w": lambda M, h_, e_: (M - 1) * h_ * M / (M - 1) * (e_ - 1 / M),
    "q_1": lambda M: 1**2 + (M - 1) * (1 / (M - 1)) ** 2,
    "q_0": lambda M: -2 / (M - 1) + (M - 2) / (M - 1) ** 2,
    "steps_to_learn": lambda K, epsilon, eta_Y, M: K / (epsilon * eta_Y) * log(M / epsilon),
    "J_lower": lambda M: -lambertw(-1 / (M - 1)).real / M,
    "J_upper": lambda M: -lambertw(-1 / (M - 1), -1).real / M,
    "omega_0": lambda M: 2 + log(-lambertw(-1 / (M - 1)).real / M) / log(M),
    "omega_1": lambda M: -lambertw(-1 / (M - 1), -1).real / log(M) - 1,
    "t_0_prime": lambda K, M, eta_Y: K * log(M) / eta_Y,
    "t_0": lambda K, M, eta_Y, omega_1_: 2 * (1 + omega_1_) * K * log(M) / eta_Y,
    "t_balanced": lambda M, eta_Y: (M - 2 + (M - 1) * log(M - 1)) / (M * eta_Y),
    "Delta_1": lambda M, h_: exp(M * h_) / (M - 1),
    "Delta_2": lambda M, h_: exp(M * h_) / ((M - 1) * M * h_),
    "h_early": lambda M, eta_Y, t, Delta_2_: (M * eta_Y * t + 1) / ((1 + Delta_2_) * M * (M - 1)),
    "h_late": lambda M, eta_Y, t, Delta_2_: log((M * eta_Y * t + 1) / (1 + 1 / Delta_2_)) / M,
    "gamma_early": lambda M, eta_Y, t, Delta_1_, Delta_2_: (M * eta_Y * t + 1) / ((1 + Delta_1_) * (1 + Delta_2_) * M),
    "gamma_late": lambda M, eta_Y, t, Delta_1_, Delta_2_: (
        ((M - 1) / M)
        * (M - 1)
        * log((M * eta_Y * t + 1) / (1 + 1 / Delta_2_))
        / ((1 + 1 / Delta_1_) * (M * eta_Y * t + 1) / (1 + 1 / Delta_2_))
    ),
    "gamma": lambda M, h_: (M - 1) ** 2 * h_ / (M - 1 + exp(M * h_)),
    "Gamma": lambda eta_Z, eta_Y, K, M, h_: eta_Z / eta_Y * K * (M - 1) ** 2 * h_**2 / 2,
    "C_0_of_rho": lambda rho_0, K: rho_0**4 / K,
    "z_rate_snap": lambda eta_Z, gamma_, z, C_0: -eta_Z * gamma_ * exp(4 * z) / C_0,
    "xi_of_z": lambda gamma_, z, C_0: gamma_ * exp(4 * z) / C_0,
    "z_snap": lambda Gamma_, C_0: -log(4 * Gamma_ / C_0 + 1) / 4,
    "xi_snap": lambda gamma_, Gamma_, C_0: gamma_ / (C_0 + 4 * Gamma_),
    "B": lambda C_0, Gamma_: log(C_0 + 4 * Gamma_) / 4,
    "B_early": lambda C_0, M, K, eta_Y, eta_Z, t: log(C_0 + 2 * (M - 1) ** 2 / (K * M**2) * eta_Y * eta_Z * t**2) / 4,
    "B_late": lambda C_0, M, K, eta_Y, eta_Z, t: (
        log(C_0 + 2 * K * (M - 1) ** 2 / M**2 * eta_Z / eta_Y * log(M * eta_Y * t / K) ** 2) / 4
    ),
    "B_shared": lambda K, rho, Gamma_: log(1 + 4 * K * (K - 1) * rho**2 * Gamma_) / (4 * K),
    "momentum_clock": lambda i, mu: i / (1 - mu) - mu * (1 - mu**i) / (1 - mu) ** 2,
}
TOPICS = (attention, decoder)
SUMS = {"c", "f", "xi"}
MATRICES = {"E_prime", "Y"}


@pytest.fixture(autouse=True)
def _fifty_digits() -> Iterator[None]:
    with mp.workdps(50):
        yield


def test_every_formula_has_a_reference() -> None:
    assert set(FORMULAS) == set(REFERENCES) | SUMS | MATRICES, "give each formula a reference of its own in REFERENCES"


@pytest.mark.parametrize("name", REFERENCES)
def test_formula_is_the_papers(name: str) -> None:
    formula = FORMULAS[name]
    values = {symbol: POINT[symbol] for symbol in formula.symbols}
    exact = REFERENCES[name](**{symbol: mpf(value) for symbol, value in values.items()})
    got = formula.expression.subs({SYMBOLS[symbol].expression: sp.Rational(v) for symbol, v in values.items()})
    assert abs(mpf(str(sp.N(got, 40))) / exact - 1) < mpf(10) ** -30


def test_xi_is_a_sum_over_classes() -> None:
    beta, overlaps = sp.symbols("b1:4"), sp.symbols("o1:4")
    entries = {formulas.beta_n[n + 1]: beta[n] for n in range(3)} | {formulas.E_n[n + 1]: overlaps[n] for n in range(3)}
    found = formulas.xi.subs(formulas.K, 3).doit().subs(entries)
    assert sp.expand(found - formulas.gamma_ * sp.Matrix(beta).dot(sp.Matrix(overlaps))) == 0


@pytest.mark.parametrize("name", [name for name, formula in FORMULAS.items() if formula.region != sp.true])
def test_where_its_region_ends_a_formula_ends(name: str) -> None:
    formula = FORMULAS[name]
    (letter,) = formula.region.free_symbols
    edge, side = (formula.region.lts, 1) if formula.region.gts == letter else (formula.region.gts, -1)
    step = side * sp.Rational(1, 100)
    assert [formula.region.subs(letter, edge + shift) for shift in (0, step, -step)] == [sp.false, sp.true, sp.false]
    others = {SYMBOLS[s].expression: sp.Rational(POINT[s]) for s in formula.symbols} | {letter: letter}

    def value(shift: Any) -> Any:
        """The formula's value near its edge; SymPy 1.13.0 raises where later ones have NaN."""
        try:
            return sp.N(formula.expression.subs(others).subs(letter, edge + shift))
        except TypeError:
            return sp.nan

    inside, at, outside = map(value, (step, 0, -step))
    assert inside.is_real
    goes_on = {"w", "B_shared"}  # in w M - 1 cancels; with fewer than two classes B_shared has no meaning
    assert bool(at.is_finite and outside.is_real) == (name in goes_on)


@pytest.mark.parametrize("name", FORMULAS)
def test_entry_is_complete(name: str) -> None:
    formula = FORMULAS[name]
    assert formula.name == name
    assert getattr(formulas, name) is formula.expression
    assert [topic for topic in TOPICS if vars(topic).get(name) is formula.expression]
    assert formula.meaning.endswith(".") or formula.meaning.endswith("'.")
    assert all(1 <= number <= 138 for number in formula.equations)
    named = re.findall(r"(Theorem|Lemma|Corollary) (\d+)", formula.place)
    assert {
        f"{kind.lower()}_{number}" if kind != "Lemma" else f"lemma_{int(number):02}" for kind, number in named
    } <= set(statements(read_pages(ROOT)))
    assert named or formula.place.startswith(("App.", "Sec."))
    takes_time = {"t", "i"} & formula.symbols
    assert formula.clock or not takes_time


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbol_is_imported_by_its_name(name: str) -> None:
    assert getattr(formulas, name) is getattr(symbols, name) is SYMBOLS[name].expression
    assert SYMBOLS[name].meaning.endswith(".")
    assert [other for other, symbol in SYMBOLS.items() if symbol.expression == SYMBOLS[name].expression] == [name]


def test_search() -> None:
    assert [formula.name for formula in find(equation=88)] == ["beta_printed", "beta"]
    assert [formula.name for formula in find(equation=127)] == ["Gamma"]
    assert {formula.name for formula in find(symbol="z_m")} == {"c", "f"}
    assert "z_m" not in FORMULAS["chi"].symbols
    assert [formula.name for formula in find("SPEED control")] == ["gamma"]
    assert {formula.origin for formula in find()} == {"printed", "repaired", "ours"}
    assert find() == list(FORMULAS.values())
    assert find("gamma", equation=1) == []
    assert FORMULAS["w"].equations == (31, 66, 67, 68, 69)
    with refuses("equation = 'gamma'", "a positive integer", "pass e.g. 85"):
        find(equation="gamma")  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", [SYMBOLS["K"], FORMULAS["gamma"]])
def test_an_entry_stays_as_it_is(entry: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        entry.meaning = ""


def test_names_are_listed_and_misspelt_ones_refused() -> None:
    assert {"gamma", "h_", "FORMULAS"} <= set(dir(formulas))
    with pytest.raises(AttributeError, match="gama is neither"):
        _ = formulas.gama


@pytest.mark.parametrize("name", ["gamma", "h_"])
def test_a_name_is_given_once(name: str) -> None:
    before = dict(FORMULAS), dict(SYMBOLS)
    with pytest.raises(ValueError, match=f"{name} stands in the registry already"):
        registry.record(name, sp.S.One, "Lemma 9", "One.")
    with pytest.raises(ValueError, match=f"{name} stands in the registry already"):
        registry.record_symbol(name, sp.Symbol("new"), "New.")
    assert before == (FORMULAS, SYMBOLS)


MAY_BE_0 = ("mu", "Delta_", "e_", "f_other", "overlap", "E_n", "t", "i", "h_", "gamma_", "Gamma_", "B_")
MAY_BE_NEGATIVE = (
    "z", "z_0", "z_m", "r_0", "x", "Ep_own", "Ep_other", "Ep_rest", "sigma", "theta", "theta_other", "beta_n", "xi_",
)  # fmt: skip
RANGES: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(MAY_BE_0, (0, -1)),
    **dict.fromkeys(MAY_BE_NEGATIVE, (-1, sp.I)),
    **dict.fromkeys(("l", "k"), (1, sp.Rational(3, 2))),
    "q_0_": (-1, 0),
}
"""The end of what a quantity takes, and a value outside; all others are positive."""


@pytest.mark.parametrize("name", [name for name, symbol in SYMBOLS.items() if not symbol.expression.is_Matrix])
def test_what_sympy_may_assume_of_a_symbol_admits_its_quantity(name: str) -> None:
    symbol = SYMBOLS[name].expression
    entry = symbol[0] if isinstance(symbol, sp.IndexedBase) else symbol
    admitted = [
        all(
            getattr(entry, f"is_{of}") in (None, getattr(sp.S(value), f"is_{of}"))
            for of in ("real", "positive", "nonnegative", "integer")
        )
        for value in RANGES.get(name, (sp.Rational(1, 10**9), 0))
    ]
    assert admitted == [True, False]
