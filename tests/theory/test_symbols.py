"""What SymPy may assume of a symbol admits the values that its quantity takes, up to the end of their range."""

from __future__ import annotations

import pytest
import sympy as sp

from scansnap_core.theory import formulas

# values inside, and one outside
POSITIVE = (1e-9, 1, 1e12), 0
NONNEGATIVE = (0, 1e-9, 1e12), -1
REAL = (-1e12, 0, 1e12), sp.I
INDEX = (1, 2, 50_272), sp.Rational(3, 2)

RANGES = {
    # sizes, rates, and constants of the data
    **dict.fromkeys(("M", "K", "eta_Y", "eta_Z", "C_0", "rho", "omega_1_"), POSITIVE),
    # attention on a token that the class has, and a ratio of two squares of it
    **dict.fromkeys(("P", "f_0", "c_l", "c_other", "chi_"), POSITIVE),
    # time, and what grows with it from 0
    **dict.fromkeys(("t", "h_", "gamma_", "Gamma_", "B_"), NONNEGATIVE),
    # logits, and a ratio less 1
    **dict.fromkeys(("z", "z_0", "z_m", "r_0"), REAL),
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
    assert set(RANGES) == {
        name for name, value in vars(formulas).items() if isinstance(value, sp.Symbol | sp.IndexedBase)
    }


@pytest.mark.parametrize("name", RANGES)
def test_a_symbol_admits_its_quantity(name: str) -> None:
    inside, outside = RANGES[name]
    assert [value for value in inside if not admits(getattr(formulas, name), value)] == []
    assert not admits(getattr(formulas, name), outside)
