"""Find which force on attention is the largest, by sequence length, batch size and inertia.

Take attention at rest, z = 0, and equal overlaps rho. Then class n's logits have come from y_n =
∫ (e_n - alpha_n) dtau, and both forces on attention are products of two such vectors. Sampling
pushes token l by s_nl |y_n|²/2, and (T - 1) s_nl is f_nl² times the token's :func:`tilt`, a number
of the class. The other classes let attention drift by Lambda = -<y_k, y_n>/2. So the length T at
which the two are equal is a number of the class times one of the decoder, |y_n|²/-<y_k, y_n>.

Clock: tau = eta_Y t/((1 - mu) K), t in updates; a sample or a batch counts as one update.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from scansnap_core.base.rules import (
    FLOW_RATE,
    RATE,
    SEQ_LEN,
    checked_numbers,
    checked_times,
    number,
    takes,
    whole,
)
from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses
from scansnap_core.engine.settings import checked_momentum
from scansnap_core.law import closed
from scansnap_core.law.inertia import mass_of
from scansnap_core.law.memory import Law
from scansnap_core.law.sample_means import FirstOrder, checked_rows
from scansnap_core.law.sampled_law import SampledLaw
from scansnap_core.law.types import types_of
from scansnap_core.theory.formulas import K, M, rho
from scansnap_core.theory.functions import function_of
from scansnap_core.theory.spectrum import F

AT_REST = 1e-9
"""At this eta_Z/eta_Y attention stays at rest, so that z is linear in it."""
TINY = 1e-300
EARLIEST = 1e-100
GRID = 400
"""The noise of batches is summed over this many moments."""

strength = (closed.a_**2 + (K - 1) * closed.b_**2 + (M - K) * closed.c_**2) / 2
"""|y_n|²/2, the integral of <y_n, e_n - alpha_n>: the push of sampling is proportional to it, as
the drift is to Lambda.
"""
balance = strength / ((K - 1) * rho * closed.Lambda)
"""The T - 1 at which the push of sampling equals the drift, for a token with tilt 1."""
_balance = function_of(balance, (closed.a_, closed.b_, closed.c_, K, M, rho))


def tilt(probs: ArrayLike) -> Floats:
    """Compute (T - 1) s_nl/f_nl² to first order in 1/(T - 1), from P(l|n) of shape (..., L).

    It is negative for tokens that sampling pushes down, and 0 for tokens that the class doesn't
    hold.

    Examples
    --------
    >>> tilt([0.5, 0.3, 0.2]).round(2)
    array([ 1.05, -1.34, -3.53])
    """
    P = checked_rows(probs)
    f = F(P)
    return np.divide(FirstOrder(P, f).own(), f**2, out=np.zeros_like(f), where=f > 0)


@takes(
    num_classes=number(least=2, remedy="pass e.g. 2"),
    rho=number(above=0, below=1, remedy="pass e.g. 0.1"),
)
def turning_length(
    tilt: ArrayLike, tau: ArrayLike, num_classes: float, vocab_size: float, rho: float
) -> Floats:
    """Compute T* at which sampling pushes a distinct token as hard as the drift does.

    Below T* sampling is stronger, above it the drift of overlapping classes. T* - 1 is the tilt's
    modulus times

    - (M - 1)/((K - 1) rho) at first,
    - then about M a/(2 (K - 1) (e^(rho a) - 1 - rho a/2)) in terms of the evidence a,
    - in the end, for M -> infinity, (A^2 + K - 1)/((K - 1) (2 + (K - 2) rho)) with
      A = (1 + (K - 2) rho)/rho.

    Arguments are as in ``closed.evidence``, and ``tilt`` is that of
    :func:`tilt`.

    Examples
    --------
    >>> turning_length(-10.0, [0.1, 100.0, 1e250], 2, 1000, 0.3).round(1)
    array([32322.7,  2147.8,    63.1])
    """
    rule = f"tau is at least {EARLIEST:g}"
    times = checked_numbers("tau", tau, least=EARLIEST, rule=rule, remedy="pass e.g. 10.0")
    tilt = checked_numbers(
        "tilt", tilt, least=-np.inf, rule="a tilt is finite", remedy="pass e.g. -10.0"
    )
    size = num_classes, vocab_size, rho
    return np.asarray(1 + np.abs(tilt) * _balance(*closed.evidence(times, *size), *size))


@takes(classes=CLASSES, lr_y=RATE, batch_size=whole(), seq_len=SEQ_LEN)
def spread(
    classes: SequenceClasses, *, tau: ArrayLike, lr_y: float, seq_len: float, batch_size: int
) -> Floats:
    """Compute the standard deviation of z over runs at small eta_Z, over eta_Z/eta_Y.

    The result has the shape (tau, Q, L), at ascending tau. It is of first order in 1/(T - 1).

    A batch's mean f differs from F. The difference enters Y, where it goes on pushing until the
    class is learned; and at once it pushes the other way. So a sample at tau' has the weight
    <e_n - alpha_n, y_n(tau) - 2 y_n> at tau', and z's variance is eta_Y/B sum_n K P(n) f_nl²
    Var f_nl times the integral of the weight's square.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.1, distinct_weights=[1, 0.5])
    >>> spread(classes, tau=[10.0], lr_y=1.0, seq_len=128, batch_size=8).ravel().round(2)
    array([0.11, 0.14, 0.11, 0.14, 0.11])
    """
    ends = checked_times("tau", tau, "pass e.g. [10.0]")
    number(least=TINY, says="moments are positive", remedy="pass e.g. [10.0]")("tau", ends[0])
    types = types_of(classes)
    law = Law(types, 0.0)
    probs = np.hstack([types.common, types.distinct])
    cut = types.common.shape[1]
    f = F(probs)
    per_class = (
        types.paces[:, None]
        * f**2
        * FirstOrder(probs, f).variance
        / (seq_len - 1)
        * lr_y
        / batch_size
    )
    grid = np.union1d(np.geomspace(1e-3 * min(1.0, ends[0]), ends[-1], GRID), ends)

    # y_n and e_n - alpha_n at three kinds of outputs: the class's own, another class's by type, and
    # one that names no class; ``count`` is how many outputs there are of each kind.
    gathered = []
    errors = []
    count = np.column_stack([np.ones(len(f)), types.others, np.full(len(f), types.rest)])
    for state in law.path(grid):
        found, _, _ = law.errors_and_gradient(state, law.attention(state))
        gathered.append(np.column_stack([state.a, -state.b, -law.rest_of(state)]))
        errors.append(count * np.column_stack([found.own, -found.other, -found.rest]))
    rows = np.stack(gathered)
    errors_at = np.stack(errors)

    # For each tau asked for, the integral of the weight's square up to it.
    deviations = []
    for upto in np.searchsorted(grid, ends) + 1:
        weight = (errors_at[:upto] * (rows[upto - 1] - 2 * rows[:upto])).sum(axis=-1)
        total = np.trapezoid(weight**2, grid[:upto], axis=0)[:, None] * per_class
        deviations.append(np.sqrt(types.per_query(types.asking @ total[:, :cut], total[:, cut:])))
    return np.stack(deviations)


@takes(
    classes=CLASSES,
    lr_y=RATE,
    lr_z=FLOW_RATE,
    t=number(least=TINY, remedy="pass e.g. 100"),
    seq_len=SEQ_LEN,
)
def place(
    classes: SequenceClasses,
    *,
    lr_y: float,
    lr_z: float,
    t: float,
    seq_len: float,
    batch_size: int,
    momentum: float = 0.0,
) -> xr.Dataset:
    """Compute the ratios of the forces on attention after t updates, near attention's start.

    Returns
    -------
    xarray.Dataset
        By (query, token):

        - ``sampling``, the push of sampling over the drift, with its sign;
        - ``memory_number``, lambda a²/2 with lambda = eta_Z/eta_Y sum_n f_nl² and a the evidence
          that the decoder has gathered on the class: above 1 the decoder's memory of past
          attention holds the token back;
        - ``noise``, the standard deviation of z over its mean, of one run.

        One number each: ``learned``, tau over ln M, of a class with P(n) = 1/K; ``overlap``, the
        largest f_n^T f_n' of two classes; ``inertia``, momentum's mass over tau = ln M, the time
        that learning takes without momentum: above 1 Y overshoots.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> how = {"lr_y": 1, "lr_z": 1, "seq_len": 128, "batch_size": 128, "momentum": 0.9}
    >>> found = place(ss.syn_small(), t=100, **how)
    >>> found.sampling.isel(query=0).sel(token=[0, 10, 19]).values.round(2)
    array([ 0.14, -0.73,  0.16])
    >>> float(found.inertia.round(1))
    13.5
    """
    mu = checked_momentum(momentum, "momentum")
    K = classes.num_classes
    M = classes.vocab_size
    tau = lr_y * t / K / (1 - mu)
    # At rest z is linear in eta_Z/eta_Y. The law of endless sequences gives the drift alone, and
    # that at finite T the drift and sampling.
    types = types_of(classes)
    endless = Law(types, AT_REST)
    finite = SampledLaw(types, AT_REST, seq_len)
    at = endless.path(np.array([tau]))[0]
    sampled = finite.path(np.array([tau]))[0]
    drift = types.per_query(at.z_common, at.z_distinct) / AT_REST
    both = types.per_query(sampled.z_common, sampled.z_distinct) / AT_REST
    (noise,) = spread(
        classes, tau=tau, lr_y=lr_y / (1 - mu), seq_len=seq_len, batch_size=batch_size
    )
    # The memory number is linear in eta_Z/eta_Y too, so it is taken from the ratio at rest to the
    # one that was given.
    memory_number = types.per_query(*endless.weighted_lambda(at, sampled.a**2 / 2)) * (
        lr_z / lr_y / AT_REST
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        by_token = {
            "sampling": (both - drift) / drift,
            "noise": noise / np.abs(both),
            "memory_number": memory_number,
        }
    overlap = types.overlaps(endless.attention(at)[0]).max()
    alone = {
        "learned": tau / np.log(M),
        "overlap": overlap,
        "inertia": mass_of(mu) * lr_y / K / np.log(M),
    }
    return xr.Dataset(
        {name: (("query", "token"), values) for name, values in by_token.items()} | alone,
        coords={name: classes.coords[name] for name in ("query", "token")},
    )
