"""The decoder at rest, solved: K classes with equal overlaps rho under the true gradient, for every K and M.

With Z at rest, logits and errors have three values each: at a class's own output, at another class's, and at one of the
M - K that are no class. Their integrals over tau, a = ∫ (1 - alpha_own), b = ∫ alpha_other and c = ∫ alpha_rest, are
elementary functions of one parameter s = (1 + rho (M - 1)) c, which grows from 0 to infinity with tau; tau itself is a
sum of K powers of e^s beside them (:func:`log_tau`). What pushes attention, kappa = -<y_k, e_n - alpha_n> for
k != n, is half the growth of -<y_k, y_n>; hence Lambda = ∫ kappa dtau needs no further integral.

Clock: tau = eta_Y t/K with t in steps of batch size 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import special

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import check_memory, check_numbers, check_within
from scansnap_core.theory.formulas import K, M, rho
from scansnap_core.theory.functions import function_of

Floats = NDArray[np.float64]

s = sp.Symbol("s", nonnegative=True)
a_, b_, c_ = sp.symbols("a b c", nonnegative=True)

X = (1 + rho * (M - 1)) / (1 - rho)
"""What e^(v - w) grows to: the odds of another class's output against one that is no class."""
m = (M - K) / X
b = sp.log(1 + (sp.exp(s) - 1) / X) / (1 - rho)
c = s / (1 + rho * (M - 1))
a = (K - 1) * b + (M - K) * c
"""The evidence: what the class's own output gained."""
tau_rate = a.diff(s) + sp.exp((m + 1) * s) * (1 + (sp.exp(s) - 1) / X) ** (K - 1) / ((1 - rho) * X)
"""dtau/ds."""
Lambda = K * b_**2 / 2 + (M - K) * (b_ * c_ - c_**2 / 2)
"""∫ kappa dtau at b and c: the drift, over eta_Z/eta_Y."""
kappa = (a_ + b_) * sp.Symbol("alpha_other") + (M - K) * (b_ - c_) * sp.Symbol("alpha_rest")

SIZE = (K, M, rho)
_a, _b, _c = (function_of(expression, (s, *SIZE)) for expression in (a, b, c))
_Lambda = function_of(Lambda, (b_, c_, *SIZE[:2]))
_X, _m = function_of(X, SIZE), function_of(m, SIZE)
_a_rate = function_of(a.diff(s), (s, *SIZE))

STILL = 1e-13
LATEST = 1e280


def s_of(tau: ArrayLike, num_classes: float, vocab_size: float, rho: float, *, steps: int = 50) -> Floats:
    """The parameter s at tau >= 0; shape of ``tau``.

    Two bounds from above are in closed form, for what comes before and after the crossing e^s = X: there one of the
    factors under tau's integral is 1, or a power of e^s. From the lower of the two, Newton steps on ln tau over ln s.

    Parameters
    ----------
    tau
        eta_Y t/K with t in steps of batch size 1, at most 1e280.
    num_classes, vocab_size, rho
        K >= 1, M >= K and M >= 2, and 0 <= rho < 1.
    steps
        Newton steps at most; they end when s stands still.

    Raises
    ------
    BadInput
        Numbers outside these ranges, or so many classes and times that their powers don't fit in memory.
    """
    times = check_numbers("tau", tau, least=0, rule="time is finite and not negative", remedy="pass e.g. 10.0")
    _check_size(num_classes, vocab_size, rho, times.size)
    if (times > LATEST).any():
        raise BadInput(f"tau = {times.max():g}", f"tau is at most {LATEST:g}", "ask for earlier times")
    size = float(num_classes), float(vocab_size), float(rho)
    later = times > 0
    at, goal = np.zeros_like(times), np.log(times[later])
    found = _bound(times[later], *size)
    for _ in range(steps):
        reached = log_tau(found, *size)
        slope = np.exp(_log_learned_rate(found, *size) - reached) + _a_rate(found, *size) * np.exp(-reached)
        change = (goal - reached) / (slope * found)
        found *= np.exp(change)
        if np.abs(change).max(initial=0.0) < STILL:
            break
    at[later] = found
    return at


def _check_size(num_classes: Any, vocab_size: Any, rho: Any, num_times: int) -> None:
    check_within("num_classes", num_classes, least=1, remedy="pass e.g. 2")
    if num_classes % 1:
        raise BadInput(f"num_classes = {num_classes:g}", "K is a whole number", "pass e.g. 2")
    check_within("vocab_size", vocab_size, least=max(num_classes, 2), remedy="pass at least K, and 2")
    check_within("rho", rho, least=0, below=1, remedy="pass e.g. 0.1")
    check_memory(f"{num_classes:g} powers at {num_times} times", 32.0 * num_classes * num_times)


def _bound(tau: Floats, num_classes: float, vocab_size: float, rho: float) -> Floats:
    X, m = float(_X(num_classes, vocab_size, rho)), float(_m(num_classes, vocab_size, rho))
    unit, late = (1 - rho) * X, m + num_classes
    # before: tau = (M - 1) s/unit + (e^((m + 1) s) - 1)/(unit (m + 1)), by Wright's omega
    linear = (vocab_size - 1) / (m + 1)
    ratio = (unit * tau + 1 / (m + 1)) / linear
    before = np.log((m + 1) * linear * special.wrightomega(ratio - np.log((m + 1) * linear)).real) / (m + 1)
    after = (np.log(tau) + np.log(unit * late) + (num_classes - 1) * np.log(X)) / late
    before = np.where(before > 0, before, unit * tau / vocab_size)  # rounding can leave nothing of a small s
    return np.asarray(np.where(after > 0, np.minimum(before, after), before))


def log_tau(at: Floats, num_classes: float, vocab_size: float, rho: float) -> Floats:
    """ln tau at s, the integral of :data:`tau_rate`, by the binomial series of its power K - 1 (terms all positive)."""
    size = num_classes, vocab_size, rho
    X, m = float(_X(*size)), float(_m(*size))
    j = np.arange(round(num_classes))
    last = num_classes - 1
    binomial = special.gammaln(last + 1) - special.gammaln(j + 1) - special.gammaln(last - j + 1)
    powers = m + 1 + j
    at = np.asarray(at, dtype=np.float64)
    with np.errstate(divide="ignore"):
        grown = powers * at[..., None] + np.log(-np.expm1(-powers * at[..., None])) - np.log(powers)
        terms = binomial + special.xlog1py(last - j, -1 / X) - j * np.log(X) + grown
        learned = special.logsumexp(terms, axis=-1) - np.log((1 - rho) * X)
        return np.asarray(np.logaddexp(learned, np.log(_a(at, *size))))


def log_crossing(num_classes: float, vocab_size: float, rho: float) -> float:
    """ln tau at the crossing, e^s = X, where the odds of another class's output reach half of their limit X.

    Examples
    --------
    >>> round(log_crossing(2, 1000, 0.3), 2)
    13.81
    """
    return float(log_tau(np.log(_X(num_classes, vocab_size, rho)), num_classes, vocab_size, rho))


def _log_learned_rate(at: Floats, num_classes: float, vocab_size: float, rho: float) -> Floats:
    """ln of the second term of :data:`tau_rate`, which would overflow."""
    X, m = float(_X(num_classes, vocab_size, rho)), float(_m(num_classes, vocab_size, rho))
    return np.asarray((m + 1) * at + (num_classes - 1) * np.log1p(np.expm1(at) / X) - np.log((1 - rho) * X))


def evidence(tau: ArrayLike, num_classes: float, vocab_size: float, rho: float) -> tuple[Floats, Floats, Floats]:
    """a, b and c at tau; arguments as :func:`~scansnap_core.theory.law.closed.s_of` takes them.

    Examples
    --------
    >>> [part.round(3) for part in evidence([1.0, 1000.0], 2, 900, 0.3)]
    [array([ 0.998, 13.768]), array([0.001, 0.202]), array([0.001, 0.015])]
    """
    at, size = s_of(tau, num_classes, vocab_size, rho), (num_classes, vocab_size, rho)
    return _a(at, *size), _b(at, *size), _c(at, *size)


def drift(tau: ArrayLike, num_classes: float, vocab_size: float, rho: float) -> Floats:
    """Lambda(tau) = ∫ kappa dtau exactly; arguments as :func:`~scansnap_core.theory.law.closed.s_of` takes them.

    Examples
    --------
    >>> drift([10.0, 100.0, 1e4], 2, 900, 0.3).round(2)
    array([0.22, 1.08, 5.89])
    """
    _, b, c = evidence(tau, num_classes, vocab_size, rho)
    return np.asarray(_Lambda(b, c, num_classes, vocab_size))
