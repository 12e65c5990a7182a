"""The linear algebra of weak correlations: F, E, E' and what they make attention do.

Assumption 2, App. D.1, Lemma 14; beta of Theorem 1 and the sum over n' of Eqn 97. Leading axes
("...") batch over systems.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from scansnap_core.base.bad_input import BadInput
from scansnap_core.data.sequences import Floats
from scansnap_core.theory import formulas
from scansnap_core.theory.functions import function_of

LARGEST_E_PRIME = 1 / np.finfo(np.float64).eps
"""At about this condition number of I + E nothing of E' is left but rounding."""
SMALLEST = 1e-15
"""A singular value below this share of the largest counts as zero."""

_f = function_of(formulas.f, (formulas.P, formulas.z_m))
_inverse = sp.Symbol("1/(M-1)", nonnegative=True)  # in which M may be infinite
_q_0 = sp.factor(formulas.q_0.subs(formulas.M, 1 + 1 / _inverse))
_q_1 = sp.factor(formulas.q_1.subs(formulas.M, 1 + 1 / _inverse))
_exact_counts = {formulas.sigma: 0, formulas.theta: 0, formulas.theta_other: 0}
_beta = function_of(
    formulas.beta.subs({**_exact_counts, formulas.q_0_: _q_0, formulas.q_1_: _q_1}),
    (formulas.Ep_other, formulas.Ep_rest, _inverse),
)


def F(probs: Floats, z: Floats | None = None) -> Floats:
    """Compute the decoder's inputs F = [f_1..f_K] as rows, shape (..., L) (the paper's F is the
    transpose).

    f_n = LN(P(.|n)∘e^z), with the attention logits z = z_{psi(n)} that class n sees, which
    broadcast with P; without them those at the start, z = 0. Tokens with P = 0 get no attention,
    whatever their z.

    Examples
    --------
    >>> F(np.array([[0.6, 0.8, 0.0]]), np.array([[0.0, np.log(2), 9.0]])).round(3)
    array([[0.351, 0.936, 0.   ]])
    """
    logits = 0.0 if z is None else z
    return np.asarray(_f(probs, np.where(probs > 0, logits, -np.inf)))


def E(F: Floats) -> Floats:
    """Compute E = F^T F - I for F as rows: the overlaps f_n^T f_n' off a zero diagonal (‖f_n‖ = 1),
    shape (..., K, K).
    """
    return _off_diagonal(F @ np.swapaxes(F, -1, -2))


def E_prime(E: Floats) -> Floats:
    """Compute E' = I - (I + E)^{-1}, shape (..., K, K), so that (I + E)^{-1} = I - E' (Lemma 14).

    App. D.1 defines E' with the opposite sign; Eqn 28, Lemmas 14-17 and Theorems 1 and 5 need this
    one. Where I + E is singular, or so close to it that E' has no digit that is right, E is
    refused.
    """
    # The same as (I + E)^{-1} E, which keeps its relative precision however small the overlaps get.
    try:
        found = np.asarray(np.linalg.solve(np.eye(E.shape[-1]) + E, E), dtype=np.float64)
        if (np.abs(found) > LARGEST_E_PRIME).any():
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        rule = "(I + E)^-1 needs classes whose f_n are linearly independent"
        raise BadInput("E with I + E singular", rule, "merge classes that are alike") from None
    return found


def projection(F: Floats, g: Floats) -> Floats:
    """Compute the coefficients a of g ~ sum_n' a_n' f_n' (least squares), for every row of g: shape
    (..., K).

    With Eqn 9, g = gamma (iota_n f_n - sum beta_nn' f_n'), so a_n = gamma iota_n and a_n' = -gamma
    beta_nn'.
    """
    # Both ways give the same coefficients. The first takes a fifth of the pseudo-inverse's time,
    # and a flow asks at every step.
    if np.ndim(F) == np.ndim(g) == 2:
        return np.asarray(np.linalg.lstsq(F.T, g.T, rcond=SMALLEST)[0].T)
    return np.asarray(g @ np.linalg.pinv(F, rcond=SMALLEST))


def xi(F: Floats, g: Floats) -> Floats:
    """Compute xi_n = sum_{n'≠n} gamma beta_nn' f_n^T f_n' (Theorem 1a), with beta read off g by
    :func:`projection`; shape (..., K).

    f_n and g_n are rows, of shape (..., K, L).
    """
    # f_n^T g_n is gamma iota_n less xi_n, since f_n has the length 1.
    own = np.diagonal(projection(F, g), axis1=-2, axis2=-1)
    return np.asarray(own - (F * g).sum(axis=-1))


def beta(E: Floats, vocab_size: float) -> Floats:
    """Compute beta_nn' of Theorem 1 without its statistical terms (sigma = theta = 0), with a zero
    diagonal, shape (..., K, K).

    Eqn 88 with the sign of its first q_0 term put right. It tends to E'_n'n as M, which may be
    infinite, grows.
    """
    Ep = E_prime(E)
    # The sum over k≠n of E'_kn', at (n, n'): a whole column less one entry, as Ep is symmetric.
    rest = Ep.sum(axis=-2, keepdims=True) - Ep
    return _off_diagonal(_beta(Ep, rest, 1 / (vocab_size - 1)))


def force(F: Floats, beta: Floats) -> Floats:
    """Compute class n's term of Eqn 97, f_nl sum_{n'≠n} beta_nn' [(f_n^T f_n') f_nl - f_n'l]; shape
    (..., K, L).

    z'_ml is eta_Z gamma times its sum over the classes with query m. F holds f_n as rows, shape
    (..., K, L); beta (..., K, K) has a zero diagonal.
    """
    pull = (beta * E(F)).sum(axis=-1, keepdims=True)
    return np.asarray(F * (pull * F - beta @ F))


def _off_diagonal(matrix: Floats) -> Floats:
    """Copy matrices (..., K, K) with zeros on their diagonals."""
    result = np.array(matrix, dtype=np.float64)
    diagonal = np.arange(result.shape[-1])
    result[..., diagonal, diagonal] = 0.0
    return result
