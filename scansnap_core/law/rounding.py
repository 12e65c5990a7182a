"""How far rounding decides, where updates are made one by one.

Where updates overshoot, a small difference grows in each of them, and so does rounding. Two
trainings of the same classes that sum in another order then part. How far they do is estimated by a
path that is disturbed by about as much in each update.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.law.exact import Exact, ExactState
from scansnap_core.law.expected_error import EXPECTED_PART, LIKELY_PART
from scansnap_core.law.inertia import InertialLaw
from scansnap_core.law.types import Types
from scansnap_core.theory.solving import IntegrationFailed

DISTURBANCE = 1e-15
"""The share by which :class:`Disturbed` changes each number: a few roundings."""
NEAR_TWO = 0.7
FAST_DECODER = 4.0
"""Rounding is followed where a step of attention, which can be .37 of the true one, is above the
first, or eta_Y above the second. A step of the decoder is eta_Y/2 at most, as f has length 1 and
the softmax bends by 1/2 at most. So up to here none is above 2, and rounding doesn't grow.
"""
HARDLY = 1e-9
"""In a Z smaller than this, in logits, rounding counts as if it were as large."""


class Disturbed(Exact):
    """All of Y and Z, with each number disturbed by about as much as rounding, up or down, in each
    update.

    Here nothing is set to 0: what rounding leaves of the push on a class that shares no token can
    grow too.
    """

    def __init__(self, classes: SequenceClasses, types: Types, ratio: float) -> None:
        """Let rounding move every class."""
        super().__init__(classes, types, ratio)
        self._moved = np.ones_like(self._moved)
        self._rng = np.random.default_rng(0)

    def rate(self, packed: Floats) -> Floats:
        """Compute d(state)/dtau of a packed state, from a state that is disturbed."""
        signs = self._rng.choice([-1.0, 1.0], packed.size)
        return super().rate(packed * (1 + DISTURBANCE * signs))


def allow_for_rounding(
    forecast: xr.Dataset,
    disturbed: InertialLaw[ExactState],
    update: float,
    own: dict[float, ExactState],
) -> None:
    """Raise the errors of a forecast by how far a disturbed path parts from its own.

    Parameters
    ----------
    forecast
        What :func:`scansnap_core.predict` returns; its ``rounding``, ``likely_error`` and
        ``expected_error`` are set.
    disturbed, update
        The law of a :class:`Disturbed`, and the tau of one update.
    own
        The states of the forecast's own path by ascending tau, those at the recorded times among
        them.
    """
    # Nothing has parted before anything has moved. Of what the disturbed path doesn't reach nothing
    # is known.
    apart = {tau: float(state.a.any()) for tau, state in own.items()}
    moving = [tau for tau, state in own.items() if state.a.any()]
    try:
        for tau, state in zip(moving, disturbed.path(np.array(moving)), strict=True):
            apart[tau] = _apart(own[tau], state)
    except IntegrationFailed as failure:
        integrated = [tau for tau in moving if tau > disturbed.one_by_one * update]
        for tau, state in zip(integrated, failure.reached or [], strict=False):
            apart[tau] = _apart(own[tau], state)
    largest = dict(zip(apart, np.maximum.accumulate(list(apart.values())), strict=True))

    recorded = (forecast.recorded.values * update).tolist()
    now = np.array([apart[tau] for tau in recorded])
    so_far = np.array([largest[tau] for tau in recorded])
    forecast["rounding"].values[:] = now
    for name, error_by_rounding in (
        ("likely_error", LIKELY_PART * now),
        ("expected_error", EXPECTED_PART * so_far),
    ):
        raised = np.maximum(forecast[name].values, np.minimum(error_by_rounding, 1.0))
        forecast[name].values[:] = raised


def _apart(one: ExactState, other: ExactState) -> float:
    """Compute the distance of two Z, as a share of the first, which counts as :data:`HARDLY` at
    least. It weighs types and not their classes.
    """
    Z = np.concatenate([one.z_common.ravel(), one.z_distinct.ravel()])
    difference = np.concatenate([other.z_common.ravel(), other.z_distinct.ravel()]) - Z
    return float(np.linalg.norm(difference) / max(float(np.linalg.norm(Z)), HARDLY))
