"""The loss of predicted words, and its gradient, worked out where the logits lie."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

_aten = torch.ops.aten


class CrossEntropy:
    """The mean cross entropy of words, in nats: ``torch.nn.functional.cross_entropy`` to the last bit.

    That takes three arrays more, as large as the logits, and fetches their memory anew at each step. Here one of them
    stays from step to step, and on a CPU the logarithms of the probabilities, and then the gradient, take the logits'
    place.

    Examples
    --------
    >>> import torch
    >>> from scansnap_core.text.loss import CrossEntropy
    >>> logits = torch.zeros(1, 3, 4, requires_grad=True)
    >>> loss = CrossEntropy()(logits + 0.0, torch.tensor([[0, 1, 3]]))
    >>> round(loss.item(), 4)  # ln 4
    1.3863
    """

    def __init__(self) -> None:
        self._slopes = torch.empty(0, 0)

    def __call__(self, logits: Tensor, words: Tensor) -> Tensor:
        """The loss; on a CPU, logits of float32 or float64 are lost.

        Parameters
        ----------
        logits
            (batch, T, M), of predictions whose own gradient doesn't need them.
        words
            The numbers of the words that follow, (batch, T).
        """
        rows, numbers = logits.flatten(0, 1), words.flatten()
        if rows.device.type != "cpu":
            return functional.cross_entropy(rows.float(), numbers)
        loss: Tensor = _InPlace.apply(rows, numbers, self)
        return loss

    def slopes_like(self, logarithms: Tensor) -> Tensor:
        """Zeros, for the slopes along the logarithms of probabilities; whoever takes them leaves zeros."""
        if self._slopes.shape != logarithms.shape or self._slopes.dtype != logarithms.dtype:
            self._slopes = torch.zeros_like(logarithms)
        return self._slopes


class _InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, words: Tensor, owner: CrossEntropy) -> Tensor:
        logarithms = _aten._log_softmax.out(rows.detach(), 1, False, out=rows.detach())
        ctx.save_for_backward(logarithms, words)
        ctx.owner = owner
        return functional.nll_loss(logarithms, words)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        logarithms, words = ctx.saved_tensors
        slopes, places = ctx.owner.slopes_like(logarithms), (torch.arange(len(words)), words)
        slopes[places] = -slope / len(words)
        moved = _aten._log_softmax_backward_data.out(slopes, logarithms, 1, logarithms.dtype, out=logarithms)
        slopes[places] = 0
        return moved, None, None
