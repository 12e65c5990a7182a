"""Bound our law's error for equal classes, whose true gradient flow is a small system of equations.

The K classes share one query and one common token, and hold D distinct tokens each. Then Y is 2D +
1 numbers whatever Z does: a distinct token's row holds ∫ f_l (e_n - alpha_n) dtau, and the common
token's row is one number R = ∫ f_c alpha_rest dtau, because the errors of all classes together are
M - K at each class's output and -K at the others, times alpha_rest. Beside the flow runs the linear
law of memory, driven by the flow's own decoder.

:func:`linear_error` bounds the difference of the two, with its constants. The flow obeys the linear
law but for a residual P: the drift and J at the present f, memory's second order, and the errors on
other outputs that the law leaves out of a class's memory. Each is a product of f's, whose
logarithms change by no more than the way ∫ (max dz - min dz) that attention has gone. And memory
passes a residual on without growth: what enters at the evidence a' weighs ∫_a'^a e^(-lambda (s² -
a'²)/2) ds <= min(a - a', 1/(lambda a')) later.

Clock: tau = eta_Y t/K with t in steps of batch size 1; evidence a = ∫ (1 - alpha_nn) dtau.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scansnap_core.base.rules import (
    FLOW_RATE,
    Rule,
    checked_numbers,
    checked_times,
    number,
    takes,
    whole,
)
from scansnap_core.data.sequences import Floats
from scansnap_core.theory.solving import integrated

RTOL = 1e-9
ATOL = 1e-24
START = 1e-5
"""Integration begins at this tau; before it, errors are 1 - 1/M to that order."""
MOST_STEPS = 200
MARGIN = 1 + 1e-6
"""The bound on the way is found by at most this many steps, each a little larger than the last."""
REACHED = Rule(
    lambda at: all(math.isfinite(value) and value >= 0 for value in at) and at.a > 0,
    "what was gathered is finite and not negative",
    "pass an EqualClassesFlow's path",
)


class Rest:
    """Linearise attention at z = 0: J = df/dz, and the modes of memory.

    Coordinates are y = z/sqrt(N), in which the modes are orthogonal.

    Parameters
    ----------
    num_classes, overlap
        K >= 2, and rho = f_c², above 0 and below 1.
    distinct_weights
        Unnormalised probabilities of a class's distinct tokens, shape (D,), positive.

    Attributes
    ----------
    f, count
        f_n on its common and distinct tokens, and how many classes push each (N: K, then 1); shape
        (1 + D,).
    rates, modes
        sigma_i² ascending and without the 0 of a shift of all z, shape (D,), and their y, shape (1
        + D, D): the eigenvectors of N^(1/2) J^T J N^(1/2).
    drive, unit
        d, the drift of y for a unit of ratio times Lambda, shape (1 + D,), and the same by mode,
        shape (D,).
    """

    @takes(num_classes=whole(2), overlap=number(above=0, below=1, remedy="pass e.g. 0.1"))
    def __init__(self, num_classes: int, overlap: float, distinct_weights: ArrayLike) -> None:
        """Linearise f at z = 0, and diagonalise what memory does to z: K classes of one common and
        D distinct tokens.
        """
        rule = "a list of positive finite numbers"
        remedy = "pass e.g. [1, 2]"
        weights = checked_numbers(
            "distinct_weights", distinct_weights, above=0, rule=rule, remedy=remedy, dims=1
        )
        self.num_classes = num_classes
        self.f = np.append(
            np.sqrt(overlap), np.sqrt(1 - overlap) * weights / np.linalg.norm(weights)
        )
        self.count = np.append(float(num_classes), np.ones(weights.size))
        self.J = np.diag(self.f) - np.outer(self.f, self.f**2)
        push = np.sqrt(self.count)[:, None] * self.J.T
        rates, modes = np.linalg.eigh(push @ push.T)
        self.rates = rates[1:]
        self.modes = modes[:, 1:]
        self.drive = -(num_classes - 1) * push[:, 0] * self.f[0]
        self.unit = self.modes.T @ self.drive

    def check_vocabulary(self, vocab_size: float) -> None:
        """Raise :class:`~scansnap_core.BadInput` unless there are more outputs than classes."""
        number(least=self.num_classes + 1, remedy="pass more outputs than classes")(
            "vocab_size", vocab_size
        )


class FlowPath(NamedTuple):
    """The flow and the linear law at ascending tau, and what bounds the law's error.

    The first axis of each array is tau.

    Attributes
    ----------
    z, linear
        z of the flow and of the linear law on the common and the distinct tokens, (tau, 1 + D).
    a, b, c
        The integrals of the decoder's errors along the flow, as in
        :mod:`~scansnap_core.law.closed`.
    share
        The part of a class's errors that lies on other classes' outputs.
    odds
        alpha_other/alpha_rest.
    way
        ∫ (max dz - min dz), how far attention has gone.
    response
        The slowest mode's answer to a unit drift.
    length
        The length of the linear law's path in y.
    """

    z: Floats
    linear: Floats
    a: Floats
    b: Floats
    c: Floats
    share: Floats
    odds: Floats
    way: Floats
    response: Floats
    length: Floats


class EqualClassesFlow:
    """The true gradient flow of equal classes, as differential equations in ln tau.

    M > K, and ``ratio`` = eta_Z/eta_Y >= 0.
    """

    @takes(ratio=FLOW_RATE)
    def __init__(self, rest: Rest, *, vocab_size: float, ratio: float) -> None:
        """Lay out the packed state for K classes of D distinct tokens."""
        rest.check_vocabulary(vocab_size)
        self.rest = rest
        self.M = float(vocab_size)
        self.ratio = float(ratio)
        D = len(rest.rates)
        # A packed state holds, one after the other: z (1 + D), R (1), ∫ f_l alpha_other (D) and
        # ∫ f_l alpha_rest (D) of the distinct tokens, b and c (2), the linear law's memory (D) and
        # its answer to a unit drift (D) by mode, the way (1) and the length (1).
        self._cuts = np.cumsum([1 + D, 1, D, D, 2, D, D, 1])

    def path(self, taus: ArrayLike) -> FlowPath:
        """Compute the path at ascending taus = eta_Y t/K, of 2e-5 or more."""
        times = checked_times("tau", taus, "pass e.g. [10.0]")
        number(least=2 * START, says=f"moments are above {START:g}", remedy="pass e.g. [10.0]")(
            "tau", times[0]
        )
        rest = self.rest
        (common, *own) = self.rest.f
        # Up to START errors are 1 - 1/M, and integrals over tau are products with tau.
        begun = START / self.M
        learned = begun * np.concatenate([[common], own, own, [1.0, 1.0]])
        start = np.concatenate([np.zeros(len(rest.f)), learned, np.zeros(2 * len(own) + 2)])
        how: dict[str, Any] = {
            "failed": self._failed,
            "method": "LSODA",
            "rtol": RTOL,
            "atol": ATOL,
        }
        states = integrated(self._rhs, np.log(START), np.log(times), start, **how)
        z, _, _, _, outputs, _, response, way, length = np.split(states, self._cuts, axis=1)
        b, c = outputs.T
        # The linear law's z = sqrt(N) y, where y is the sum of the modes' answers to their drifts.
        moved = (rest.unit * response) @ rest.modes.T * np.sqrt(rest.count)
        logits = [self._logits(*np.split(state, self._cuts)[:4]) for state in states]
        odds = np.exp([other - outside for _, other, outside, _ in logits])
        # Of the errors, K - 1 times alpha_other lie on other classes' outputs and M - K times
        # alpha_rest on the rest.
        share = (
            (rest.num_classes - 1)
            * odds
            / ((rest.num_classes - 1) * odds + self.M - rest.num_classes)
        )
        return FlowPath(
            z,
            moved,
            self._evidence(b, c),
            b,
            c,
            share,
            odds,
            way[:, 0],
            response[:, 0],
            length[:, 0],
        )

    def _evidence(self, b: Floats, c: Floats) -> Floats:
        """Add up what the other outputs lost: K - 1 times b and M - K times c."""
        return (self.rest.num_classes - 1) * b + (self.M - self.rest.num_classes) * c

    def _logits(
        self, z: Floats, R: Floats, B: Floats, C: Floats
    ) -> tuple[float, float, float, Floats]:
        """Compute the logits of a class's own output, of another class's and of one that names no
        class, and f (1 + D,).

        ``R`` (1,) is ∫ f_c alpha_rest dtau. ``B`` and ``C`` (D,) are ∫ f_l alpha_other dtau and ∫
        f_l alpha_rest dtau of the class's distinct tokens.
        """
        K = self.rest.num_classes
        rest = self.M - self.rest.num_classes
        # This is spectrum.F(self.rest.f, z), written out in a sixth of its time because the
        # integration asks at every step.
        f = self.rest.f * np.exp(z - z.max())
        f /= np.linalg.norm(f)
        # The common token's row is (M - K) R at each class's output and -K R at each other one. The
        # distinct tokens' rows hold the class's own evidence, and what its errors removed.
        shared = f[0] * R[0]
        own = f[1:] @ self._evidence(B, C)
        return rest * shared + own, rest * shared - f[1:] @ B, -K * shared - f[1:] @ C, f

    def _rhs(self, log_tau: float, state: Floats) -> Floats:
        """Compute d(state)/d(ln tau) of a packed state: of the flow, and of the linear law beside
        it, which is driven by the flow's decoder.
        """
        K = self.rest.num_classes
        rest = self.M - self.rest.num_classes
        z, R, B, C, (b, c), memory, *_ = np.split(state, self._cuts)
        own, other, outside, f = self._logits(z, R, B, C)

        # The softmax over three kinds of outputs, of which there are 1, K - 1 and M - K: alpha on
        # all other classes' outputs and on all of the rest, then on one output of each kind.
        logits = np.array([own, other + np.log(K - 1), outside + np.log(rest)])
        _, on_others, on_rest = np.exp(logits - np.logaddexp.reduce(logits))
        beta = on_others / (K - 1)
        r = on_rest / rest
        error = on_others + on_rest

        # g = Y (e_n - alpha_n) on the common token and on the distinct ones, and dz/dtau by Eqn 4.
        own_rows = self._evidence(B, C) * error + (K - 1) * B * beta + rest * C * r
        g = np.append(self.M * rest * r * R, own_rows)
        dz = self.ratio * self.rest.count * f * (g - f * (f @ g))

        # The linear law's answer to a unit drift, by mode: kappa drives it, and the class's errors
        # times what was remembered hold it back. Memory gathers the answer times sigma² a.
        a = self._evidence(b, c)
        kappa = (a + b) * beta + rest * (b - c) * r
        answer = self.ratio * (kappa - error * memory)

        # What the decoder gathers, and how fast attention and the linear law go.
        learned = np.concatenate([f[:1] * r, f[1:] * beta, f[1:] * r, [beta, r]])
        ways = [np.ptp(dz), np.linalg.norm(self.rest.unit * answer)]
        remembered = self.rest.rates * a * answer
        return np.exp(log_tau) * np.concatenate([dz, learned, remembered, answer, ways])

    def _failed(self, log_tau: float) -> str:
        return (
            f"equal classes, lr_z/lr_y = {self.ratio:g}: integrated up to lr_y t/K = "
            f"{np.exp(log_tau):.3g}"
        )


class Reached(NamedTuple):
    """One moment of a :class:`FlowPath`, with what its bound depends on."""

    a: float
    b: float
    c: float
    share: float
    response: float
    length: float


class Bound(NamedTuple):
    """Bounds on the flow at one moment; both are infinite where their conditions end.

    Attributes
    ----------
    error
        A bound on (sum_l (z_l - z_L,l)²/N_l)^(1/2), the distance between the flow and the linear
        law.
    way
        A bound on the flow's way.
    """

    error: float
    way: float


@takes(ratio=FLOW_RATE, at=REACHED)
def linear_error(rest: Rest, vocab_size: float, ratio: float, at: Reached) -> Bound:
    """Bound the linear law's error at one moment of the flow.

    The bound holds up to the moment ``at``, if the odds alpha_other/alpha_rest haven't fallen by
    then, for M = ``vocab_size`` > K and eta_Z/eta_Y = ``ratio``.

    Examples
    --------
    >>> rest = Rest(2, 0.1, [1, 2])
    >>> path = EqualClassesFlow(rest, vocab_size=10_000, ratio=0.01).path([100.0])
    >>> at = Reached(*(float(getattr(path, name)[0]) for name in Reached._fields))
    >>> linear_error(rest, 10_000, 0.01, at).error < 0.01 * at.length
    True
    """
    rest.check_vocabulary(vocab_size)
    widest = math.sqrt(rest.num_classes + 1)  # A bound on (max dz - min dz)/|dy|.
    way = widest * at.length
    for _ in range(MOST_STEPS):
        gone = MARGIN * way
        error = _error(rest, float(vocab_size), ratio, at, gone)
        further = widest * (at.length + error)
        if further < gone:
            return Bound(error, gone)
        way = max(further, gone)
    return Bound(math.inf, math.inf)


def _error(rest: Rest, M: float, ratio: float, at: Reached, way: float) -> float:
    """Bound the linear law's error at the moment ``at``, in units of y = z/sqrt(N), while attention
    has gone at most the way ``way``, in logits.

    It is infinite where attention has gone farther than 1, or where an error would feed itself.
    """
    if way > 1:
        return math.inf
    K = rest.num_classes
    p = rest.f**2  # attention's weights on the class's tokens, which sum to 1
    root = np.sqrt(rest.count)

    # The norm of N^(1/2) |J|^T |J| N^(1/2), and of the change of N^(1/2) J^T f by a unit of |dy|.
    squared = float(np.linalg.norm(np.abs(rest.J) * root, 2) ** 2)
    turned = math.sqrt(K + 1) * float(np.linalg.norm(root * 2 * p * (1 - p)))
    pushed = float(np.linalg.norm(rest.drive))

    # What the law leaves out of a class's memory, per unit of memory; and a bound on
    # kappa/(epsilon a).
    apart = (at.b - at.c) / at.a
    left_out = 1 / (M - K) + (K - 1) * apart + at.share * M / (M - K)
    drift = at.share * (1 + at.b / at.a) / (K - 1) + apart

    # The residual P per unit of the path's length: memory's second order, J at the present f, the
    # drift at the present f, and the errors on other classes' outputs.
    per_length = (
        (math.expm1(6 * way) + left_out * math.exp(6 * way)) * squared
        + 3 * (1 + left_out) * way * math.exp(4 * way) * turned
        + 4 * math.sqrt(K + 1) * math.exp(4 * way) * pushed * drift
        + math.exp(6 * way) * squared * at.share * M / (M - K)
    )

    # Memory passes a residual on without growth, so the error is at most this multiple of the
    # length, and the error enlarges the length in turn.
    grown = min(1 / float(rest.rates[0]), ratio * at.a**2 / 4) * per_length
    first = math.expm1(4 * way) * pushed * at.response
    return (grown * at.length + first) / (1 - grown) if grown < 1 else math.inf
