"""Solve the decoder for K classes with equal overlaps rho under the true gradient, with Z at rest.

The solution holds for every K and M. With Z at rest, logits and errors have three values each: at a
class's own output, at another class's, and at one of the M - K that are no class. Their integrals
over tau, a = ∫ (1 - alpha_own), b = ∫ alpha_other and c = ∫ alpha_rest, are elementary functions of
one parameter s = (1 + rho (M - 1)) c, which grows from 0 to infinity with tau; tau itself is a sum
of K powers of e^s (:func:`log_tau`). What pushes attention, kappa = -<y_k, e_n - alpha_n> for k !=
n, is half the growth of -<y_k, y_n>; hence Lambda = ∫ kappa dtau needs no further integral.

As long as other classes' outputs matter little, one formula gives Lambda, with a bound on its error
(:func:`early_drift`). In terms of the evidence a, the odds of another class's output are e^(rho a),
less what the other classes already removed. So b ≈ (e^(rho a) - 1)/(rho M) and Lambda ≈ a (b -
a/2M), from the first step on, as long as (K - 1) e^(rho a) << M and (1 + (K - 2) rho) (e^(rho a) -
1) << rho M, which ends before the crossing.

Clock: tau = eta_Y t/K with t in steps of batch size 1; evidence a = ∫ (1 - alpha_nn) dtau.
"""

from __future__ import annotations

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike
from scipy import special
from sympy.codegen.rewriting import expm1_opt, optimize

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import Rule, check_memory, checked_numbers, is_real, number, takes
from scansnap_core.data.sequences import Floats
from scansnap_core.theory.formulas import K, M, rho
from scansnap_core.theory.functions import function_of

# The assumption that these symbols aren't negative is needed only by proofs about the formulas.
s = sp.Symbol("s", nonnegative=True)
a_, b_, c_ = sp.symbols("a b c", nonnegative=True)

X = (1 + rho * (M - 1)) / (1 - rho)
"""The limit of the odds of another class's output against an output that names no class."""
m = (M - K) / X
b = sp.log(1 + (sp.exp(s) - 1) / X) / (1 - rho)
c = s / (1 + rho * (M - 1))
a = (K - 1) * b + (M - K) * c
"""The evidence a: what the logit of the class's own output gained."""
tau_rate = a.diff(s) + sp.exp((m + 1) * s) * (1 + (sp.exp(s) - 1) / X) ** (K - 1) / ((1 - rho) * X)
"""This is dtau/ds."""
Lambda = K * b_**2 / 2 + (M - K) * (b_ * c_ - c_**2 / 2)
"""Lambda = ∫ kappa dtau as a function of b and c: the drift of z over eta_Z/eta_Y."""
kappa = (a_ + b_) * sp.Symbol("alpha_other") + (M - K) * (b_ - c_) * sp.Symbol("alpha_rest")

SIZE = (K, M, rho)
# Write e^s - 1 as expm1: at a small s the difference would leave b no digits.
_a = function_of(optimize(a, [expm1_opt]), (s, *SIZE))
_b = function_of(optimize(b, [expm1_opt]), (s, *SIZE))
_c = function_of(optimize(c, [expm1_opt]), (s, *SIZE))
_Lambda = function_of(Lambda, (b_, c_, *SIZE[:2]))
_X = function_of(X, SIZE)
_m = function_of(m, SIZE)
_a_rate = function_of(a.diff(s), (s, *SIZE))

STILL = 1e-13
"""Newton's steps end when ln s changes by less."""
LATEST = 1e280
"""The largest tau."""
LEAST_EVIDENCE = 1e-100
MOST_EVIDENCE = 700.0
""":func:`early_drift` takes evidence between these."""
WHOLE = Rule(
    lambda K: is_real(K) and K >= 1 and K % 1 == 0, "K is a whole number, at least 1", "pass e.g. 2"
)
OVERLAP = number(least=0, below=1, remedy="pass e.g. 0.1")


@takes(num_classes=WHOLE, rho=OVERLAP)
# About ten steps are enough; 50 is a limit that isn't reached.
def s_of(
    tau: ArrayLike, num_classes: float, vocab_size: float, rho: float, *, steps: int = 50
) -> Floats:
    """Solve tau(s) = tau for the parameter s, in tau's shape.

    It takes 0 <= tau <= 1e280, K >= 1, M >= K and M >= 2, and 0 <= rho < 1. Newton steps on ln tau
    as a function of ln s, in which nothing overflows, begin at an upper bound of s (``_bound``).
    They end when s no longer changes, or after ``steps``.
    """
    number(least=max(num_classes, 2), remedy="pass at least K, and 2")("vocab_size", vocab_size)
    times = checked_numbers(
        "tau", tau, least=0, rule="time is finite and not negative", remedy="pass e.g. 10.0"
    )
    check_memory(f"{num_classes:g} powers at {times.size} times", 32.0 * num_classes * times.size)
    if (times > LATEST).any():
        raise BadInput(
            f"tau = {times.max():g}", f"tau is at most {LATEST:g}", "ask for earlier times"
        )
    size = float(num_classes), float(vocab_size), float(rho)
    X = _X(*size)
    m = _m(*size)
    later = times > 0
    at = np.zeros_like(times)
    goal = np.log(times[later])
    found = _bound(times[later], *size)
    for _ in range(steps):
        reached = log_tau(found, *size)
        # dtau/ds has two terms (tau_rate). This is ln of the second one, which itself would
        # overflow; the first one is the rate of the evidence a.
        log_rate = (
            (m + 1) * found
            + (num_classes - 1) * np.log1p(np.expm1(found) / X)
            - np.log((1 - rho) * X)
        )
        # Where s is near 1e-300, 1/tau can overflow. There the bound is s itself, to all digits,
        # and nan_to_num leaves it unchanged.
        with np.errstate(over="ignore", invalid="ignore"):
            # The slope is d(ln tau)/ds, and the step is one in ln s.
            slope = np.exp(log_rate - reached) + _a_rate(found, *size) * np.exp(-reached)
            change = np.nan_to_num((goal - reached) / (slope * found))
        found *= np.exp(change)
        # More steps would change s by rounding alone.
        if np.abs(change).max(initial=0.0) < STILL:
            break
    at[later] = found
    return at


def _bound(tau: Floats, num_classes: float, vocab_size: float, rho: float) -> Floats:
    """Bound s at tau from above, by the lowest of three bounds in closed form.

    One factor of tau_rate is at least 1, which is sharp before the crossing e^s = X, and at least
    (e^s/X)^(K - 1), which is sharp after it. With either in its place the integral is elementary.
    """
    X = _X(num_classes, vocab_size, rho)
    m = _m(num_classes, vocab_size, rho)
    unit = (1 - rho) * X
    late = m + num_classes

    # Before the crossing: tau = (M - 1) s/unit + (e^((m + 1) s) - 1)/(unit (m + 1)), which Wright's
    # omega solves.
    linear = (vocab_size - 1) / (m + 1)
    ratio = (unit * tau + 1 / (m + 1)) / linear
    before = np.log(
        (m + 1) * linear * special.wrightomega(ratio - np.log((m + 1) * linear)).real
    ) / (m + 1)

    # After it: tau = (e^(late s) - 1)/(unit late X^(K - 1)).
    after = (
        np.logaddexp(0, np.log(tau) + np.log(unit * late) + (num_classes - 1) * np.log(X)) / late
    )

    # At first: tau = M s/unit. Where s is small, rounding can make the first bound 0 or less.
    lower = np.minimum(unit * tau / vocab_size, after)
    return np.asarray(np.where(before > 0, np.minimum(before, lower), lower))


def log_tau(at: Floats, num_classes: float, vocab_size: float, rho: float) -> Floats:
    """Compute ln tau at s.

    tau is the integral of :data:`tau_rate`. Its power K - 1 is expanded as a binomial series, whose
    terms are all positive, so that none cancels another.
    """
    size = num_classes, vocab_size, rho
    X = _X(*size)
    m = _m(*size)
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
    """Compute ln tau at the crossing e^s = X.

    There the odds of another class's output reach half of their limit X.
    """
    return float(log_tau(np.log(_X(num_classes, vocab_size, rho)), num_classes, vocab_size, rho))


def evidence(
    tau: ArrayLike, num_classes: float, vocab_size: float, rho: float
) -> tuple[Floats, Floats, Floats]:
    """Compute a, b and c at tau, each in tau's shape.

    Arguments are as :func:`~scansnap_core.law.closed.s_of` takes them.

    Examples
    --------
    >>> [part.round(3) for part in evidence([1.0, 1000.0], 2, 900, 0.3)]
    [array([ 0.998, 13.768]), array([0.001, 0.202]), array([0.001, 0.015])]
    """
    at = s_of(tau, num_classes, vocab_size, rho)
    size = (num_classes, vocab_size, rho)
    return _a(at, *size), _b(at, *size), _c(at, *size)


def drift(tau: ArrayLike, num_classes: float, vocab_size: float, rho: float) -> Floats:
    """Compute Lambda(tau) = ∫ kappa dtau exactly, in tau's shape.

    Arguments are as :func:`~scansnap_core.law.closed.s_of` takes them.

    Examples
    --------
    >>> drift([10.0, 100.0, 1e4], 2, 900, 0.3).round(2)
    array([0.22, 1.08, 5.89])
    """
    _, b, c = evidence(tau, num_classes, vocab_size, rho)
    return np.asarray(_Lambda(b, c, num_classes, vocab_size))


@takes(vocab_size=number(least=2, remedy="pass e.g. 1000"))
def early_evidence(tau: ArrayLike, vocab_size: float) -> Floats:
    """Solve a + e^a/M = tau for the early evidence a, for tau > 1/M.

    The solution is a = ln M + ln omega(tau - ln M) with Wright's omega.
    """
    rule = "tau is above 1/M, where this evidence is 0"
    times = checked_numbers("tau", tau, above=1 / vocab_size, rule=rule, remedy="pass e.g. 10.0")
    return np.asarray(
        np.log(vocab_size) + np.log(special.wrightomega(times - np.log(vocab_size)).real)
    )


def early_drift(
    a: ArrayLike, num_classes: float, vocab_size: float, rho: float
) -> tuple[Floats, Floats]:
    """Compute Lambda by the early formula at the evidence a, and a bound on its relative error.

    The evidence is above 0 and at most 700, K >= 2, M > K and 0 < rho < 1.

    Examples
    --------
    >>> value, error = early_drift(20.0, 2, 10**6, 0.1)
    >>> float(value.round(5)), bool(error < 1e-3)
    (0.00108, True)
    """
    return _near(a, num_classes, vocab_size, rho)[:2]


def early_turning_length(
    tilt: ArrayLike, a: ArrayLike, num_classes: float, vocab_size: float, rho: float
) -> tuple[Floats, Floats]:
    """T* of :func:`scansnap_core.law.phases.turning_length` by the one formula, and the
    error of T* - 1.

    T* - 1 = |tilt| M a/(2 (K - 1) (e^(rho a) - 1 - rho a/2)), as long as Lambda is the formula's;
    ``tilt`` is that of :mod:`~scansnap_core.law.phases`, the rest as ``early_drift`` takes
    it.

    Examples
    --------
    >>> length, error = early_turning_length(-10.0, early_evidence(100.0, 10**6), 2, 10**6, 0.3)
    >>> float(length.round(-3)), bool(error < 0.02)
    (391000.0, True)
    """
    value, error, b_share = _near(a, num_classes, vocab_size, rho)
    tilt = checked_numbers(
        "tilt", tilt, least=-np.inf, rule="a tilt is finite", remedy="pass e.g. -10.0"
    )
    with np.errstate(over="ignore"):
        error = error + (num_classes - 1) * b_share**2 + 1 / (vocab_size - num_classes)
    square = np.square(np.asarray(a, dtype=np.float64))
    return np.asarray(
        1 + np.abs(tilt) * square / (2 * (num_classes - 1) * rho * value)
    ), np.asarray(error)


@takes(
    num_classes=number(least=2, remedy="pass e.g. 2"),
    rho=number(least=1e-12, below=1, remedy="pass e.g. 0.1"),
)
def _near(
    a: ArrayLike, num_classes: float, vocab_size: float, rho: float
) -> tuple[Floats, Floats, Floats]:
    """Compute Lambda by the early formula, and bounds on its relative error and on b/a."""
    number(least=num_classes + 1, remedy="pass more outputs than classes")("vocab_size", vocab_size)
    rule = f"evidence is above 0, and at most {MOST_EVIDENCE:g}"
    a = checked_numbers("a", a, least=LEAST_EVIDENCE, rule=rule, remedy="pass e.g. 10.0")
    if (a > MOST_EVIDENCE).any():
        raise BadInput(f"a = {a.max():g}", rule, "ask for earlier times")
    others = num_classes - 1
    rest = vocab_size - num_classes
    b = np.expm1(rho * a) / (rho * vocab_size)
    c = a / vocab_size
    faster = rho * (1 + 1 / rest)
    with np.errstate(over="ignore", invalid="ignore"):
        share = others * np.exp(faster * a) / rest
        # What the other classes removed from ln of the odds.
        removed = (1 + (others - 1) * rho) * (np.expm1(faster * a) / faster - a) / rest

        # |ln(b/formula's b)| is at most this. The first in the maximum is never the larger, because
        # e^x - 1 <= x e^x.
        off = np.log1p(num_classes / rest) + np.maximum(rho * a / rest, removed + np.log1p(share))

        # The error of Lambda, from those of b, of c and of the terms that the formula leaves out.
        factor = np.exp(off)
        weight = b / (b - c / 2)
        b_share = factor * b / a
        error = (
            weight * np.expm1(off)
            + (weight - 1) * (num_classes + others * vocab_size * b_share) / rest
        )
        error += weight * factor * ((others - 1) * b_share + others / rest) / 2
    # Beyond the range of floats a term can be 0 times infinity.
    error = np.where(np.isnan(error), np.inf, error)
    return np.asarray(a * (b - c / 2)), error, np.asarray(b_share)
