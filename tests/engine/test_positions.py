"""Windows of positions with a learned bias: autograd in the parts z and b, a literal forward pass, the paper at one
window, and what is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import scansnap_core as ss
from scansnap_core import BadInput
from scansnap_core.engine.architectures import variant_of
from scansnap_core.engine.results import tokens_of
from scansnap_core.engine.training import train
from scansnap_core.engine.variants import ascent, at_infinite_length
from scansnap_core.sweeps.grids import Grid
from tests.engine.references import overlapping_classes

TOKENS, SIZE, QUERY = 4, 10, 6
"""Four contextual tokens; two windows of ten tokens each, so M = 20."""
NEAR, FAR = np.array([[0.3, 0.5, 0.2, 0], [0.1, 0, 0.5, 0.4]]), np.array([[0.6, 0.1, 0.3, 0], [0.7, 0, 0.1, 0.2]])


def windowed(near: np.ndarray, far: np.ndarray) -> ss.SequenceClasses:
    """Two classes of one query; half of a sequence stands in each window."""
    P = np.zeros((2, 2 * SIZE))
    P[:, :TOKENS], P[:, SIZE : SIZE + TOKENS] = near / 2, far / 2
    return ss.SequenceClasses(P, query_of=[QUERY, QUERY], next_of=[7, 8])


def literal_loss(Y: Tensor, z: Tensor, b: Tensor) -> Tensor:
    """Sec. 7 word for word: weights e^(z_l + b_w) at each place, f over tokens, one row of Y for a token."""
    total = torch.zeros((), dtype=torch.float64)
    for n in range(2):
        weights = torch.stack([torch.from_numpy(P[n]) / 2 * torch.exp(z + b[w]) for w, P in enumerate((NEAR, FAR))])
        c = weights.sum(dim=0) / weights.sum()
        total = total - torch.log_softmax((c / c.norm()) @ Y, dim=-1)[7 + n] / 2
    return total


def test_a_tokens_and_a_windows_logit_learn_as_autograd_says() -> None:
    rng = np.random.default_rng(0)
    Y, z, b = (torch.from_numpy(rng.normal(size=size)) for size in ((TOKENS, 2 * SIZE), TOKENS, 2))
    Y_0, Z_0 = np.zeros((2 * SIZE, 2 * SIZE)), np.zeros((2 * SIZE, 2 * SIZE))
    for w in range(2):
        rows = slice(w * SIZE, w * SIZE + TOKENS)
        Y_0[rows], Z_0[QUERY, rows] = Y.numpy() / np.sqrt(2), (z + b[w]).numpy()
    options: dict[str, Any] = {"lr_y": 2.0, "lr_z": 3.0, "batch_size": None, "seq_len": np.inf}
    run = train(windowed(NEAR, FAR), **options, steps=3, model="positions 2", initial=(Y_0, Z_0)).isel(seed=0, rate=0)
    b_0 = b.clone()
    for step in range(3):
        leaves = [part.requires_grad_() for part in (Y, z, b)]
        loss = literal_loss(*leaves)
        assert run.loss.values[step] == pytest.approx(loss.item(), rel=1e-12, abs=0)
        moves = torch.autograd.grad(loss, leaves)
        Y, z, b = ((x - r * g).detach() for x, r, g in zip(leaves, (2, 3, 3), moves, strict=True))
    last = run.isel(recorded=-1)
    for w in range(2):
        here = np.arange(TOKENS) + w * SIZE
        expected = (z + b[w]).numpy()
        assert last.Z.sel(token=here).values[0] == pytest.approx(expected, rel=1e-11, abs=0)
        assert last.Y.sel(token=here).values * np.sqrt(2) == pytest.approx(Y.numpy(), rel=1e-9, abs=1e-13)
    assert (b - b_0).abs().min() > 1e-3  # control: the bias did learn


def test_what_the_decoder_reads_has_length_1_and_differentiates_by_autograd() -> None:
    variant, classes = variant_of("positions 2"), windowed(NEAR, FAR)
    assert variant is not None
    assert variant.closed_form is not None
    batch = at_infinite_length(classes, tokens_of(classes, "positions 2"))
    rng = np.random.default_rng(1)
    Y = torch.from_numpy(rng.normal(size=(2, len(batch.tokens), len(batch.outputs))))
    Z = torch.from_numpy(rng.normal(size=(2, 1, len(batch.tokens))))
    assert torch.linalg.vector_norm(variant.inputs(batch, Z), dim=-1) == pytest.approx(1.0, rel=1e-14, abs=0)
    closed, plain = ascent(variant, batch, Y, Z), ascent(variant.log_alpha, batch, Y, Z)
    assert torch.allclose(closed.Y, plain.Y, rtol=0, atol=1e-14)
    # of z_l + b_w each logit gets what pulls at its token and what pulls at its window
    token, window = batch.tokens % SIZE, batch.tokens // SIZE
    by_token = torch.stack([plain.Z[..., token == t].sum(dim=-1) for t in token], dim=-1)
    by_window = torch.stack([plain.Z[..., window == w].sum(dim=-1) for w in window], dim=-1)
    assert torch.allclose(closed.Z, by_token + by_window, rtol=0, atol=1e-14)


def test_one_window_is_the_paper() -> None:
    classes = overlapping_classes()
    options: dict[str, Any] = {"lr_y": 2.0, "lr_z": 2.0, "steps": 10, "optimizer": "momentum"}
    plain, one = train(classes, **options), train(classes, **options, model="positions 1")
    assert one.Z.sel(token=plain.token).values == pytest.approx(plain.Z.values, rel=1e-9, abs=1e-14)
    assert one.loss.values == pytest.approx(plain.loss.values, rel=1e-12, abs=0)


def test_windows_alike_teach_no_bias() -> None:
    bias = []
    for far in (NEAR, FAR):
        path = ss.solve(ss.TrueFlow(windowed(NEAR, far), 1.0, 0.5, model="positions 2"), [50])
        Z = path.Z.values[0, 0]
        bias.append(abs(float(Z[path.token.values == SIZE][0] - Z[path.token.values == 0][0])))
    assert bias[0] < 1e-9
    assert bias[1] > 1e-3


@pytest.mark.parametrize("make", [ss.TrueFlow, ss.ModifiedFlow, ss.IdealisedFlow])
def test_a_vocabulary_that_windows_dont_divide_is_refused(make: Any) -> None:
    message = r"model = 'positions 3' with M = 20: its vocabulary is one block of tokens for each window, of equal size"
    classes = windowed(NEAR, FAR)
    with pytest.raises(BadInput, match=message):
        make(classes, 1.0, 1.0, model="positions 3")
    with pytest.raises(BadInput, match=message):
        train(classes, lr_y=1.0, lr_z=1.0, steps=1, model="positions 3")
    with pytest.raises(BadInput, match=message):
        Grid({"made": classes}, rates=((1.0, 1.0),), steps=1, seeds=(0,), models=("plain", "positions 3"))


@pytest.mark.parametrize("optimizer", ["adam", "torch.optim:AdamW"])
def test_adam_is_refused(optimizer: str) -> None:
    message = "its Z holds sums of a token's and a window's logit"
    with pytest.raises(BadInput, match=message):
        train(windowed(NEAR, FAR), lr_y=1.0, lr_z=1.0, steps=1, model="positions 2", optimizer=optimizer)
    with pytest.raises(BadInput, match=message):
        Grid(
            {"made": windowed(NEAR, FAR)},
            rates=((1.0, 1.0),),
            steps=1,
            seeds=(0,),
            models=("positions 2",),
            optimizers=("sgd", optimizer),
        )


def test_windows_are_counted() -> None:
    for name in ("positions", "positions 0", "positions 2000"):
        with pytest.raises(BadInput, match=r"there are 1 to 1024 windows, and the name says how many"):
            variant_of(name)
