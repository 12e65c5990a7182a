"""The two paths of attention on which no learning rate is left: that of the law (10), and that of update (26)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.theory import decoder, spectrum
from scansnap_core.theory.decoder import Expectation


def integrate(rhs: Callable[[float, Floats], Floats], start: Floats, at: Floats, first_step: float) -> Floats:
    """The states of an autonomous system at ascending values of its clock, shape (values, state).

    ``first_step`` is needed because over a span of decades LSODA's own first step would be far too long.
    """
    found = solve_ivp(rhs, (0, at[-1]), start, method="LSODA", rtol=1e-10, atol=1e-15, first_step=first_step, t_eval=at)
    return np.asarray(found.y.T)


def of_the_law(classes: SequenceClasses, gammas: Floats, vocab_size: float = math.inf) -> Floats:
    """Z along the path of the law (10), dz/dGamma = Phi(z) from z = 0.

    Parameters
    ----------
    gammas : array, shape (values,)
        Ascending positive values of the clock Gamma (125).
    vocab_size
        M of beta, Theorem 1's multipliers. At infinity they are E', as in the paper.

    Returns
    -------
    array, shape (values, Q * L)
        All queries' rows, one after another.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> of_the_law(ss.with_overlap(2, 1000, 0.3, distinct_weights=[1]), np.array([1.0])).round(3)
    array([[-0.111,  0.055,  0.055]])
    """
    here, shape = Expectation(classes), (len(classes.compact.queries), len(classes.compact.tokens))

    def rhs(_: float, row: Floats) -> Floats:
        F = here.f(row.reshape(shape))
        return here.per_query(spectrum.force(F, spectrum.beta(spectrum.E(F), vocab_size))).ravel()

    return integrate(rhs, np.zeros(shape[0] * shape[1]), gammas, first_step=min(gammas[0], 1) / 1000)


def of_memory(classes: SequenceClasses, sigmas: Floats) -> Floats:
    """Z along the path of memory: update (26) with (4) if all errors keep their directions and shrink alike.

    With the errors zeta_n the decoder is Y = sum_n D_n zeta_n^T, and dz/dsigma = Psi(z) D, dD_n/dsigma = d_n(z), where
    the d_n are the columns of F (I - E').

    Parameters
    ----------
    sigmas : array, shape (values,)
        Ascending positive values of the clock sigma; Gamma = sigma^2 / 2.

    Returns
    -------
    array, shape (values, Q * L)
        All queries' rows, one after another.

    Examples
    --------
    At the start both paths leave along one tangent.

    >>> import scansnap_core as ss
    >>> classes, small = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1]), np.array([1e-6])
    >>> ratio = of_memory(classes, np.sqrt(2 * small)) / of_the_law(classes, small, 1000)
    >>> bool(np.allclose(ratio, 1, atol=1e-3))
    True
    """
    here, shape = Expectation(classes), (len(classes.compact.queries), len(classes.compact.tokens))
    K, M, size = classes.num_classes, classes.vocab_size, shape[0] * shape[1]
    gram = M / (M - 1) * decoder.zeta(K, M)[:, :K]  # zeta_n^T zeta_n', as each zeta_n adds up to 0

    def rhs(_: float, state: Floats) -> Floats:
        F = here.f(state[:size].reshape(shape))
        g = gram @ state[size:].reshape(F.shape)
        moved = here.per_query(F * (g - F * (F * g).sum(axis=1, keepdims=True)))
        return np.concatenate([moved.ravel(), np.linalg.solve(F @ F.T, F).ravel()])

    start = np.zeros(size + classes.compact.probs.size)
    return integrate(rhs, start, sigmas, first_step=sigmas[0] / 1000)[:, :size]


def distance(points: Floats, line: Floats) -> float:
    """The largest distance of points (P, D) from a polyline (V, D), each relative to the point's length.

    Points at 0, and points farther out than the line's end, are left out.

    Examples
    --------
    >>> distance(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [10.0, 0.0]]))
    0.8
    """
    start, step = line[:-1], np.diff(line, axis=0)
    worst = 0.0
    for point, length in zip(points, np.linalg.norm(points, axis=1), strict=True):
        if 0 < length <= np.linalg.norm(line[-1]):
            along = np.clip(((point - start) * step).sum(axis=1) / (step**2).sum(axis=1), 0, 1)
            worst = max(worst, np.linalg.norm(point - start - along[:, None] * step, axis=1).min() / length)
    return float(worst)
