"""How far a forecast can be trusted, from one time to the next.

What depends on the times before, the growth of an oscillation and the largest order so far, goes on
at fixed times alone. So it doesn't depend on which other times are asked for.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

from scansnap_core.law.expected_error import (
    Causes,
    beyond_first_order,
    errors_by_cause,
    errors_of_exact,
    shortness_of,
)
from scansnap_core.law.memory import Law, Moved
from scansnap_core.law.overshoot import Overshoot, Updates


class Oscillation:
    """How far an oscillation would have grown, were it small at first.

    It adds up the growth of an :class:`~scansnap_core.law.overshoot.Overshoot` over the updates in
    which it is above 0. A few such updates do no harm. In many of them training leaves the law: in
    full batches because the oscillation becomes large, in small ones because its mean square does,
    even where most single runs keep small.

    The growth in an update is taken as linear between the times at which it is evaluated.

    Parameters
    ----------
    update
        The tau of one update.

    Examples
    --------
    >>> oscillation = Oscillation(update=0.5)
    >>> oscillation.advance(1.0, rate=0.0)
    >>> oscillation.advance(2.0, rate=0.2)  # two updates later
    >>> oscillation.until(2.5, rate=0.2)
    0.4
    """

    def __init__(self, update: float) -> None:
        """Begin at tau = 0, without growth."""
        self._update = update
        self._tau = 0.0
        self._rate = 0.0
        self._growth = 0.0

    def until(self, tau: float, rate: float) -> float:
        """Compute the growth until ``tau``, where an update makes it grow by ``rate``.

        It is added up from the time of the last :meth:`advance` on, by the trapezoid rule.
        """
        updates = (tau - self._tau) / self._update
        return float(self._growth + updates * (self._rate + rate) / 2)

    def advance(self, tau: float, rate: float) -> None:
        """Go on to ``tau``, where an update makes it grow by ``rate``."""
        self._growth = self.until(tau, rate)
        self._tau = tau
        self._rate = rate

    def end(self, tau: float) -> None:
        """Begin anew at ``tau``, without growth."""
        self.advance(tau, 0.0)
        self._growth = 0.0


class ErrorsOverTime:
    """The measures of a forecast and its errors, at ascending times.

    Parameters
    ----------
    law, seq_len
        The law of the classes, and T.
    updates
        How SGD updates.
    made_until
        The tau up to which updates are made one by one.
    is_whole
        Whether all of Y and Z are followed, so that nothing is left out.

    Attributes
    ----------
    largest_step
        The largest step of an update so far.
    """

    def __init__(
        self, law: Law, seq_len: float, updates: Updates, *, made_until: float, is_whole: bool
    ) -> None:
        """Begin at tau = 0, where nothing has moved."""
        self._law = law
        self._seq_len = seq_len
        self._momentum = updates.momentum
        # eta_Y/B, which is 0 for full batches; the pace is eta_Y/K.
        self._draw = 0.0
        if updates.batch_size is not None:
            self._draw = len(law.types.of_class) * updates.pace / updates.batch_size
        self._made_until = made_until
        self._is_whole = is_whole
        update = updates.pace / (1 - updates.momentum)
        self._oscillation = Oscillation(update)
        self._late = Oscillation(update)  # as it is when updates are no longer made one by one
        self._largest_order = 0.0
        self.largest_step = 0.0

    def advance(self, tau: float, overshoot: Overshoot, order: float) -> None:
        """Go on to ``tau``, where updates overshoot so far and the order of classes has moved z by
        this share.
        """
        self._oscillation.advance(tau, overshoot.growth)
        if overshoot.growth == 0 and tau <= self._made_until:
            # An oscillation that has ended while updates were made one by one has done no harm.
            self._late.end(tau)
        else:
            self._late.advance(tau, overshoot.growth)
        self._largest_order = max(self._largest_order, order)
        self.largest_step = max(self.largest_step, overshoot.step)

    def at(self, tau: float, state: Moved, overshoot: Overshoot, order: float) -> dict[str, float]:
        """Compute the measures and the errors at ``tau``, by their names in a forecast."""
        growth = self._oscillation.until(tau, overshoot.growth)
        shortness = shortness_of(self._law, state, self._seq_len)
        largest = max(self._largest_order, order)
        chance = float(beyond_first_order(order, largest, self._draw, self._momentum))

        if self._is_whole:
            late = 0.0
            if tau > self._made_until:
                late = self._late.until(tau, overshoot.growth)
            likely, expected = errors_of_exact(late)
        else:
            errors = errors_by_cause(Causes(shortness, growth, chance))
            likely = float(errors.likely.max())
            expected = float(errors.expected.max())
        return {
            "shortness": shortness,
            "step": overshoot.step,
            "growth": growth,
            "order": order,
            "largest_order": largest,
            "chance": chance,
            "rounding": 0.0,
            "likely_error": likely,
            "expected_error": expected,
        }
