"""Overlap matrices of any number of classes: aI + bJ where all overlaps are equal, and E beside
E' in general.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, product
from typing import Any

import sympy as sp

from scansnap_core.base.bad_input import BadInput
from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.language import read
from scansnap_core.theory.formulas import K

ONES = sp.OneMatrix(K, K)
"""J, the matrix of ones."""

E_word, E_prime_word = sp.symbols("E Eprime", commutative=False)
"""E and E' as letters that don't commute; E E' = E' E = E - E' is all that (I + E)(I - E') = I
says of them.
"""

_E = sp.Matrix(3, 3, lambda i, j: sp.Rational(1, 2 + i + j) if i != j else 0)
_EXAMPLE = {E_word: _E, E_prime_word: (sp.eye(3) + _E).inv() * _E}
"""Three classes, at which a word that isn't 0 is tried."""


def as_pair(expression: sp.MatrixExpr) -> tuple[sp.Expr, sp.Expr]:
    """Compute a and b, factored, of an expression that is aI + bJ for every size K, the symbol of
    the registry.

    It is made of sums, products and natural powers of ``Identity(K)`` and ``OneMatrix(K, K)``, and
    of scalars that are terms of the language of claims; what isn't raises `BadInput`.

    Examples
    --------
    >>> as_pair((sp.Identity(K) + ONES) * (sp.Identity(K) + ONES))
    (1, K + 2)
    """
    a, b = _pair(expression)
    return sp.factor(a), sp.factor(b)


def _pair(matrix: Any) -> tuple[sp.Expr, sp.Expr]:
    """Compute a and b of aI + bJ, as `as_pair` does, but without factoring them."""
    a = sp.S.One
    b = sp.S.Zero
    match matrix:
        case sp.Identity() if matrix == sp.Identity(K):
            factors = []
        case sp.OneMatrix() if matrix == ONES:
            return sp.S.Zero, sp.S.One
        case sp.MatAdd():
            first, second = zip(*map(_pair, matrix.args), strict=True)
            return sp.Add(*first), sp.Add(*second)
        case sp.MatMul():
            factors = [
                _pair(part) if part.is_Matrix else (_checked_scalar(part), sp.S.Zero)
                for part in matrix.args
            ]
        case sp.MatPow():
            factors = [_pair(matrix.base)] * _checked_natural(matrix.exp)
        case _:
            rule = "matrices here are sums and products of I and J of size K"
            raise BadInput(f"{matrix}", rule, "use Identity(K) and OneMatrix(K, K)")
    # (aI + bJ)(cI + dJ), with JJ = KJ. The product begins with I.
    for c, d in factors:
        of_I = a * c
        of_J = a * d + b * c + K * b * d
        a = of_I
        b = of_J
    return a, b


def _checked_scalar(scalar: sp.Expr) -> sp.Expr:
    """Return a scalar if it is a term of the language of claims; else `read` refuses it."""
    read(scalar, sorted(scalar.free_symbols, key=str))
    return scalar


def _checked_natural(power: sp.Expr) -> int:
    if not (power.is_Integer and power >= 0):
        rule = "these are polynomials, so that powers are natural numbers"
        raise BadInput(f"power {power}", rule, "multiply the inverse away first")
    return int(power)


def vanishes(word: sp.Expr) -> Certificate:
    """Certify that a word is 0 for every E with an E'; it is false if it isn't for three certain
    classes.

    A word is made of sums, products and natural powers of letters that don't commute, E and E'
    among them, and of rational numbers; 1 is I. What isn't raises `BadInput`.

    Examples
    --------
    >>> vanishes((1 + E_word) * (1 - E_prime_word) - 1).proved
    True
    >>> vanishes(E_word - E_prime_word).false
    True
    """
    # E E' and E' E are replaced by E - E' until no term has E beside E'. The terms that are left
    # cancel if the word is 0.
    waiting = _terms(word)
    normal = Counter[tuple[sp.Symbol, ...]]()
    while waiting:
        letters, number = waiting.pop()
        mixed = [
            place for place, pair in enumerate(pairwise(letters)) if {*pair} == _EXAMPLE.keys()
        ]
        if not mixed:
            normal[letters] += number
            continue
        before = letters[: mixed[0]]
        after = letters[mixed[0] + 2 :]
        waiting += [((*before, E_word, *after), number), ((*before, E_prime_word, *after), -number)]
    if not any(normal.values()):
        return Certificate("algebra", True, "algebra")

    # It may still be 0 by other rules. It surely isn't if it isn't at an example, in which each
    # other letter is some matrix.
    others = sorted({letter for letters in normal for letter in letters} - _EXAMPLE.keys(), key=str)
    matrices = _EXAMPLE | {
        letter: sp.Matrix(3, 3, range(9)) ** n + n * _E for n, letter in enumerate(others, 1)
    }
    tried = sum(
        (
            number * math.prod([matrices[letter] for letter in letters], start=sp.eye(3))
            for letters, number in normal.items()
        ),
        sp.zeros(3, 3),
    )
    false = any(tried)
    return Certificate(
        "algebra", False, "algebra", "it is false" if false else "it isn't 0 term by term", false
    )


def _terms(part: Any) -> list[tuple[tuple[sp.Symbol, ...], sp.Rational]]:
    """Multiply a word out: for each term its letters in order, and its coefficient."""
    match part:
        case sp.Rational():
            return [((), part)]
        case sp.Symbol(is_commutative=False):
            return [((part,), sp.S.One)]
        case sp.Add():
            return [term for each in part.args for term in _terms(each)]
        case sp.Mul() | sp.Pow():
            factors = part.args if part.is_Mul else [part.base] * _checked_natural(part.exp)
            chosen = product(*map(_terms, factors))
            return [
                (sum((letters for letters, _ in one), ()), sp.prod(number for _, number in one))
                for one in chosen
            ]
    rule = "a word is made of letters that don't commute, and of rational numbers"
    raise BadInput(f"{part}", rule, "use E_word and E_prime_word")
