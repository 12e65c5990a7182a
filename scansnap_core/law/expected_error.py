"""How far a prediction of our law can be trusted: the errors of z to expect, by cause.

Three things take a prediction out of its range.

- Sequences can be too short for the evidence. The weights of samples, their errors, then differ by
  more than the first order in 1/T describes.
- Updates can be too large. Attention or the decoder overshoots, and training leaves the law for
  good.
- Batches can be too small for the rate. The order of classes then changes z by more than the first
  order in eta_Y/B describes.

Each has a measure. For each measure a table gives, at some of its values, two errors of the whole
z: one that about half of the predictions stayed below, 0 where the table names none, and one that
about nine in ten did. Between the entries they are interpolated. A prediction warns if z is more
likely than not to be off by more than 10 %.

The tables were set by hand: on systems of the population of two other seeds (604 and 1101), on
those of ``tools.recording.short_texts`` and, at eta_Z/eta_Y of 0.1 to 10, on the systems of seed
603 of :mod:`~scansnap_core.law.trials`. They were tried on systems of the population that
``tools.recording.validity`` drew afterwards, held out (``results/validity.nc``).

The mean of runs on drawn texts (:mod:`scansnap_core.law.drawn_texts`) needs none of these: its
error is known from the runs' own scatter.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import xarray as xr

from scansnap_core.data.sequences import Floats
from scansnap_core.law.memory import Law, State
from scansnap_core.law.order import Shift
from scansnap_core.law.types import Types

ROUNDS = 20
"""The rounds of the power method."""
LIKELY = 0.1
"""A prediction warns if the whole z is likely to be off by more than this share."""
LEAST = 0.03
"""The error inside the range. The law keeps one memory per class, and is no more exact than
this.
"""
SHORTNESS = (
    (0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 3.0),
    (0.0, 0.01, 0.02, 0.07, 0.1, 0.25, 0.35),
    (0.03, 0.06, 0.1, 0.25, 0.5, 1.0, 1.0),
)
"""A table: values of :func:`shortness_of`; the errors that half of the predictions stayed below,
and those that nine in ten did.
"""
GROWTHS = (
    (2.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0),
    (0.0, 0.0, 0.01, 0.03, 0.1, 0.5, 1.0),
    (0.03, 0.05, 0.1, 1.0, 1.0, 1.0, 1.0),
)
"""Such a table for the growth of an oscillation, :class:`Oscillation`."""
ORDERS = (
    (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 3.0),
    (0.0, 0.01, 0.015, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5),
    (0.03, 0.03, 0.06, 0.1, 0.3, 0.4, 0.4, 0.5, 1.0),
)
"""Such a table for the order of classes: values of :attr:`Causes.order`. Beyond 3 few were seen, of
which half were off by more than it says.
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
    array([0.16, 0.48])
    """


def shortness_of(law: Law, state: State, seq_len: float) -> float:
    """Compute the shortness of sequences at one state: the largest evidence over T - 1.

    It is 0 at T = infinity.
    """
    if np.isinf(seq_len):
        return 0.0
    return float(state.a.max()) / (seq_len - 1)


def update_sizes(types: Types, pace: float, momentum: float, batch_size: int | None) -> Floats:
    """Compute how large the updates of each type's classes are, in units of tau, shape (T,).

    In full batches it is eta_Y/(K (1 + mu)): with momentum updates can be larger by 1 + mu before
    an oscillation grows. In batches of B a class comes by chance more often than its share. Its
    share of a batch has the variance P(n) (1 - P(n))/B, which lets the mean square of an
    oscillation grow as if updates were larger by eta_Y/(K (1 - mu)) times (1/P(n) - 1)/B.

    For tokens of one class alone this is exact. For a token that several classes hold it is too
    large, because the draws of one class make up for those of another.

    Parameters
    ----------
    types
        The class system.
    pace
        eta_Y/K.
    momentum
        mu, 0 for plain SGD.
    batch_size
        B, or None for full batches.
    """
    full = np.full(len(types.size), pace / (1 + momentum))
    if batch_size is None:
        return full
    share = types.paces / len(types.of_class)
    return full + pace / (1 - momentum) * (1 / share - 1) / batch_size


def step_of(law: Law, state: State, sizes: Floats) -> float:
    """Compute the step of an update: how far it moves z, as a multiple of the distance of z from
    where memory holds it.

    A distance d from there shrinks as d' = -A d, where A is the sum over the classes n that ask
    with a query of

        eta_Z/eta_Y K P(n) a_n (1 - alpha_n) (diag(f_n²) - f_n² (f_n²)^T).

    The step is the largest eigenvalue of A, with each class's term times the size of its updates.
    From 2 on z goes too far along the eigenvector, and farther each time. With momentum or in small
    batches the step is an effective one: the mean square of the distance grows from 2 on.

    Parameters
    ----------
    law, state
        The law and its state.
    sizes
        :func:`update_sizes`, shape (T,).
    """
    types = law.types
    f = law.attention(state)
    errors, _, _ = law.errors_and_gradient(state, f)
    pull = (law.ratio * types.paces * state.a * errors.own * sizes)[:, None]
    common, distinct = (values**2 for values in f)

    # The power method: A is applied to a vector until it is along the eigenvector; its length then
    # grows by the eigenvalue. Classes may share no token, so it begins with a token of each: up at
    # the distinct one whose entry on A's diagonal is largest, and down at such a common token of
    # each query. A common token is pulled by all classes that ask with the same query.
    v_common = -_at_largest(types.asking @ (pull * common * (1 - common)))
    v_distinct = _at_largest(pull * distinct * (1 - distinct))
    length = 0.0
    for _ in range(ROUNDS):
        of_query = v_common[types.query]
        mean = (common * of_query).sum(axis=1) + (distinct * v_distinct).sum(axis=1)
        v_common = types.asking @ (pull * common * (of_query - mean[:, None]))
        v_distinct = pull * distinct * (v_distinct - mean[:, None])
        length = float(np.sqrt(np.square(v_common).sum() + np.square(v_distinct).sum()))
        if length == 0:
            return 0.0
        v_common /= length
        v_distinct /= length
    return length


def _at_largest(rows: Floats) -> Floats:
    """Return 1 at the first largest entry of each row, and 0 elsewhere."""
    found = np.zeros_like(rows)
    if rows.size:
        found[np.arange(len(rows)), rows.argmax(axis=1)] = 1
    return found


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


class Oscillation:
    """How far an oscillation would have grown, were it small at first: an index.

    It adds up ln(step - 1) over the updates in which the :func:`step_of` was above 2. In full
    batches without momentum the distance from where memory holds z grows by the factor step - 1 in
    each such update. With momentum it grows faster, in small batches more slowly; the table was set
    on these, too. Training has left the law if the growth is large; a few such updates do no harm.

    Between the times at which steps are evaluated, ln(step - 1) is linear.

    Parameters
    ----------
    update
        The tau of one update.
    """

    def __init__(self, update: float) -> None:
        """Begin at tau = 0, without growth."""
        self._update = update
        self._tau = 0.0
        self._rate = 0.0
        self._growth = 0.0

    def growth(self, tau: float, step: float, *, keep: bool) -> float:
        """Add up the growth until ``tau``, where an update's step is ``step``.

        Later times go on from here if ``keep`` is true, and from the last time kept otherwise.
        """
        rate = np.log(max(step - 1, 1.0))
        updates = (tau - self._tau) / self._update
        growth = float(self._growth + updates * (self._rate + rate) / 2)
        if keep:
            self._tau = tau
            self._rate = rate
            self._growth = growth
        return growth


class Causes(NamedTuple):
    """What can take a prediction out of its range, at one time; or, in arrays of one shape, many
    predictions.

    Attributes
    ----------
    shortness
        :func:`shortness_of`.
    growth
        That of an :class:`Oscillation`, 0 for a flow.
    order
        The geometric mean of two shares, which are :func:`order_of` over the batch size: that at
        this time, and the largest so far. 0 for full batches.
    """

    shortness: float | Floats
    growth: float | Floats
    order: float | Floats


class Errors(NamedTuple):
    """Errors of the whole z to expect, shares of its size; by cause, each of shape (3, ...).

    The causes are short sequences, large updates and small batches. The largest error counts.

    Attributes
    ----------
    likely
        About half of the predictions were off by less. 0 where the tables name no error.
    expected
        About nine in ten were.
    """

    likely: Floats
    expected: Floats


def errors_by_cause(causes: Causes) -> Errors:
    """Look up the errors to expect of each cause, of one prediction or of many.

    Examples
    --------
    >>> errors_by_cause(Causes(shortness=0.5, growth=0.0, order=0.3)).expected.round(2)
    array([0.25, 0.03, 0.1 ])
    """
    looked_up = []
    for measure, table in zip(causes, (SHORTNESS, GROWTHS, ORDERS), strict=True):
        places, likely, expected = table
        looked_up.append((np.interp(measure, places, likely), np.interp(measure, places, expected)))
    likely, expected = np.swapaxes(looked_up, 0, 1)
    return Errors(likely, np.maximum(expected, LEAST))


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
    # The mean of runs has one cause of error, listed last.
    cause = -1
    if found.runs == 0:
        order = float(np.sqrt(worst.order * worst.largest_order))
        causes = Causes(worst.shortness.item(), worst.growth.item(), order)
        cause = int(errors_by_cause(causes).likely.argmax())
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
    warnings.warn(
        f"z is likely off by {_percent(worst.likely_error.item())} of its size at t = "
        f"{worst.recorded:g} (one prediction in ten by {_percent(worst.expected_error.item())}), "
        f"and by more than {100 * LIKELY:.0f} % at {beyond.sum()} of {beyond.size} times: {why}; "
        f"{remedy} (likely_error and expected_error have it for each time)",
        PredictionOutOfRange,
        stacklevel=4,  # The warning names the line that called predict.
    )


def _percent(error: float) -> str:
    """Write an error that may be exceeded; the tables end at 1."""
    return f"{100 * error:.0f} % or more"
