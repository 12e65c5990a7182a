"""The order in which classes come moves the mean of z: what small batches add to the law of full
batches.

A full batch shows every class n in its share P(n). SGD draws B classes an update, so after t
updates some class has come more often than its share and another less often, by chance. The one
that came more often has gathered more evidence; and a class that shares words with it errs by more
on its output. Attention is pushed by the product of the two, and the mean of a product of two
quantities that rise together is larger than the product of their means.

**Derivation.** Let x be the law's state, v_n(x) what one draw of class n adds to it, and F = sum_n
P(n) v_n. A full batch moves the state by F an update. Runs of SGD scatter around it with a
covariance C/B, and as F is curved, their mean is shifted by m_1/B. To first order in eta_Y/B, with
J = dF/dx and all derivatives at the full batch's state,

    m_1' = J m_1 + 1/2 sum_ij C_ij d²F/dx_i dx_j    per update.
    (a)

C has as many numbers as the state has pairs of numbers. But only the counts of the classes are
random. Let S_n be the state's response if class n comes more often than its share, by one standard
deviation of a single draw:

    S_n' = J S_n + sqrt(P(n)) (v_n - F),    S_n = 0 at t = 0.
    (b)

If we take a class's surplus as spread evenly over the time gone by, C = sum_n S_n S_n^T/t, and

    m_1' = J m_1 + 1/(2 t) sum_n D²F[S_n, S_n],    m_1 = 0 at t = 0.
    (c)

With momentum mu, a draw j updates ago has moved the state by c_j = (1 - mu^j)/(1 - mu) times its
step. S_n and m_1 follow momentum as the state does, and t in (c) becomes (sum c_j)²/sum c_j², over
j = 1, ..., t.

In (a) to (c) nothing is fitted. What they leave out is the second order in eta_Y/B, and at finite T
the scatter of a class's samples. Z of a class system whose classes share nothing isn't moved at T =
infinity, nor that of one class.

Clock: tau = eta_Y t/K, t in updates of batch size B.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.law.inertia import InertialLaw
from scansnap_core.law.log_tau import Motion
from scansnap_core.law.memory import Law
from scansnap_core.law.sampled_law import SampledLaw
from scansnap_core.law.types import Types, mean_by, types_of
from scansnap_core.theory.solving import IntegrationFailed

MOST_RESPONSES = 16
SEED = 0
"""The most responses S_n that are integrated. If there are more types of classes, this many
mixtures of their responses with random signs take their place.
"""
DIFFERENCE = 1e-2
"""Derivatives of F are differences between states whose evidence differs by about this share."""
RTOL = 1e-5
ATOL = 1e-12


class OrderedState(NamedTuple):
    """Two packed states of the law, each of shape (N,).

    ``mean`` is m of full batches, and ``shift`` is its shift m_1 at batch size 1.
    """

    mean: Floats
    shift: Floats


class OrderedLaw(Motion[OrderedState]):
    """Equations (b) and (c) together with the state of full batches, for InertialLaw to integrate.

    The motion packs m, m_1, the R responses, each of the law's N numbers, and the tau gone by: (2 +
    R) N + 1 numbers.

    Parameters
    ----------
    law
        The law, for types in which each class that is drawn stands alone.
    draws
        One row for each response, shape (R, T). It responds to draws of a class of type i with the
        weight draws[r, i], which is sqrt(P(n)) in (b).
    pace, momentum
        eta_Y/K of the updates, which is the tau of one of them without momentum; and mu, 0 for
        plain SGD.
    """

    def __init__(self, law: Law, draws: Floats, pace: float, momentum: float) -> None:
        """Make the law of each response's draws, and choose the steps of its differences."""
        self.law = law
        self.pace = pace
        self.momentum = momentum
        self._rows = 2 + len(draws)
        self.num_values = self._rows * law.num_values + 1

        # The law's rate is linear in the paces K P(n). So at the paces K w_n it is sum_n w_n v_n,
        # for any weights w_n.
        self._total = draws.sum(axis=1)
        self._drawn = [_with_paces(law, len(law.types.of_class) * row) for row in draws]

        # A step along a response changes no evidence by more than a small share of it, at least at
        # first.
        first = law.unpack(law.start(1.0)).a
        responses = [
            law.unpack(S).a
            for S in self._sources(law.start(1.0), [law.start(1.0) for law in self._drawn])
        ]
        self._steps = [DIFFERENCE / float(np.abs(a / first).max()) for a in responses]

    def unpack(self, packed: Floats) -> OrderedState:
        """Return m and m_1 of a packed motion; further numbers may follow the motion's own."""
        rows = packed[: self.num_values - 1].reshape(self._rows, -1)
        return OrderedState(rows[0], rows[1])

    def start(self, tau: float) -> Floats:
        """Return the packed motion after one update from zero that takes ``tau``.

        Before it nothing was random, so m_1 is 0.
        """
        mean = self.law.start(tau)
        sources = self._sources(mean, [law.start(tau) for law in self._drawn])
        return np.concatenate([mean, np.zeros_like(mean), *sources, [tau]])

    def rate(self, packed: Floats) -> Floats:
        """Compute d(motion)/dtau of a packed motion: of m by F, of m_1 by (c), of each S by (b)."""
        mean, shift, *responses = packed[:-1].reshape(self._rows, -1)
        F = self.law.rate(mean)
        sources = self._sources(F, [law.rate(mean) for law in self._drawn])

        # J S and D²F[S, S] are first and second differences of F along S.
        slopes = []
        bends = []
        for S, step in zip(responses, self._steps, strict=True):
            up = self.law.rate(mean + step * S)
            down = self.law.rate(mean - step * S)
            slopes.append((up - down) / (2 * step))
            bends.append((up + down - 2 * F) / step**2)

        # Equations (c) and (b), per unit of tau.
        draws = effective_draws(packed[-1] / self.pace, self.momentum)
        shift_rate = self._slope(mean, shift) + np.sum(bends, axis=0) / (2 * draws)
        response_rates = [slope + source for slope, source in zip(slopes, sources, strict=True)]
        return np.concatenate([F, shift_rate, *response_rates, [1.0]])

    def tolerances(self) -> tuple[float, float]:
        """Return the solver's tolerances."""
        return RTOL, ATOL

    def failed(self, log_tau: float) -> str:
        """Write how far the order of classes could be integrated."""
        return f"the order of classes: {self.law.failed(log_tau)}"

    def _sources(self, F: Floats, drawn: list[Floats]) -> list[Floats]:
        """Compute sum_n w_n (v_n - F) of each response, given F and each sum_n w_n v_n."""
        return [rate - total * F for rate, total in zip(drawn, self._total, strict=True)]

    def _slope(self, mean: Floats, shift: Floats) -> Floats:
        """Compute J m_1, shape (N,), as a difference of F along m_1.

        F is linear over a small step alone, so the step is a share of the state's own size.
        """
        largest = np.abs(shift).max()
        if largest == 0:
            return np.zeros_like(shift)
        step = min(self._steps) * np.abs(mean).max() / largest
        up = self.law.rate(mean + step * shift)
        down = self.law.rate(mean - step * shift)
        return np.asarray((up - down) / (2 * step))


def _with_paces(law: Law, paces: Floats) -> Law:
    """Return the law with other paces K P(n), shape (T,), which may have any sign."""
    other = copy.copy(law)
    other.types = dataclasses.replace(law.types, paces=paces)
    return other


def effective_draws(moved: float, momentum: float) -> float:
    """Compute (sum c_j)²/sum c_j² of (c), the number of draws that scatter as much as the motion.

    Without momentum this is t.

    Parameters
    ----------
    moved
        sum c_j: how far t updates under a constant force have moved, in steps without momentum.
    momentum
        mu, at least 0 and below 1.

    Examples
    --------
    >>> effective_draws(100.0, 0.0)
    100.0
    >>> round(effective_draws(1.0 + 1.9 + 2.71, 0.9), 6)  # c_j after three updates
    2.632745
    """
    if momentum == 0:
        return moved
    # First t, the number of updates: Lambert's function solves (1 - mu) moved = t - lag (1 - mu^t).
    mu = momentum
    lag = momentum / (1 - momentum)
    end = (1 - mu) * moved + lag
    t = end - special.lambertw(np.log(mu) * lag * mu**end).real / np.log(mu)
    # Then the sum of c_j², a geometric series.
    squares = t - 2 * lag * (1 - mu**t) + mu**2 / (1 - mu**2) * (1 - mu ** (2 * t))
    return float(((1 - mu) * moved) ** 2 / squares)


class Shift(NamedTuple):
    """How far the order of classes moves z at batch size 1, in logits.

    At batch size B it is a B-th of that.

    By type, as :class:`~scansnap_core.law.memory.State` has z: ``z_common`` (R, C) and
    ``z_distinct`` (T, D).
    """

    z_common: Floats
    z_distinct: Floats


class OrderTerm:
    """The shift of z by the order of classes, of a class system.

    One class of each type is split off; its draws stand for those of all classes of its type. So
    what it finds for one class is averaged over all that are like it, and for one query over all
    queries like it.

    Parameters
    ----------
    classes, types
        The class system, and its types.
    ratio, pace
        eta_Z/eta_Y, and eta_Y/K of the updates.
    seq_len, momentum
        T, a whole number of 3 or more, or infinity; and mu, 0 for plain SGD.

    Examples
    --------
    >>> from scansnap_core import with_overlap
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> types = types_of(classes)
    >>> (shift,) = OrderTerm(classes, types, ratio=0.1, pace=0.5).path(np.array([15.0]))
    >>> types.per_query(shift.z_common, shift.z_distinct).round(4)
    array([[-0.0015,  0.0002,  0.0005,  0.0002,  0.0005]])
    """

    def __init__(
        self,
        classes: SequenceClasses,
        types: Types,
        ratio: float,
        pace: float,
        *,
        seq_len: float = np.inf,
        momentum: float = 0.0,
    ) -> None:
        """Split off one class of each type, give its draws their weights, and make the motion of
        (b) and (c).
        """
        self.types = types
        endless = bool(np.isinf(seq_len))
        # In endless sequences the order moves only classes that share a word with others. In short
        # ones it moves all, unless there is one class alone, which has no order.
        self.is_moved = np.any(types.common > 0, axis=1)
        if not endless:
            self.is_moved = np.full(len(types.size), len(types.of_class) > 1)

        stand_in = [
            int(np.flatnonzero(types.of_class == i)[0]) for i in np.flatnonzero(self.is_moved)
        ]
        split = types_of(classes, apart=stand_in)
        self._law = Law(split, ratio) if endless else SampledLaw(split, ratio, seq_len)
        self._split = split

        # The weight in (b) is sqrt(P(n)) of the class split off, times the root of the number of
        # classes for which it stands.
        kind = split.of_class[stand_in]
        draws = np.zeros((len(stand_in), len(split.size)))
        draws[np.arange(len(stand_in)), kind] = np.sqrt(
            split.paces[kind] / len(split.of_class) * types.size[self.is_moved]
        )
        if len(draws) > MOST_RESPONSES:
            # (c) needs only sum_n S_n S_n^T, which is the mean of S S^T over mixtures S of all S_n
            # with random signs.
            signs = np.random.default_rng(SEED).choice(
                [-1.0, 1.0], size=(MOST_RESPONSES, len(draws))
            )
            draws = signs @ draws / np.sqrt(MOST_RESPONSES)
        self._motion = InertialLaw(OrderedLaw(self._law, draws, pace, momentum), momentum, pace)

    def path(self, taus: Floats) -> Iterator[Shift]:
        """Yield the shifts at ascending taus > 0.

        Raises ``IntegrationFailed``, whose ``reached`` are the shifts before.
        """
        if not self.is_moved.any():
            nothing = Shift(
                np.zeros((len(self.types.asking), self.types.common.shape[1])),
                0 * self.types.distinct,
            )
            yield from [nothing] * len(taus)
            return
        try:
            for state in self._motion.path(taus):
                yield self._averaged(state)
        except IntegrationFailed as error:
            error.reached = [*map(self._averaged, error.reached or ())]
            raise

    def _averaged(self, state: OrderedState) -> Shift:
        """Average m_1's part in z over all classes of a type, and over all queries of a kind.

        The state is that of types with one class split off, and the shift that of ``types``.
        """
        types = self.types
        shift = self._law.unpack(state.shift)
        common = mean_by(types.of_query, shift.z_common[self._split.of_query])
        distinct = mean_by(types.of_class, shift.z_distinct[self._split.of_class])
        distinct[~self.is_moved] = 0  # These are exactly 0; what was integrated is rounding.
        return Shift(common, distinct)
