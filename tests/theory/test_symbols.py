"""What SymPy may assume of a symbol admits the values that its quantity takes, up to the end of their range."""

from __future__ import annotations

import pytest
import sympy as sp

from scansnap_core.theory.formulas import SYMBOLS, symbols

# values inside, and one outside
POSITIVE = (1e-9, 1, 1e12), 0
NONNEGATIVE = (0, 1e-9, 1e12), -1
REAL = (-1e12, 0, 1e12), sp.I
INDEX = (1, 2, 50_272), sp.Rational(3, 2)

RANGES = {
    # sizes, rates, and constants of the data
    **dict.fromkeys(("M", "K", "T", "N", "N_bar", "eta_Y", "eta_Z", "C_0", "rho", "rho_0", "omega_1_"), POSITIVE),
    # bounds, probabilities, ratios
    **dict.fromkeys(("delta", "epsilon", "lambda_1", "lambda_", "Delta_1_", "Delta_2_", "q_1_"), POSITIVE),
    **dict.fromkeys(("mu", "Delta_"), NONNEGATIVE),
    "q_0_": ((-1e12, -1e-9), 0),
    # an entry of a unit vector; f at a token that the class may lack; f_n^T f_n' of classes that may share nothing
    **dict.fromkeys(("e_", "f_other", "overlap", "E_n"), NONNEGATIVE),
    # attention on a token that the class has, and a ratio of two squares of it
    **dict.fromkeys(("P", "f_0", "f_l", "own_logit", "c_l", "c_other", "chi_"), POSITIVE),
    # time, and what grows with it from 0
    **dict.fromkeys(("t", "i", "h_", "gamma_", "Gamma_", "B_"), NONNEGATIVE),
    # logits, and a ratio less 1
    **dict.fromkeys(("z", "z_0", "z_m", "r_0"), REAL),
    # eigenvalues, entries of E', relative errors, coefficients of g, and the growth rate
    **dict.fromkeys(("x", "Ep_own", "Ep_other", "Ep_rest", "sigma", "theta", "theta_other", "beta_n", "xi_"), REAL),
    # tokens
    **dict.fromkeys(("l", "k"), INDEX),
}
PROPERTIES = ("real", "positive", "nonnegative", "integer")


def admits(symbol: sp.Symbol | sp.IndexedBase, value: object) -> bool:
    """Whether no property that is assumed of the symbol, or of its entries, is another one of the value."""
    entry = symbol[0] if isinstance(symbol, sp.IndexedBase) else symbol
    is_so = [(getattr(entry, f"is_{name}"), getattr(sp.sympify(value), f"is_{name}")) for name in PROPERTIES]
    return all(assumed is None or assumed == known for assumed, known in is_so)


def test_every_symbol_has_a_range() -> None:
    matrices = {name for name, symbol in SYMBOLS.items() if isinstance(symbol.expression, sp.MatrixSymbol)}
    assert set(RANGES) == set(SYMBOLS) - matrices


@pytest.mark.parametrize("name", RANGES)
def test_a_symbol_admits_its_quantity(name: str) -> None:
    inside, outside = RANGES[name]
    assert [value for value in inside if not admits(getattr(symbols, name), value)] == []
    assert not admits(getattr(symbols, name), outside)
