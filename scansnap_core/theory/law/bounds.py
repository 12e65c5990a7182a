"""How far the linear law of memory can be from the true flow, for classes that are alike: a bound with its constants.

The flow obeys the law but for a residual P: the drift and J at the present f, memory's second order, and the errors on
other outputs that the law leaves out of a class's memory. Each is a product of f's, whose logarithms change by no more
than the way ∫ (max dz - min dz) that attention has gone. And memory passes a residual on without growth: what enters at
the evidence a' weighs ∫_a'^a e^(-lambda (s² - a'²)/2) ds <= min(a - a', 1/(lambda a')) later.

Clock: evidence a, per unit of which eta_Z/eta_Y is ``ratio``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import check_flow_rate, check_within
from scansnap_core.theory.law.alike import Rest

MOST_STEPS = 200
MARGIN = 1 + 1e-6


class Reached(NamedTuple):
    """Where the decoder and the linear law are: a, b, c, ``share``, ``response`` and ``length`` of ``alike.Path``."""

    a: float
    b: float
    c: float
    share: float
    response: float
    length: float


class Bound(NamedTuple):
    """At most ``error`` between flow and law, |z - z_L| = (sum_l (z_l - z_L,l)²/N_l)^(1/2), and at most ``way`` gone.

    Both infinite where the conditions end.
    """

    error: float
    way: float


def linear_error(rest: Rest, vocab_size: float, ratio: float, at: Reached) -> Bound:
    """The bound at one evidence; it holds up to there if the odds alpha_other/alpha_rest haven't fallen.

    Parameters
    ----------
    rest
        The classes.
    vocab_size
        M, above K.
    ratio
        eta_Z/eta_Y.
    at
        What the decoder gathered, and the linear law driven by it.

    Examples
    --------
    >>> from scansnap_core.theory.law.alike import AlikeFlow
    >>> rest = Rest(2, 0.1, [1, 2])
    >>> path = AlikeFlow(rest, vocab_size=10_000, ratio=0.01).path([100.0])
    >>> at = Reached(*(float(getattr(path, name)[0]) for name in Reached._fields))
    >>> linear_error(rest, 10_000, 0.01, at).error < 0.01 * at.length
    True
    """
    check_flow_rate("ratio", ratio)
    check_within("vocab_size", vocab_size, least=rest.num_classes + 1, remedy="pass more outputs than classes")
    if not all(math.isfinite(value) and value >= 0 for value in at) or not at.a > 0:
        raise BadInput(f"at = {at}", "what was gathered is finite and not negative", "pass an AlikeFlow's path")
    widest = math.sqrt(rest.num_classes + 1)  # max dz - min dz over |dy|
    way = widest * at.length
    for _ in range(MOST_STEPS):
        gone = MARGIN * way
        error = _error(rest, float(vocab_size), ratio, at, gone)
        further = widest * (at.length + error)
        if further < gone:
            return Bound(error, gone)
        way = max(further, gone)
        if not math.isfinite(way):
            break
    return Bound(math.inf, math.inf)


def _error(rest: Rest, M: float, ratio: float, at: Reached, way: float) -> float:
    """The bound for attention that has gone no further than ``way``."""
    if way > 1:
        return math.inf
    K, p, root = rest.num_classes, rest.f**2, np.sqrt(rest.count)
    size = np.abs(rest.J) * root
    squared = float(np.linalg.norm(size, 2) ** 2)  # of N^(1/2) |J|^T |J| N^(1/2)
    turned = math.sqrt(K + 1) * float(np.linalg.norm(root * 2 * p * (1 - p)))  # of N^(1/2) |J|^T f, per |dy|
    pushed = float(np.linalg.norm(rest.drive))
    apart = (at.b - at.c) / at.a
    left_out = 1 / (M - K) + (K - 1) * apart + at.share * M / (M - K)  # of a class's memory, per unit of it
    drift = at.share * (1 + at.b / at.a) / (K - 1) + apart  # at least kappa/(epsilon a)
    per_length = (
        (math.expm1(6 * way) + left_out * math.exp(6 * way)) * squared
        + 3 * (1 + left_out) * way * math.exp(4 * way) * turned
        + 4 * math.sqrt(K + 1) * math.exp(4 * way) * pushed * drift
        + math.exp(6 * way) * squared * at.share * M / (M - K)
    )
    reach = min(1 / float(rest.rates[0]), ratio * at.a**2 / 4)
    grown = reach * per_length
    if not grown < 1:
        return math.inf
    first = math.expm1(4 * way) * pushed * at.response
    return (grown * at.length + first) / (1 - grown)
