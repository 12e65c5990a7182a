"""A finite sequence length adds terms in 1/(T - 1) to means over sampled frequencies q; here are
the leading ones.

T - 1 independent contextual tokens have q = P on average and the covariance (diag P - P P^T)/(T -
1). Every function here gives the *coefficient* of 1/(T - 1). The expansion needs (T - 1) P(l|n) >>
1 for each token of the class that has attention; tokens with P = 0 never occur and drop out. Torch
tensors with any leading dimensions.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scansnap_core.base.rules import SEQ_LEN, takes
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.engine import model, variants
from scansnap_core.engine.surroundings import undisturbed
from scansnap_core.theory.flows import TrueFlow


def _over(values: Tensor, probs: Tensor) -> Tensor:
    """Divide values by P, with 0 where P = 0."""
    present = probs > 0
    # The 0 of an absent token may be divided by any positive number.
    return torch.where(present, values, 0.0) / torch.where(present, probs, 1.0)


def dispersion(probs: Tensor, c: Tensor) -> Tensor:
    """Compute sum_l c_l^2/P(l|n), shape (...): T - 1 positions tell c as well as (T - 1)/dispersion
    tell P.

    It is 1 at z = 0, and at most 1/min P and cosh^2(s/2) with s the spread of z over the support.
    P(l|n) and the attention c of Eqn 5 have shape (..., L).
    """
    return _over(c**2, probs).sum(dim=-1)


def bias_c(probs: Tensor, c: Tensor) -> Tensor:
    """Compute (T - 1)(E[X^T b] - c), (..., L); arguments as in :func:`dispersion`. Zero at z =
    0, where X^T b = q.
    """
    return c * (dispersion(probs, c).unsqueeze(-1) - _over(c, probs))


def bias_f(probs: Tensor, f: Tensor) -> Tensor:
    """Compute (T - 1)(E[LN(X^T b)] - f), shape (..., L), for the l2-normalised f of shape (...,
    L).
    """
    second = _over(f**2, probs).sum(dim=-1, keepdim=True)
    fourth = _over(f**4, probs).sum(dim=-1, keepdim=True)
    return f * (1.5 * fourth - 0.5 * second - _over(f**2, probs))


def covariance_f(probs: Tensor, f: Tensor) -> Tensor:
    """Compute (T - 1) times the covariance matrix of LN(X^T b), to leading order.

    To first order f moves by (I - f f^T) diag(f/P) (q - P), where q has the covariance (diag P - P
    P^T)/(T - 1). Its second term drops out, because diag(f/P) P = f. What is left, (I - f f^T)
    diag(f^2/P) (I - f f^T), is multiplied out here.

    ``probs`` and ``f`` have the shape (..., L), and the result (..., L, L).
    """
    weighed = _over(f**2, probs)
    fourth = _over(f**4, probs).sum(dim=-1)[..., None, None]
    pairs = (
        f.unsqueeze(-1) * f.unsqueeze(-2) * (fourth - weighed.unsqueeze(-1) - weighed.unsqueeze(-2))
    )
    return pairs + torch.diag_embed(weighed)


def gain(
    probs: Tensor, f: Tensor, target: Tensor, Y: Tensor, multiplicity: Tensor | None = None
) -> Tensor:
    """Compute (T - 1)(E[J] - J at q = P) of each class, shape (..., B): g^T bias_f less half the
    logits' variance under alpha.

    P and f have shape (..., B, L), B classes; the others are as in
    :func:`scansnap_core.engine.model.gradients`.
    """
    alpha = model.decode(f, Y, multiplicity).exp()
    shift = (bias_f(probs, f) * ((target - alpha) @ Y.mT)).sum(dim=-1)
    logits = Y.mT @ covariance_f(probs, f) @ Y
    own = (alpha * torch.diagonal(logits, dim1=-2, dim2=-1)).sum(dim=-1)
    mean = torch.einsum("...o,...op,...p->...", alpha, logits, alpha)
    return shift - 0.5 * (own - mean)


class FiniteLengthFlow(TrueFlow):
    """The gradient flow of the expected objective at finite T, to the order 1/(T - 1).

    State and clock as in :class:`~scansnap_core.theory.flows.TrueFlow`, which it is at T =
    infinity; B takes xi at q = P. T is ``seq_len``, the query included: at least 2, or ``inf``.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> flow = ss.FiniteLengthFlow(classes, lr_y=1, lr_z=0.1, seq_len=10_000)
    >>> ss.solve(flow, [100]).Z.values.ravel().round(4)
    array([-0.0158,  0.0021,  0.0058,  0.0021,  0.0058])
    """

    name = "true flow at finite T"

    @takes(seq_len=SEQ_LEN)
    def __init__(
        self, classes: SequenceClasses, lr_y: float, lr_z: float, *, seq_len: float
    ) -> None:
        super().__init__(classes, lr_y, lr_z)
        self._share = 0.0 if math.isinf(seq_len) else 1 / (seq_len - 1)

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt of a packed state; it doesn't depend on t."""
        change = super().rhs(t, state)
        if self._share:
            dY, dZ = self.unpack(change)[:2]
            more_Y, more_Z = self.added(*self.unpack(state)[:2])
            dY += self._share * self.lr_y * more_Y
            dZ += self._share * self.lr_z * more_Z
        return change

    @undisturbed()
    def added(self, Y: Floats, Z: Floats) -> tuple[Floats, Floats]:
        """Differentiate the classes' mean ``gain``, by P(n): in Y (L, O), one of the equal
        columns, and Z (Q, L).
        """
        batch = self._batch
        leaves = [torch.tensor(part, device="cpu", requires_grad=True) for part in (Y, Z)]
        f = variants.plain_inputs(batch, leaves[1])
        mean = (batch.weight * gain(batch.q, f, batch.target, leaves[0], batch.multiplicity)).sum()
        dY, dZ = torch.autograd.grad(mean, leaves)
        return (dY / batch.multiplicity).numpy(), dZ.numpy()
