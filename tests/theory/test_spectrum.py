"""F, E, E', beta and the force of Eqn 97 against NumPy written out, Lemma 14's identity, and the projection on F."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from scansnap_core.theory import gallery, spectrum
from scansnap_core.theory.decoder import Decoder, solution
from tests.engine.references import overlapping_classes


def planted() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(8), size=4)
    probs[0, :3] = probs[2, 5] = 0.0
    return probs, rng.normal(size=(4, 8))


def test_F_and_E_are_what_they_say() -> None:
    probs, z = planted()
    F = spectrum.F(probs, z)
    weights = probs * np.exp(z)
    assert pytest.approx(weights / np.sqrt((weights**2).sum(axis=1, keepdims=True)), rel=1e-14, abs=0) == F
    expected = [[0.0 if n == k else sum(F[n] * F[k]) for k in range(4)] for n in range(4)]
    assert spectrum.E(F) == pytest.approx(np.array(expected), rel=1e-13, abs=1e-15)
    classes = overlapping_classes()
    at_zero = spectrum.E(spectrum.F(classes.probs, np.zeros_like(classes.probs)))
    assert at_zero == pytest.approx(classes.E, abs=1e-15)


def test_tokens_outside_a_class_get_no_attention_however_large_their_logit() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F = spectrum.F(np.array([[0.6, 0.8, 0.0]]), np.array([[-1e4, -1e4, 1e4]]))
    assert F[0] == pytest.approx([0.6, 0.8, 0.0], rel=1e-12, abs=0)


def test_E_prime_inverts_as_lemma_14_says() -> None:
    E = spectrum.E(spectrum.F(*planted()))
    one, E_prime = np.eye(4), spectrum.E_prime(E)
    assert (one + E) @ (one - E_prime) == pytest.approx(one, abs=1e-13)
    eigenvalues, U = np.linalg.eigh(E)
    assert pytest.approx(E_prime, abs=1e-13) == U @ np.diag(eigenvalues / (1 + eigenvalues)) @ U.T
    # control: the sign of App. D.1
    assert np.abs((one + E) @ (one + E_prime) - one).max() > 0.1


def test_E_prime_keeps_its_precision_at_tiny_overlaps() -> None:
    tiny = 1e-12 * np.array([[0.0, 1.0], [1.0, 0.0]])
    assert spectrum.E_prime(tiny)[0, 1] == pytest.approx(1e-12, rel=1e-14, abs=0)
    assert spectrum.E_prime(tiny)[0, 0] == pytest.approx(-1e-24, rel=1e-14, abs=0)


@pytest.mark.parametrize("twins", [False, True])
def test_projection_and_xi_of_a_stack_are_those_of_each_system(twins: bool) -> None:
    rng = np.random.default_rng(5)
    F, g = rng.random((2, 3, 5, 9))
    if twins:  # two classes that are alike share what either could have
        F[:, 1] = F[:, 0]
    stack = zip(F, g, spectrum.projection(F, g), spectrum.xi(F, g), strict=True)
    for own_F, own_g, a, xi in stack:
        assert spectrum.projection(own_F, own_g) == pytest.approx(a, rel=1e-10, abs=1e-12)
        assert np.allclose(a[:, 0], a[:, 1], rtol=1e-10, atol=0) is twins
        by_hand = [-sum(a[n, k] * (own_F[n] @ own_F[k]) for k in range(5) if k != n) for n in range(5)]
        lengths = np.linalg.norm(own_F, axis=1) ** 2  # 1 for f_n, which has the length 1
        assert xi == pytest.approx(by_hand - (lengths - 1) * np.diagonal(a), rel=1e-9, abs=1e-12)


def test_projection_recovers_planted_coefficients() -> None:
    rng = np.random.default_rng(4)
    F = spectrum.F(*planted())
    coefficients = rng.normal(size=(5, 4))
    g = coefficients @ F
    assert spectrum.projection(F, g) == pytest.approx(coefficients, abs=1e-12)
    off = rng.normal(size=8)
    off -= F.T @ np.linalg.lstsq(F.T, off)[0]
    assert spectrum.projection(F, g + off) == pytest.approx(coefficients, abs=1e-12)
    # control: reading the coefficients off by inner products forgets the overlaps
    assert np.abs(g @ F.T - coefficients).max() > 0.1


def random_F() -> np.ndarray:
    return gallery.attentions(4, 3, np.array([0.1, 0.6, 0.9]), np.random.default_rng(0), spread=3.0)


def test_beta_is_what_the_idealised_decoder_passes_back() -> None:
    M, height = 50, 0.05
    for E in spectrum.E(random_F()):
        model = Decoder(E, M, 1.0, modified=True)
        V = solution(E, M, np.full(4, height))
        a = model.gradient(V)
        gamma = (M - 1) ** 2 * height / (M - 1 + math.exp(M * height))
        np.fill_diagonal(a, 0.0)
        assert spectrum.beta(E, M) == pytest.approx(-a / gamma, rel=1e-10, abs=0)
        off_diagonal = spectrum.E_prime(E) * (1 - np.eye(4))
        assert spectrum.beta(E, math.inf) == pytest.approx(off_diagonal, abs=1e-15)  # which lacks terms of order 1/M
        assert np.abs(off_diagonal + a / gamma).max() > 0.1 / M


def test_force_is_eqn_97_written_out() -> None:
    F = random_F()[1]
    beta = np.random.default_rng(1).normal(size=(4, 4))
    np.fill_diagonal(beta, 0.0)
    expected = np.zeros_like(F)
    for n in range(4):
        for token in range(F.shape[1]):
            for other in range(4):
                if other != n:
                    bracket = (F[n] @ F[other]) * F[n, token] - F[other, token]
                    expected[n, token] += F[n, token] * beta[n, other] * bracket
    assert spectrum.force(F, beta) == pytest.approx(expected, abs=1e-14)


def test_a_batch_is_its_systems_one_by_one() -> None:
    F = random_F()
    E = spectrum.E(F)
    beta = spectrum.beta(E, 100)
    for s in range(len(F)):
        assert E[s] == pytest.approx(spectrum.E(F[s]), abs=1e-15)
        assert spectrum.E_prime(E)[s] == pytest.approx(spectrum.E_prime(E[s]), abs=1e-14)
        assert beta[s] == pytest.approx(spectrum.beta(E[s], 100), abs=1e-14)
        assert spectrum.force(F, beta)[s] == pytest.approx(spectrum.force(F[s], beta[s]), abs=1e-14)
    # a batch of batches
    assert np.array_equal(spectrum.E(F[:2, None])[:, 0], E[:2])
    assert np.array_equal(spectrum.E_prime(E[:2, None])[:, 0], spectrum.E_prime(E[:2]))
