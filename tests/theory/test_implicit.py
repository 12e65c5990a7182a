"""CVODE as SciPy takes solvers: exact solutions, looks back within a step, failures, and how seldom it asks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import RK45, solve_ivp

from scansnap_core.theory.implicit import Krylov
from scansnap_core.theory.solving import IntegrationFailed, integrated

RATES = np.array([-1e6, -1.0, -1e-3])


def decay(t: float, y: np.ndarray) -> np.ndarray:
    return RATES * y


def test_it_meets_the_exact_solution_at_the_times_asked_for() -> None:
    times = np.array([0.1, 0.1001, 0.5, 3.0, 40.0])  # two of them within one step
    path = solve_ivp(decay, (0, 40), np.ones(3), method=Krylov, t_eval=times, rtol=1e-8, atol=1e-12)
    assert path.success
    exact = np.exp(RATES[1:, None] * times)
    np.testing.assert_allclose(path.y[1:], exact, rtol=1e-5, atol=1e-9)
    assert np.abs(path.y[0]).max() < 1e-9


def test_backwards_in_time_too() -> None:
    path = solve_ivp(lambda t, y: -y, (2.0, 0.5), [1.0], method=Krylov, rtol=1e-8)
    assert path.y[0, -1] == pytest.approx(np.exp(1.5), rel=1e-5)


def test_a_stiff_system_takes_few_evaluations() -> None:
    found = {
        method: solve_ivp(decay, (0, 0.01), np.ones(3), method=method, rtol=1e-6, atol=1e-9).nfev
        for method in (Krylov, RK45)
    }
    assert 10 * found[Krylov] < found[RK45]


def test_a_large_state_needs_no_square_matrix() -> None:
    rates = -np.geomspace(1e-3, 1e3, 200_000)  # its Jacobian would take 320 GB
    path = solve_ivp(lambda t, y: rates * (y - 1), (0, 10), np.zeros(rates.size), method=Krylov, rtol=1e-6)
    np.testing.assert_allclose(path.y[:, -1], -np.expm1(10 * rates), rtol=1e-3, atol=1e-5)


def test_a_solution_that_ends_early_is_a_failure() -> None:
    path = solve_ivp(lambda t, y: y**2, (0, 2), [1.0], method=Krylov)
    assert not path.success
    assert path.t[-1] == pytest.approx(1, abs=1e-4)


def test_an_error_in_the_rate_of_change_is_passed_on() -> None:
    def rate(t: float, y: np.ndarray) -> np.ndarray:
        if t > 0.5:
            raise ZeroDivisionError("half way")
        return -y

    with pytest.raises(ZeroDivisionError, match="half way"):
        solve_ivp(rate, (0, 1), [1.0], method=Krylov)


def test_what_was_reached_is_kept() -> None:
    with pytest.raises(IntegrationFailed, match=r"up to 0\.5.* only: its rate of change isn't finite there") as caught:
        integrated(
            lambda t, y: -y if t < 0.5 else np.nan * y,
            0.0,
            np.array([0.1, 0.4, 0.9]),
            np.ones(1),
            failed="up to {:.2g}".format,
            method="CVODE",
            rtol=1e-8,
            atol=1e-12,
        )
    assert caught.value.reached[:, 0] == pytest.approx(np.exp([-0.1, -0.4]), rel=1e-5)
