"""The standard Transformer of Section 7's experiments on real text: embedding, W_Q, W_K, W_V and a
decoder.

Its attention can be read, and its dropout is by counter: what a step drops depends on the seed and
the step alone, on every make of processor. PyTorch doesn't promise that: in some releases dropout
drew from another generator on Intel's processors than on others, so that the same seed trained
another model there. The random words come from NumPy's Philox, keyed by the seed and the step, in
the order in which a step asks for them. So a training that goes on needs no generator's state.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from scansnap_core.text.settings import Settings

INITIAL = 0.1
"""Embedding and decoder start uniform in plus and minus this."""
WAVELENGTH = 10_000.0
"""The longest of the sinusoidal positions' wavelengths, over 2 pi."""
FLOATS: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
"""The parameters are made with this type and there, whatever PyTorch's defaults are."""
WORD = 2**32
"""The number of values of a random word."""


class Dice:
    """The random words of one step after another, by seed, a whole number in [0, 2^64)."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.begin(step=0)

    def begin(self, step: int) -> None:
        """Begin the words of a step."""
        self._philox = np.random.Philox(key=np.array([self._seed, step], np.uint64))

    def words(self, number: int) -> Tensor:
        """Draw the next words of the step, uniform over all int32, shape (number,)."""
        drawn = self._philox.random_raw(-(-number // 2))
        return torch.from_numpy(drawn.view(np.int32)[:number])


class Dropout(nn.Dropout):  # noqa: TID251
    """``torch.nn.Dropout``, which on a CPU takes a word of ``dice`` for each number, in training.

    A number is dropped with the probability p in [0, 1), to within 2^-32; the others are divided by
    1 - p.
    """

    def __init__(self, p: float, dice: Dice) -> None:
        super().__init__(p)
        self._dice = dice

    def forward(self, x: Tensor) -> Tensor:
        """Drop numbers of x in training; return x as it is otherwise."""
        if not self.training or not self.p or x.device.type != "cpu":
            return super().forward(x)
        first_kept = min(round(self.p * WORD), WORD - 1) - WORD // 2  # one of int32, too
        kept = self._dice.words(x.numel()) >= first_kept
        return x * kept.view_as(x).to(x.dtype).div_(1 - self.p)


class Attention(nn.MultiheadAttention):
    """``torch.nn.MultiheadAttention`` of one head and width d, of a sequence to itself; it always
    returns its map.

    :class:`Dropout` drops entries of the map.
    """

    def __init__(self, embedding: int, dropout: float, dice: Dice) -> None:
        super().__init__(embedding, 1, batch_first=True, **FLOATS)
        self.drop = Dropout(dropout, dice)

    def forward(  # type: ignore[override]
        self, query: Tensor, key: Tensor, value: Tensor, *, attn_mask: Tensor, **_: object
    ) -> tuple[Tensor, Tensor]:
        """Return what each place takes from the others (batch, T, d), and the map before dropout
        (batch, T, T).

        ``query``, ``key`` and ``value`` are the same x (batch, T, d), and ``attn_mask`` (T, T) is
        added to the scores.
        """
        q, k, v = functional.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        c = torch.baddbmm(attn_mask, q, k.mT, alpha=1 / math.sqrt(self.embed_dim)).softmax(-1)
        return self.out_proj(self.drop(c) @ v), c


class Layer(nn.TransformerEncoderLayer):
    """``torch.nn.TransformerEncoderLayer`` with :class:`Attention` and :class:`Dropout`."""

    def __init__(self, embedding: int, hidden: int, dropout: float, dice: Dice) -> None:
        super().__init__(embedding, 1, hidden, batch_first=True, **FLOATS)
        self.self_attn = Attention(embedding, dropout, dice)
        self.dropout = Dropout(dropout, dice)
        self.dropout1 = Dropout(dropout, dice)
        self.dropout2 = Dropout(dropout, dice)


class Transformer(nn.Module):
    """A causal language model of Torch's own encoder layers, with one head, which also returns its
    attention.

    The paper's Eqn 2 has no values, no residual, no norms and no feed-forward layer, and learns the
    products Y and Z in place of the factors. Here they are as in ordinary practice: with U the
    embedding, Z is U W_Q W_K^T U^T / sqrt(d), and what the paper calls c is a row of the attention
    map.

    Initial values come from PyTorch's global generator. On a CPU dropout draws from ``dice``: call
    its :meth:`Dice.begin` before each step.
    """

    positions: Tensor
    mask: Tensor

    def __init__(self, vocab_size: int, settings: Settings) -> None:
        """Make the layers in a fixed order: each draws from PyTorch's global generator."""
        super().__init__()
        d = settings.embedding
        dropout = settings.dropout
        context = settings.context
        self.dice = Dice(settings.seed)
        self.embedding = nn.Embedding(vocab_size, d, **FLOATS)
        self.dropout = Dropout(dropout, self.dice)
        self.layers = nn.ModuleList(
            Layer(d, settings.hidden, dropout, self.dice) for _ in range(settings.layers)
        )
        self.decoder = nn.Linear(d, vocab_size, **FLOATS)
        nn.init.uniform_(self.embedding.weight, -INITIAL, INITIAL)
        nn.init.uniform_(self.decoder.weight, -INITIAL, INITIAL)
        nn.init.zeros_(self.decoder.bias)
        positions = (
            sinusoids(context, d) if settings.positions else torch.zeros(context, d, **FLOATS)
        )
        self.register_buffer("positions", positions, persistent=False)
        mask = nn.Transformer.generate_square_subsequent_mask(context, **FLOATS)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        """Predict from word numbers (batch, T), at each place, the logits of the word that
        follows: (batch, T, M).
        """
        return self.decoder(self._pass(words))

    def attention(self, words: Tensor) -> Tensor:
        """Return the attention maps of word numbers (batch, T), in evaluation mode: (layers, batch,
        query, key).

        Every row sums to 1 over the keys up to the query.
        """
        maps: list[Tensor] = []
        self._pass(words, maps)
        return torch.stack(maps)

    def content_scores(self, query: int) -> Tensor:
        """Score each word by its content alone, before the first layer's softmax: the query word's
        row of Z, (M,).

        It is (W_Q u_m + b_Q) . (W_K u_l + b_K) / sqrt(d), with u the scaled embedding and no
        position added.
        """
        first = cast(Layer, self.layers[0]).self_attn
        (W_Q, W_K, _) = first.in_proj_weight.chunk(3)
        (b_Q, b_K, _) = first.in_proj_bias.chunk(3)
        u = self.embedding.weight * math.sqrt(self.embedding.embedding_dim)
        return (u @ W_K.T + b_K) @ (W_Q @ u[query] + b_Q) / math.sqrt(first.head_dim)

    def _pass(self, words: Tensor, maps: list[Tensor] | None = None) -> Tensor:
        """Return the last layer's output (batch, T, d), and append the maps to a list."""
        places = words.shape[-1]
        mask = self.mask[:places, :places]
        x = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)
        x = self.dropout(x + self.positions[:places])
        for layer in self.layers:
            if maps is not None:
                maps.append(cast(Layer, layer).self_attn(x, x, x, attn_mask=mask)[1])
            x = layer(x, src_mask=mask, is_causal=True)
        return x


def sinusoids(context: int, width: int) -> Tensor:
    """Encode places as sines and cosines in turn, at growing wavelengths: (context, width),
    width even.
    """
    frequencies = torch.exp(-math.log(WAVELENGTH) / width * torch.arange(0, width, 2, **FLOATS))
    angles = torch.arange(context, **FLOATS)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
