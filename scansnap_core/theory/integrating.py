"""SciPy's solvers for right-hand sides that may run away: states at the times asked for, or an error that says why."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

Floats = NDArray[np.float64]

SOLVERS = {"LSODA": LSODA, "DOP853": DOP853, "RK45": RK45, "RK23": RK23, "Radau": Radau, "BDF": BDF}
MOST_RATES = 200_000
"""How often a solver asks for the rate of change before it is stopped; most need a few thousand."""


class IntegrationFailed(RuntimeError):
    """The solver gave up before the last time; the message says where, why and what to try.

    Attributes
    ----------
    last
        The last time that was reached, on the clock of the times asked for; None if it isn't known.
    reached
        What was found at those of the times asked for that were reached: a data set from
        :func:`scansnap_core.predict` and :func:`scansnap_core.solve`, states from what they call. None if there is
        no such time.
    """

    def __init__(self, message: str, last: float | None = None, reached: Any = None) -> None:
        super().__init__(message)
        self.last, self.reached = last, reached


def integrated(
    rhs: Callable[[float, Floats], Floats],
    begin: float,
    times: Floats,
    start: Floats,
    *,
    failed: Callable[[float], str],
    method: str,
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
        ``method``, one of ``SOLVERS``, and its tolerances as ``scipy.integrate.solve_ivp`` takes them.

    Raises
    ------
    IntegrationFailed
        The solver gave up or asked more than :data:`MOST_RATES` times, or numbers aren't finite. Its ``reached`` are
        the states at the first of the times, shape (times reached, N).

    Examples
    --------
    >>> ask = {"failed": "up to {}".format, "method": "RK45"}
    >>> integrated(lambda t, x: -x, 0.0, np.array([1.0, 2.0]), np.ones(1), **ask).round(3)
    array([[0.368],
           [0.135]])
    """
    states: list[Floats] = []

    def failure(when: float, why: str) -> IntegrationFailed:
        text = f"{failed(when)} only: {why}; ask for earlier times or a smaller rate"
        return IntegrationFailed(text, float(when), np.array(states) if states else None)

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
        path = SOLVERS[method](checked, begin, start, times[-1], **solver)
        while len(states) < len(times):
            message = path.step()
            if path.status == "failed":
                why = "LSODA doesn't converge there" if "istate" in str(message) else str(message).rstrip(".")
                raise failure(path.t, why)
            passed = times[len(states) : np.searchsorted(times, path.t, side="right")]
            if not passed.size:
                continue
            for when, state in zip(passed, path.dense_output()(passed).T, strict=True):
                if not np.isfinite(state).all():
                    raise failure(when, "its state isn't finite there")
                states.append(state)
    return np.array(states)


def runge_kutta(
    rate: Callable[[list[Any]], Sequence[Any]], state: Sequence[Any], length: float, steps: int
) -> list[Any]:
    """Follow an equation of motion over a length of time, by Runge-Kutta of order four in equal steps.

    It serves states of Torch tensors, whose rate of change may come from autograd.

    Parameters
    ----------
    rate
        The parts' rates of change, from their list.
    state
        The parts at the start: tensors or arrays of any shapes.

    Examples
    --------
    >>> [end] = runge_kutta(lambda parts: [-parts[0]], [1.0], 1.0, 10)
    >>> round(end, 5)
    0.36788
    """
    h, parts = length / steps, list(state)
    for _ in range(steps):
        k1 = rate(parts)
        k2 = rate([x + h / 2 * k for x, k in zip(parts, k1, strict=True)])
        k3 = rate([x + h / 2 * k for x, k in zip(parts, k2, strict=True)])
        k4 = rate([x + h * k for x, k in zip(parts, k3, strict=True)])
        slopes = zip(k1, k2, k3, k4, strict=True)
        parts = [x + h / 6 * (a + 2 * b + 2 * c + d) for x, (a, b, c, d) in zip(parts, slopes, strict=True)]
    return parts
