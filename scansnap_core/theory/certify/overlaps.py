"""Overlap matrices of any number of classes: aI + bJ where all overlaps are equal, and E beside E' in general."""

from __future__ import annotations

import sympy as sp

from scansnap_core.bad_input import BadInput
from scansnap_core.theory.formulas import K

ONES = sp.OneMatrix(K, K)
"""J, the matrix of ones."""

E_word, E_prime_word = sp.symbols("E Eprime", commutative=False)
"""E and E' as letters that don't commute; E E' = E' E = E - E' is all that (I + E)(I - E') = I says of them."""


def as_pair(expression: sp.MatrixExpr) -> tuple[sp.Expr, sp.Expr]:
    """Compute a and b, factored, of an expression that is aI + bJ for every size K, the symbol of the registry.

    It is made of sums and products of ``Identity(K)``, ``OneMatrix(K, K)`` and scalars.

    Examples
    --------
    >>> as_pair((sp.Identity(K) + ONES) * (sp.Identity(K) + ONES))
    (1, K + 2)
    """
    one, ones = sp.Dummy("one"), sp.Dummy("ones")
    total = sp.expand(_word(expression, one, ones))
    a, b = sp.S.Zero, sp.S.Zero
    for (units, times), coefficient in sp.Poly(total, one, ones).terms():
        if times:
            b += coefficient * K ** (times - 1)
        else:
            a += coefficient if units else 0
    return sp.factor(a), sp.factor(b)


def _word(expression: sp.MatrixExpr, one: sp.Symbol, ones: sp.Symbol) -> sp.Expr:
    """Rewrite the expression as a polynomial in two letters, which commute as I and J do."""
    match expression:
        case sp.Identity() if expression.shape == (K, K):
            return one
        case sp.OneMatrix() if expression.shape == (K, K):
            return ones
        case sp.MatAdd():
            return sum(_word(part, one, ones) for part in expression.args)
        case sp.MatMul():
            return sp.prod(_word(part, one, ones) if part.is_Matrix else part for part in expression.args)
        case sp.MatPow():
            return _word(expression.base, one, ones) ** _natural(expression.exp)
    if getattr(expression, "is_Matrix", False):
        rule = "matrices here are sums and products of I and J of size K"
        raise BadInput(f"{expression}", rule, "use Identity(K) and OneMatrix(K, K)")
    return expression


def _natural(power: sp.Expr) -> int:
    if not (power.is_Integer and power >= 0):
        rule = "these are polynomials, so that powers are natural numbers"
        raise BadInput(f"power {power}", rule, "multiply the inverse away first")
    return int(power)


def normal_form(word: sp.Expr) -> sp.Expr:
    """Rewrite a word as a polynomial in E and E', with no product of the two left in it.

    Two of them are equal for every E with an E' if their normal forms are. Scalars are commutative symbols, I is 1.

    Examples
    --------
    >>> normal_form((1 + E_word) * (1 - E_prime_word))
    1
    >>> normal_form(E_word * (1 - E_prime_word))
    Eprime
    """
    mixed = {E_word * E_prime_word: E_word - E_prime_word, E_prime_word * E_word: E_word - E_prime_word}
    current = sp.expand(word)
    while (reduced := sp.expand(sp.Add(*(_reduced(term, mixed) for term in sp.Add.make_args(current))))) != current:
        current = reduced
    return current


def _reduced(term: sp.Expr, rules: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    scalars, letters = term.args_cnc()
    powers = [letter.as_base_exp() for letter in letters]
    flat = [base for base, power in powers for _ in range(_natural(power))]
    for place in range(len(flat) - 1):
        pair = flat[place] * flat[place + 1]
        if pair in rules:
            return sp.Mul(*scalars) * sp.Mul(*flat[:place]) * rules[pair] * sp.Mul(*flat[place + 2 :])
    return term


def vanishes(word: sp.Expr) -> bool:
    """Tell whether a polynomial in E and E' is 0 for every E with an E'."""
    return bool(normal_form(word) == 0)
