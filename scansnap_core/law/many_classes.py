"""Integrate the law of many unlike classes: long steps for the decoder, short ones for attention.

The decoder has an error for each pair of classes, and these change slowly. Attention and what was
learned with it are few numbers, but stiff where memory holds many classes of one query. So over a
long step the decoder's rates are taken as polynomials in time. A polynomial through the last nodes
predicts the end of the step, as Adams and Bashforth do; one that goes through the end too corrects
the prediction, as Adams and Moulton do. Under these rates attention and memory are integrated by
short steps.

Clock: x = ln(1 + tau), in which powers of tau at first and of ln tau later are smooth alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scansnap_core.data.sequences import Floats
from scansnap_core.law.log_tau import first_tau
from scansnap_core.law.memory import Law, State
from scansnap_core.theory.solving import IntegrationFailed, integrated

Singles = NDArray[np.float32]

NODES = 4
"""A step's polynomial goes through the rates at this many moments; the last is the step's start."""
TOLERANCE = 3e-3
"""A step is kept if predicted and corrected values differ by less, relative to the largest value.
The corrected value's own error is about ten times smaller."""
RTOL = 1e-5
ATOL = 1e-14
"""These are the tolerances of attention's short steps."""
CAUTION = 0.8
SHRINK = 0.3
GROW = 2.0
SHORTEST = 1e-9
"""The next long step is the one that would just be kept, times CAUTION; it changes by a factor
between SHRINK and GROW. Integration fails where x would grow by less than SHORTEST.
"""


class Node(NamedTuple):
    """The decoder's rates at one x, per unit of x.

    Attributes
    ----------
    x
        ln(1 + tau).
    few
        In one row, by type: 1 - alpha_nn (T), <y_n, e_n - alpha_n> (T), and the part of g on common
        tokens that comes from other classes' rows (T times C).
    pairs
        The errors on other classes' outputs, shape (T, T).
    """

    x: float
    few: Floats
    pairs: Singles


def path(
    law: Law, taus: Floats, start: State | None = None, begin: float = 0.0, update: float = 0.0
) -> Iterator[State]:
    """Yield the states at ascending taus > 0, with z to a hundredth of its largest value.

    The states' b is in single precision.

    Parameters
    ----------
    law, taus
        The law, and the taus asked for.
    start, begin
        The state from which integration goes on, and its tau; by default Y = Z = 0 at 0.
    update
        The tau of an update of plain SGD, if the law is that of SGD. Then the decoder's rates are
        those of half an update before, as in
        :class:`~scansnap_core.law.inertia.InertialLaw`.
    """
    goals = list(np.log1p(taus))
    if start is None:
        begin = first_tau(taus)
    state = law.unpack(law.start(begin)) if start is None else start
    state = state._replace(b=state.b.astype(np.float32))
    x = float(np.log1p(begin))
    step = x
    nodes = [_node(law, x, state, update)]
    while goals:
        end = min(x + step, goals[-1])

        # Predict the end of the step, then correct it with the rates found there.
        guess = _at_end(law, state, nodes, x, end)
        through = [*nodes, _node(law, end, guess, update)]
        corrected = _at_end(law, state, through, x, end)

        # The difference is of the order of the number of nodes, which gives the next step's length.
        apart = _apart(guess, corrected)
        fits = CAUTION * (TOLERANCE / max(apart, 1e-99)) ** (1 / len(through))
        step = (end - x) * min(GROW, max(SHRINK, fits))
        if apart <= TOLERANCE:
            while goals and goals[0] < end:
                yield _at_end(law, state, through, x, goals.pop(0))
            if goals and goals[0] == end:
                goals.pop(0)
                yield corrected
            x = end
            state = corrected
            nodes = [*nodes[1 - NODES :], _node(law, x, state, update)]
        elif not step > SHORTEST:
            raise IntegrationFailed(
                f"{law.failed(_log_tau(x))} only: its steps become too short; ask for earlier "
                "times",
                float(np.expm1(x)),
            )


def _node(law: Law, x: float, state: State, update: float) -> Node:
    """Evaluate the decoder's rates at x = ln(1 + tau), or half an update of SGD before.

    ``update`` is the tau of one update of SGD, and 0 for the gradient flow.
    """
    if update:
        # The state half an update before, to first order.
        parts = zip(state, law.rates(state), strict=True)
        state = State(*(part - np.asarray(update / 2 * rate, part.dtype) for part, rate in parts))
    errors, own, g = law.errors_and_gradient(state, law.attention(state))
    # g on common tokens is <y_n, e_n - alpha_n> fbar_n, which changes quickly with attention, and a
    # part from other classes' rows, which changes slowly. The polynomials have the slow parts.
    others = g[0] - own[:, None] * state.common / state.a[:, None]
    pace = float(np.exp(x))  # This is dtau/dx.
    pairs = (pace * law.types.paces[:, None] * errors.other).astype(np.float32)
    return Node(x, pace * np.concatenate([errors.own, own, others.ravel()]), pairs)


def _at_end(law: Law, state: State, nodes: Sequence[Node], begin: float, end: float) -> State:
    """Return the state at x = ``end``, from ``state`` at x = ``begin``, with the decoder's rates
    taken as the polynomial through those of the nodes.
    """
    # Lagrange's polynomials: each is 1 at its own node and 0 at the others.
    at = np.array([node.x for node in nodes]) - begin
    others = [np.delete(at, i) for i in range(len(at))]
    bases = [  # coefficients, the highest power first
        np.atleast_1d(np.poly(other)) / np.prod(x - other)
        for x, other in zip(at, others, strict=True)
    ]

    # b has no influence on its own rate within the step, so it is an integral of the polynomial.
    b = state.b.copy()
    for basis, node in zip(bases, nodes, strict=True):
        b += np.float32(np.polyval(np.polyint(basis), end - begin)) * node.pairs

    # The few other numbers are integrated under polynomial rates.
    rates = np.stack(bases, axis=1) @ np.stack([node.few for node in nodes])
    return _integrate_attention(law, state, rates, begin, end)._replace(b=b)


def _integrate_attention(law: Law, state: State, rates: Floats, begin: float, end: float) -> State:
    """Integrate attention and memory up to x = end under given rates of the decoder, and return the
    state with its old b.

    ``rates`` are the coefficients of the polynomials in x - begin, the highest power first, one
    column for each number of :class:`Node`'s ``few``, which are rates per unit of x: for each of T
    types its own error and its own pull, and then for each type and each of C common tokens what
    the other classes add to g.
    """
    T, C = state.common.shape
    # All of the state but b is packed into one row for the solver.
    parts = {name: part for name, part in state._asdict().items() if name != "b"}
    cuts = np.cumsum([part.size for part in parts.values()])[:-1]
    powers = np.arange(len(rates))[::-1]

    def unpacked(packed: Floats) -> State:
        """Return the state with these parts, and its old b."""
        pieces = zip(parts.items(), np.split(packed, cuts), strict=True)
        return state._replace(**{name: piece.reshape(part.shape) for (name, part), piece in pieces})

    def rhs(x: float, packed: Floats) -> Floats:
        """Compute d(packed)/dx under the decoder's polynomial rates."""
        now = unpacked(packed)
        # The law asks for rates per unit of tau, and d tau/dx = exp(x).
        pace = np.exp(x)
        rate = (x - begin) ** powers @ rates / pace
        own_error = rate[:T]
        own_pull = rate[T : 2 * T, None]
        others = rate[2 * T :].reshape(T, C)
        # g_n = sum_k <y_k, e_n - alpha_n> fbar_k. The class's own part is its pull times its
        # remembered f, fbar = H/a; the other classes' parts reach common tokens alone.
        g_common = own_pull * now.common / now.a[:, None] + others
        g_distinct = own_pull * now.distinct / now.a[:, None]
        changes = law.rates_without_b(now, law.attention(now), own_error, (g_common, g_distinct))
        return pace * np.concatenate([part.ravel() for part in changes])

    start = np.concatenate([part.ravel() for part in parts.values()])
    how: dict[str, Any] = {"method": "RK45", "rtol": RTOL, "atol": ATOL, "first_step": end - begin}
    try:
        (packed,) = integrated(
            rhs, begin, np.array([end]), start, failed=lambda x: law.failed(_log_tau(x)), **how
        )
    except IntegrationFailed as error:
        error.last = None if error.last is None else float(np.expm1(error.last))
        raise
    return unpacked(packed)


def _log_tau(x: float) -> float:
    """Convert x = ln(1 + tau) to ln tau."""
    return float(np.log(np.expm1(x)))


def _apart(one: State, other: State) -> float:
    """Measure how far two states are apart.

    It is the largest difference of z over the largest z, and of a over the same class's a.
    """
    pairs = [
        (one.a / other.a, np.ones(1)),
        (one.z_common, other.z_common),
        (one.z_distinct, other.z_distinct),
    ]
    return max(
        float(np.abs(guess - exact).max() / np.abs(exact).max())
        for guess, exact in pairs
        if exact.any()
    )
