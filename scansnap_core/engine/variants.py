"""Models other than the paper's: by what their decoder reads (:class:`Variant`), by a name, or as
any function.

:func:`plain` is the paper's model and the default. A function of a batch, Y and Z gives ln α, and
autograd does the rest, or :class:`~scansnap_core.engine.model.Gradients`. Variants with a name have
their gradient in closed form:

- ``residual``: ū = LN(LN(X^T b) + x_T), the residual connection of Sec. 7;
- ``layernorm``: the mean over the vocabulary is subtracted before the norm is taken;
- ``heads H``: H heads with attention logits of their own, concatenated, so that Y has rows for
  each, then normalised;
- ``summed heads H``: their sum, normalised, which one Y reads;
- ``positions W``: a learned bias for each of W windows of positions is added to the attention
  logits (Sec. 7). Token l in window w is w M/W + l, so Z holds z_l + b_w, query by query; the
  decoder reads tokens alone, f of the windows' sum.

All have ‖u‖_2 = 1, as the paper's f has. :data:`scansnap_core.engine.names.MODELS` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import shown
from scansnap_core.data.probabilities import Outputs
from scansnap_core.data.sequences import Ints, SequenceClasses
from scansnap_core.engine.model import (
    Gradients,
    attend,
    cross_entropy,
    decode,
    decoded,
    gradients,
    normalise,
)
from scansnap_core.engine.names import name_of

MOST = 1024
"""A name's number of heads or windows is at most this."""


class Batch(NamedTuple):
    """A batch holds what a model sees of its samples.

    Leading dimensions "..." are runs; they broadcast with those of Y and Z.

    Axes: B samples, L tokens, Q query tokens, O outputs; in the paper L = Q = O = M.
    """

    q: Tensor
    """Token frequencies without the query, shape (..., B, L)."""
    query: Tensor
    """x_T as one-hot rows, shape (..., B, Q)."""
    target: Tensor
    """x_{T+1} as one-hot rows, shape (..., B, O)."""
    weight: Tensor
    """The weight of each sample, shape (..., B): 1/B, or P(n) in the expectation over classes."""
    multiplicity: Tensor
    """How many equal outputs each column of Y stands for, shape (O,)."""
    tokens: Tensor
    """The tokens that rows of Y and columns of Z stand for, shape (L,): contextual ones and query
    tokens, ascending. Before them -1, for all other tokens together, where a variant reads these
    (``rest``)."""
    queries: Tensor
    """The tokens that rows of Z stand for, shape (Q,)."""
    outputs: Tensor
    """The tokens that columns of Y stand for, shape (O,); -1 for all that are no next token."""


Model = Callable[[Batch, Tensor, Tensor], Tensor | Gradients]
"""Takes a batch, Y (..., L, O) and Z (..., Q, L); returns ln α (..., B, O), differentiable, or
the gradients.
"""
Pull = Callable[[Tensor], Tensor]
"""Takes g (..., B, D) to the sum over samples of (du/dZ)^T g, shape (..., H Q, L)."""


@dataclass(frozen=True)
class Variant:
    """A model whose decoder reads u, a function of the batch and of Z: ln α = log softmax(Y^T u).

    So dJ/dY is u (x_{T+1} - α)^T in every variant, as in Eqn 3, and dJ/dZ is g = Y (x_{T+1} - α)
    pulled back through u. It's a model like any other: called with a batch, Y and Z it gives the
    gradients.

    Parameters
    ----------
    inputs
        u, shape (..., B, D), of a batch and Z (..., H Q, L); differentiable in Z. D is L, where
        ``concatenates`` H L.
    closed_form
        Of a batch and Z, what ``inputs`` gives and the closed form of its :data:`Pull`, which share
        what both need. Without one autograd finds it.
    heads
        H: Z has the rows of H heads, one below the other; 0 if it has no such axis.
    concatenates
        Whether Y has rows of its own for each head.
    rest
        Whether u has a part along 1/sqrt(n) for the n tokens that no class holds or asks with. It's
        the first row of Y, and stands for the sum of their rows over sqrt(n).
    windows
        How many windows of positions it tells apart, if it does.
    name
        Its name, if it has one.
    """

    inputs: Callable[[Batch, Tensor], Tensor]
    closed_form: Callable[[Batch, Tensor], tuple[Tensor, Pull]] | None = None
    heads: int = 0
    concatenates: bool = False
    rest: bool = False
    windows: int = 0
    name: str = ""

    def log_alpha(self, batch: Batch, Y: Tensor, Z: Tensor) -> Tensor:
        """Return ln α, shape (..., B, O), differentiable: the forward pass."""
        return decode(self.inputs(batch, Z), Y, batch.multiplicity)

    def __call__(self, batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
        """Return the loss (...) and the ascent directions of J, dJ/dY in Y's shape and dJ/dZ in
        Z's.

        It is :func:`scansnap_core.engine.model.gradients` with u in place of f.
        """
        Y = Y.detach()
        samples = batch.weight.unsqueeze(-1)
        u, pull = self.read(batch, Z)
        found = decoded(u, batch.target, Y, batch.multiplicity)
        dY = (samples * u).mT @ (found.error / batch.multiplicity)
        loss = cross_entropy(found.log_alpha, batch.target, batch.weight)
        return Gradients(loss, dY, pull(samples * found.g))

    def read(self, batch: Batch, Z: Tensor) -> tuple[Tensor, Pull]:
        """Return u, shape (..., B, D), and its :data:`Pull`, which may be called once."""
        if self.closed_form is not None:
            return self.closed_form(batch, Z.detach())
        leaf = Z.detach().requires_grad_()
        u = self.inputs(batch, leaf)
        return u.detach(), lambda g: torch.autograd.grad(u, leaf, g)[0]


def plain(batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
    """Return the gradients of the paper's model, by Lemma 1 (Eqn 3)."""
    return gradients(batch.q, batch.query, batch.target, batch.weight, Y, Z, batch.multiplicity)


def plain_inputs(batch: Batch, Z: Tensor) -> Tensor:
    """Return f = LN(X^T b), which the paper's decoder reads, shape (..., B, L)."""
    return normalise(attend(batch.q, batch.query @ Z))


def at_infinite_length(
    classes: SequenceClasses, tokens: Ints, outputs: Outputs | None = None
) -> Batch:
    """Return every class once, with q = P(.|n) and the weight P(n): the expectation at T =
    infinity.

    The axis L stands for ``tokens``, as :func:`scansnap_core.engine.results.tokens_of` gives them,
    and O for ``outputs``, by default those from Y(0) = 0.
    """
    compact = classes.compact
    outputs = classes.outputs if outputs is None else outputs
    q = np.zeros((classes.num_classes, len(tokens)))
    q[:, np.searchsorted(tokens, compact.tokens)] = compact.probs
    query = np.eye(len(compact.queries))[compact.query_row]
    samples = q, query, outputs.targets, classes.frequencies
    axes = outputs.multiplicity, tokens, compact.queries, outputs.labels
    return Batch(*(torch.tensor(array, device="cpu") for array in samples + axes))


def ascent(model: Model, batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
    """Return the gradients of J under a model, by autograd if it gives predictions alone.

    A model that returns something else, or another shape, or uses a tensor of its own that requires
    a gradient, which nothing would move, is a :class:`BadInput`.
    """
    leaves = Y.detach().requires_grad_(), Z.detach().requires_grad_()
    found = model(batch, *leaves)
    runs: tuple[int, ...] = tuple(Y.shape[:-2])
    returned: object = (
        "a tensor that depends on neither Y nor Z"
        if isinstance(found, Tensor)
        else type(found).__name__
    )
    expected: object = "differentiable log-probabilities, or Gradients"
    if isinstance(found, Gradients):
        returned = [tuple(part.shape) for part in found]
        expected = [runs, tuple(Y.shape), tuple(Z.shape)]
    elif isinstance(found, Tensor) and found.requires_grad:
        returned = tuple(found.shape)
        expected = (*runs, *batch.target.shape[-2:])
    if returned != expected:
        remedy = "see scansnap_core.engine.variants.Batch for the shapes"
        raise BadInput(
            f"model {name_of(model)} returns {returned}", f"here it returns {expected}", remedy
        )
    if isinstance(found, Gradients):
        return Gradients(*(part.detach() for part in found))
    if getattr(model(batch, Y.detach(), Z.detach()), "requires_grad", False):
        raise BadInput(
            f"model {name_of(model)} with a tensor of its own that requires a gradient",
            "training moves Y and Z alone, so another parameter would never learn",
            "hold the tensor fixed with .detach(), or make it part of Y or Z",
        )
    J = -cross_entropy(found, batch.target, batch.weight)
    parts = torch.autograd.grad(J.sum(), leaves, allow_unused=True)
    # Autograd gives None for what the loss doesn't depend on.
    dY, dZ = [
        torch.zeros_like(leaf) if part is None else part
        for part, leaf in zip(parts, leaves, strict=True)
    ]
    # The gradient per output: divide by the number of outputs that share the column, so that each
    # of them moves as one output does.
    return Gradients(-J.detach(), dY / batch.multiplicity, dZ)


# -- Variants with a name: what decoders read, and what pulls back through it ----------------------


def residual(batch: Batch, Z: Tensor) -> tuple[Tensor, Pull]:
    """Return ū = LN(f + x_T) with f = LN(X^T b), shape (..., B, L), and its pull.

    The pull of one sample is f∘P^⊥_f P^⊥_ū g/‖f + x_T‖: the factor of the second normalisation,
    then Lemma 1's factor f∘P^⊥_f.
    """
    f = plain_inputs(batch, Z)
    x_T = batch.query @ (batch.queries[:, None] == batch.tokens).to(batch.query.dtype)
    u, length = _normalised(f + x_T)
    return u, lambda g: batch.query.mT @ (f * across(f, across(u, g) / length))


def layernorm(batch: Batch, Z: Tensor) -> tuple[Tensor, Pull]:
    """Return LN(c - 1/M) with c = X^T b, whose mean over the M tokens is 1/M, shape (..., B, L),
    and its pull.

    Back from one sample comes (diag c - cc^T) P^⊥_u g/‖c - 1/M‖.
    """
    c = attend(batch.q, batch.query @ Z)
    u, length = _normalised(_centred(batch, c))
    return u, lambda g: batch.query.mT @ _through(c, across(u, g) / length)


def heads(batch: Batch, Z: Tensor, *, num_heads: int, concatenates: bool) -> tuple[Tensor, Pull]:
    """Return u, what the decoder reads, and its pull, which takes the gradient at u to that at Z.

    Head h attends by its own logits, the rows h Q to (h+1) Q of Z, shape (..., H Q, L), and sees
    c_h = X^T b_h. The decoder reads LN of them, concatenated (..., B, H L) or summed (..., B, L).

    The gradient g at u, of a sample, goes back through LN first: w = (I - u u^T) g / length. Each
    head gets its own L entries of w if heads are concatenated, and all of w if they are summed.
    Then it goes through the head's softmax: (diag c_h - c_h c_h^T) w_h. The samples with a query
    are summed into its row of Z.
    """
    # One more axis, for the heads: (..., H, B, L).
    c = attend(batch.q.unsqueeze(-3), batch.query.unsqueeze(-3) @ Z.unflatten(-2, (num_heads, -1)))
    u, length = _normalised(c.movedim(-3, -2).flatten(-2) if concatenates else c.sum(dim=-3))

    def pull(g: Tensor) -> Tensor:
        w = across(u, g) / length
        w = w.unflatten(-1, (num_heads, -1)).movedim(-2, -3) if concatenates else w.unsqueeze(-3)
        return (batch.query.mT.unsqueeze(-3) @ _through(c, w)).flatten(-3, -2)

    return u, pull


def positions(batch: Batch, Z: Tensor, *, windows: int) -> tuple[Tensor, Pull]:
    """Return LN of attention summed over windows, shape (..., B, L), and its pull.

    Row l of Y and column l of Z stand for a token in one window; a token that n windows hold has n
    equal rows of Y.

    The pull is how z_l + b_w moves if both parts learn: the pull on token l in any window, plus the
    pull on any token in window w.
    """
    c = attend(batch.q, batch.query @ Z)
    alike = _alike(batch, windows)
    # c @ pooled is attention on a token in any of its n windows, over sqrt(n) in each of the
    # token's rows. Shape (L, L).
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
    """Return LN(v) and ‖v‖_2."""
    length = torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    return v / length, length


def _through(c: Tensor, w: Tensor) -> Tensor:
    """Return (diag c - cc^T) w over the last axis: w pulled back through c's softmax."""
    return c * (w - (c * w).sum(dim=-1, keepdim=True))


def _centred(batch: Batch, c: Tensor) -> Tensor:
    """Return c - 1/M over all M tokens, for attention c of shape (..., B, L).

    The first of the L entries stands for the M - L + 1 tokens that no class holds or asks with.
    They have no attention, and 1/M each: sqrt(M - L + 1)/M along the unit vector of their
    direction.
    """
    # M stays a tensor: as a number it would have to be fetched from the device, and every step
    # would wait for it.
    M = batch.multiplicity.sum()
    mean = torch.ones_like(c[..., :1, :]) / M
    mean[..., 0] = torch.sqrt(M - (c.shape[-1] - 1)) / M
    return c - mean


def _alike(batch: Batch, windows: int) -> tuple[Tensor, Tensor]:
    """Return two matrices (L, L): 1 where two rows of Y stand for the same token, and for the
    same window, else 0.

    Row w M/W + l stands for token l in window w, of W windows.
    """
    # It stays a tensor, as in `_centred`.
    size = batch.multiplicity.sum().round().to(batch.tokens.dtype) // windows
    token = batch.tokens % size
    window = batch.tokens // size
    token_alike = (token[:, None] == token).to(batch.q.dtype)
    window_alike = (window[:, None] == window).to(batch.q.dtype)
    return token_alike, window_alike


def _named(
    name: str, closed_form: Callable[[Batch, Tensor], tuple[Tensor, Pull]], **described: Any
) -> Variant:
    return Variant(lambda batch, Z: closed_form(batch, Z)[0], closed_form, name=name, **described)


def _heads(name: str, number: int, *, concatenates: bool) -> Variant:
    closed_form = partial(heads, num_heads=number, concatenates=concatenates)
    return _named(name, closed_form, heads=number, concatenates=concatenates)


VARIANTS = {
    "residual": _named("residual", residual),
    "layernorm": _named("layernorm", layernorm, rest=True),
}
NUMBERED: dict[str, Callable[[str, int], Variant]] = {
    "heads": partial(_heads, concatenates=True),
    "summed heads": partial(_heads, concatenates=False),
    "positions": lambda name, number: _named(
        name, partial(positions, windows=number), windows=number
    ),
}


def variant_of(model: object) -> Variant | None:
    """Return the variant with a name, or the one given; None for the paper's model and for other
    functions.

    A name that is close to a variant's and isn't one, such as "heads 0", is a :class:`BadInput`.

    Examples
    --------
    >>> variant_of("heads  04").name
    'heads 4'
    """
    if isinstance(model, Variant):
        return model
    words = " ".join(model.split()) if isinstance(model, str) else ""
    kind, number = re.fullmatch(r"(.*?) ?([0-9]*)", words).groups()  # type: ignore[union-attr]
    if kind not in NUMBERED:
        return VARIANTS.get(words)
    if not number or not 1 <= int(number[:9]) <= MOST:  # a few digits are enough to be too many
        parts = "windows" if kind == "positions" else "heads"
        rule = f"there are 1 to {MOST} {parts}, and the name says how many"
        raise BadInput(f"model = {shown(model)}", rule, f"write e.g. '{kind} 4'")
    return NUMBERED[kind](f"{kind} {int(number)}", int(number))
