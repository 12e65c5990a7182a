"""The four dynamics side by side, and the two paths of attention on which no learning rate is left.

The dynamics are the law (10), update (26) with Eqn 4, the true gradient flow and SGD:
:func:`compare`. The paths are those of the law (10) and of update (26). Clock: steps of batch size
1. A batch mean moves Y and Z, in expectation, as far as one such step does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy
import xarray as xr

from scansnap_core.base.rules import checked_list, takes
from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses
from scansnap_core.theory import clocks, decoder, flows, spectrum
from scansnap_core.theory.solving import integrated, solve

FLOWS = (flows.IdealisedFlow, flows.ModifiedFlow, flows.TrueFlow)
MOMENTS = ("t_0'/2", "t_0'", "t_0", "4 t_0", "40 t_0")
"""Names of :func:`moments`: one while attention scans, the two ends of the transition, and two long
after it.
"""


@takes(classes=CLASSES)
def moments(classes: SequenceClasses, lr_y: float) -> list[int]:
    """Return t_0'/2, t_0', t_0, 4 t_0, 40 t_0 of classes that are equally frequent, rounded to
    whole steps of batch size 1.

    t_0' < t_0 are the two ends of Theorem 4's phase transition, which depend on eta_Y and not on
    eta_Z. So the moments lie before it, at its ends, and long after it.

    M must be 4 or more (see :func:`scansnap_core.theory.clocks.omega`).
    """
    classes.check_uniform("t_0' and t_0")
    t_0_prime, t_0 = clocks.transition(classes.num_classes, classes.vocab_size, lr_y)
    return [round(time) for time in (t_0_prime / 2, t_0_prime, t_0, 4 * t_0, 40 * t_0)]


def compare(
    classes: SequenceClasses,
    *,
    lr_y: float,
    lr_z: float,
    marks: Sequence[int],
    seeds: Iterable[int] = range(10),
    batch_size: int = 128,
    seq_lens: Sequence[float] = (math.inf, 128),
    optimizer: str = "sgd",
) -> xr.Dataset:
    """Compute attention logits at the same times under every dynamics, from Y(0) = Z(0) = 0.

    Parameters
    ----------
    marks
        Times, in steps of batch size 1 for the flows and in updates of ``batch_size`` for SGD.
    seeds, batch_size, seq_lens, optimizer
        Of SGD: one dynamics a sequence length T, as :func:`scansnap_core.engine.training.train`
        takes them.

    Returns
    -------
    xarray.Dataset
        ``Z`` (dynamics, t, query, token), for SGD the mean over seeds, and ``error``, its standard
        error (0 for the flows; NaN with one seed). ``B`` (dynamics, t, class) of Eqn 12, NaN for
        SGD.
    """
    from scansnap_core.engine.training import train  # brings torch, which the flows don't need

    marks = checked_list("marks", marks)
    seq_lens = checked_list("seq_lens", seq_lens)
    flow_of = {make.name: make(classes, lr_y, lr_z) for make in FLOWS}
    Z = []
    B = []
    error = []
    for flow in flow_of.values():
        path = solve(flow, marks)
        Z.append(path.Z.values)
        B.append(path.B.values)
        error.append(np.zeros_like(path.Z.values))
    training: dict[str, Any] = {
        "lr_y": lr_y,
        "lr_z": lr_z,
        "steps": marks[-1],
        "record": marks,
        "optimizer": optimizer,
    }
    for seq_len in seq_lens:
        run = train(classes, seeds=seeds, batch_size=batch_size, seq_len=seq_len, **training)
        runs = run.Z.squeeze("rate").transpose("seed", "recorded", "query", "token").values
        Z.append(runs.mean(axis=0))
        error.append(scipy.stats.sem(runs) if len(runs) > 1 else np.full_like(runs[0], np.nan))
        B.append(np.full((len(marks), classes.num_classes), np.nan))
    axes = ("dynamics", "t", "query", "token")
    return xr.Dataset(
        {
            "Z": (axes, np.stack(Z), {"units": "logits"}),
            "error": (axes, np.stack(error), {"units": "logits"}),
            "B": (("dynamics", "t", "class"), np.stack(B)),
        },
        coords={
            "dynamics": [*flow_of, *(f"SGD T={seq_len:g}" for seq_len in seq_lens)],
            "t": ("t", list(marks), {"units": "steps of batch size 1"}),
            **classes.coords,
        },
    )


def integrate(
    rhs: Callable[[float, Floats], Floats], start: Floats, at: Floats, first_step: float
) -> Floats:
    """Compute the states of an autonomous system at ascending values of its clock, from ``start``
    at 0: shape (values, state).

    ``first_step`` is needed because over a span of decades LSODA's own first step would be far too
    long.
    """
    how: dict[str, Any] = {
        "method": "LSODA",
        "rtol": 1e-10,
        "atol": 1e-15,
        "first_step": first_step,
    }
    return integrated(
        rhs, 0.0, at, start, failed="the path could be followed up to {:.3g}".format, **how
    )


def path_of_the_law(
    classes: SequenceClasses, gammas: Floats, vocab_size: float = math.inf
) -> Floats:
    """Compute Z along the path of the law (10), dz/dGamma = Phi(z) from z = 0: shape (values, Q *
    L), one row after another.

    Parameters
    ----------
    gammas : array, shape (values,)
        Ascending positive values of the clock Gamma (125).
    vocab_size
        M of beta, Theorem 1's multipliers. At infinity they are E', as in the paper.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1])
    >>> path_of_the_law(classes, np.array([1.0])).round(3)
    array([[-0.111,  0.055,  0.055]])
    """
    expectation = decoder.Expectation(classes)
    shape = (len(classes.compact.queries), len(classes.compact.tokens))

    def rhs(_: float, row: Floats) -> Floats:
        """Compute Phi(z), the sum over classes by query."""
        F = expectation.f(row.reshape(shape))
        return expectation.per_query(
            spectrum.force(F, spectrum.beta(spectrum.E(F), vocab_size))
        ).ravel()

    # Any first step that is short enough gives the same path.
    return integrate(
        rhs, np.zeros(shape[0] * shape[1]), gammas, first_step=min(gammas[0], 1) / 1000
    )


def path_of_memory(classes: SequenceClasses, sigmas: Floats) -> Floats:
    """Compute Z along the path of memory, shape (values, Q * L), one row after another.

    It is update (26) with (4) if all errors keep their directions and shrink alike. With the errors
    zeta_n the decoder is Y = sum_n D_n zeta_n^T, and dz/dsigma = Psi(z) D, dD_n/dsigma = d_n(z),
    where the d_n are the columns of F (I - E'). The clock sigma takes ascending positive values;
    Gamma = sigma^2 / 2.

    Examples
    --------
    At the start both paths leave along one tangent.

    >>> import scansnap_core as ss
    >>> classes, small = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1]), np.array([1e-6])
    >>> ratio = path_of_memory(classes, np.sqrt(2 * small)) / path_of_the_law(classes, small, 1000)
    >>> bool(np.allclose(ratio, 1, atol=1e-3))
    True
    """
    expectation = decoder.Expectation(classes)
    shape = (len(classes.compact.queries), len(classes.compact.tokens))
    K = classes.num_classes
    M = classes.vocab_size
    size = shape[0] * shape[1]
    gram = M / (M - 1) * decoder.zeta(K, M)[:, :K]  # zeta_n^T zeta_n', as each zeta_n adds up to 0

    def rhs(_: float, state: Floats) -> Floats:
        """Compute d(z, D)/dsigma, one after the other."""
        F = expectation.f(state[:size].reshape(shape))
        moved = expectation.per_query(
            decoder.through_attention(F, gram @ state[size:].reshape(F.shape))
        )
        # With rows in place of columns, F (I - E') is (F F^T)^-1 F.
        return np.concatenate([moved.ravel(), np.linalg.solve(F @ F.T, F).ravel()])

    start = np.zeros(size + classes.compact.probs.size)
    # Any first step that is short enough gives the same path.
    return integrate(rhs, start, sigmas, first_step=sigmas[0] / 1000)[:, :size]


def distance(points: Floats, line: Floats) -> float:
    """Find the largest distance of points (P, D) from a polyline (V, D), each relative to the
    point's length.

    Points at 0, and points farther out than the line's end, are left out.

    Examples
    --------
    >>> distance(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [10.0, 0.0]]))
    0.8
    """
    start = line[:-1]
    step = np.diff(line, axis=0)
    worst = 0.0
    # The nearest point of each segment is at the share ``along`` of it, between its ends.
    for point, length in zip(points, np.linalg.norm(points, axis=1), strict=True):
        if 0 < length <= np.linalg.norm(line[-1]):
            along = np.clip(((point - start) * step).sum(axis=1) / (step**2).sum(axis=1), 0, 1)
            worst = max(
                worst, np.linalg.norm(point - start - along[:, None] * step, axis=1).min() / length
            )
    return float(worst)
