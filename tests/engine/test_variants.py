"""A model of one's own: a residual connection by autograd, and what a variant may and may not return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import model
from scansnap_core.engine.model import Gradients
from scansnap_core.engine.names import MODELS
from scansnap_core.engine.training import train
from scansnap_core.engine.variants import Batch
from tests.engine.references import overlapping_classes, scattered_classes
from tests.engine.variants import residual
from tests.refusing import refuses

FLOW: dict[str, Any] = {"batch_size": None, "seq_len": np.inf, "seeds": [2], "record": 1}


def autograd_of_the_paper(batch: Batch, Y: Tensor, Z: Tensor) -> Tensor:
    """The paper's own model, without its gradient."""
    return model.decode(model.normalise(model.attend(batch.q, batch.query @ Z)), Y, batch.multiplicity)


def both_halves(batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
    """A pair of forward and gradient: the paper's, with attention at rest."""
    found = model.gradients(batch.q, batch.query, batch.target, batch.weight, Y, Z, batch.multiplicity)
    return found._replace(Z=torch.zeros_like(Z))


@pytest.mark.parametrize("initial", ["zero", "random"])
@pytest.mark.parametrize("classes", [overlapping_classes(), scattered_classes()])
def test_autograd_finds_what_lemma_1_says(initial: str, classes: SequenceClasses) -> None:
    options: dict[str, Any] = {"lr_y": [1.0, 3.0], "lr_z": 0.5, "steps": 6, "seeds": [1, 4], "initial": initial}
    options |= {"batch_size": 8, "seq_len": 16, "optimizer": "momentum"}
    ours, theirs = train(classes, **options, model=autograd_of_the_paper), train(classes, **options)
    assert set(ours.token.values) == {*classes.tokens.tolist(), *classes.query_of.tolist()}
    assert ours.loss.values == pytest.approx(theirs.loss.values, rel=1e-10, abs=1e-12)
    for name in "YZ":
        held = ours[name].sel(token=classes.tokens)
        assert held.values == pytest.approx(theirs[name].values, rel=0, abs=1e-10)
    assert ours.attrs["model"].endswith(":autograd_of_the_paper")


def test_a_pair_of_forward_and_gradient() -> None:
    run = train(overlapping_classes(), lr_y=2.0, lr_z=3.0, steps=4, model=both_halves, **FLOW)
    plain = train(overlapping_classes(), lr_y=2.0, lr_z=3.0, steps=4, **FLOW)
    assert (run.Z == 0).all()
    assert run.loss.values[..., :2] == pytest.approx(plain.loss.values[..., :2], rel=1e-12, abs=0)
    assert np.abs(run.loss - plain.loss).values[..., 3] > 1e-6


def test_variants_share_their_data_with_the_plain_model() -> None:
    options: dict[str, Any] = {"lr_y": 1.0, "lr_z": 1e-9, "steps": 1, "batch_size": 4, "seq_len": 8}
    for rng in ("fresh", "replay"):
        plain, ours = (
            train(scattered_classes(), **options, rng=rng, initial="random", model=name).isel(recorded=0)
            for name in ("plain", residual)
        )
        for name in "YZ":
            assert (plain[name].values == ours[name].sel(token=plain.token.values).values).all()
        assert len(np.unique(ours.Y.values)) > 0.99 * ours.Y.size


def wrong(found: Any) -> Callable[..., Any]:
    def mine(batch: Batch, Y: Tensor, Z: Tensor) -> Any:
        return found(batch, Y, Z)

    return mine


PROBABILITIES = "here it returns differentiable log-probabilities, or Gradients"
A_MODEL = f"the choices are {', '.join(MODELS)}; of your own, a function or its name as module:function"
A_MODULE = "its module can be imported and holds it"
RETURNED = [
    (lambda batch, Y, Z: None, "returns NoneType", PROBABILITIES),
    (lambda batch, Y, Z: batch.target * 0.5, "returns a tensor that depends on neither Y nor Z", PROBABILITIES),
    (lambda batch, Y, Z: (Y * 2).sum(), "returns ()", "here it returns (1, 1, 3, 4)"),
    (
        lambda batch, Y, Z: Gradients(Y.sum(), Y, Z),
        "returns [(), (1, 1, 8, 4), (1, 1, 2, 8)]",
        "here it returns [(1, 1), (1, 1, 8, 4), (1, 1, 2, 8)]",
    ),
]


@pytest.mark.parametrize(
    ("given", "value", "rule"),
    [
        *(
            (wrong(found), f"model tests.engine.test_variants:wrong.<locals>.mine {value}", rule)
            for found, value, rule in RETURNED
        ),
        ("fancy", "model = 'fancy'", A_MODEL),
        ("no_such_module:f", "model = 'no_such_module:f': No module named 'no_such_module'", A_MODULE),
        ("math:nothing", "model = 'math:nothing': module 'math' has no attribute 'nothing'", A_MODULE),
        ("math:pi", "model = 'math:pi': 3.141592653589793", "it can be called"),
        (3, "model = 3", A_MODEL),
        (None, "model = None", A_MODEL),
        (np.ones(2), "model = array([1., 1.])", A_MODEL),
    ],
)
def test_what_is_no_model_is_refused(given: Any, value: str, rule: str) -> None:
    with refuses(value, rule):
        train(overlapping_classes(), lr_y=1.0, lr_z=1.0, steps=1, model=given, **FLOW)


def test_what_doesnt_depend_on_z_leaves_it_at_rest() -> None:
    def without_attention(batch: Batch, Y: Tensor, Z: Tensor) -> Tensor:
        return autograd_of_the_paper(batch, Y, torch.zeros_like(Z))

    run = train(overlapping_classes(), lr_y=1.0, lr_z=1.0, steps=3, model=without_attention, **FLOW)
    assert (run.Z == 0).all()
    assert (run.Y.isel(recorded=-1) != 0).any()


def test_a_parameter_of_its_own_is_refused() -> None:
    scale = torch.ones((), requires_grad=True)

    def scaled(batch: Batch, Y: Tensor, Z: Tensor) -> Tensor:
        return autograd_of_the_paper(batch, Y, scale * Z)

    classes = overlapping_classes()
    with refuses(
        (
            "model tests.engine.test_variants:test_a_parameter_of_its_own_is_refused.<locals>.scaled "
            "with a tensor of its own that requires a gradient"
        ),
        "training moves Y and Z alone, so another parameter would never learn",
    ):
        train(classes, lr_y=1, lr_z=1, steps=1, batch_size=4, model=scaled)
    scale.requires_grad_(False)
    assert train(classes, lr_y=1, lr_z=1, steps=1, batch_size=4, model=scaled).loss.size == 1
