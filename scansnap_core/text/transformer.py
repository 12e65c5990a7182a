"""The standard Transformer of Section 7's experiments on real text: embedding, W_Q, W_K, W_V and a decoder."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from scansnap_core.text.attention import Layer
from scansnap_core.text.decoding import Decoder
from scansnap_core.text.dropout import Dice, Dropout

INITIAL = 0.1
"""Embedding and decoder start uniform in plus and minus this."""
WAVELENGTH = 10_000.0
"""The longest of the sinusoidal positions' wavelengths, over 2 pi."""


class Transformer(nn.Module):
    """A causal language model of Torch's own encoder layers, with one head, which also returns its attention.

    The paper's Eqn 2 has no values, no residual, no norms and no feed-forward layer, and learns the products Y and Z in
    place of the factors. Here they are as in ordinary practice: with U the embedding, Z is
    U W_Q W_K^T U^T / sqrt(d), and what the paper calls c is a row of the attention map.

    Parameters
    ----------
    vocab_size
        M.
    layers
        1 or more.
    embedding, hidden
        The widths d of the embedding and of the feed-forward layers.
    context
        The longest sequence, T.
    dropout
        The probability, in [0, 1).
    positions
        Whether sinusoidal positions are added to the embedding. The paper's model has none.
    seed
        Of dropout. Initial values come from PyTorch's global generator.

    Attributes
    ----------
    dice
        What dropout draws from on a CPU: :meth:`~scansnap_core.text.dropout.Dice.begin` a step before it is made.
    """

    positions: Tensor
    mask: Tensor

    def __init__(
        self,
        vocab_size: int,
        *,
        layers: int,
        embedding: int,
        hidden: int,
        context: int,
        dropout: float,
        positions: bool,
        seed: int,
    ) -> None:
        super().__init__()
        self.dice = Dice(seed)
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.dropout = Dropout(dropout, self.dice)
        self.layers = nn.ModuleList(Layer(embedding, hidden, dropout, self.dice) for _ in range(layers))
        self.decoder = Decoder(embedding, vocab_size)
        nn.init.uniform_(self.embedding.weight, -INITIAL, INITIAL)
        nn.init.uniform_(self.decoder.weight, -INITIAL, INITIAL)
        nn.init.zeros_(self.decoder.bias)
        added = sinusoids(context, embedding) if positions else torch.zeros(context, embedding)
        self.register_buffer("positions", added, persistent=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(context), persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        """The logits of each next word.

        Parameters
        ----------
        words
            Word numbers, (batch, T).

        Returns
        -------
        Tensor
            (batch, T, M): at each place the logits of the word that follows it.
        """
        mask = self.mask[: words.shape[-1], : words.shape[-1]]
        x = self._embed(words)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.decoder(x)

    def attention(self, words: Tensor) -> Tensor:
        """The attention maps, without dropout; call it in evaluation mode.

        Parameters
        ----------
        words
            Word numbers, (batch, T).

        Returns
        -------
        Tensor
            (layers, batch, query, key), every row sums to 1 over the keys up to the query.
        """
        mask = self.mask[: words.shape[-1], : words.shape[-1]]
        x, maps = self._embed(words), []
        for layer in self.layers:
            maps.append(cast(Layer, layer).self_attn(x, x, x, attn_mask=mask)[1])
            x = layer(x, src_mask=mask, is_causal=True)
        return torch.stack(maps)

    def content_scores(self, query: int) -> Tensor:
        """What the first layer's attention gives each word before the softmax for its content alone: a row of Z.

        Parameters
        ----------
        query
            The number of the query word.

        Returns
        -------
        Tensor
            (M,): (W_Q u_m + b_Q) . (W_K u_l + b_K) / sqrt(d), with u the scaled embedding and no position added.
        """
        first = cast(Layer, self.layers[0]).self_attn
        (W_Q, W_K, _), (b_Q, b_K, _) = first.in_proj_weight.chunk(3), first.in_proj_bias.chunk(3)
        u = self.embedding.weight * math.sqrt(self.embedding.embedding_dim)
        return (u @ W_K.T + b_K) @ (W_Q @ u[query] + b_Q) / math.sqrt(first.head_dim)

    def _embed(self, words: Tensor) -> Tensor:
        scaled = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(scaled + self.positions[: words.shape[-1]])


def sinusoids(context: int, width: int) -> Tensor:
    """Sines and cosines of the places in a sequence, by turns, at growing wavelengths: (context, width), width even."""
    frequencies = torch.exp(-math.log(WAVELENGTH) / width * torch.arange(0, width, 2))
    angles = torch.arange(context)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
