"""What attention does on one class system, in a few numbers that can be compared between systems.

Sentences about many systems are about these numbers: which words fall, which rise, who leads, how
far attention moves under one dynamics beside another. The systems are those of
:mod:`scansnap_core.data.population`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses
from scansnap_core.rules import one_of, takes
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


def outcome(classes: SequenceClasses, Z: Floats) -> Outcome:
    """Say what paths z of shape (times, Q, L) have done to common and distinct tokens."""
    common, distinct = _kinds(classes)
    no_token = np.full(len(Z), np.nan)
    return Outcome(
        size=np.abs(Z).max(axis=(1, 2)),
        common_high=Z[:, common].max(axis=1) if common.any() else no_token,
        distinct_low=Z[:, distinct].min(axis=1) if distinct.any() else no_token,
        leaders=_leaders(classes, Z),
    )


def compare(classes: SequenceClasses, Z: Floats, other: Floats) -> Comparison:
    """Compare two paths z of shape (times, Q, L)."""
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
    """Which entries of Z are those of common tokens, and which of distinct ones, each of shape (Q,
    L).

    A row of Z moves only at the tokens that its query's classes hold.
    """
    held = classes.compact.held
    shared = held.sum(axis=0) > 1
    can_move = np.zeros((len(classes.compact.queries), held.shape[1]), dtype=bool)
    for n, query in enumerate(classes.compact.query_row):
        can_move[query] |= held[n]
    return can_move & shared, can_move & ~shared


def _leaders(classes: SequenceClasses, Z: Floats) -> Floats:
    """The share of classes in which a most frequent distinct token has gained most, shape
    (times,).
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
