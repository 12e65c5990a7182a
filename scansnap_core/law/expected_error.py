"""How far a prediction of our law can be trusted: the error of z to expect, by cause.

Three things take a prediction out of its range.

- Sequences can be too short for the evidence. The weights of samples, their errors, then differ by
  more than the first order in 1/T describes.
- Updates can be too large. Attention or the decoder overshoots, and training leaves the law for
  good.
- Batches can be too small for the rate. The order of classes then changes z by more than the first
  order in eta_Y/B describes.

Each has a measure. For the first two a table gives, at some values of the measure, the error of the
whole z that about nine in ten predictions stayed below; between them the error is interpolated.
``tools.recording.validity`` draws the systems and measures the errors: the tables were set on the
systems 0 to 7 of seed 601 (short sequences) and of seed 603 (large rates; those of up to 8
classes), and tried on 8 to 15 of both, held out (``results/validity.nc``). For the third the error
is of the next order, x²/2, where x is the share of z by which the order of classes changes it;
``tools.recording.order`` tried this on 40 systems, held out (``results/order.nc``).

The mean of runs on drawn texts (:mod:`scansnap_core.law.drawn_texts`) needs none of these: its
error is known from the runs' own scatter.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

import warnings

import numpy as np
import xarray as xr

from scansnap_core.data.sequences import Floats
from scansnap_core.law.memory import Law, State
from scansnap_core.law.order import Shift

LIKELY = 0.1
"""A prediction warns if the whole z is likely to be off by more than this share."""
LEAST = 0.03
"""The error inside the range. The law keeps one memory per class, and is no more exact than
this.
"""
SHORTNESS = (
    (0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 5.0),
    (0.03, 0.08, 0.09, 0.15, 0.24, 0.3, 0.48, 0.7, 1.0),
)
"""A table: values of the shortness, and the error to expect at each.

Shortness is the evidence divided by T - 1 and by the root of 1 - rho of the two nearest classes.
"""
STEPS = ((3.0, 4.0, 4.5, 5.0), (0.03, 0.08, 0.5, 1.0))
"""A table: the largest eta_Z f_l² a (1 - alpha)/(K (1 + mu)) so far, and the error to expect."""
PACES = ((2.0, 3.0, 5.0), (0.07, 0.1, 0.6))
"""A table: eta_Y/(K (1 + mu)), and the error to expect."""


class PredictionOutOfRange(UserWarning):
    """A prediction of z may well be off by more than 10 %; the message says by how much, why, and
    what to do.

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
    """Compute the shortness of sequences at one state.

    It is the largest evidence over T - 1, divided by the root of 1 - rho of the two classes whose
    attention is nearest.
    """
    if np.isinf(seq_len):
        return 0.0
    common, _ = law.attention(state)
    rho = float(law.types.overlaps(common).max(initial=0.0))
    return float(state.a.max()) / (seq_len - 1) / np.sqrt(max(1 - rho, 1e-12))


def step_of(law: Law, state: State) -> float:
    """Compute the largest eta_Z/eta_Y f_l² a (1 - alpha) of all tokens.

    It is how fast memory brings z back, per unit of tau. If z goes too far back in one update,
    training overshoots.
    """
    errors, _, _ = law.errors_and_gradient(state, law.attention(state))
    common, distinct = law.weighted_lambda(state, law.types.paces * state.a * errors.own)
    return float(max(common.max(initial=0.0), distinct.max(initial=0.0)))


def order_of(law: Law, state: State, shift: Shift) -> float:
    """Compute |z_1|/|z_0|: the share of the whole z by which the order of classes changes it.

    It is that at batch size 1.
    """
    types = law.types

    def square(common: Floats, distinct: Floats) -> float:
        """Sum squares over all queries and tokens, from values by type."""
        by_query = np.bincount(types.of_query) @ np.square(common)
        return float(by_query.sum() + (types.size @ np.square(distinct)).sum())

    size = square(state.z_common, state.z_distinct)
    return float(np.sqrt(square(*shift) / size)) if size else 0.0


def errors_by_cause(shortness: float, step: float, pace: float, order: float) -> Floats:
    """Return the errors to expect of short sequences, of large steps and of small batches.

    They are shares of the whole z, shape (3,); the largest one counts.

    Parameters
    ----------
    shortness
        :func:`shortness_of`, 0 at T = infinity.
    step
        The largest :func:`step_of` so far times ``pace``.
    pace
        eta_Y/(K (1 + mu)), 0 for a flow.
    order
        The largest :func:`order_of` so far over the batch size, 0 for full batches.
    """
    by_length = np.interp(shortness, *SHORTNESS)
    by_step = max(np.interp(step, *STEPS, left=0.0), np.interp(pace, *PACES, left=0.0))
    by_order = min(order**2 / 2, 1.0)
    return np.maximum([by_length, by_step, by_order], LEAST)


def warn(found: xr.Dataset, pace: float) -> None:
    """Warn with :class:`PredictionOutOfRange` if an error above :data:`LIKELY` is likely at any
    time.

    ``found`` is what :func:`scansnap_core.predict` returns, and ``pace`` is eta_Y/(K (1 + mu)), 0
    for a flow or for runs. The message names the cause of the largest error.
    """
    expected = found.expected_error.values
    beyond = expected > LIKELY
    at = int(expected.argmax())
    if not beyond.any():
        return
    largest = found.isel(recorded=at)
    # The mean of runs has one cause of error, listed last.
    cause = -1
    if found.runs == 0:
        by_cause = errors_by_cause(
            largest.shortness.item(), largest.step.item(), pace, largest.order.item()
        )
        cause = int(by_cause.argmax())
    why, remedy = (
        (
            f"sequences of T = {found.seq_len:g} are too short for what was learned by then",
            "ask for earlier times or a larger seq_len, or for runs=8, which trains on drawn texts",
        ),
        ("updates are so large that training overshoots", "use smaller rates, or train"),
        (
            f"in batches of {found.batch_size} the order of classes moves z too far for a law of "
            "first order",
            "use larger batches or a smaller lr_y, or train",
        ),
        (
            f"{found.runs} runs scatter, and their mean isn't known better",
            "ask for more runs, or for larger batches",
        ),
    )[cause]
    share = f"up to {100 * expected[at]:.0f} %" if expected[at] < 1 else "100 % or more"
    warnings.warn(
        f"z may be off by {share} of its size at t = {found.recorded[at]:g}, and by more than "
        f"{100 * LIKELY:.0f} % at {beyond.sum()} of {beyond.size} times: {why}; {remedy} "
        "(expected_error has it for each time)",
        PredictionOutOfRange,
        stacklevel=4,  # The warning names the line that called predict.
    )
