"""The decoder's product, a block of words at a time, which takes less time."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

WORDS = 384
"""How many words' logits are worked out at a time on a CPU; the last block has less than twice as many."""


class Decoder(nn.Linear):
    """``torch.nn.Linear`` from d to M; on a CPU, :data:`WORDS` outputs at a time.

    A product that writes 700 rows of 7,266 numbers is slower than its blocks are (``tools/benchmarks/README.md``), and
    these are parts of the same array.

    Examples
    --------
    >>> import torch
    >>> from scansnap_core.text.decoding import Decoder
    >>> decoder = Decoder(2, 3)
    >>> tuple(decoder(torch.zeros(5, 4, 2)).shape)
    (5, 4, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        """Logits (batch, T, M) of x (batch, T, d)."""
        if x.device.type != "cpu":
            return super().forward(x)
        logits: Tensor = _InBlocks.apply(x.flatten(0, 1), self.weight, self.bias)
        return logits.unflatten(0, x.shape[:2])


class _InBlocks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        logits = rows.new_empty(len(rows), len(weight))
        # what is left joins the last block: a product of few columns may sum in another order
        ends = [*range(WORDS, len(weight) - WORDS + 1, WORDS), len(weight)]
        for block in itertools.starmap(slice, itertools.pairwise([0, *ends])):
            torch.addmm(bias[block], rows, weight[block].T, out=logits[:, block])
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, weight = ctx.saved_tensors
        return slopes @ weight, slopes.T @ rows, slopes.sum(0)
