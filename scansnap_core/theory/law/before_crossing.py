"""Scanning and drift in one formula, with its error: the decoder at rest before other classes' outputs matter.

In the evidence a the odds of another class's output are e^(rho a), but for what the others already took. So
b ≈ (e^(rho a) - 1)/(rho M) and Lambda ≈ a (b - a/2M), from the first step on, as long as
(K - 1) e^(rho a) << M and (1 + (K - 2) rho) (e^(rho a) - 1) << rho M, which ends before the crossing.

Clock: a = ∫ (1 - alpha_nn) dtau, tau = eta_Y t/K with t in steps of batch size 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import check_numbers, check_within

Floats = NDArray[np.float64]

EARLIEST, LATEST = 1e-100, 700.0


def evidence(tau: ArrayLike, vocab_size: float) -> Floats:
    """a = ln M + ln omega(tau - ln M) with Wright's omega, the solution of a + e^a/M = tau; for tau > 1/M.

    Examples
    --------
    >>> evidence([1.0, 1e4], 10**6).round(3)
    array([ 1.   , 23.024])
    """
    check_within("vocab_size", vocab_size, least=2, remedy="pass e.g. 1000")
    rule = "tau is above 1/M, where one unit of evidence is"
    times = check_numbers("tau", tau, least=2 / vocab_size, rule=rule, remedy="pass e.g. 10.0")
    return np.asarray(np.log(vocab_size) + np.log(special.wrightomega(times - np.log(vocab_size)).real))


def evidence_error(a: ArrayLike, num_classes: float, vocab_size: float, rho: float) -> Floats:
    """How far ``evidence`` can be from the exact a, in units of a; arguments as ``drift`` takes them."""
    near = _near(a, num_classes, vocab_size, rho)
    more = -np.log1p(-num_classes / vocab_size) + (1 + (num_classes - 1) * rho) * np.asarray(a) / (
        vocab_size - num_classes
    )
    less = 1 / vocab_size + (num_classes - 1) * rho * near.b_share * np.asarray(a) + np.log1p(near.share)
    return np.asarray(np.maximum(more, less))


def drift(a: ArrayLike, num_classes: float, vocab_size: float, rho: float) -> tuple[Floats, Floats]:
    """Lambda by the one formula, and how far it can be from the exact one, relatively.

    Parameters
    ----------
    a
        The evidence, above 0 and at most 700.
    num_classes, vocab_size, rho
        K >= 2, M > K and 0 < rho < 1.

    Examples
    --------
    >>> value, error = drift(20.0, 2, 10**6, 0.1)
    >>> float(value.round(5)), bool(error < 1e-3)
    (0.00108, True)
    """
    found = _near(a, num_classes, vocab_size, rho)
    return found.drift, found.error


def turning_length(
    tilt: ArrayLike, a: ArrayLike, num_classes: float, vocab_size: float, rho: float
) -> tuple[Floats, Floats]:
    """T* of :func:`scansnap_core.theory.law.phases.turning_length` by the one formula, and the error of T* - 1.

    T* - 1 = |tilt| M a/(2 (K - 1) (e^(rho a) - 1 - rho a/2)), as long as Lambda is the formula's.

    Parameters
    ----------
    tilt
        Of :func:`scansnap_core.theory.law.phases.tilt`.
    a, num_classes, vocab_size, rho
        As ``drift`` takes them.

    Examples
    --------
    >>> length, error = turning_length(-10.0, evidence(100.0, 10**6), 2, 10**6, 0.3)
    >>> float(length.round(-3)), bool(error < 0.02)
    (391000.0, True)
    """
    found, values = _near(a, num_classes, vocab_size, rho), np.asarray(a, dtype=np.float64)
    tilt = check_numbers("tilt", tilt, least=-np.inf, rule="a tilt is finite", remedy="pass e.g. -10.0")
    with np.errstate(over="ignore"):
        over = found.error + (num_classes - 1) * found.b_share**2 + 1 / (vocab_size - num_classes)
    return np.asarray(1 + np.abs(tilt) * values**2 / (2 * (num_classes - 1) * rho * found.drift)), np.asarray(over)


class _Near(NamedTuple):
    """Lambda by the formula; at most its relative error, b/a, and errors on other classes over those on the rest."""

    drift: Floats
    error: Floats
    b_share: Floats
    share: Floats


def _near(a: ArrayLike, num_classes: float, vocab_size: float, rho: float) -> _Near:
    rule = f"evidence is above 0, and at most {LATEST:g}"
    a = check_numbers("a", a, least=EARLIEST, rule=rule, remedy="pass e.g. 10.0")
    if (a > LATEST).any():
        raise BadInput(f"a = {a.max():g}", rule, "ask for earlier times")
    check_within("num_classes", num_classes, least=2, remedy="pass e.g. 2")
    check_within("vocab_size", vocab_size, least=num_classes + 1, remedy="pass more outputs than classes")
    check_within("rho", rho, least=1e-12, below=1, remedy="pass e.g. 0.1")
    others, rest = num_classes - 1, vocab_size - num_classes
    b, c = np.expm1(rho * a) / (rho * vocab_size), a / vocab_size
    faster = rho * (1 + 1 / rest)
    with np.errstate(over="ignore"):
        share = others * np.exp(faster * a) / rest
        taken = (1 + (others - 1) * rho) * (np.expm1(faster * a) / faster - a) / rest  # from ln of the odds
        off = np.log1p(num_classes / rest) + np.maximum(rho * a / rest, taken + np.log1p(share))  # ln of b over its own
        factor = np.exp(off)
        weight, b_share = b / (b - c / 2), factor * b / a
        error = weight * np.expm1(off) + (weight - 1) * (num_classes + others * vocab_size * b_share) / rest
        error += weight * factor * ((others - 1) * b_share + others / rest) / 2
    return _Near(np.asarray(a * (b - c / 2)), np.asarray(error), np.asarray(b_share), np.asarray(share))
