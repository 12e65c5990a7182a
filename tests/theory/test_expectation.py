"""The model at T = infinity in NumPy against the model in Torch, which tests/engine hold to the paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import model, variants
from scansnap_core.theory import gallery
from scansnap_core.theory.decoder import Expectation
from tests.engine.references import overlapping_classes, scattered_classes

SYSTEMS = {
    "two queries": overlapping_classes(),
    "a class of one token": scattered_classes(),
    "no other output": SequenceClasses([[0.7, 0.3], [0.2, 0.8]], query_of=[0, 1]),
    "irregular": gallery.systems()["irregular"],
}
SCALES = np.array([0.01, 1.0, 30.0])[:, None, None]
"""Of the entries of Y and Z."""


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_is_the_model_on_every_class_once(name: str) -> None:
    classes = SYSTEMS[name]
    rng, here = np.random.default_rng(4), Expectation(classes)
    L, Q = len(classes.tokens), len(classes.compact.queries)
    Y, Z = SCALES * rng.normal(size=(3, L, len(classes.outputs))), SCALES * rng.normal(size=(3, Q, L))
    batch = variants.at_infinite_length(classes, classes.tokens)
    told = variants.plain(batch, torch.from_numpy(Y), torch.from_numpy(Z))
    found = here.forward(here.f(Z), Y)
    f = model.normalise(model.attend(batch.q, batch.query @ torch.from_numpy(Z)))
    # exponents reach some 10^2, and exp of one that is rounded is off by so many roundings
    pairs = [(found.u, f), (here.of_Y(found), told.Y), (here.of_Z(found), told.Z)]
    for got, expected in pairs:
        far = np.abs(got - expected.numpy()).max(axis=(-2, -1))
        assert (far <= 1e-13 * np.maximum(1, SCALES.ravel())).all()
    assert np.abs(here.of_Z(found)).max(axis=(-2, -1)).min() > 1e-6
    # a state alone is what it is among others
    alone = here.forward(here.f(Z[1]), Y[1])
    assert here.of_Y(alone) == pytest.approx(here.of_Y(found)[1], rel=1e-12, abs=1e-15)
    assert here.of_Z(alone) == pytest.approx(here.of_Z(found)[1], rel=1e-12, abs=1e-15)


def test_a_token_that_a_class_does_not_hold_gets_nothing_whatever_its_logit() -> None:
    classes = overlapping_classes()
    here, Z = Expectation(classes), np.zeros((2, 6))
    at_rest = here.f(Z)
    Z[1, [1, 2, 5]] = 1e4  # the second query's only class holds none of them
    assert np.array_equal(here.f(Z), at_rest)
    Z[1, 3] = 1.0  # control: one that it holds
    assert not np.array_equal(here.f(Z), at_rest)


def test_a_learned_class_keeps_the_digits_of_its_error() -> None:
    """1 - alpha_nn is far below what a difference from 1 can hold."""
    classes = SYSTEMS["no other output"]
    margin, here = 50.0, Expectation(classes)
    Y = np.zeros((2, 2))
    u = np.eye(2)
    Y[[0, 1], [0, 1]] = margin
    error = here.forward(u, Y).error
    own = classes.outputs.targets > 0
    assert np.abs(error[own]) == pytest.approx(np.exp(-margin), rel=1e-14, abs=0)


def test_logits_of_any_size_have_probabilities() -> None:
    """Only differences of logits count."""
    classes = SYSTEMS["no other output"]
    here, Z, Y = Expectation(classes), np.zeros((2, 2)), np.array([[0.3, -0.2], [0.1, 0.4]])
    for far in (2000.0, -2000.0):
        assert here.f(Z + far) == pytest.approx(here.f(Z), rel=1e-12, abs=0)
        found, near = (here.forward(np.ones((2, 1)), each) for each in (Y[:1] + far, Y[:1]))
        assert found.error == pytest.approx(near.error, rel=1e-12, abs=0)


def test_one_query_far_above_the_others_leaves_the_others_as_they_are() -> None:
    """Each class is scaled by its own largest logit; by the largest of all, exp would be 0 for the others."""
    classes = SYSTEMS["two queries"]
    rng = np.random.default_rng(5)
    expectation = Expectation(classes)
    Z = rng.normal(size=(len(classes.compact.queries), len(classes.tokens)))
    Y = rng.normal(size=(len(classes.tokens), len(classes.outputs)))
    f = expectation.f(Z)
    high = Z.copy()
    high[0] += 2000
    assert expectation.f(high) == pytest.approx(f, rel=1e-11)

    # Class 0 has logits of thousands, the others don't.
    u = f.copy()
    u[0] *= 3000
    alone = [expectation.forward(u, Y).error[n] for n in range(len(u))]
    usual = expectation.forward(f, Y).error
    assert np.array(alone[1:]) == pytest.approx(usual[1:], rel=1e-12)
