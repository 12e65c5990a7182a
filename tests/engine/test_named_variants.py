"""Variants with a name: a literal loop over the whole vocabulary, autograd, shapes, and what is refused."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import scansnap_core as ss
from scansnap_core.data.datasets import syn_small
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.names import MODELS, PLAIN
from scansnap_core.engine.results import TrainingDiverged, rows_of, tokens_of
from scansnap_core.engine.training import train
from scansnap_core.engine.variants import NUMBERED, VARIANTS, Batch, ascent, at_infinite_length, variant_of
from scansnap_core.sweeps.grids import Grid
from tests.engine.references import model_names, overlapping_classes, scattered_classes
from tests.refusing import refuses

NAMES = [name for name in model_names(2) if name != PLAIN and not name.startswith("positions")]
"""The variants whose definition stands in `literal`; windows of positions have theirs in `windowed_loss`."""
FLOW: dict[str, Any] = {"lr_y": 2.0, "lr_z": 3.0, "batch_size": None, "seq_len": np.inf}


def query_among_the_context() -> SequenceClasses:
    """Two classes of one query, which also stands among the contextual tokens."""
    return SequenceClasses([[0.5, 0.3, 0.2, 0, 0], [0.2, 0.3, 0, 0.5, 0]], query_of=[1, 1], next_of=[3, 4])


def literal(name: str, c: list[Tensor], query: int, Y: Tensor) -> Tensor:
    """The logits over the whole vocabulary, from each head's attention over it: the definitions word for word."""
    M = Y.shape[-1]
    if name == "residual":
        u = c[0] / c[0].norm() + torch.eye(M, dtype=Y.dtype)[query]
    elif name == "layernorm":
        u = c[0] - c[0].mean()
    elif name.startswith("summed heads"):
        u = torch.stack(c).sum(dim=0)
    elif name.startswith("heads"):
        u = torch.cat(c)
        Y = Y.reshape(-1, M)
    else:
        pytest.fail(f"{name!r} has no definition: write what its decoder reads, word for word, in literal above")
    return (u / u.norm()) @ Y


def literal_loss(name: str, classes: SequenceClasses, Y: Tensor, Z: Tensor) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for n, probs in enumerate(classes.probs):
        m, weights = int(classes.query_of[n]), torch.from_numpy(probs)
        c = [weights * torch.exp(z[m]) / (weights * torch.exp(z[m])).sum() for z in Z]
        log_alpha = torch.log_softmax(literal(name, c, m, Y), dim=-1)
        total = total - log_alpha[int(classes.next_of[n])] / classes.num_classes
    return total


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("classes", [overlapping_classes(), scattered_classes(), query_among_the_context()])
def test_training_follows_a_literal_loop_over_the_vocabulary(name: str, classes: SequenceClasses) -> None:
    M, (joined, heads), rng = classes.vocab_size, rows_of(variant_of(name)), np.random.default_rng(3)
    Y_0, Z_0 = rng.normal(size=(joined, M, M)), rng.normal(size=(heads, M, M))
    given = (Y_0 if joined > 1 else Y_0[0], Z_0 if heads > 1 else Z_0[0])
    run = train(classes, **FLOW, steps=3, model=name, initial=given, record=1).isel(seed=0, rate=0)
    Y, Z = (torch.from_numpy(part).requires_grad_() for part in (Y_0, Z_0))
    for step in range(3):
        loss = literal_loss(name, classes, Y if joined > 1 else Y[0], Z)
        assert run.loss.values[step] == pytest.approx(loss.item(), rel=1e-12, abs=0)
        dY, dZ = torch.autograd.grad(loss, (Y, Z))
        Y, Z = (Y - 2 * dY).detach().requires_grad_(), (Z - 3 * dZ).detach().requires_grad_()
    last, tokens = run.isel(recorded=-1), run.token.values
    held = tokens[tokens >= 0]
    found_Y = last.Y.sel(token=held).values.reshape(joined, len(held), M)
    found_Z = last.Z.sel(token=held).values.reshape(heads, -1, len(held))
    assert found_Y == pytest.approx(Y.detach().numpy()[:, held], rel=0, abs=1e-13)
    assert found_Z == pytest.approx(Z.detach().numpy()[:, last["query"].values][:, :, held], rel=0, abs=1e-13)
    assert np.abs(Z.detach().numpy() - Z_0).max() > 1e-2
    if name == "layernorm":
        others = np.delete(Y.detach().numpy()[0], held, axis=0)
        assert last.Y.values[0] == pytest.approx(others.sum(axis=0) / max(1, len(others)) ** 0.5, rel=0, abs=1e-13)


def pulled_by_both(batch: Batch, windows: int, dZ: Tensor) -> Tensor:
    """The push on z_l + b_w if a token's and a window's logit both learn: that of all windows, then of all tokens."""
    size = int(batch.multiplicity.sum()) // windows
    token, window = batch.tokens % size, batch.tokens // size
    return dZ @ ((token[:, None] == token).double() + (window[:, None] == window).double())


@pytest.mark.parametrize("name", [name for name in model_names(2) if name != PLAIN])
def test_the_gradient_of_every_named_model_is_autograds(name: str) -> None:
    variant, classes = variant_of(name), scattered_classes()
    assert variant is not None, f"{name!r} is one of MODELS, and no variant has this name"
    assert variant.closed_form is not None
    batch, rng = at_infinite_length(classes, tokens_of(classes, name)), np.random.default_rng(5)
    joined, heads = rows_of(variant)
    # two runs at once
    Y = torch.from_numpy(rng.normal(size=(2, joined * len(batch.tokens), len(batch.outputs))))
    Z = torch.from_numpy(rng.normal(size=(2, heads * len(batch.queries), len(batch.tokens))))
    closed = ascent(variant, batch, Y, Z)
    for other in (dataclasses.replace(variant, closed_form=None), variant.log_alpha):
        found = ascent(other, batch, Y, Z)
        if variant.windows:  # its Z holds sums of two logits that both learn, which autograd doesn't know
            found = found._replace(Z=pulled_by_both(batch, variant.windows, found.Z))
        for part, closed_part, autograds in zip(closed._fields, closed, found, strict=True):
            apart = float((closed_part - autograds).abs().max())
            assert apart < 1e-13, f"{name!r}: the closed form's {part} differs from autograd's by up to {apart:.3g}"
    assert closed.Z.abs().max() > 1e-2
    lengths = torch.linalg.vector_norm(variant.inputs(batch, Z), dim=-1)
    assert torch.allclose(lengths, torch.ones_like(lengths), rtol=0, atol=1e-14)


def test_one_head_and_one_window_are_the_paper() -> None:
    for initial in ("zero", "random"):
        options: dict[str, Any] = {"lr_y": [1.0, 2.0], "lr_z": 0.5, "steps": 5, "seeds": [1, 2], "initial": initial}
        options["optimizer"] = "momentum"
        plain = train(syn_small(), **options)
        for name in ("heads 1", "summed heads 1", "positions 1"):
            one = train(syn_small(), **options, model=name)
            Z = one.Z.sel(token=plain.token)
            assert Z.values.reshape(plain.Z.shape) == pytest.approx(plain.Z.values, rel=0, abs=1e-12)
            assert one.loss.values == pytest.approx(plain.loss.values, rel=1e-10, abs=0)


def test_heads_that_start_alike_stay_alike_and_others_dont() -> None:
    options: dict[str, Any] = {"lr_y": 2.0, "lr_z": 2.0, "steps": 20, "model": "heads 2"}
    zero, random = (train(syn_small(), **options, initial=initial).isel(recorded=-1) for initial in ("zero", "random"))
    assert zero.Z.dims == ("seed", "rate", "head", "query", "token")
    assert zero.Z.std("head").max() < 1e-12
    assert random.Z.std("head").max() > 0.01
    # the first head draws what the plain model draws
    start = train(syn_small(), **{**options, "model": "plain"}, initial="random").isel(recorded=0)
    first = train(syn_small(), **options, initial="random").isel(recorded=0, head=0)
    assert (first.Z.sel(token=start.token).values == start.Z.values).all()
    assert (first.Y.sel(token=start.token).values == start.Y.values).all()


def test_rows_of_all_other_tokens_start_as_they_are() -> None:
    options: dict[str, Any] = {"lr_y": 1.0, "lr_z": 1.0, "steps": 1, "batch_size": 4, "seq_len": 8, "initial": "random"}
    run, plain = (train(scattered_classes(), **options, model=model) for model in ("layernorm", "plain"))
    assert run.token.values.tolist() == [-1, 2, 3, 5, 7, 8, 9, 11, 12, 13]
    held = plain.token.values
    assert (run.Y.sel(token=held).isel(recorded=0).values == plain.Y.isel(recorded=0).values).all()
    assert (run.Z.sel(token=-1) == 0).all()


def test_names_are_those_of_the_table() -> None:
    named = [name.removesuffix(" H").removesuffix(" W") for name in MODELS]
    assert named == [PLAIN, *VARIANTS, *NUMBERED], (
        "MODELS in names.py lists the models in the order of VARIANTS and NUMBERED in variants.py"
    )
    assert variant_of("plain") is None
    run = train(syn_small(), lr_y=1.0, lr_z=1.0, steps=1, model=" summed  heads 02")
    assert run.attrs["model"] == "summed heads 2"
    assert variant_of("heads 1024") is not None


@pytest.mark.parametrize(
    ("changes", "value", "rule"),
    [
        ({"model": "heads"}, "model = 'heads'", "there are 1 to 1024 heads, and the name says how many"),
        ({"model": "heads 0"}, "model = 'heads 0'", "there are 1 to 1024 heads, and the name says how many"),
        (
            {"model": "positions 2000"},
            "model = 'positions 2000'",
            "there are 1 to 1024 windows, and the name says how many",
        ),
        (
            {"model": "summed heads 5000"},
            "model = 'summed heads 5000'",
            "there are 1 to 1024 heads, and the name says how many",
        ),
        (
            {"model": "residual 2"},
            "model = 'residual 2'",
            f"the choices are {', '.join(MODELS)}; of your own, a function or its name as module:function",
        ),
        (
            {"model": "heads 2", "keep_state": True},
            "model = 'heads 2' with keep_state, or an initial data set",
            "a training of several heads doesn't go on later",
        ),
        (
            {"model": "heads 2", "rng": "replay", "initial": "random"},
            "model = 'heads 2' with rng = 'replay' and initial = 'random'",
            "the authors' runs draw initial values for one head",
        ),
        (
            {"model": "heads 2", "initial": (np.zeros((34, 34)), np.zeros((3, 34, 34)))},
            "initial Z of shape (3, 34, 34)",
            "Y and Z are finite M x M arrays, M = 34, or 2 of them",
        ),
        (
            {"initial": (np.zeros((34, 34)), np.zeros((1, 34, 34)))},
            "initial Z of shape (1, 34, 34)",
            "Y and Z are finite M x M arrays, M = 34",
        ),
        (
            {"model": "heads 1000", "steps": 10**6, "record": 1},
            "1 runs of 1,000,000 steps, recorded 1,000,001 times, which take 2,400,138,083,072 bytes",
            "all is held in memory, here … bytes",
        ),
        (
            {"model": "positions 2", "optimizer": "adam"},
            "model = 'positions 2' with adam",
            "its Z holds sums of a token's and a window's logit, which only sgd and momentum move part by part",
        ),
        (
            {"model": "positions 2", "optimizer": "torch.optim:AdamW"},
            "model = 'positions 2' with torch.optim.adamw:AdamW",
            "its Z holds sums of a token's and a window's logit, which only sgd and momentum move part by part",
        ),
    ],
)
def test_what_no_variant_can_do_is_refused(changes: dict[str, Any], value: str, rule: str) -> None:
    with refuses(value, rule):
        train(syn_small(), **{"lr_y": 1.0, "lr_z": 1.0, "steps": 1} | changes)


@pytest.mark.parametrize("name", ["heads 2", "summed heads 2"])
def test_a_run_of_heads_diverges_as_one(name: str) -> None:
    settings: dict[str, Any] = {"steps": 4, "batch_size": 4, "seq_len": 8, "model": name}
    run = train(syn_small(), lr_y=1, lr_z=1, seeds=(0, 1), **settings)
    assert run.diverged_at.dims == ("seed", "rate")
    assert (run.diverged_at == -1).all()
    with pytest.warns(TrainingDiverged, match="turned NaN at step") as caught:
        lost = train(syn_small(), lr_y=1e308, lr_z=1e308, **settings)
    assert lost.diverged_at.values.item() >= 0
    assert caught[0].filename == __file__  # it points at who called


def test_a_sweep_takes_variants_of_one_shape() -> None:
    grid = Grid(data={"a": syn_small()}, rates=((1, 1),), steps=2, seeds=(0,), models=("plain", "residual"))
    with refuses(
        "model = plain, heads 2", "the arrays of one sweep have one shape, so its models have the same number of heads"
    ):
        dataclasses.replace(grid, models=("plain", "heads 2"))


# -- Windows of positions ----------------------------------------------------------------------------------------------

TOKENS, SIZE, QUERY = 4, 10, 6
"""Four contextual tokens; two windows of ten tokens each, so M = 20."""
NEAR, FAR = np.array([[0.3, 0.5, 0.2, 0], [0.1, 0, 0.5, 0.4]]), np.array([[0.6, 0.1, 0.3, 0], [0.7, 0, 0.3, 0]])
"""P(l|n) in each window. The last token stands in the near window alone."""


def windowed(near: np.ndarray, far: np.ndarray) -> SequenceClasses:
    """Two classes of one query; half of a sequence stands in each window."""
    P = np.zeros((2, 2 * SIZE))
    P[:, :TOKENS], P[:, SIZE : SIZE + TOKENS] = near / 2, far / 2
    return SequenceClasses(P, query_of=[QUERY, QUERY], next_of=[7, 8])


def windowed_loss(Y: Tensor, z: Tensor, b: Tensor) -> Tensor:
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
    Y_0, Z_0, b_0 = np.zeros((2 * SIZE, 2 * SIZE)), np.zeros((2 * SIZE, 2 * SIZE)), b.clone()
    held = [np.flatnonzero(P.any(axis=0)) for P in (NEAR, FAR)]
    root = np.sqrt(np.bincount(np.concatenate(held)))[:, None]
    for w, tokens in enumerate(held):
        Y_0[tokens + w * SIZE] = (Y.numpy() / root)[tokens]
        Z_0[QUERY, tokens + w * SIZE] = (z + b[w]).numpy()[tokens]
    run = train(windowed(NEAR, FAR), **FLOW, steps=3, model="positions 2", initial=(Y_0, Z_0)).isel(seed=0, rate=0)
    for step in range(3):
        leaves = [part.requires_grad_() for part in (Y, z, b)]
        loss = windowed_loss(*leaves)
        assert run.loss.values[step] == pytest.approx(loss.item(), rel=1e-12, abs=0)
        moves = torch.autograd.grad(loss, leaves)
        Y, z, b = ((x - r * g).detach() for x, r, g in zip(leaves, (2, 3, 3), moves, strict=True))
    last = run.isel(recorded=-1)
    for w, tokens in enumerate(held):
        here = last.sel(token=tokens + w * SIZE)
        assert here.Z.values[0] == pytest.approx((z + b[w]).numpy()[tokens], rel=1e-11, abs=0)
        assert here.Y.values * root[tokens] == pytest.approx(Y.numpy()[tokens], rel=1e-9, abs=1e-13)
    assert (b - b_0).abs().min() > 1e-3  # control: the bias did learn


def test_windows_alike_teach_no_bias() -> None:
    bias = []
    for far in (NEAR, FAR):
        path = ss.solve(ss.TrueFlow(windowed(NEAR, far), 1.0, 0.5, model="positions 2"), [50])
        Z = path.Z.values[0, 0]
        bias.append(abs(float(Z[path.token.values == SIZE][0] - Z[path.token.values == 0][0])))
    assert bias[0] < 1e-9
    assert bias[1] > 1e-3


@pytest.mark.parametrize(
    "make",
    [
        *(functools.partial(flow, lr_y=1.0, lr_z=1.0, model="positions 3") for flow in (ss.TrueFlow, ss.IdealisedFlow)),
        functools.partial(train, lr_y=1.0, lr_z=1.0, steps=1, model="positions 3"),
        lambda made: Grid({"made": made}, rates=((1, 1),), steps=1, seeds=(0,), models=("plain", "positions 3")),
    ],
)
def test_a_vocabulary_that_windows_dont_divide_is_refused(make: Any) -> None:
    with refuses(
        "model = 'positions 3' with M = 20", "its vocabulary is one block of tokens for each window, of equal size"
    ):
        make(windowed(NEAR, FAR))
