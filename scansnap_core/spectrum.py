"""The linear algebra of weak correlations: F, E and E' (Assumption 2, App. D.1, Lemma 14)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scansnap_core.formulas import P, f, z_m
from scansnap_core.numeric import numeric

Floats = NDArray[np.float64]

_f = numeric(f, (P, z_m))


def F(probs: Floats, z: Floats) -> Floats:
    """The decoder's inputs F = [f_1..f_K] as rows, shape (K, L) (the paper's F is the transpose).

    Parameters
    ----------
    probs, z
        P(l|n) and the attention logits z_{psi(n)} that class n sees, both of shape (K, L). Tokens with P = 0 get no
        attention, whatever their z.
    """
    return np.asarray(_f(probs, np.where(probs > 0, z, -np.inf)))


def E(F: Floats) -> Floats:
    """E = F^T F - I for F as rows: the overlaps f_n^T f_n' off a zero diagonal (‖f_n‖ = 1), shape (K, K)."""
    overlaps = F @ F.T
    np.fill_diagonal(overlaps, 0.0)
    return np.asarray(overlaps)


def E_prime(E: Floats) -> Floats:
    """E' = I - (I + E)^{-1}, shape (K, K), so that (I + E)^{-1} = I - E' (Lemma 14).

    App. D.1 defines E' with the opposite sign; Eqn 28, Lemmas 14-17 and Theorems 1 and 5 need this one.
    """
    # the same as (I + E)^{-1} E, which keeps its relative precision however small the overlaps get
    return np.asarray(np.linalg.solve(np.eye(len(E)) + E, E), dtype=np.float64)


def projection(F: Floats, g: Floats) -> Floats:
    """The coefficients a of g ~ sum_n' a_n' f_n' (least squares), for every row of g: shape (..., K).

    With Eqn 9, g = gamma (iota_n f_n - sum beta_nn' f_n'), so a_n = gamma iota_n and a_n' = -gamma beta_nn'.
    """
    return np.asarray(g @ np.linalg.pinv(F))
