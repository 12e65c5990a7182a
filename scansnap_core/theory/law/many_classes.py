"""The law of many unlike classes: the decoder takes long steps, and attention takes short steps
inside them.

The decoder has an error for each pair of classes, and they change slowly. Attention and what was
learned with it are few numbers, but stiff where memory holds many classes of one query. So over a
long step the rates that errors set are polynomials. A polynomial through the last nodes predicts
the end of the step, as Adams and Bashforth do; one through the end too corrects that, as Adams and
Moulton do. Under these rates attention and memory are integrated as they are.

Clock: x = ln(1 + tau), in which powers of tau at first and of ln tau later are smooth alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scansnap_core.data.sequences import Floats
from scansnap_core.theory.law.memory import Law, State, first_tau
from scansnap_core.theory.solving import IntegrationFailed, integrated

Singles = NDArray[np.float32]

NODES = 4
"""A step's rates are taken through so many moments, of which the last is its start."""
TOLERANCE = 3e-3
"""A step is kept if predicted and corrected values differ by less, relative to the largest; the
corrected one errs some ten times less."""
RTOL = 1e-5
ATOL = 1e-14
"""These are the tolerances of attention's short steps."""
GENTLE = 0.8
SHRINK = 0.3
GROW = 2.0
SHORTEST = 1e-9


class Node(NamedTuple):
    """Rates per unit of x at one x: own error, own pull and g of other rows in one row; errors of
    pairs of types.
    """

    x: float
    few: Floats
    pairs: Singles


def path(
    law: Law, taus: Floats, start: State | None = None, begin: float = 0.0, update: float = 0.0
) -> Iterator[State]:
    """The states at ascending taus > 0, b in single precision; z within about a thousandth of its
    largest value.

    They go on from ``start`` at the tau ``begin``, or from zero. With an ``update`` of plain SGD,
    in tau, the decoder's rates are those of half an update before, as in
    :class:`~scansnap_core.theory.law.inertia.InertialLaw`.
    """
    goals = list(np.log1p(taus))
    if start is None:
        begin = first_tau(taus)
    state = law.unpack(law.start(begin)) if start is None else start
    state = state._replace(b=state.b.astype(np.float32))
    x = step = float(np.log1p(begin))
    nodes = [_node(law, x, state, update)]
    while goals:
        end = min(x + step, goals[-1])
        guess = _moved(law, state, nodes, x, end)
        through = [*nodes, _node(law, end, guess, update)]
        corrected = _moved(law, state, through, x, end)
        apart = _apart(guess, corrected)
        fits = GENTLE * (TOLERANCE / max(apart, 1e-99)) ** (1 / len(through))
        step = (end - x) * min(GROW, max(SHRINK, fits))
        if apart <= TOLERANCE:
            while goals and goals[0] < end:
                yield _moved(law, state, through, x, goals.pop(0))
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
    if update:
        parts = zip(state, law.rates(state), strict=True)
        state = State(*(part - np.asarray(update / 2 * rate, part.dtype) for part, rate in parts))
    errors, own, g = law.pulls(state, law.attention(state))
    others = g[0] - own[:, None] * state.common / state.a[:, None]
    pace = float(np.exp(x))  # dtau/dx
    pairs = (pace * law.types.paces[:, None] * errors.other).astype(np.float32)
    return Node(x, pace * np.concatenate([errors.own, own, others.ravel()]), pairs)


def _moved(law: Law, state: State, nodes: Sequence[Node], begin: float, end: float) -> State:
    """The state at x = end, under rates that are the polynomial through the nodes."""
    at = np.array([node.x for node in nodes]) - begin
    others = [np.delete(at, i) for i in range(len(at))]
    bases = [
        np.atleast_1d(np.poly(other)) / np.prod(x - other)
        for x, other in zip(at, others, strict=True)
    ]
    b = state.b.copy()
    for basis, node in zip(bases, nodes, strict=True):
        b += np.float32(np.polyval(np.polyint(basis), end - begin)) * node.pairs
    rates = np.stack(bases, axis=1) @ np.stack([node.few for node in nodes])
    return _under(law, state, rates, begin, end)._replace(b=b)


def _under(law: Law, state: State, rates: Floats, begin: float, end: float) -> State:
    """Attention and memory at x = end; ``rates`` are the coefficients in x - begin, the highest
    power first.
    """
    T, C = state.common.shape
    parts = {name: part for name, part in state._asdict().items() if name != "b"}
    cuts = np.cumsum([part.size for part in parts.values()])[:-1]
    powers = np.arange(len(rates))[::-1]

    def unpacked(packed: Floats) -> State:
        pieces = zip(parts.items(), np.split(packed, cuts), strict=True)
        return state._replace(**{name: piece.reshape(part.shape) for (name, part), piece in pieces})

    def rhs(x: float, packed: Floats) -> Floats:
        now = unpacked(packed)
        rate = (x - begin) ** powers @ rates / np.exp(x)
        pace = np.exp(x)
        own = rate[:T]
        along = rate[T : 2 * T, None]
        others = rate[2 * T :].reshape(T, C)
        g = along * now.common / now.a[:, None] + others, along * now.distinct / now.a[:, None]
        return pace * np.concatenate(
            [part.ravel() for part in law.follows(now, law.attention(now), own, g)]
        )

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
    return float(np.log(np.expm1(x)))


def _apart(one: State, other: State) -> float:
    """Find the largest distance of z, over the largest value of its kind, and of a, over its
    own.
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
