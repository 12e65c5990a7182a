"""Variants of the paper's model that have a name. Each is what its decoder reads, with the gradient in closed form.

- ``residual``: ū = LN(LN(X^T b) + x_T), the residual connection of Sec. 7;
- ``layernorm``: the mean over the vocabulary is subtracted before the norm is taken;
- ``heads H``: H heads with attention logits of their own, concatenated, so that Y has rows for each, then normalised;
- ``summed heads H``: their sum, normalised, which one Y reads;
- ``positions W``: a learned bias for each of W windows of positions is added to the attention logits (Sec. 7). Token l
  in window w is w M/W + l, so Z holds z_l + b_w, query by query; the decoder reads tokens alone, f of the windows' sum.

All have ‖u‖_2 = 1, as the paper's f has. :mod:`scansnap_core.engine.names` lists them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from scansnap_core.engine.model import attend
from scansnap_core.engine.names import NUMBERED, checked_model_name
from scansnap_core.engine.variants import Batch, Pull, Variant, plain_inputs


def variant_of(model: object) -> Variant | None:
    """Return the variant with a name, or the one given; None for the paper's model and for other functions.

    Raises
    ------
    BadInput
        A name that is close to a variant's and isn't one, such as "heads 0".

    Examples
    --------
    >>> from scansnap_core.engine.architectures import variant_of
    >>> variant_of("heads 4").heads
    4
    """
    if isinstance(model, Variant):
        return model
    name = checked_model_name(model)
    if name is None or name == "plain":
        return None
    kind, _, number = name.rpartition(" ")
    return NUMBERED_VARIANTS[kind](int(number)) if kind in NUMBERED else VARIANTS[name]


# -- What decoders read, and what pulls back through it ----------------------------------------------------------------


def residual(batch: Batch, Z: Tensor) -> tuple[Tensor, Pull]:
    """Return ū = LN(f + x_T) with f = LN(X^T b), shape (..., B, L), and its pull.

    Back from one sample comes f∘P^⊥_f P^⊥_ū g/‖f + x_T‖: Lemma 1's factor f∘P^⊥_f after that of the second
    normalisation.
    """
    f = plain_inputs(batch, Z)
    u, length = _normalised(f + _x_T(batch))
    return u, lambda g: batch.query.mT @ (f * across(f, across(u, g) / length))


def layernorm(batch: Batch, Z: Tensor) -> tuple[Tensor, Pull]:
    """Return LN(c - 1/M) with c = X^T b, whose mean over the M tokens is 1/M, shape (..., B, L), and its pull.

    Back from one sample comes (diag c - cc^T) P^⊥_u g/‖c - 1/M‖.
    """
    c = attend(batch.q, batch.query @ Z)
    u, length = _normalised(_centred(batch, c))
    return u, lambda g: batch.query.mT @ _through(c, across(u, g) / length)


def heads(batch: Batch, Z: Tensor, *, num_heads: int, concatenates: bool) -> tuple[Tensor, Pull]:
    """Return LN of the heads' X^T b_h, concatenated (..., B, H L) or summed (..., B, L), and its pull.

    Back from one sample, for every head, comes (diag c_h - c_h c_h^T) w_h, with w = P^⊥_u g over the norm and w_h its
    part.
    """
    c = attend(batch.q.unsqueeze(-3), batch.query.unsqueeze(-3) @ Z.unflatten(-2, (num_heads, -1)))  # (..., H, B, L)
    u, length = _normalised(c.movedim(-3, -2).flatten(-2) if concatenates else c.sum(dim=-3))

    def pull(g: Tensor) -> Tensor:
        w = across(u, g) / length
        w = w.unflatten(-1, (num_heads, -1)).movedim(-2, -3) if concatenates else w.unsqueeze(-3)
        return (batch.query.mT.unsqueeze(-3) @ _through(c, w)).flatten(-3, -2)

    return u, pull


def positions(batch: Batch, Z: Tensor, *, windows: int) -> tuple[Tensor, Pull]:
    """Return LN of attention summed over windows, shape (..., B, L), and its pull.

    A token that n windows hold has n equal rows of Y.

    Back comes how z_l + b_w moves if both parts learn: what pulls at token l anywhere, and at any token in window w.
    """
    c, alike = attend(batch.q, batch.query @ Z), _alike(batch, windows)
    # takes attention to that on a token in any of its n windows, over sqrt(n) in each of its rows; shape (L, L)
    pooled = alike[0] / alike[0].sum(dim=0).sqrt()
    u, length = _normalised(c @ pooled)

    def pull(g: Tensor) -> Tensor:
        dz = _through(c, across(u, g) / length @ pooled.mT)
        return batch.query.mT @ sum(dz @ each for each in alike)

    return u, pull


def across(u: Tensor, g: Tensor) -> Tensor:
    """P^⊥_u g = g - u u^T g for ‖u‖_2 = 1, over the last axis."""
    return g - u * (u * g).sum(dim=-1, keepdim=True)


def _normalised(v: Tensor) -> tuple[Tensor, Tensor]:
    """LN(v), and ‖v‖_2."""
    length = torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    return v / length, length


def _through(c: Tensor, w: Tensor) -> Tensor:
    """Return (diag c - cc^T) w over the last axis: w pulled back through the softmax that made c."""
    return c * (w - (c * w).sum(dim=-1, keepdim=True))


def _x_T(batch: Batch) -> Tensor:
    """x_T over the tokens, shape (..., B, L)."""
    return batch.query @ (batch.queries[:, None] == batch.tokens).to(batch.query.dtype)


def _centred(batch: Batch, c: Tensor) -> Tensor:
    """Return c - 1/M over all tokens. The first entry stands for the tokens that no class holds, in their direction."""
    M = batch.multiplicity.sum()  # a number would have to come from the device, and a step to wait for it
    mean = torch.ones_like(c[..., :1, :]) / M
    mean[..., 0] = torch.sqrt(M - (c.shape[-1] - 1)) / M
    return c - mean


def _alike(batch: Batch, windows: int) -> tuple[Tensor, Tensor]:
    """Return two matrices (L, L): 1 where two rows of Y stand for the same token, and for the same window, else 0."""
    size = batch.multiplicity.sum().round().to(batch.tokens.dtype) // windows  # a tensor, as in `_centred`
    token, window = batch.tokens % size, batch.tokens // size
    token_alike, window_alike = ((each[:, None] == each).to(batch.q.dtype) for each in (token, window))
    return token_alike, window_alike


def _variant(closed_form: Callable[[Batch, Tensor], tuple[Tensor, Pull]], **described: Any) -> Variant:
    return Variant(lambda batch, Z: closed_form(batch, Z)[0], closed_form, **described)


def _positions(windows: int) -> Variant:
    return _variant(functools.partial(positions, windows=windows))


def _heads(num_heads: int, *, concatenates: bool) -> Variant:
    closed_form = functools.partial(heads, num_heads=num_heads, concatenates=concatenates)
    return _variant(closed_form, heads=num_heads, concatenates=concatenates)


VARIANTS = {"residual": _variant(residual), "layernorm": _variant(layernorm, rest=True)}
NUMBERED_VARIANTS: dict[str, Callable[[int], Variant]] = {
    "heads": functools.partial(_heads, concatenates=True),
    "summed heads": functools.partial(_heads, concatenates=False),
    "positions": _positions,
}
