"""What attention does on one class system, in a few numbers that can be compared between systems.

Sentences about many systems are about these numbers: which words fall, which rise, who leads, how
far attention moves under one dynamics beside another. The systems are those of
:mod:`scansnap_core.data.population`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from scansnap_core.base.rules import RATE, one_of, takes
from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses
from scansnap_core.theory import clocks
from scansnap_core.theory.flows import Flow, IdealisedFlow, ModifiedFlow, TrueFlow
from scansnap_core.theory.solving import solve

FLOWS: dict[str, Callable[[SequenceClasses, float, float], Flow]] = {
    "gradient": TrueFlow,
    "update (26)": ModifiedFlow,
    "law (10)": IdealisedFlow,
}
"""The dynamics that are compared, by the names that the book gives them."""
MARKS = (1.0, 40.0, 1000.0)
"""Outcomes are taken at these multiples of t_0."""


CERTAIN = 3.0
"""Runs show that a token has risen or fallen where their mean z is this many standard errors from
0.
"""


class Outcome(NamedTuple):
    """What attention has done by each of the times. Every entry has the shape (times,)."""

    size: Floats
    """The largest |z| of a token, in logits."""
    common_high: Floats
    """The largest z of a common token: negative where all of them have fallen."""
    distinct_low: Floats
    """The least z of a distinct token: negative where one of them has fallen."""
    leaders: Floats
    """The share of classes in which a most frequent distinct token has gained most.

    Classes in which no distinct token is more frequent than another don't count; NaN if there are
    no others.
    """


class Comparison(NamedTuple):
    """One path of z beside another, at the same times. Every entry has the shape (times,)."""

    cosine: Floats
    """The cosine between the two z."""
    least_times: Floats
    """How many times as far the other one has moved a common token: the least over all common
    tokens.
    """
    error: Floats
    """The norm of the difference of the two z, over the norm of the first one."""


class OverRuns(NamedTuple):
    """What SGD has done to attention by one moment, in the mean of z over runs.

    Heights are in standard errors of the mean over the runs, so that chance is told from what SGD
    does: see :data:`CERTAIN`. Where all runs are one and the same, a height other than 0 is
    infinite. A height is NaN where a system has no such token.
    """

    size: float
    """The largest mean |z| of a token, in logits."""
    common_high: float
    """The height of the highest common token."""
    common_low: float
    """The height of the lowest common token."""
    distinct_low: float
    """The height of the lowest distinct token."""


@takes(classes=CLASSES, dynamics=one_of(FLOWS))
def path_of(
    classes: SequenceClasses, ratio: float, dynamics: str, marks: tuple[float, ...] = MARKS
) -> Floats:
    """Integrate z at eta_Y = 1 and eta_Z = ``ratio``, shape (times, Q, L).

    Parameters
    ----------
    dynamics
        One of :data:`FLOWS`.
    marks
        The times, in units of t_0 of Theorem 4, on the clock of batch size 1.

    Examples
    --------
    >>> from scansnap_core.data.datasets import with_overlap
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> path_of(classes, 0.1, "gradient")[:, 0, 0].round(4)
    array([-0.0096, -0.0362, -0.0735])
    """
    t_0 = clocks.transition(classes.num_classes, classes.vocab_size, 1.0)[1]
    flow = FLOWS[dynamics](classes, 1.0, ratio)
    # An explicit method: the Jacobian of all of Y costs more than the many steps that fast
    # attention asks for.
    path = solve(flow, np.array(marks) * t_0, method="DOP853", rtol=1e-8, atol=1e-15)
    return np.asarray(path.Z.values)


@takes(classes=CLASSES, ratio=RATE)
def steps_to_t_0(classes: SequenceClasses, ratio: float) -> int:
    """Count the updates that :func:`trained` makes, whatever the batch size.

    Examples
    --------
    >>> from scansnap_core.data.datasets import with_overlap
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> steps_to_t_0(classes, 0.1), steps_to_t_0(classes, 10.0)
    (36, 365)
    """
    lr_y = min(1.0, 1.0 / ratio)
    return round(clocks.transition(classes.num_classes, classes.vocab_size, lr_y)[1])


@takes(classes=CLASSES, ratio=RATE)
def trained(
    classes: SequenceClasses,
    ratio: float,
    seq_len: float,
    batch_size: int | None,
    seeds: Iterable[int] = (0,),
) -> Floats:
    """Train by SGD from zero up to t_0, and return z at the end, shape (seeds, Q, L).

    Parameters
    ----------
    ratio
        eta_Z/eta_Y. The larger of the two rates is 1.
    seq_len, batch_size, seeds
        As :func:`scansnap_core.train` takes them. Training ends at the step of Theorem 4's t_0,
        which is the same for every batch size.

    Examples
    --------
    >>> from scansnap_core.data.datasets import with_overlap
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> trained(classes, 0.1, math.inf, None)[:, 0, 0].round(4)
    array([-0.0092])
    """
    # Torch is loaded where something trains, not where outcomes are compared.
    from scansnap_core.engine.training import train

    lr_y = min(1.0, 1.0 / ratio)
    run = train(
        classes,
        lr_y=lr_y,
        lr_z=lr_y * ratio,
        steps=steps_to_t_0(classes, ratio),
        seeds=seeds,
        batch_size=batch_size,
        seq_len=seq_len,
        device="cpu",
    )
    return np.asarray(run.Z.isel(rate=0, recorded=-1).values)


def over_runs(classes: SequenceClasses, Z: Floats) -> OverRuns:
    """Say what the mean of runs, shape (seeds, Q, L), does to common and distinct tokens.

    Examples
    --------
    In two runs the common token falls by 1 and by 3: on average by 2, which is two standard errors.

    >>> from scansnap_core.data.datasets import with_overlap
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1])
    >>> Z = np.array([[[-1.0, 1.0, 1.0]], [[-3.0, 1.0, 2.0]]])
    >>> over_runs(classes, Z)
    OverRuns(size=2.0, common_high=-2.0, common_low=-2.0, distinct_low=3.0)
    """
    common, distinct = _kinds(classes)
    mean = Z.mean(axis=0)
    error = Z.std(axis=0, ddof=1) / math.sqrt(len(Z)) if len(Z) > 1 else np.zeros_like(mean)

    # A token that no run moves has no height: 0/0 is NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        height = mean / error
    return OverRuns(
        size=float(np.abs(mean).max()),
        common_high=float(height[common].max()) if common.any() else math.nan,
        common_low=float(height[common].min()) if common.any() else math.nan,
        distinct_low=float(height[distinct].min()) if distinct.any() else math.nan,
    )


def outcome(classes: SequenceClasses, Z: Floats) -> Outcome:
    """Say what a path z, (times, Q, L), has done to common and distinct tokens by each time."""
    common, distinct = _kinds(classes)
    no_token = np.full(len(Z), np.nan)
    return Outcome(
        size=np.abs(Z).max(axis=(1, 2)),
        common_high=Z[:, common].max(axis=1) if common.any() else no_token,
        distinct_low=Z[:, distinct].min(axis=1) if distinct.any() else no_token,
        leaders=_leaders(classes, Z),
    )


def compare(classes: SequenceClasses, Z: Floats, other: Floats) -> Comparison:
    """Compare another path of z with one, both of shape (times, Q, L) at the same times.

    The law is compared with the gradient, for example: ``Z`` is the gradient's.
    """
    common, _ = _kinds(classes)
    flat = Z.reshape(len(Z), -1)
    flat_other = other.reshape(len(other), -1)
    length = np.linalg.norm(flat, axis=1)
    length_other = np.linalg.norm(flat_other, axis=1)

    # Where nothing moves, as at the start, there is nothing to compare: 0/0 is NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        times = other[:, common] / Z[:, common]
        return Comparison(
            cosine=(flat * flat_other).sum(axis=1) / (length * length_other),
            least_times=times.min(axis=1) if common.any() else np.full(len(Z), np.nan),
            error=np.linalg.norm(flat_other - flat, axis=1) / length,
        )


def _kinds(classes: SequenceClasses) -> tuple[np.ndarray, np.ndarray]:
    """Tell which entries of Z are those of common tokens, and which of distinct ones, each of shape
    (Q, L).

    A row of Z moves only at the tokens that its query's classes hold.
    """
    held = classes.compact.held
    shared = held.sum(axis=0) > 1
    can_move = np.zeros((len(classes.compact.queries), held.shape[1]), dtype=bool)
    for n, query in enumerate(classes.compact.query_row):
        can_move[query] |= held[n]
    return can_move & shared, can_move & ~shared


def _leaders(classes: SequenceClasses, Z: Floats) -> Floats:
    """Compute the share of classes in which a most frequent distinct token has gained most, shape
    (times,), from z of shape (times, Q, L).

    Classes whose distinct tokens are all equally frequent don't count.
    """
    held = classes.compact.held
    probs = classes.compact.probs
    shared = held.sum(axis=0) > 1
    leads = []
    for n, query in enumerate(classes.compact.query_row):
        own = np.flatnonzero(held[n] & ~shared)
        if not own.size:
            continue
        # Equally frequent tokens are equals: none of them is picked by its place, and rounding
        # doesn't decide.
        first = np.isclose(probs[n, own], probs[n, own].max(), rtol=1e-9, atol=0)
        if not first.all():
            gained = Z[:, query, own]
            leads.append(gained[:, first].max(axis=1) > gained[:, ~first].max(axis=1))
    return np.mean(leads, axis=0) if leads else np.full(len(Z), np.nan)
