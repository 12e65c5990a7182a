"""A layer of PyTorch's encoder whose attention can be read, and whose dropout is by counter."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from scansnap_core.text.dropout import Dice, Dropout


class Attention(nn.MultiheadAttention):
    """``torch.nn.MultiheadAttention`` of one head, of a sequence to itself; it always returns its map.

    Parameters
    ----------
    embedding
        The width d.
    dropout, dice
        As :class:`~scansnap_core.text.dropout.Dropout` takes them. What is dropped are entries of the map.
    """

    def __init__(self, embedding: int, dropout: float, dice: Dice) -> None:
        super().__init__(embedding, 1, batch_first=True)
        self.drop = Dropout(dropout, dice)

    def forward(  # type: ignore[override]
        self, query: Tensor, key: Tensor, value: Tensor, *, attn_mask: Tensor, **_: object
    ) -> tuple[Tensor, Tensor]:
        """What each place takes from the others (batch, T, d), and the map before dropout (batch, T, T).

        ``query``, ``key`` and ``value`` are the same x (batch, T, d), and ``attn_mask`` (T, T) is added to the scores.
        """
        q, k, v = functional.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        c = torch.baddbmm(attn_mask, q, k.mT, alpha=1 / math.sqrt(self.embed_dim)).softmax(-1)
        return self.out_proj(self.drop(c) @ v), c


class Layer(nn.TransformerEncoderLayer):
    """``torch.nn.TransformerEncoderLayer`` with that attention, and dropout of the same kind."""

    def __init__(self, embedding: int, hidden: int, dropout: float, dice: Dice) -> None:
        super().__init__(embedding, 1, hidden, batch_first=True)
        self.self_attn = Attention(embedding, dropout, dice)
        self.dropout, self.dropout1, self.dropout2 = (Dropout(dropout, dice) for _ in range(3))
