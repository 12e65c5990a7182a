"""How far a prediction can be trusted: two things take it out of its range, and their errors were measured.

Sequences can be too short for the evidence: samples are then weighed by errors that differ by more than the first order
in 1/T has. Updates can be too large: attention or the decoder overshoots, and training leaves the law for good.
Each has a measure, and a table of the error of the whole z that some nine in ten predictions stayed below there;
between its entries the error is interpolated. ``tools.recording.validity`` draws the systems and measures the errors:
the tables were set on the systems 0 to 7 of seed 601 (short sequences) and of seed 603 (large rates; those of up to 8
classes), and tried on 8 to 15 of both, held out (``results/validity.nc``).

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

import warnings

import numpy as np

from scansnap_core.data.sequences import Floats
from scansnap_core.theory.law.memory import Law, State

LIKELY = 0.1
"""A prediction warns if the whole z is likely to be off by more."""
LEAST = 0.03
"""Inside the range the error is so large: one memory per class is no more exact."""
SHORTNESS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 5.0), (0.03, 0.08, 0.09, 0.15, 0.24, 0.3, 0.48, 0.7, 1.0)
"""These are evidence over T - 1, over the root of 1 - rho of the two nearest classes, and the error there."""
STEPS = (3.0, 4.0, 4.5, 5.0), (0.03, 0.08, 0.5, 1.0)
"""These are eta_Z f_l² a (1 - alpha)/(K (1 + mu)), the largest so far, and the error there."""
PACES = (2.0, 3.0, 5.0), (0.07, 0.1, 0.6)
"""These are eta_Y/(K (1 + mu)), and the error there."""


class PredictionOutOfRange(UserWarning):
    """A prediction of z may well be off by more than 10 %; the message says by how much, why, and what to do.

    Examples
    --------
    >>> import warnings
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ss.PredictionOutOfRange)
    ...     found = ss.predict(classes, lr_y=1, lr_z=0.1, t=[10, 1000], seq_len=16)
    >>> found.expected_error.values.round(2)
    array([0.12, 0.28])
    """


def shortness_of(law: Law, state: State, seq_len: float) -> float:
    """The largest evidence over T - 1, over the root of 1 - rho of the two classes whose attention is nearest."""
    if np.isinf(seq_len):
        return 0.0
    common, distinct = law.attention(state)
    common = common / np.sqrt((common**2).sum(axis=1) + (distinct**2).sum(axis=1))[:, None]
    rho = float(np.where(law.types.others > 0, common @ common.T, 0.0).max(initial=0.0))
    return float(state.a.max()) / (seq_len - 1) / np.sqrt(max(1 - rho, 1e-12))


def step_of(law: Law, state: State) -> float:
    """f_l² a (1 - alpha) times eta_Z/eta_Y, the largest of all tokens: how fast z turns back, per unit of tau."""
    f = law.attention(state)
    errors, _, _ = law.pulls(state, f)
    strength = (law.types.paces * state.a * errors.own)[:, None]
    common, distinct = law.types.asking @ (f[0] ** 2 * strength), f[1] ** 2 * strength
    return law.ratio * float(max(common.max(initial=0.0), distinct.max(initial=0.0)))


class Validity:
    """The errors to expect at some times, by what causes them.

    Parameters
    ----------
    shortness, step
        Of :func:`shortness_of`; and of :func:`step_of`, times eta_Y/(K (1 + mu)), the largest so far; shape (times,).
    pace
        eta_Y/(K (1 + mu)) once anything was updated; 0 for a flow.
    """

    def __init__(self, shortness: Floats, step: Floats, pace: float) -> None:
        decoder = float(np.interp(pace, *PACES, left=0.0))
        self.by_cause = {
            "shortness": np.interp(shortness, *SHORTNESS),
            "step": np.maximum(np.interp(step, *STEPS, left=0.0), decoder),
        }
        self.expected = np.maximum(np.max(list(self.by_cause.values()), axis=0), LEAST)
        """Some nine in ten predictions stay below this error of the whole z, in shares of it."""

    def warn(self, recorded: Floats, seq_len: float) -> None:
        """Give one :class:`PredictionOutOfRange` if an error above :data:`LIKELY` is to be expected at some time."""
        beyond = self.expected > LIKELY
        if not beyond.any():
            return
        at = int(self.expected.argmax())
        if self.by_cause["step"][at] >= self.by_cause["shortness"][at]:
            why, remedy = "updates are so large that training overshoots", "use smaller rates, or train"
        else:
            why = f"sequences of T = {seq_len:g} are too short for what was learned by then"
            remedy = "ask for earlier times or a larger seq_len, or train"
        share = f"up to {100 * self.expected[at]:.0f} %" if self.expected[at] < 1 else "100 % or more"
        warnings.warn(
            f"z may be off by {share} of its size at t = {recorded[at]:g}, and by more than {100 * LIKELY:.0f} % at "
            f"{beyond.sum()} of {beyond.size} times: {why}; {remedy} (expected_error has it for each time)",
            PredictionOutOfRange,
            stacklevel=4,
        )
