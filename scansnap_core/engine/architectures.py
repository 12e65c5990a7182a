"""Variants of the paper's model that have a name. Each is what its decoder reads, with the gradient in closed form.

- ``residual``: ū = LN(LN(X^T b) + x_T), the residual connection of Sec. 7;
- ``layernorm``: the mean over the vocabulary is subtracted before the norm is taken;
- ``heads H``: H heads with attention logits of their own, concatenated, so that Y has rows for each, then normalised;
- ``summed heads H``: their sum, normalised, which one Y reads;
- ``positions W``: a learned bias for each of W windows of positions is added to the attention logits (Sec. 7). Token l
  in window w is w M/W + l, so Z holds z_l + b_w, query by query; the decoder reads tokens alone, f of the windows' sum.

All have ‖u‖_2 = 1, as the paper's f has. :mod:`scansnap_core.engine.model_names` lists them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from scansnap_core.engine.model import attend, normalise
from scansnap_core.engine.model_names import NUMBERED, checked_model_name
from scansnap_core.engine.variants import Batch, Variant, plain_inputs


def variant_of(model: object) -> Variant | None:
    """The variant that is meant by its name, or given; None for the paper's model and for other functions.

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


# -- What decoders read ------------------------------------------------------------------------------------------------


def residual_inputs(batch: Batch, Z: Tensor) -> Tensor:
    """ū = LN(f + x_T) with f = LN(X^T b), shape (..., B, L)."""
    return normalise(plain_inputs(batch, Z) + _x_T(batch))


def residual_pull(batch: Batch, Z: Tensor, g: Tensor) -> Tensor:
    """Of one sample f∘P^⊥_f P^⊥_ū g/‖f + x_T‖: Lemma 1's factor f∘P^⊥_f after that of the second normalisation."""
    f = plain_inputs(batch, Z)
    v = f + _x_T(batch)
    w = across(normalise(v), g) / torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    return batch.query.mT @ (f * across(f, w))


def layernorm_inputs(batch: Batch, Z: Tensor) -> Tensor:
    """LN(c - 1/M) with c = X^T b, whose mean over the M tokens is 1/M whatever it is; shape (..., B, L)."""
    return normalise(_centred(batch, attend(batch.q, batch.query @ Z)))


def layernorm_pull(batch: Batch, Z: Tensor, g: Tensor) -> Tensor:
    """Of one sample (diag c - cc^T) P^⊥_u g/‖c - 1/M‖."""
    c = attend(batch.q, batch.query @ Z)
    v = _centred(batch, c)
    w = across(normalise(v), g) / torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    return batch.query.mT @ (c * (w - (c * w).sum(dim=-1, keepdim=True)))


def heads_inputs(batch: Batch, Z: Tensor, *, num_heads: int, concatenates: bool) -> Tensor:
    """LN of the heads' X^T b_h, one after the other (..., B, H L), or of their sum (..., B, L)."""
    c = _per_head(batch, Z, num_heads)
    return normalise(_joined(c) if concatenates else c.sum(dim=-3))


def heads_pull(batch: Batch, Z: Tensor, g: Tensor, *, num_heads: int, concatenates: bool) -> Tensor:
    """Of one sample, for every head, (diag c_h - c_h c_h^T) w_h, with w = P^⊥_u g over the norm and w_h its part."""
    c = _per_head(batch, Z, num_heads)
    v = _joined(c) if concatenates else c.sum(dim=-3)
    w = across(normalise(v), g) / torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    w = w.unflatten(-1, (num_heads, -1)).movedim(-2, -3) if concatenates else w.unsqueeze(-3)
    dz = c * (w - (c * w).sum(dim=-1, keepdim=True))
    return (batch.query.mT.unsqueeze(-3) @ dz).flatten(-3, -2)


def positions_inputs(batch: Batch, Z: Tensor, *, windows: int) -> Tensor:
    """LN of attention summed over windows, shape (..., B, L): n equal rows of Y for a token that n windows hold."""
    return normalise(attend(batch.q, batch.query @ Z) @ _pooled(batch, windows))


def positions_pull(batch: Batch, Z: Tensor, g: Tensor, *, windows: int) -> Tensor:
    """How z_l + b_w moves if both parts learn: what pulls at token l anywhere, and at any token in window w."""
    c, pooled = attend(batch.q, batch.query @ Z), _pooled(batch, windows)
    v = c @ pooled
    w = across(normalise(v), g) / torch.linalg.vector_norm(v, dim=-1, keepdim=True) @ pooled.mT
    dz = c * (w - (c * w).sum(dim=-1, keepdim=True))
    return batch.query.mT @ sum(dz @ alike for alike in _alike(batch, windows))


def across(u: Tensor, g: Tensor) -> Tensor:
    """P^⊥_u g = g - u u^T g for ‖u‖_2 = 1, over the last axis."""
    return g - u * (u * g).sum(dim=-1, keepdim=True)


def _x_T(batch: Batch) -> Tensor:
    """x_T over the tokens, shape (..., B, L)."""
    return batch.query @ (batch.queries[:, None] == batch.tokens).to(batch.query.dtype)


def _centred(batch: Batch, c: Tensor) -> Tensor:
    """c - 1/M over all tokens; those of the first entry, together, along their common direction."""
    M = batch.multiplicity.sum()  # a number would have to come from the device, and a step to wait for it
    mean = torch.ones_like(c[..., :1, :]) / M
    mean[..., 0] = torch.sqrt(M - (c.shape[-1] - 1)) / M
    return c - mean


def _per_head(batch: Batch, Z: Tensor, num_heads: int) -> Tensor:
    """c_h, shape (..., H, B, L)."""
    return attend(batch.q.unsqueeze(-3), batch.query.unsqueeze(-3) @ Z.unflatten(-2, (num_heads, -1)))


def _joined(c: Tensor) -> Tensor:
    return c.movedim(-3, -2).flatten(-2)


def _alike(batch: Batch, windows: int) -> tuple[Tensor, Tensor]:
    """1 where two rows of Y stand for one token, and for one window, else 0; shape (L, L)."""
    size = batch.multiplicity.sum().round().to(batch.tokens.dtype) // windows  # a tensor, as in `_centred`
    token, window = batch.tokens % size, batch.tokens // size
    token_alike, window_alike = ((each[:, None] == each).to(batch.q.dtype) for each in (token, window))
    return token_alike, window_alike


def _pooled(batch: Batch, windows: int) -> Tensor:
    """Takes attention to that on a token in any of its n windows, over sqrt(n) in each of its rows; shape (L, L)."""
    same_token, _ = _alike(batch, windows)
    return same_token / same_token.sum(dim=0).sqrt()


def _positions(windows: int) -> Variant:
    inputs = functools.partial(positions_inputs, windows=windows)
    return Variant(inputs, functools.partial(positions_pull, windows=windows))


def _heads(num_heads: int, *, concatenates: bool) -> Variant:
    inputs = functools.partial(heads_inputs, num_heads=num_heads, concatenates=concatenates)
    pull = functools.partial(heads_pull, num_heads=num_heads, concatenates=concatenates)
    return Variant(inputs, pull, heads=num_heads, concatenates=concatenates)


VARIANTS = {
    "residual": Variant(residual_inputs, residual_pull),
    "layernorm": Variant(layernorm_inputs, layernorm_pull, rest=True),
}
NUMBERED_VARIANTS: dict[str, Callable[[int], Variant]] = {
    "heads": functools.partial(_heads, concatenates=True),
    "summed heads": functools.partial(_heads, concatenates=False),
    "positions": _positions,
}
