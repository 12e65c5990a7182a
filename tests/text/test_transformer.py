"""The Transformer against its formula written out and PyTorch's layer; dropout's words against their generator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from scansnap_core.text.settings import Settings
from scansnap_core.text.transformer import Attention, Dice, Dropout, Layer, Transformer, sinusoids

M, D, T = 50, 8, 6
MASK = nn.Transformer.generate_square_subsequent_mask(T, dtype=torch.float64)


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        yield


def transformer(layers: int = 1, positions: bool = False, dropout: float = 0.2) -> Transformer:
    settings = Settings(layers=layers, embedding=D, hidden=12, context=T, dropout=dropout, positions=positions)
    model = Transformer(M, settings)
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
def test_without_positions_attention_takes_content_scores_and_order_tells_nothing() -> None:
    text, order = words(), torch.tensor([3, 1, 0, 4, 2, 5])
    for positions in (False, True):
        model = transformer(positions=positions)
        c = model.attention(text)[0, :, -1]  # attention of the last word over all words
        expected = torch.stack([model.content_scores(int(row[-1]))[row] for row in text]).softmax(-1)
        change = model(text[:, order])[:, -1] - model(text)[:, -1]
        for error in (float((c - expected).abs().max()), float(change.abs().max())):
            assert error > 1e-3 if positions else error < 1e-12


def test_sinusoids() -> None:
    p = sinusoids(40, 6)
    assert p.shape == (40, 6)
    assert p[0].tolist() == [0, 1, 0, 1, 0, 1]
    torch.testing.assert_close(p[:, ::2] ** 2 + p[:, 1::2] ** 2, torch.ones(40, 3))
    wavelengths = 10_000.0 ** (torch.arange(3) / 3)  # over 2 pi
    torch.testing.assert_close(p[7, ::2], (7 / wavelengths).sin())


def test_initial_values() -> None:
    model = Transformer(M, Settings(embedding=D, hidden=12, context=T))
    for weight in (model.embedding.weight, model.decoder.weight):
        assert 0.09 < float(weight.detach().abs().max()) <= 0.1
    assert not model.decoder.bias.any()


# -- a layer ----------------------------------------------------------------------------------------------------------


def pair(dropout: float) -> tuple[Layer, nn.TransformerEncoderLayer]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        own = Layer(D, 12, dropout, Dice(0)).double()
        for parameter in own.parameters():
            nn.init.normal_(parameter, std=0.5)
    theirs = nn.TransformerEncoderLayer(D, 1, 12, dropout, batch_first=True).double()
    theirs.load_state_dict(own.state_dict())
    return own, theirs


def inputs() -> torch.Tensor:
    return torch.randn(3, T, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()


@pytest.mark.parametrize("training", [True, False])
def test_without_dropout_it_is_pytorchs_layer(training: bool) -> None:
    results = []
    for layer in pair(dropout=0.0):
        x = inputs()
        out = layer.train(training)(x, src_mask=MASK, is_causal=True)
        slopes = torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])
        results.append([out, *slopes])
    for own, theirs in zip(*results, strict=True):
        torch.testing.assert_close(own, theirs, rtol=1e-10, atol=1e-10)


def test_dropout_takes_a_word_for_each_number_where_pytorchs_layer_drops() -> None:
    own, theirs = pair(dropout=0.3)
    dropping = [name for name, part in theirs.named_modules() if isinstance(part, nn.Dropout)]  # noqa: TID251
    assert dropping == ["dropout", "dropout1", "dropout2"]  # and the map, inside its attention
    taken: list[tuple[int, ...]] = []
    for part in (cast(Attention, own.self_attn).drop, own.dropout, own.dropout1, own.dropout2):
        part.register_forward_hook(lambda part, given, out: taken.append(tuple(given[0].shape)))
    x = inputs()
    out = own(x, src_mask=MASK, is_causal=True)
    assert taken == [(3, T, T), (3, T, D), (3, T, 12), (3, T, D)]
    # the map that is shown is the one before dropout
    maps = own.self_attn(x, x, x, attn_mask=MASK)[1]
    torch.testing.assert_close(maps.sum(-1), torch.ones(3, T, dtype=torch.float64))
    assert not torch.equal(out, own(x, src_mask=MASK, is_causal=True))


# -- dropout ----------------------------------------------------------------------------------------------------------


WORDS = {  # NumPy's Philox-4x64-10, keyed by seed and step, on every machine; half of a number of 64 bits is left
    (0, 0): [149215387, 49592932, -1666660942, 1569730169, 478570405],
    (5, 7): [-931271006, 769718146, 1402842501, -190600910, -600539395],
    (2**64 - 1, 3): [1892116274, 1792722183, 1147642098, -253073306, 1318470332],
}


@pytest.mark.parametrize(("seed", "step"), WORDS)
def test_words_are_known_by_seed_and_step(seed: int, step: int) -> None:
    dice = Dice(seed)
    dice.begin(step)
    assert [*dice.words(3).tolist(), *dice.words(2).tolist()] == WORDS[seed, step]


@pytest.mark.parametrize("p", [0.1, 0.2, 0.75])
def test_as_many_are_dropped_as_it_says_and_the_mean_stays(p: float) -> None:
    x = torch.arange(1.0, 10_001, dtype=torch.float64).requires_grad_()
    left = Dropout(p, Dice(1))(x)
    dropped = left == 0
    assert stats.binomtest(int(dropped.sum()), len(x), p).pvalue > 1e-3
    torch.testing.assert_close(left[~dropped], x[~dropped] / (1 - p))
    left.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(dropped, 0.0, 1 / (1 - p)).double())
    assert not Dropout(1 - 1e-12, Dice(1))(x).any()


def test_each_call_takes_words_of_its_own_and_a_step_can_be_made_again() -> None:
    dice = Dice(2)
    drop, x = Dropout(0.5, dice), torch.ones(8, 8)
    one, two = drop(x), drop(x)
    assert not torch.equal(one, two)
    dice.begin(step=0)
    assert torch.equal(drop(x), one)
    dice.begin(step=1)
    assert not torch.equal(drop(x), one)
    assert not torch.equal(Dropout(0.5, Dice(3))(x), one)


def test_without_dropout_nothing_is_drawn() -> None:
    dice = Dice(4)
    first, x = dice.words(2), torch.ones(4)
    dice.begin(step=0)
    assert torch.equal(Dropout(0.0, dice)(x), x)
    assert torch.equal(Dropout(0.5, dice).eval()(x), x)
    assert torch.equal(dice.words(2), first)
