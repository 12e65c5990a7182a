"""beta and the force of Eqn 97 against loops, batches against single systems, and the gallery's attention."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scansnap_core.theory import flows, gallery, spectrum
from scansnap_core.theory.decoder import Decoder, solution
from tests.engine.references import overlapping_classes


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
        # control: E' alone lacks the terms of order 1/M
        assert np.abs(spectrum.beta(E, math.inf) + a / gamma).max() > 0.1 / M


def test_beta_without_end_of_the_vocabulary_is_E_prime_off_the_diagonal() -> None:
    E = spectrum.E(random_F())[1]
    expected = spectrum.E_prime(E)
    np.fill_diagonal(expected, 0.0)
    assert spectrum.beta(E, math.inf) == pytest.approx(expected, abs=1e-15)


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


def test_force_is_what_the_idealised_flow_sums() -> None:
    classes = overlapping_classes()
    flow = flows.IdealisedFlow(classes, 1.0, 1.0)
    Z = np.random.default_rng(2).normal(size=(2, len(classes.tokens)))
    F = spectrum.F(classes.compact.probs, Z[classes.compact.query_row])
    forces = spectrum.force(F, spectrum.beta(spectrum.E(F), math.inf))
    for row in range(2):
        assert forces[classes.compact.query_row == row].sum(axis=0) == pytest.approx(flow.phi(Z)[0][row], abs=1e-14)


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


@pytest.mark.parametrize("num_common", [1, 3])
@pytest.mark.parametrize("num_classes", [2, 7])
def test_attentions_are_unit_vectors_with_the_top_asked_for(num_common: int, num_classes: int) -> None:
    tops = np.array([0.01, 0.1, 0.9 / num_classes])
    F = gallery.attentions(num_classes, num_common, tops, np.random.default_rng(3))
    assert F.shape == (3, num_classes, num_common + 2 * num_classes)
    assert F.min() >= 0
    assert np.linalg.norm(F, axis=-1) == pytest.approx(1, abs=1e-14)
    holders = (F > 0).sum(axis=1)
    assert (holders[:, :num_common] == num_classes).all()
    assert (holders[:, num_common:] == 1).all()
    assert np.abs(np.linalg.eigvalsh(spectrum.E(F))).max(axis=-1) == pytest.approx(tops, rel=1e-10, abs=0)


def test_attention_stays_possible_where_the_top_is_out_of_reach() -> None:
    F = gallery.attentions(2, 1, np.array([5.0]), np.random.default_rng(4))
    assert np.linalg.norm(F, axis=-1) == pytest.approx(1, abs=1e-14)
    assert (F[:, :, 0] <= 0.9999 + 1e-12).all()
    assert np.linalg.eigvalsh(spectrum.E(F))[0, -1] < 1
