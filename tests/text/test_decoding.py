"""The decoder in blocks against PyTorch's linear layer."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from scansnap_core.text import decoding
from scansnap_core.text.decoding import WORDS, Decoder

D = 6


def drawn(vocab_size: int) -> tuple[Decoder, Tensor]:
    dice = torch.Generator().manual_seed(vocab_size)
    decoder = Decoder(D, vocab_size, dtype=torch.float64)
    with torch.no_grad():
        for part in (decoder.weight, decoder.bias):
            part.uniform_(-1, 1, generator=dice)
    return decoder, torch.randn(2, 3, D, generator=dice, dtype=torch.float64)


@pytest.mark.parametrize("vocab_size", [1, WORDS - 1, WORDS, 2 * WORDS - 1, 2 * WORDS, 2 * WORDS + 1, 3 * WORDS + 5])
def test_it_is_a_linear_layer(vocab_size: int) -> None:
    decoder, x = drawn(vocab_size)
    expected = functional.linear(x, decoder.weight, decoder.bias)
    assert decoder(x).shape == expected.shape == (2, 3, vocab_size)
    torch.testing.assert_close(decoder(x), expected, rtol=0, atol=1e-13)


def test_no_block_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one takes what is left: MKL sums in another order where a product has few columns."""
    widths: list[int] = []
    whole = torch.addmm

    def noted(*operands: Tensor, out: Tensor) -> Tensor:
        widths.append(out.shape[1])
        return whole(*operands, out=out)

    monkeypatch.setattr(torch, "addmm", noted)
    for vocab_size, expected in ((5, [5]), (2 * WORDS + 1, [WORDS, WORDS + 1]), (3 * WORDS, [WORDS] * 3)):
        decoder, x = drawn(vocab_size)
        decoder(x)
        assert widths == expected
        widths.clear()


def test_gradients_are_those_of_a_linear_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "WORDS", 4)
    decoder, x = drawn(11)
    inputs = x.requires_grad_(), decoder.weight, decoder.bias
    slopes = torch.linspace(-1, 2, 2 * 3 * 11, dtype=torch.float64).reshape(2, 3, 11)
    theirs = torch.autograd.grad(functional.linear(*inputs), inputs, slopes)
    for ours, expected in zip(torch.autograd.grad(decoder(x), inputs, slopes), theirs, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-13)
        assert expected.abs().max() > 0.1
