"""Overlaps of any number of classes: equal ones as pairs, and words in E and its inverse."""

from __future__ import annotations

import sympy as sp

from scansnap_core.theory import formulas
from scansnap_core.theory.certify import as_pair, normal_form, vanishes
from scansnap_core.theory.certify.overlaps import ONES, E_prime_word, E_word
from scansnap_core.theory.formulas import K, rho


def test_equal_overlaps_of_every_size() -> None:
    one = sp.Identity(K)
    E = rho * (ONES - one)
    E_prime = formulas.E_prime_equal * ONES - formulas.E_prime_equal * one * (1 + (K - 1) * rho)
    assert as_pair((one + E) * (one - E_prime)) == (1, 0)
    assert as_pair((one + E) * (one + E_prime)) != (1, 0)
    assert as_pair(ONES**2) == (0, K)


def test_words_in_E_and_its_inverse() -> None:
    assert vanishes((1 - E_prime_word) * (1 + E_word) - 1)
    assert vanishes(E_word * E_prime_word * E_word - E_word**2 + E_word - E_prime_word)
    assert not vanishes(E_word * E_prime_word - E_word)
    assert normal_form(E_word**2 * E_prime_word) == E_word**2 - E_word + E_prime_word
