"""The flows of every model: against training steps, against Eqn 8, and against Eqn 4 with Theorem 5's decoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import scansnap_core as ss
from scansnap_core.engine.names import MODELS
from scansnap_core.engine.variants import Variant, plain_inputs
from scansnap_core.theory import decoder, flows, spectrum
from tests.engine.references import model_names, overlapping_classes
from tests.engine.variants import residual
from tests.refusing import refuses
from tests.theory.test_flows import some_state

NAMES = model_names(3)
MAKES = (flows.TrueFlow, flows.ModifiedFlow, flows.IdealisedFlow)
LR_Y, LR_Z = 0.8, 0.5


@pytest.mark.parametrize("name", NAMES)
def test_the_true_flow_is_what_small_steps_make(name: str) -> None:
    classes = overlapping_classes()
    path = ss.solve(ss.TrueFlow(classes, LR_Y, LR_Z, model=name), [0.0, 10.0])
    errors = []
    for step in (0.02, 0.01):
        rates: dict[str, Any] = {"lr_y": LR_Y * step, "lr_z": LR_Z * step, "steps": round(10 / step)}
        run = ss.train(classes, **rates, model=name, batch_size=None, seq_len=np.inf).isel(seed=0, rate=0, recorded=-1)
        end = path.isel(recorded=-1)
        assert end.Z.dims == run.Z.dims
        assert (end.token == run.token).all()
        errors.append([float(np.abs(run[part].values - end[part].values).max()) for part in "YZ"])
    assert np.max(errors[-1]) < 0.01 * np.abs(end.Z.values).max()
    assert np.array(errors[0]) / errors[1] == pytest.approx([2, 2], abs=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_update_26_moves_what_the_decoder_answers_by_eqn_8(name: str) -> None:
    classes = overlapping_classes()
    flow, true = (make(classes, LR_Y, LR_Z, model=name) for make in (flows.ModifiedFlow, flows.TrueFlow))
    Y, Z, _ = flow.unpack(state := some_state(flow))
    U = flow.inputs(Z)
    weights = np.exp(U @ Y) * classes.outputs.multiplicity
    error = classes.outputs.targets - weights / weights.sum(axis=1, keepdims=True)
    of_eqn_8 = LR_Y / 3 * error / classes.outputs.multiplicity
    assert U @ flow.unpack(flow.rhs(0.0, state))[0] == pytest.approx(of_eqn_8, rel=0, abs=1e-12)
    assert np.abs(U @ true.unpack(true.rhs(0.0, state))[0] - of_eqn_8).max() > 1e-3  # control: (7)


@pytest.mark.parametrize("name", NAMES)
def test_eqn_10_is_eqn_4_with_the_decoder_of_the_moment(name: str) -> None:
    probs = np.zeros((3, 9 * 10**6))
    probs[:, :9] = overlapping_classes().probs
    classes = ss.SequenceClasses(probs, query_of=[6, 7, 6])
    flow, true = flows.IdealisedFlow(classes, LR_Y, LR_Z, model=name), flows.TrueFlow(classes, LR_Y, LR_Z, model=name)
    Z = np.random.default_rng(1).normal(size=flow.shapes["Z"])
    U, t = flow.inputs(Z), 20.0
    h = ss.h(t / 3, classes.vocab_size, LR_Y)
    Y = U.T @ decoder.solution(spectrum.E(U), classes.vocab_size, np.full(3, h))
    by_eqn_4 = true.unpack(true.rhs(t, np.concatenate([Y.ravel(), Z.ravel(), np.zeros(3)])))
    by_eqn_10 = flow.unpack(flow.rhs(t, np.concatenate([Z.ravel(), np.zeros(3)])))
    for got, expected in zip(by_eqn_10, by_eqn_4[1:], strict=True):
        assert got == pytest.approx(expected, rel=0, abs=1e-5 * np.abs(expected).max())
        assert np.abs(expected).max() > 0


@pytest.mark.parametrize("make", MAKES)
def test_the_paper_written_as_a_variant_flows_as_the_paper(make: type[flows.TrueFlow]) -> None:
    classes = overlapping_classes().with_frequencies([0.5, 0.3, 0.2])
    plain, same = (ss.solve(make(classes, LR_Y, LR_Z, model=m), [0, 5]) for m in ("plain", Variant(plain_inputs)))
    assert same.Z.sel(token=plain.token).values == pytest.approx(plain.Z.values, rel=1e-8, abs=1e-12)
    assert same.B.values == pytest.approx(plain.B.values, rel=1e-8, abs=1e-12)


def test_a_flow_goes_on_from_a_run_of_heads() -> None:
    classes = overlapping_classes()
    run = ss.train(classes, lr_y=1.0, lr_z=1.0, steps=3, model="heads 2", seq_len=np.inf, batch_size=None)
    flow = ss.TrueFlow(classes, 1.0, 1.0, model="heads 2")
    path = ss.solve(flow, [0, 1], initial=run.isel(seed=0, rate=0, recorded=-1))
    for part in "YZ":
        assert (path[part].isel(recorded=0).values == run[part].isel(seed=0, rate=0, recorded=-1).values).all()


def uneven(*lengths: float) -> Variant:
    """A model whose decoder reads inputs of these lengths."""
    return Variant(lambda batch, Z: plain_inputs(batch, Z) * torch.tensor(lengths, dtype=torch.float64)[:, None])


A_FLOWS_MODEL = f"a flow's model says what its decoder reads: {', '.join(MODELS)}, or a Variant"


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(
    ("model", "value", "rule"),
    [
        (
            residual,
            "model = tests.engine.variants:residual",
            A_FLOWS_MODEL,
        ),
        (
            "tests.engine.variants:residual",
            "model = 'tests.engine.variants:residual'",
            A_FLOWS_MODEL,
        ),
        (
            "fancy",
            "model = 'fancy'",
            A_FLOWS_MODEL,
        ),
        ("heads", "model = 'heads'", "there are 1 to 1024 heads, and the name says how many"),
        (
            None,
            "model = None",
            A_FLOWS_MODEL,
        ),
    ],
)
def test_models_without_a_flow_are_refused(make: type[flows.TrueFlow], model: Any, value: str, rule: str) -> None:
    with refuses(value, rule):
        make(overlapping_classes(), LR_Y, LR_Z, model=model)


@pytest.mark.parametrize(("lengths", "farthest"), [((1.0, 1.5, 0.9), "1.5"), ((1.2, 0.5, 0.9), "0.5")])
def test_26_and_10_are_for_inputs_of_length_1(lengths: tuple[float, ...], farthest: str) -> None:
    classes, model = overlapping_classes(), uneven(*lengths)
    assert flows.TrueFlow(classes, LR_Y, LR_Z, model=model).inputs(np.zeros((2, 8))).shape == (3, 8)
    of = f"a model whose decoder reads inputs of length {farthest}"
    for make, which in ((flows.ModifiedFlow, "update (26)"), (flows.IdealisedFlow, "idealised")):
        with refuses(f"{of} for the {which}", "it's written for inputs of length 1"):
            make(classes, LR_Y, LR_Z, model=model)
