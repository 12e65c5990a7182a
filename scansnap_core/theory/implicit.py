"""An implicit solver for stiff systems of any size: CVODE of SUNDIALS, in SciPy's clothes.

An implicit method solves equations for the next state at every step. SciPy's do that with the
Jacobian, a stored square matrix over all numbers of the state. CVODE with GMRES asks only for
products of the Jacobian with vectors, and finds each by one more evaluation of the rate of change.
So a state may be stiff and large at once, as those of real text are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver

from scansnap_core.data.sequences import Floats

if TYPE_CHECKING:
    from sksundae.cvode import CVODE

LEAST_STEP = 100
"""A step has stopped if it is shorter than so many distances between neighbouring floats."""


class Krylov(OdeSolver):
    """Backward differentiation of orders 1 to 5, as ``scipy.integrate.solve_ivp`` takes solvers.

    Parameters
    ----------
    fun, t0, y0, t_bound
        The rate of change, the time and the state at which it begins, and the last time.
    rtol, atol
        The relative and the absolute tolerance.
    unused
        Other settings that ``solve_ivp`` passes to every solver; they are left out.

    Examples
    --------
    >>> from scipy.integrate import solve_ivp
    >>> fast_and_slow = np.array([-1e6, -1.0])
    >>> path = solve_ivp(lambda t, y: fast_and_slow * y, (0, 1), [1.0, 1.0], method=Krylov)
    >>> path.y[1, -1].round(3), path.nfev < 1000
    (np.float64(0.368), True)
    """

    t: float
    y: Floats

    def __init__(
        self,
        fun: Callable[[float, Floats], Floats],
        t0: float,
        y0: Floats,
        t_bound: float,
        *,
        rtol: float = 1e-7,
        atol: float = 1e-12,
        **unused: Any,
    ) -> None:
        from sksundae.cvode import CVODE

        super().__init__(fun, t0, y0, t_bound, vectorized=False)

        def fill(t: float, y: Floats, change: Floats) -> None:
            """Write the rate of change where CVODE wants it."""
            change[:] = self.fun(t, y)

        self._solver = CVODE(fill, method="BDF", linsolver="gmres", rtol=rtol, atol=atol)
        self._solver.init_step(t0, self.y)

    def _step_impl(self) -> tuple[bool, str | None]:
        """Take one step, and say whether it succeeded and, if not, why."""
        found = self._one_step()
        if found.success and found.t == self.t:
            # After a look back CVODE first returns to where it was.
            found = self._one_step()
        if not found.success:
            return False, found.message
        if abs(found.t - self.t) < LEAST_STEP * np.spacing(abs(self.t)):
            return False, self.TOO_SMALL_STEP
        self.t = found.t
        self.y = found.y
        return True, None

    def _one_step(self) -> Any:
        """Let CVODE take one step of its own, which doesn't pass the last time."""
        return self._solver.step(self.t_bound, method="onestep", tstop=self.t_bound)

    def _dense_output_impl(self) -> DenseOutput:
        """Return the path within the last step."""
        return _LastStep(self.t_old, self.t, self._solver)


class _LastStep(DenseOutput):
    """The path within CVODE's last step, which CVODE knows until it takes the next one."""

    def __init__(self, t_old: float, t: float, solver: CVODE) -> None:
        super().__init__(t_old, t)
        self._solver = solver

    def _call_impl(self, t: Floats) -> Floats:
        """Return the states at the times ``t``, shape (N,) or (N, times)."""
        states = [self._solver.step(when).y for when in np.atleast_1d(t)]
        return np.stack(states, axis=-1) if np.ndim(t) else states[0]
