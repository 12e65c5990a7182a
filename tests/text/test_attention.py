"""The layer against PyTorch's own, with its parameters, and where it drops."""

from __future__ import annotations

from typing import cast

import pytest
import torch
from torch import nn

from scansnap_core.text.attention import Attention, Layer
from scansnap_core.text.dropout import Dice

D, T = 8, 6
MASK = nn.Transformer.generate_square_subsequent_mask(T, dtype=torch.float64)


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


def test_its_map_is_pytorchs() -> None:
    own, theirs = pair(dropout=0.0)
    x = inputs()
    expected = theirs.self_attn(x, x, x, attn_mask=MASK)
    torch.testing.assert_close(own.self_attn(x, x, x, attn_mask=MASK), expected)


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
