"""The Transformer against its formula written out, and what causality and positions mean for it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from scansnap_core.text.transformer import Transformer, sinusoids

M, D, T = 50, 8, 6


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        yield


def transformer(layers: int = 1, positions: bool = False, dropout: float = 0.2) -> Transformer:
    model = Transformer(
        M, layers=layers, embedding=D, hidden=12, context=T, dropout=dropout, positions=positions, seed=0
    )
    for parameter in model.parameters():  # biases start at 0, which would hide a forgotten one
        torch.nn.init.normal_(parameter, std=0.4)
    return model.double().eval()


def words() -> Tensor:
    return torch.randint(M, (3, T))


def written_out(model: Transformer, text: Tensor) -> tuple[Tensor, Tensor]:
    """Logits and maps from the parameters alone: post-norm layers, ReLU, one head."""
    p = dict(model.named_parameters())
    x, maps = p["embedding.weight"][text] * math.sqrt(D) + model.positions, []
    future = torch.ones(T, T).triu(1).bool()

    def norm(x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return (
            centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * p[f"{name}.weight"] + p[f"{name}.bias"]
        )

    for i in range(len(model.layers)):
        at = f"layers.{i}."
        W_Q, W_K, W_V = p[at + "self_attn.in_proj_weight"].chunk(3)
        b_Q, b_K, b_V = p[at + "self_attn.in_proj_bias"].chunk(3)
        scores = (x @ W_Q.T + b_Q) @ (x @ W_K.T + b_K).transpose(1, 2) / math.sqrt(D)
        c = scores.masked_fill(future, -math.inf).softmax(-1)
        maps.append(c)
        out = c @ (x @ W_V.T + b_V) @ p[at + "self_attn.out_proj.weight"].T + p[at + "self_attn.out_proj.bias"]
        x = norm(x + out, at + "norm1")
        hidden = (x @ p[at + "linear1.weight"].T + p[at + "linear1.bias"]).clamp(min=0)
        x = norm(x + hidden @ p[at + "linear2.weight"].T + p[at + "linear2.bias"], at + "norm2")
    return x @ p["decoder.weight"].T + p["decoder.bias"], torch.stack(maps)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("positions", [True, False])
@torch.no_grad()
def test_it_is_its_formula(layers: int, positions: bool) -> None:
    model, text = transformer(layers, positions), words()
    logits, maps = written_out(model, text)
    torch.testing.assert_close(model(text), logits, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(model.attention(text), maps, rtol=1e-9, atol=1e-9)
    # the formula with another parameter is another: the comparison isn't empty
    dict(model.named_parameters())[f"layers.{layers - 1}.self_attn.in_proj_bias"].add_(1)
    assert (model(text) - logits).abs().max() > 1e-3
    assert (model.attention(text) - maps).abs().max() > 1e-3


@torch.no_grad()
def test_dropout_is_for_training() -> None:
    model, text = transformer(dropout=0.2), words()
    assert torch.equal(model(text), model(text))
    model.train()
    assert not torch.equal(model(text), model(text))


@torch.no_grad()
def test_no_word_sees_a_later_one() -> None:
    model, text = transformer(layers=2, positions=True), words()
    other = text.clone()
    other[:, 4] = (text[:, 4] + 1) % M
    changed = (model(other) - model(text)).abs().amax((0, 2))
    assert changed[:4].max() < 1e-12
    assert changed[4:].min() > 1e-6
    maps = model.attention(text)
    assert maps.triu(1).abs().max() == 0
    torch.testing.assert_close(maps.sum(-1), torch.ones(2, 3, T, dtype=torch.float64))


@torch.no_grad()
def test_content_scores_are_what_attention_takes_without_positions() -> None:
    text = words()
    for positions in (False, True):
        model = transformer(positions=positions)
        c = model.attention(text)[0, :, -1]  # of the last word over all
        expected = torch.stack([model.content_scores(int(row[-1]))[row] for row in text]).softmax(-1)
        error = float((c - expected).abs().max())
        assert error > 1e-3 if positions else error < 1e-12


@torch.no_grad()
def test_only_positions_tell_the_order() -> None:
    text = words()
    for positions in (False, True):
        model = transformer(positions=positions)
        order = torch.tensor([3, 1, 0, 4, 2, 5])
        change = float((model(text[:, order])[:, -1] - model(text)[:, -1]).abs().max())
        assert change > 1e-3 if positions else change < 1e-12


def test_sinusoids() -> None:
    p = sinusoids(40, 6)
    assert p.shape == (40, 6)
    assert p[0].tolist() == [0, 1, 0, 1, 0, 1]
    torch.testing.assert_close(p[:, ::2] ** 2 + p[:, 1::2] ** 2, torch.ones(40, 3))
    wavelengths = 10_000.0 ** (torch.arange(3) / 3)  # over 2 pi
    torch.testing.assert_close(p[7, ::2], (7 / wavelengths).sin())


def test_initial_values() -> None:
    model = Transformer(M, layers=1, embedding=D, hidden=12, context=T, dropout=0, positions=True, seed=0)
    for weight in (model.embedding.weight, model.decoder.weight):
        assert 0.09 < float(weight.detach().abs().max()) <= 0.1
    assert not model.decoder.bias.any()
