"""Models beside the paper's are given by what their decoder reads (:class:`Variant`), or as any function.

:func:`plain` is the paper's model and the default. :mod:`scansnap_core.engine.architectures` has variants with a name.
A function gives ln α alone, and autograd does the rest, or :class:`~scansnap_core.engine.model.Gradients`. The parts of
:mod:`scansnap_core.engine.model` are there to build on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from scansnap_core.bad_input import BadInput
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
    """The weight of each sample, shape (..., B): 1/B, or P(n) in the expectation over classes."""
    multiplicity: Tensor
    """How many equal outputs each column of Y stands for, shape (O,)."""
    tokens: Tensor
    """The tokens that rows of Y and columns of Z stand for, shape (L,): contextual ones and query tokens, ascending.
    Before them -1, for all other tokens together, where a variant reads these (``rest``)."""
    queries: Tensor
    """The tokens that rows of Z stand for, shape (Q,)."""
    outputs: Tensor
    """The tokens that columns of Y stand for, shape (O,); -1 for all that are no next token."""


Model = Callable[[Batch, Tensor, Tensor], Tensor | Gradients]
"""Takes a batch, Y (..., L, O) and Z (..., Q, L); returns ln α (..., B, O), differentiable, or the gradients."""


Pull = Callable[[Tensor], Tensor]
"""Takes g (..., B, D) to the sum over samples of (du/dZ)^T g, shape (..., H Q, L)."""


@dataclass(frozen=True)
class Variant:
    """A model by what its decoder reads: ln α = log softmax(Y^T u) with u a function of the batch and of Z.

    So dJ/dY is u (x_{T+1} - α)^T in every variant, as in Eqn 3, and dJ/dZ is g = Y (x_{T+1} - α) pulled back through
    u. It's a model like any other: called with a batch, Y and Z it gives the gradients.

    Parameters
    ----------
    inputs
        u, shape (..., B, D), of a batch and Z (..., H Q, L); differentiable in Z. D is L, where ``concatenates`` H L.
    closed_form
        Of a batch and Z, what ``inputs`` gives and the closed form of its :data:`Pull`, which share what both need.
        Without one autograd finds it.
    heads
        H: Z has the rows of H heads, one below the other; 0 if it has no such axis.
    concatenates
        Whether Y has rows of its own for each head.
    rest
        Whether u has a part along 1/sqrt(n) for the n tokens that no class holds or asks with. It's the first row of Y,
        and stands for the sum of their rows over sqrt(n).
    """

    inputs: Callable[[Batch, Tensor], Tensor]
    closed_form: Callable[[Batch, Tensor], tuple[Tensor, Pull]] | None = None
    heads: int = 0
    concatenates: bool = False
    rest: bool = False

    def log_alpha(self, batch: Batch, Y: Tensor, Z: Tensor) -> Tensor:
        """Return ln α, shape (..., B, O), differentiable: the forward pass."""
        return decode(self.inputs(batch, Z), Y, batch.multiplicity)

    def __call__(self, batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
        """Return the loss and the ascent directions of J, as :func:`scansnap_core.engine.model.gradients` does."""
        Y, samples = Y.detach(), batch.weight.unsqueeze(-1)
        u, pull = self.read(batch, Z)
        found = decoded(u, batch.target, Y, batch.multiplicity)
        dY = (samples * u).mT @ (found.error / batch.multiplicity)
        return Gradients(cross_entropy(found.log_alpha, batch.target, batch.weight), dY, pull(samples * found.g))

    def read(self, batch: Batch, Z: Tensor) -> tuple[Tensor, Pull]:
        """Return u, shape (..., B, D), and a function that pulls back through it, once, from one forward pass."""
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


def at_infinite_length(classes: SequenceClasses, tokens: Ints) -> Batch:
    """Return every class once, with q = P(.|n) and the weight P(n): the expectation at T = infinity.

    Parameters
    ----------
    tokens
        What the axis L stands for, as :func:`scansnap_core.engine.results.tokens_of` gives it.
    """
    compact, outputs, K = classes.compact, classes.outputs, classes.num_classes
    q = np.zeros((K, len(tokens)))
    q[:, np.searchsorted(tokens, compact.tokens)] = compact.probs
    return Batch(
        q=torch.from_numpy(q),
        query=torch.eye(len(compact.queries), dtype=torch.float64)[torch.tensor(compact.query_row)],
        target=torch.from_numpy(outputs.targets),
        weight=torch.tensor(classes.frequencies),
        multiplicity=torch.tensor(outputs.multiplicity),
        tokens=torch.tensor(tokens),
        queries=torch.tensor(compact.queries),
        outputs=torch.tensor(outputs.labels),
    )


def ascent(model: Model, batch: Batch, Y: Tensor, Z: Tensor) -> Gradients:
    """Return the gradients of J under a model, by autograd if it gives predictions alone.

    Raises
    ------
    BadInput
        It returns something else, or something of another shape; or it uses a tensor of its own that requires a
        gradient, which nothing would move.
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
    if _others_that_learn(found, leaves):
        raise BadInput(
            value=f"model {name_of(model)} with a tensor of its own that requires a gradient",
            rule="training moves Y and Z alone, so another parameter would never learn",
            remedy="hold the tensor fixed with .detach(), or make it part of Y or Z",
        )
    J = -cross_entropy(found, batch.target, batch.weight)
    parts = torch.autograd.grad(J.sum(), leaves, allow_unused=True)
    dY, dZ = (torch.zeros_like(leaf) if part is None else part for part, leaf in zip(parts, leaves, strict=True))
    # of one of the equal columns, so that they stay equal
    return Gradients(-J.detach(), dY / batch.multiplicity, dZ)


def _others_that_learn(found: Tensor, leaves: tuple[Tensor, ...]) -> bool:
    """Tell whether autograd's graph of a result ends in leaves beside these."""
    waiting: list[Any] = [found.grad_fn]
    seen: set[Any] = {None}
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and not any(leaf is each for each in leaves):
            return True
        waiting += [following for following, _ in node.next_functions]
    return False


def _wrong(model: Model, found: object, expected: object) -> BadInput:
    return BadInput(
        value=f"model {name_of(model)} returns {found}",
        rule=f"here it returns {expected}",
        remedy="see scansnap_core.engine.variants.Batch for the shapes",
    )
