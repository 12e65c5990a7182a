"""The 1-layer transformer in (Y, Z), with Lemma 1's gradients in closed form.

All functions work on torch tensors with any leading dimensions ("..."), which batch over runs, and
know nothing of class systems. Axes: B samples, L tokens (rows of Y, columns of Z), Q query tokens
(rows of Z), O outputs (columns of Y). In the paper L = Q = O = M; rows and columns that can't move
may be left out, and outputs that are equal may be one column with a multiplicity (see
``multiplicity`` below).

Notation: ``q`` is the sequence as token frequencies, so that the paper's X^T b_T is ``attend(q,
z)`` with z = Z^T x_T; ``f`` is LN(X^T b_T); ``query`` and ``target`` hold x_T and x_{T+1} as
one-hot rows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Gradients(NamedTuple):
    """A batch gives the loss -J (shape ...), dJ/dY (..., L, O) and dJ/dZ (..., Q, L)."""

    loss: Tensor
    Y: Tensor
    Z: Tensor


class Decoded(NamedTuple):
    """The decoder turns its inputs u (..., B, D) into ln α, x_{T+1} - α (..., B, O) and g = Y
    (x_{T+1} - α).
    """

    u: Tensor
    log_alpha: Tensor
    error: Tensor
    g: Tensor


def attend(q: Tensor, z: Tensor) -> Tensor:
    """Return attention over tokens, c = q∘exp(z) / 1^T(q∘exp(z)): Eqn 1 in counts, and Eqn 5 with q
    = P(.|n).

    Parameters
    ----------
    q, z
        Token frequencies and attention logits, shape (..., L). Tokens with q = 0 get no attention,
        whatever their z.
    """
    absent = q <= 0
    top = z.masked_fill(absent, -torch.inf).amax(dim=-1, keepdim=True)
    # Absent tokens get exp(0), which their frequency 0 removes. exp(-inf) = 0 would do too, but
    # takes several times as long.
    weights = q * torch.exp((z - top).masked_fill(absent, 0.0))
    return weights / weights.sum(dim=-1, keepdim=True)


def normalise(c: Tensor) -> Tensor:
    """Return f = LN(c) = c/‖c‖_2, the paper's normalisation; shape (..., L)."""
    return c / torch.linalg.vector_norm(c, dim=-1, keepdim=True)


def decode(f: Tensor, Y: Tensor, multiplicity: Tensor | None = None) -> Tensor:
    """Return ln α, shape (..., B, O), with α = exp(Y^T f)/1^T exp(Y^T f) (Eqn 3).

    Parameters
    ----------
    multiplicity
        Shape (O,): how many equal outputs each column stands for; its α is their sum. Default: one
        each.
    """
    logits = f @ Y
    if multiplicity is not None:
        logits = logits + torch.log(multiplicity)
    return torch.log_softmax(logits, dim=-1)


def loss(
    q: Tensor,
    query: Tensor,
    target: Tensor,
    weight: Tensor,
    Y: Tensor,
    Z: Tensor,
    multiplicity: Tensor | None = None,
) -> Tensor:
    """Return -J of the paper's model in nats, shape (...), for autograd to differentiate.

    Arguments are those of :func:`gradients`, which must agree with its derivatives.
    """
    return cross_entropy(decode(normalise(attend(q, query @ Z)), Y, multiplicity), target, weight)


def gradients(
    q: Tensor,
    query: Tensor,
    target: Tensor,
    weight: Tensor,
    Y: Tensor,
    Z: Tensor,
    multiplicity: Tensor | None = None,
) -> Gradients:
    """Return Lemma 1 (Eqn 3) summed over a batch: the ascent directions of J for unit learning
    rates.

    Parameters
    ----------
    q
        Token frequencies, shape (..., B, L).
    query, target
        x_T and x_{T+1} as one-hot rows, shapes (..., B, Q) and (..., B, O).
    weight
        The weight of each sample, shape (..., B): 1/B for a batch mean, P(n) for the expectation
        over classes.
    Y, Z
        Shapes (..., L, O) and (..., Q, L).
    multiplicity
        As in :func:`decode`. The gradient is that of one of the equal columns, so they stay equal.
    """
    found = decoded(normalise(attend(q, query @ Z)), target, Y, multiplicity)
    return Gradients(
        cross_entropy(found.log_alpha, target, weight),
        *directions(found, query, weight, multiplicity),
    )


def decoded(u: Tensor, target: Tensor, Y: Tensor, multiplicity: Tensor | None = None) -> Decoded:
    """Make the forward pass from the decoder's inputs u (..., B, D) on; the rest is as in
    :func:`gradients`.
    """
    log_alpha = decode(u, Y, multiplicity)
    error = target - log_alpha.exp()
    return Decoded(u, log_alpha, error, error @ Y.mT)


def cross_entropy(log_alpha: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Return -J of Eqn 2 and 15, summed over samples with ``weight``; shape (...)."""
    return -(weight * (target * log_alpha).sum(dim=-1)).sum(dim=-1)


def directions(
    found: Decoded, query: Tensor, weight: Tensor, multiplicity: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return dJ/dY (..., L, O) and dJ/dZ (..., Q, L) of :func:`gradients`, from a forward pass
    whose inputs are f.
    """
    f = found.u
    g = found.g
    samples = weight.unsqueeze(-1)
    # diag(c) P^⊥_f g / ‖c‖_2 = f∘(g - f f^T g): Eqn 4, since X^T diag(b) X = diag(c) and f =
    # c/‖c‖_2
    dz = f * (g - f * (f * g).sum(dim=-1, keepdim=True))
    per_column = found.error if multiplicity is None else found.error / multiplicity
    return (samples * f).mT @ per_column, (samples * query).mT @ dz
