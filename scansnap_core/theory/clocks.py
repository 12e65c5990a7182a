"""Clocks tell how far learning has come: h and h* of one class, the omegas of Lemma 8, and t_0' and
t_0.

Time counts steps of batch size 1 that show the class: of t steps, t P(n) in the mean show class n,
t/K if P(n) = 1/K.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, lambertw

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import RATE, check_memory, checked_numbers, number, takes, whole
from scansnap_core.data.sequences import Floats
from scansnap_core.theory import formulas
from scansnap_core.theory.functions import function_of

_h = function_of(formulas.h, (formulas.t, formulas.M, formulas.eta_Y))
_h_rate = function_of(formulas.h_rate, (formulas.h_, formulas.M, formulas.eta_Y))
t_0_prime = function_of(formulas.t_0_prime, (formulas.K, formulas.M, formulas.eta_Y))
t_0 = function_of(formulas.t_0, (formulas.K, formulas.M, formulas.eta_Y, formulas.omega_1_))
gamma = function_of(formulas.gamma, (formulas.h_, formulas.M))
"""gamma at h(t P(n)): the speed of attention."""

_SIZE = number(above=0, remedy="pass e.g. 10")


def h(t: ArrayLike, vocab_size: ArrayLike, lr_y: ArrayLike) -> Floats:
    """Compute h(t) of Eqn 45 through Lambert's W, to full relative precision; arrays broadcast.

    Parameters
    ----------
    t
        Time >= 0 in steps of batch size 1 that show the class; for K classes seen alike pass t/K.
    vocab_size, lr_y
        M >= 2 and eta_Y > 0.

    Examples
    --------
    >>> h([0, 10, 100], vocab_size=100, lr_y=1.0).round(4)
    array([0.    , 0.0601, 0.0912])
    """
    return checked_height(checked_time(t), _vocabulary(vocab_size), _rate(lr_y))


def checked_time(t: ArrayLike) -> Floats:
    """Return times as an array; `BadInput` unless all are finite and not negative."""
    return checked_numbers(
        "t", t, least=0, rule="time is finite and not negative", remedy="pass e.g. 10.0"
    )


def checked_height(t: Floats, vocab_size: ArrayLike, lr_y: ArrayLike) -> Floats:
    """Compute :func:`h` from checked times, in steps that show the class; `BadInput` where M lr_y t
    is more than the largest float, or where the shapes don't fit.
    """
    shapes = [np.shape(t), np.shape(vocab_size), np.shape(lr_y)]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        rule = "times, vocabularies and rates broadcast"
        raise BadInput(f"shapes {shapes}", rule, "pass numbers, or arrays of one shape") from None
    with np.errstate(over="ignore", invalid="ignore"):
        found = height(t, vocab_size, lr_y)
    if not np.isfinite(found).all():
        raise BadInput(
            "M lr_y t = inf",
            "a clock runs up to the largest float",
            "use smaller rates or earlier times",
        )
    return found


def height(t: Floats, vocab_size: ArrayLike, lr_y: ArrayLike) -> Floats:
    """Compute :func:`h` without a look at its arguments, for right-hand sides, which ask often."""
    M = np.asarray(vocab_size, dtype=np.float64)
    first_step = np.asarray(lr_y) * np.asarray(t)
    # W is exact to an absolute 1e-15 in M h, which is M times the h of the first step where that is
    # tiny. One Newton step on Eqn 45 makes the error relative.
    u = np.where(first_step < 1e-8, first_step, M * _h(t, M, lr_y))
    residual = np.expm1(u) + (M - 1) * u - M * first_step
    return np.asarray((u - residual / (np.exp(u) + M - 1)) / M)


@takes(steps=whole(0))
def h_star(steps: int, vocab_size: float, lr_y: float) -> Floats:
    """Compute h*(0), ..., h*(steps) by the recursion of Eqn 33, shape (steps + 1,).

    ``steps`` counts steps of batch size 1 that show the class; M >= 2 and eta_Y > 0.

    Examples
    --------
    >>> h_star(2, vocab_size=100, lr_y=1.0).round(4)
    array([0.    , 0.01  , 0.0198])
    """
    check_memory(f"{steps} values of h*", 8.0 * steps)
    M = float(_vocabulary(vocab_size, dims=0))
    rate = float(_rate(lr_y, dims=0))
    values = np.zeros(steps + 1)
    for s in range(steps):
        values[s + 1] = values[s] + _h_rate(values[s], M, rate)
    return values


@takes(steps=whole(0))
def lead(steps: int, vocab_size: ArrayLike, lr_y: ArrayLike) -> tuple[Floats, Floats]:
    """Count the steps by which the recursion of Eqn 33 is ahead of the flow of Eqn 44.

    Parameters
    ----------
    steps
        Steps of batch size 1 that show the class, 0 or more.
    vocab_size, lr_y
        M >= 2 and eta_Y > 0; they broadcast to some shape.

    Returns
    -------
    heights, lead : numpy.ndarray, shape (steps + 1, ...)
        M h*(s), and c(s) with h*(s) = h(s + c(s)), summed step by step so that nothing cancels
        (Lemma 7).

    Examples
    --------
    >>> heights, ahead = lead(2, vocab_size=100, lr_y=1.0)
    >>> heights.round(3), ahead.round(4)
    (array([0.   , 1.   , 1.983]), array([0.    , 0.0072, 0.0259]))
    """
    M, rate = np.broadcast_arrays(_vocabulary(vocab_size), _rate(lr_y))
    check_memory(f"{steps} leads", 16.0 * steps * M.size)
    heights, ahead = np.zeros((2, steps + 1, *M.shape))
    for s in range(steps):
        learned = expit(heights[s] - np.log(M - 1))  # alpha_nn
        step = M * rate / (M - 1) * (1 - learned)
        # A step adds alpha_nn (e^step - 1 - step)/step.
        with np.errstate(over="ignore", invalid="ignore"):
            # Near 0 the closed form loses its digits. Both forms agree around 1e-4.
            added = np.where(
                step < 1e-4,
                step / 2 + step**2 / 6,
                (np.expm1(step) - step) / np.maximum(step, 1e-300),
            )
        heights[s + 1] = heights[s] + step
        ahead[s + 1] = ahead[s] + learned * added
    return heights, ahead


def h_rhs(t: float, h: Floats, vocab_size: float, lr_y: float) -> Floats:
    """Compute dh/dt of Eqn 44, for ``solve_ivp(h_rhs, ..., args=(vocab_size, lr_y))``."""
    return np.asarray(_h_rate(h, vocab_size, lr_y))


def omega(vocab_size: ArrayLike) -> tuple[Floats, Floats]:
    """Compute omega_0 and omega_1 of Lemma 8, from both branches of Lambert's W, for M >= 1 + e, so
    4 tokens or more.

    With fewer exp(M h) stays above (M - 1) M h, and there are no such omegas.

    Examples
    --------
    >>> [float(value.round(3)) for value in omega(1000)]
    [0.0, 0.32]
    """
    least = math.nextafter(1 + math.e, math.inf)  # 1 + e as a float is less than 1 + e
    rule = "exp(M h) meets (M - 1) M h from M = 1 + e on (Lemma 8)"
    M = checked_numbers(
        "vocab_size", vocab_size, least=least, rule=rule, remedy="use 4 tokens or more"
    )
    u_lower = _meets(M, 0)
    u_upper = _meets(M, -1)
    # 2 + ln(u_lower/M)/ln M with u_lower = exp(u_lower)/(M - 1), written so that nothing cancels
    return np.asarray((u_lower - np.log1p(-1 / M)) / np.log(M)), np.asarray(u_upper / np.log(M) - 1)


_ABOVE_E = 1.4456468917292502e-16
"""The number e is ``math.e`` and this much."""
_NEAR = (1 / 4320, -1 / 270, 1 / 36, 1 / 3, 1.0, 0.0)
"""The coefficients of x = q + q^2/3 + ..., which solves x - ln(1 + x) = q^2/2."""


def _meets(M: Floats, branch: int) -> Floats:
    """Solve exp(u) = (M - 1) u: the lower u = 1 + x is on the branch 0 of Lambert's W, the upper
    on the branch -1.
    """
    # Near M = 1 + e both are near 1, where W loses half of its digits: there x - ln(1 + x) = ln((M
    # - 1)/e) =: q^2/2.
    q = np.sqrt(2 * np.log1p(np.maximum(M - 1 - math.e - _ABOVE_E, 0) / math.e)) * (
        -1 if branch == 0 else 1
    )
    return np.where(
        np.abs(q) < 1e-2, 1 + np.polyval(_NEAR, q), -lambertw(-1 / (M - 1), branch).real
    )


@takes(num_classes=_SIZE, vocab_size=_SIZE, lr_y=RATE)
def transition(num_classes: float, vocab_size: float, lr_y: float) -> tuple[float, float]:
    """Compute t_0' and t_0 of Theorem 4, the two ends of the phase transition, in steps of batch
    size 1, for M >= 4.

    With K = 1 and eta_Y = 1 they are in units of K/eta_Y.

    Examples
    --------
    >>> [round(time) for time in transition(10, 1000, 0.5)]
    [138, 365]
    """
    size = (num_classes, vocab_size, lr_y)
    return float(t_0_prime(*size)), float(t_0(*size, omega(vocab_size)[1]))


def _vocabulary(vocab_size: ArrayLike, dims: int | None = None) -> Floats:
    """Return M as an array of floats, with ``dims`` axes if it is given, or raise BadInput."""
    rule = "M is finite and at least 2"
    return checked_numbers(
        "vocab_size", vocab_size, least=2, rule=rule, remedy="pass e.g. 100", dims=dims
    )


def _rate(lr_y: ArrayLike, dims: int | None = None) -> Floats:
    """Return eta_Y as an array of floats, with ``dims`` axes if it is given, or raise BadInput."""
    tiny = float(np.finfo(np.float64).smallest_subnormal)
    return checked_numbers("lr_y", lr_y, least=tiny, rule=RATE.says, remedy=RATE.remedy, dims=dims)
