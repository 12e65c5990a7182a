"""Models of one's own: a function from a batch and (Y, Z) to predictions, or to the gradients too.

:func:`plain` is the paper's model and the default. A variant gives ln α alone, and autograd does the rest, or
:class:`~scansnap_core.engine.model.Gradients`. The parts of :mod:`scansnap_core.engine.model` are there to build on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from scansnap_core.bad_input import BadInput
from scansnap_core.engine.extensions import name_of
from scansnap_core.engine.model import Gradients, gradients


class Batch(NamedTuple):
    """What a model sees of a batch. Leading dimensions "..." are runs; they broadcast with those of Y and Z.

    Axes: B samples, L tokens, Q query tokens, O outputs; in the paper L = Q = O = M.
    """

    q: Tensor
    """Token frequencies without the query, shape (..., B, L)."""
    query: Tensor
    """x_T as one-hot rows, shape (..., B, Q)."""
    target: Tensor
    """x_{T+1} as one-hot rows, shape (..., B, O)."""
    weight: Tensor
    """Of each sample, shape (..., B): 1/B, or P(n) in the expectation over classes."""
    multiplicity: Tensor
    """How many equal outputs each column of Y stands for, shape (O,)."""
    tokens: Tensor
    """The tokens that rows of Y and columns of Z stand for, shape (L,): contextual ones and query tokens, ascending."""
    queries: Tensor
    """The tokens that rows of Z stand for, shape (Q,)."""
    outputs: Tensor
    """The tokens that columns of Y stand for, shape (O,); -1 for all that are no next token."""


Model = Callable[[Batch, Tensor, Tensor], Tensor | Gradients]
"""Takes a batch, Y (..., L, O) and Z (..., Q, L); returns ln α (..., B, O), differentiable, or the gradients."""


def plain(batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
    """The paper's model with Lemma 1's gradients in closed form (Eqn 3)."""
    return gradients(batch.q, batch.query, batch.target, batch.weight, Y, Z, batch.multiplicity)


def ascent(model: Model, batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
    """The gradients of J under a model, by autograd if it gives predictions alone.

    Raises
    ------
    BadInput
        It returns something else, or something of another shape.
    """
    leaves = Y.detach().requires_grad_(), Z.detach().requires_grad_()
    found = model(batch, *leaves)
    runs, samples = Y.shape[:-2], batch.target.shape[-2:]
    if isinstance(found, Gradients):
        expected = (runs, Y.shape, Z.shape)
        if tuple(part.shape for part in found) != expected:
            raise _wrong(model, [tuple(part.shape) for part in found], [tuple(shape) for shape in expected])
        return Gradients(*(part.detach() for part in found))
    if not isinstance(found, Tensor) or not found.requires_grad:
        kind = "a tensor that depends on neither Y nor Z" if isinstance(found, Tensor) else type(found).__name__
        raise _wrong(model, kind, "differentiable log-probabilities, or Gradients")
    if found.shape != (*runs, *samples):
        raise _wrong(model, tuple(found.shape), (*runs, *samples))
    J = (batch.weight * (batch.target * found).sum(dim=-1)).sum(dim=-1)
    parts = torch.autograd.grad(J.sum(), leaves, allow_unused=True)
    dY, dZ = (torch.zeros_like(leaf) if part is None else part for part, leaf in zip(parts, leaves, strict=True))
    # of one of the equal columns, so that they stay equal
    return Gradients(-J.detach(), dY / batch.multiplicity, dZ)


def _wrong(model: Model, found: object, expected: object) -> BadInput:
    return BadInput(
        value=f"model {name_of(model)} returns {found}",
        rule=f"here it returns {expected}",
        remedy="see scansnap_core.engine.variants.Batch for the shapes",
    )
