"""How far a prediction of our law can be trusted: the errors of z to expect, by cause.

Three things take a prediction out of its range.

- Sequences can be too short for the evidence. The weights of samples, their errors, then differ by
  more than the first order in 1/T describes.
- Updates can be too large. If attention overshoots in many of them, training leaves the law.
- Batches can be too small for the rate. The order of classes then changes z by more than the first
  order in eta_Y/B describes.

Each has a measure. For each measure a table gives, at some of its values, two errors of the whole
z: one that about seven in ten of the predictions exceeded, 0 where the table names none, and one
below which about nine in ten stayed. Between the entries they are interpolated. A prediction warns
if the first is above 10 %, so that about seven in ten warnings or more are of z that is really off
by more than 10 %, over all strata together.

The tables were set by hand, on systems of the population of the seeds 604, 606 and 607, up to 16 of
each stratum. They were tried on systems of the population that ``tools.recording.validity`` drew
afterwards, held out (``results/validity.nc``).

The mean of runs on drawn texts (:mod:`scansnap_core.law.drawn_texts`) needs none of these: its
error is known from the runs' own scatter.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from scansnap_core.data.sequences import Floats
from scansnap_core.law.memory import Law, Moved
from scansnap_core.law.order import Shift

LIKELY = 0.1
"""A prediction warns if the whole z is likely to be off by more than this share."""
LEAST = 0.03
"""The error inside the range. The law keeps one memory per class, and is no more exact than
this.
"""
SHORTNESS = (
    (0.0, 0.01, 0.1, 0.2, 0.3, 0.5, 1.0, 1.6, 2.2, 3.0),
    (0.0, 0.0, 0.0, 0.0, 0.01, 0.02, 0.035, 0.1, 0.16, 0.23),
    (0.03, 0.06, 0.09, 0.17, 0.25, 0.42, 0.85, 1.3, 1.5, 1.5),
)
"""A table: values of :func:`shortness_of`; the errors that seven in ten of the predictions
exceeded, and those below which nine in ten stayed.
"""
GROWTHS = (
    (2.0, 6.0, 8.0, 10.0, 20.0, 25.0, 35.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.9),
    (0.03, 0.05, 0.1, 1.05, 1.05, 1.05, 1.05),
)
"""Such a table for the growth of an oscillation, of
:class:`~scansnap_core.law.forecast_errors.Oscillation`.
"""
ORDERS = (
    (0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.3, 1.5, 2.0, 2.3, 3.0, 5.0, 8.0),
    (0.0, 0.0, 0.0, 0.01, 0.013, 0.03, 0.042, 0.06, 0.1, 0.16, 0.23, 0.26, 0.48, 0.65),
    (0.03, 0.045, 0.08, 0.13, 0.16, 0.25, 0.35, 0.42, 0.52, 0.8, 1.1, 1.1, 1.1, 1.1),
)
"""Such a table for the order of classes: values of :func:`beyond_first_order`. Beyond its end
more predictions were off by more.
"""


EXACT = 1e-4
"""The error where all of Y and Z are followed, and rounding stays small. On systems of the
population the largest one seen was 1e-5 in 30 flows (seed 77, up to 1000 t_0), and 5e-5 in 164
trainings in full batches whose updates don't overshoot (seed 79, eta_Y/K of .003 to 2, momentum 0
and .9, up to 5,000 updates).
"""
LIKELY_PART = 0.5
EXPECTED_PART = 10.0
"""Where updates overshoot, rounding grows (:mod:`scansnap_core.law.rounding`). The likely error is
the first times how far a disturbed path has parted from the forecast's now, and the expected error
the second times how far it has at most so far. Both are set by hand, on systems with fast attention
and on near classes with a fast decoder; a test tries the second on others. Where the first is above
10 %, about half were off by more than it says, and nine in ten by more than 10 %.
"""


class PredictionOutOfRange(UserWarning):
    """A prediction of z is likely off by more than 10 %; the message says by how much, why, and
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
    array([0.27, 0.82])
    """


def shortness_of(law: Law, state: Moved, seq_len: float) -> float:
    """Compute the shortness of sequences at one state: the largest evidence over T - 1.

    It is 0 at T = infinity.
    """
    if np.isinf(seq_len):
        return 0.0
    return float(state.a.max()) / (seq_len - 1)


def order_of(law: Law, state: Moved, shift: Shift) -> float:
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


def beyond_first_order(
    order: ArrayLike, largest: ArrayLike, draw: ArrayLike, momentum: ArrayLike
) -> Floats:
    """Compute the measure of what the first order in eta_Y/B leaves out of the order of classes.

    It is the cube root of x² eta_Y/B. Here x is the share of z by which the order moves it: a mean,
    by products, of the share at this time and of the largest so far. Without momentum both count
    alike, because a shift that has passed has left less behind. With momentum what the first order
    leaves out stays, and the largest counts for more: x = order^((1 - mu)/2) largest^((1 + mu)/2).

    Where nothing cancels, x goes like eta_Y/B, and so does the root of the three factors. eta_Y/B
    is one of them because x can be small by chance, where the shift changes its sign.

    Parameters
    ----------
    order, largest
        :func:`order_of` over the batch size, at this time and the largest so far.
    draw
        eta_Y/B: the evidence that a draw adds at once, at most; 0 for full batches.
    momentum
        mu, 0 for plain SGD.

    Examples
    --------
    >>> beyond_first_order([0.1, 0.1], [0.4, 0.4], draw=1.0, momentum=[0.0, 0.9]).round(3)
    array([0.342, 0.518])
    """
    mu = np.asarray(momentum)
    square = np.power(order, 1 - mu) * np.power(largest, 1 + mu)
    return np.asarray(np.cbrt(square * draw))


class Causes(NamedTuple):
    """What can take a prediction out of its range, at one time; or, in arrays of one shape, many
    predictions.

    Attributes
    ----------
    shortness
        :func:`shortness_of`.
    growth
        That of an :class:`~scansnap_core.law.forecast_errors.Oscillation`, 0 for a flow.
    chance
        :func:`beyond_first_order`, 0 for full batches.
    """

    shortness: float | Floats
    growth: float | Floats
    chance: float | Floats


class Errors(NamedTuple):
    """Errors of the whole z to expect, shares of its size; by cause, each of shape (3, ...).

    The causes are short sequences, large updates and small batches. The largest error counts.

    Attributes
    ----------
    likely
        About seven in ten of the predictions were off by more. 0 where the tables name no error.
    expected
        About nine in ten were off by less.
    """

    likely: Floats
    expected: Floats


def errors_by_cause(causes: Causes) -> Errors:
    """Look up the errors to expect of each cause, of one prediction or of many.

    Examples
    --------
    >>> errors_by_cause(Causes(shortness=0.5, growth=0.0, chance=0.3)).expected.round(2)
    array([0.42, 0.03, 0.08])
    """
    looked_up = []
    for measure, table in zip(causes, (SHORTNESS, GROWTHS, ORDERS), strict=True):
        places, likely, expected = table
        looked_up.append((np.interp(measure, places, likely), np.interp(measure, places, expected)))
    likely, expected = np.swapaxes(looked_up, 0, 1)
    return Errors(likely, np.maximum(expected, LEAST))


def errors_of_exact(late: float) -> tuple[float, float]:
    """Compute the likely and the expected error where all of Y and Z are followed, rounding left
    out.

    Parameters
    ----------
    late
        The growth of an :class:`~scansnap_core.law.forecast_errors.Oscillation` that reaches into
        updates that aren't made one by one; 0 for a flow.

    Examples
    --------
    >>> errors_of_exact(late=0.0), errors_of_exact(late=8.0)
    ((0.0, 0.0001), (0.0, 0.1))
    """
    if late <= 0:
        return 0.0, EXACT
    errors = errors_by_cause(Causes(0.0, late, 0.0))
    return float(errors.likely.max()), float(errors.expected.max())


def warn(found: xr.Dataset) -> None:
    """Warn with :class:`PredictionOutOfRange` if z is likely off by more than :data:`LIKELY` at any
    time.

    ``found`` is what :func:`scansnap_core.predict` returns. The message names the cause of the
    largest error.
    """
    likely = found.likely_error.values
    beyond = likely > LIKELY
    if not beyond.any():
        return
    worst = found.isel(recorded=int(likely.argmax()))
    # Full batches of endless sequences don't scatter.
    endless_full = np.isinf(found.seq_len) and found.batch_size == "full"
    trained = "exact=True" if endless_full else "runs=8"
    why, remedy = {
        "shortness": (
            f"sequences of T = {found.seq_len:g} are too short for what was learned by then",
            "ask for earlier times or a larger seq_len, or for runs=8, which trains on drawn texts",
        ),
        "growth": (
            "updates are so large that training overshoots",
            f"use smaller rates, or ask for {trained}, which trains",
        ),
        "chance": (
            f"in batches of {found.batch_size} the order of classes moves z too far for a law of "
            "first order",
            "use larger batches or a smaller lr_y, or ask for runs=8, which trains",
        ),
        "rounding": (
            "updates overshoot so far that rounding decides, and training itself ends elsewhere on "
            "another machine",
            "use smaller rates",
        ),
        "runs": (
            f"{found.runs} runs scatter, and their mean isn't known better",
            "ask for more runs, or for larger batches",
        ),
    }[_cause(worst)]
    warnings.warn(
        f"z is likely off by {_percent(worst.likely_error.item())} of its size at t = "
        f"{worst.recorded:g} (one prediction in ten by {_percent(worst.expected_error.item())}), "
        f"and by more than {100 * LIKELY:.0f} % at {beyond.sum()} of {beyond.size} times: {why}; "
        f"{remedy} (likely_error and expected_error have it for each time)",
        PredictionOutOfRange,
        stacklevel=4,  # The warning names the line that called predict.
    )


def _cause(worst: xr.Dataset) -> str:
    """Name the cause of the largest likely error, in a forecast of one time."""
    if worst.runs:
        return "runs"
    if worst.rounding and LIKELY_PART * worst.rounding >= worst.likely_error:
        return "rounding"
    causes = Causes(*(worst[name].item() for name in Causes._fields))
    return Causes._fields[int(errors_by_cause(causes).likely.argmax())]


def _percent(error: float) -> str:
    """Write an error that may be exceeded; the tables end at 1."""
    return f"{100 * error:.0f} % or more"
