"""``solve_ivp`` for right-hand sides that may run away: states at the times asked for, or an error that says why."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Floats = NDArray[np.float64]

MOST_RATES = 200_000
"""How often a solver asks for the rate of change before it is stopped; most need a few thousand."""


class IntegrationFailed(RuntimeError):
    """The solver gave up before the last time; the message says where, why and what to try."""


def integrated(
    rhs: Callable[[float, Floats], Floats],
    begin: float,
    times: Floats,
    start: Floats,
    *,
    failed: Callable[[float], str],
    **solver: Any,
) -> Floats:
    """The states at ascending times after ``begin``, shape (times, N).

    Parameters
    ----------
    rhs, begin, start
        d(state)/dt, and the state (N,) at the time ``begin``.
    failed
        Says up to where it went, given the time of the last state.
    solver
        The method and tolerances of ``solve_ivp``.

    Raises
    ------
    IntegrationFailed
        The solver gave up or asked more than :data:`MOST_RATES` times, or numbers aren't finite.

    Examples
    --------
    >>> integrated(lambda t, x: -x, 0.0, np.array([1.0, 2.0]), np.ones(1), failed="up to {}".format).round(3)
    array([[0.368],
           [0.135]])
    """

    def failure(when: float, why: str) -> IntegrationFailed:
        return IntegrationFailed(f"{failed(when)} only: {why}; ask for earlier times or a smaller rate")

    asked = itertools.count()

    def checked(time: float, state: Floats) -> Floats:
        if next(asked) == MOST_RATES:
            raise failure(time, f"the solver asked for its rate of change {MOST_RATES:,} times")
        change = rhs(time, state)
        if not np.isfinite(change).all():  # LSODA would try ever again
            raise failure(time, "its rate of change isn't finite there")
        return change

    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lsoda: ", UserWarning)  # the failure below says it
        path = solve_ivp(checked, (begin, times[-1]), start, t_eval=times, **solver)
    if not path.success:
        why = "LSODA doesn't converge there" if "istate" in path.message else path.message.rstrip(".")
        raise failure(path.t[-1] if len(path.t) else begin, why)
    states = np.asarray(path.y.T)
    if not np.isfinite(states).all():
        raise failure(times[np.isfinite(states).all(axis=1).argmin()], "its state isn't finite there")
    return states
