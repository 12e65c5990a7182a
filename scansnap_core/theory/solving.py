"""One way to integrate any flow, with the labels of a training's data set: :func:`solve`.

Right-hand sides may run away. :func:`integrated` gives states at the times asked for, or an error
that says why not.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, OdeSolver, Radau

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import Rule, checked_times, number, one_of, optional, takes
from scansnap_core.data.sequences import ATTRIBUTE, Floats, checksum
from scansnap_core.engine.names import heads_of, name_of
from scansnap_core.engine.results import per_head
from scansnap_core.theory.flows import Flow
from scansnap_core.theory.implicit import Krylov

SOLVERS: dict[str, type[OdeSolver]] = {
    "LSODA": LSODA,
    "DOP853": DOP853,
    "RK45": RK45,
    "RK23": RK23,
    "Radau": Radau,
    "BDF": BDF,
    "CVODE": Krylov,
}
MOST_RATES = 200_000
"""The most evaluations of the rate of change before a solver is stopped; most need a few
thousand.
"""
MOST_DENSE = 10_000
"""LSODA stores a square matrix over all numbers of the state: of so many it takes 0.8 GB."""
UNITS = {
    "step": "steps of batch size 1",
    "round": "rounds t/K of K steps",
    "tau": "tau = eta_Y t/K",
}
"""Times can count in these units."""
EARLIEST = 1e-200
"""Before this step nothing has moved that a float could tell; LSODA never ends where its step
underflows.
"""


class IntegrationFailed(RuntimeError):
    """The solver gave up before the last time; the message says where, why and what to try.

    Attributes
    ----------
    last
        The last time that was reached, on the clock of the times asked for; None if it isn't known.
    reached
        What was found at those of the times asked for that were reached: a data set from
        :func:`scansnap_core.predict` and :func:`scansnap_core.solve`, states from what they call.
        None if there is no such time.
    """

    def __init__(self, message: str, last: float | None = None, reached: Any = None) -> None:
        super().__init__(message)
        self.last = last
        self.reached = reached


_TOLERANCE = number(
    above=0, below=1, says="a tolerance lies between 0 and 1", remedy="pass e.g. 1e-10"
)


@takes(
    flow=Rule(lambda flow: isinstance(flow, Flow), "a flow is integrated", "pass e.g. a TrueFlow"),
    unit=one_of(UNITS),
    method=optional(one_of(SOLVERS)),
    rtol=_TOLERANCE,
    atol=_TOLERANCE,
)
def solve(
    flow: Flow,
    times: ArrayLike,
    *,
    initial: ArrayLike | Mapping[str, Any] | None = None,
    unit: str = "step",
    method: str | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-15,
) -> xr.Dataset:
    """Integrate a flow from t = 0.

    Parameters
    ----------
    flow
        One of :mod:`scansnap_core.theory.flows`, or any other
        :class:`~scansnap_core.theory.flows.Flow`.
    times
        When the state is kept: ascending, finite, not negative.
    initial
        Z(0) of shape (Q, L), or (H Q, L) for H heads; or arrays by name, "Z" and "Y" (L, K + 1),
        such as a data set at one recorded moment. Default: all zero. B always starts at 0.
    unit
        What one unit of ``times`` is: "step" (of batch size 1), "round" (K steps, so that each
        class was seen once in the mean) or "tau" (eta_Y t/K = 1, on which t_0' is ln M).
    method, rtol, atol
        Of ``scipy.integrate.solve_ivp``, or "CVODE". With the defaults Z keeps a relative error of
        some 1e-10 up to a hundred thousand t_0. The default method is "LSODA", which goes on where
        fast attention makes the flow stiff (eta_Z >> eta_Y). For states of more than 10,000
        numbers, as those of real text, it is "CVODE", which stores no square matrix
        (:mod:`~scansnap_core.theory.implicit`); Z then keeps a relative error of some 1e-8.

    Returns
    -------
    xarray.Dataset
        With the labels of :func:`scansnap_core.engine.training.train`: ``Z`` (recorded, query,
        token) and, where the flow has it, ``Y`` (recorded, token, output) with its
        ``multiplicity``; and ``B`` (recorded, class), B_n of Theorem 3. ``recorded`` counts in
        ``unit``, which its attribute ``units`` names.

    Raises
    ------
    ~scansnap_core.IntegrationFailed
        The solver gave up or met numbers that aren't finite; it holds what was reached.

    Examples
    --------
    >>> from scansnap_core.data.datasets import with_overlap
    >>> from scansnap_core.theory.flows import TrueFlow
    >>> path = solve(TrueFlow(with_overlap(2, 100, 0.3), lr_y=1.0, lr_z=0.1), [0, 10, 100])
    >>> path.Z.sel(token=0).values.ravel().round(3)
    array([ 0.   , -0.01 , -0.064])
    >>> path.recorded.units
    'steps of batch size 1'
    """
    classes = flow.classes
    steps_of = {"step": 1.0, "round": classes.num_classes, "tau": classes.num_classes / flow.lr_y}[
        unit
    ]
    recorded = checked_times("times", times, "pass e.g. [0, 10, 100]")
    start = _start(flow, initial)
    t = recorded * steps_of
    # The start is the answer for times at which nothing has moved yet.
    states = np.tile(start, (int((t <= EARLIEST).sum()), 1))
    later = t[t > EARLIEST]
    attrs = {"steps_per_unit": steps_of, "initial": "zero" if initial is None else "given"}

    def failed(when: float) -> str:
        """Say how far it was integrated."""
        rates = f"lr_y = {flow.lr_y:g}, lr_z = {flow.lr_z:g}"
        return f"the {flow.name} with {rates} could be integrated up to step {when:.3g}"

    try:
        if later.size:
            if method is None:
                method = "LSODA" if start.size <= MOST_DENSE else "CVODE"
            how: dict[str, Any] = {"method": method, "rtol": rtol, "atol": atol}
            states = np.vstack(
                [states, integrated(flow.rhs, 0.0, later, start, failed=failed, **how)]
            )
    except IntegrationFailed as error:
        error.last = None if error.last is None else error.last / steps_of
        states = states if error.reached is None else np.vstack([states, error.reached])
        error.reached = (
            _dataset(flow, recorded[: len(states)], states, unit, attrs) if len(states) else None
        )
        raise
    return _dataset(flow, recorded, states, unit, attrs)


def attention_rates(flow: Flow, path: xr.Dataset) -> Floats:
    """Compute dZ/dt at the recorded moments of a path that `solve` returned for a flow, shape
    (recorded, Q, L).

    The flow has a decoder and no heads; its right-hand side must not name the time.

    Examples
    --------
    >>> from scansnap_core.data.datasets import with_overlap
    >>> from scansnap_core.theory.flows import TrueFlow
    >>> flow = TrueFlow(with_overlap(2, 100, 0.3), lr_y=1.0, lr_z=0.1)
    >>> attention_rates(flow, solve(flow, [0, 10]))[:, 0, 0].round(4)
    array([ 0.    , -0.0019])
    """
    moments = zip(path.Z.values, path.Y.values, strict=True)
    return np.array(
        [
            flow.unpack(flow.rhs(0.0, flow.initial(Z, Y)))[list(flow.shapes).index("Z")]
            for Z, Y in moments
        ]
    )


def _dataset(
    flow: Flow, recorded: Floats, states: Floats, unit: str, attrs: dict[str, Any]
) -> xr.Dataset:
    """Label the states (R, packed) at the times ``recorded`` (R,), as a training's results are.

    ``unit`` is the clock's name in ``UNITS``. The digest of the classes goes with Z, so that a
    training from here knows whether its classes are these.
    """
    classes = flow.classes
    K = classes.num_classes
    M = classes.vocab_size
    variables: dict[str, Any] = {}
    for name, part in zip(flow.shapes, flow.unpack(states), strict=True):
        values = per_head(part, flow.axes[name], heads_of(flow.variant))
        variables[name] = (
            ("recorded", *flow.axes[name]),
            values,
            {"units": "logits"} if len(name) == 1 else {},
        )
    variables["Z"][-1][ATTRIBUTE] = checksum(classes)
    if "Y" in variables:
        variables["multiplicity"] = ("output", classes.outputs.multiplicity, {"units": "outputs"})
    clock = UNITS[unit] + (
        "" if flow.class_weight < 1 or K == 1 else ", each showing every class (Eqn 10 as printed)"
    )
    about = {
        "flow": flow.name,
        "lr_y": flow.lr_y,
        "lr_z": flow.lr_z,
        "vocab_size": M,
        "num_classes": K,
    }
    about |= {"class_weight": flow.class_weight, **attrs}
    labels = {
        name: label for name, label in flow.coords.items() if "Y" in variables or name != "output"
    }
    return xr.Dataset(
        variables,
        coords={"recorded": ("recorded", recorded, {"units": clock}), **labels},
        attrs=about if flow.variant is None else {**about, "model": name_of(flow.model)},
    )


def _start(flow: Flow, initial: ArrayLike | Mapping[str, Any] | None) -> Floats:
    """Return the flow's packed state at t = 0: of an array of Z, of Z and Y by name, or its own for
    None.

    Labelled arrays, such as a training's, must have the flow's axes, of one moment of one run; they
    are put in the flow's order. Several heads stand one below the other.
    """
    if isinstance(initial, xr.DataArray):
        initial = {"Z": initial}
    if not isinstance(initial, Mapping):
        return flow.initial(initial)
    parts = {name: initial[name] for name in ("Z", "Y") if name in initial and name in flow.shapes}
    if not parts:
        value = f"initial with {', '.join(map(str, initial)) or 'nothing'}"
        rule = "initial values are Z or Y by name"
        raise BadInput(
            value,
            f"{rule}, as far as the flow has them",
            "pass e.g. {'Z': ...}, or leave initial out",
        )
    for name, part in parts.items():
        if isinstance(part, xr.DataArray):
            labels = flow.coords
            dims = flow.axes[name]
            if sorted(map(str, part.dims)) != sorted(dims) or not all(
                np.array_equal(part[dim], labels[dim]) for dim in dims if dim in labels
            ):
                rule = (
                    f"it is one moment of one run of the flow's own classes, over {', '.join(dims)}"
                )
                remedy = "choose one, e.g. run.isel(seed=0, rate=0, recorded=-1)"
                raise BadInput(
                    f"initial {name} over {', '.join(map(str, part.dims))}", rule, remedy
                )
            parts[name] = part.transpose(*dims).values.reshape(-1, part.sizes[dims[-1]])
    return flow.initial(**parts)


def integrated(
    rhs: Callable[[float, Floats], Floats],
    begin: float,
    times: Floats,
    start: Floats,
    *,
    failed: Callable[[float], str],
    method: str,
    most_rates: int | None = None,
    **solver: Any,
) -> Floats:
    """Integrate d(state)/dt, and return the states at ascending times after ``begin``, shape
    (times, N).

    SciPy's ``solve_ivp`` would return nothing of a run that fails on the way, so its solvers are
    stepped here. A solver that gives up, asks for d(state)/dt more than ``most_rates`` times or
    meets numbers that aren't finite raises :class:`IntegrationFailed`. Its ``reached`` are the
    states at those of the times that were reached, shape (times reached, N), or None.

    Parameters
    ----------
    rhs, begin, start
        d(state)/dt, and the state (N,) at the time ``begin``.
    failed
        Says up to where it went, given the time at which it failed.
    method, solver
        One of ``SOLVERS``, and its tolerances as ``scipy.integrate.solve_ivp`` takes them.
    most_rates
        How many evaluations of d(state)/dt a path may take; by default :data:`MOST_RATES`.

    Examples
    --------
    >>> ask = {"failed": "up to {}".format, "method": "RK45"}
    >>> integrated(lambda t, x: -x, 0.0, np.array([1.0, 2.0]), np.ones(1), **ask).round(3)
    array([[0.368],
           [0.135]])
    """
    states: list[Floats] = []
    if most_rates is None:
        most_rates = MOST_RATES

    def failure(when: float, why: str) -> IntegrationFailed:
        """Make the error, with the states that were reached before it."""
        text = f"{failed(when)} only: {why}; ask for earlier times or a smaller rate"
        return IntegrationFailed(text, float(when), np.array(states) if states else None)

    asked = itertools.count()

    def checked(time: float, state: Floats) -> Floats:
        """Return the rate of change, or raise where a solver would go on in vain."""
        if next(asked) == most_rates:
            raise failure(time, f"the solver asked for its rate of change {most_rates:,} times")
        change = rhs(time, state)
        # LSODA would try again for ever.
        if not np.isfinite(change).all():
            raise failure(time, "its rate of change isn't finite there")
        return change

    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lsoda: ", UserWarning)  # the failure below says it
        path = SOLVERS[method](checked, begin, start, times[-1], **solver)
        while len(states) < len(times):
            message = path.step()
            if path.status == "failed":
                why = (
                    "LSODA doesn't converge there"
                    if "istate" in str(message)
                    else str(message).rstrip(".")
                )
                raise failure(path.t, why)
            # A step of the solver may pass several of the times, or none.
            passed = times[len(states) : np.searchsorted(times, path.t, side="right")]
            if not passed.size:
                continue
            for when, state in zip(passed, path.dense_output()(passed).T, strict=True):
                if not np.isfinite(state).all():
                    raise failure(when, "its state isn't finite there")
                states.append(state)
    return np.array(states)
