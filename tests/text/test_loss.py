"""The loss in the logits' place against PyTorch's own, bit by bit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from scansnap_core.text.loss import CrossEntropy

SHAPES = ((2, 3, 5), (2, 3, 5), (20, 35, 301), (1, 1, 2))


def drawn(seed: int, shape: tuple[int, int, int], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    dice = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(shape, generator=dice, dtype=dtype)
    return logits, torch.randint(shape[-1], shape[:-1], generator=dice)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_loss_and_gradient_are_pytorchs_to_the_last_bit(dtype: torch.dtype) -> None:
    cross_entropy = CrossEntropy()  # one for all: what a step leaves behind must not show in the next
    for seed, shape in enumerate(SHAPES):
        logits, words = drawn(seed, shape, dtype)
        theirs, ours = (logits.clone().requires_grad_() for _ in range(2))
        expected = functional.cross_entropy(theirs.flatten(0, 1), words.flatten())
        given = ours + 0.0
        found = cross_entropy(given, words)
        assert torch.equal(found, expected)
        for loss in (expected, found):
            (3 * loss).backward()
        assert ours.grad is not None
        assert theirs.grad is not None
        assert torch.equal(ours.grad, theirs.grad)
        assert not torch.equal(given, logits)  # it's in their place


def test_control_other_words_have_another_loss() -> None:
    logits, words = drawn(0, SHAPES[0], torch.float64)
    losses = [CrossEntropy()(logits.clone(), each) for each in (words, words.flip(0))]
    assert abs(losses[0] - losses[1]) > 0.1


def test_a_gradient_is_taken_once() -> None:
    logits, words = drawn(0, SHAPES[0], torch.float64)
    loss = CrossEntropy()(logits.requires_grad_() + 0.0, words)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
