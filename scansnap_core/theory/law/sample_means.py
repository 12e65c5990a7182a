"""Means over sequences of finite length: of f = LN(X^T b), and of the pull that a row of Y has on attention.

**Exactly** (:class:`Counts`). A sample of T - 1 contextual tokens has counts k, multinomial, and f = LN(w∘k) with
w = exp(z). The norm in it couples all tokens; written as an integral of Gaussians,
|w∘k|^-1 = (2/√π) ∫ exp(-x² |w∘k|²) dx, it falls into factors, one a token. A multinomial is a family of independent
Poisson counts, given their sum; the sum is fixed by a Fourier integral. So any T costs two sums over a few hundred
nodes, both of which converge faster than any power.

**To the first order in 1/(T - 1)** (:class:`FirstOrder`), each sample weighed by the decoder's error on it. A sample
whose f lies off the mean is predicted worse. Where the class is known, its error goes as exp(-v·f) with v a fixed
vector: v = a fbar, the evidence on what was learned. So means weighed by errors are means over a tilted law of
samples. With y = (X^T b)/|c| - f, of covariance C/(T - 1) under the untilted law, C = diag(f²/P) - f f^T,

    -v·f(y) = -v·f - v·y_⊥ + (v·f)(|y_⊥|²/2 - (f·y) |y_⊥|²) + ...,    y_⊥ = P⊥_f y,

and a multinomial is exp(-(T - 1) KL). At a fixed kappa = v·f/(T - 1), as T grows, the tilted law is a Gaussian with

    S = (C^-1 - kappa P⊥_f)^-1

in the place of C, and the mean m that the cubic terms of both give. Errors inflate the scatter that they come of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import poisson

from scansnap_core.bad_input import BadInput
from scansnap_core.data.checks import SUM_TOLERANCE
from scansnap_core.data.sequences import Floats
from scansnap_core.rules import SEQ_LEN, check_numbers, shown

EXACT_UP_TO = 257
"""Up to this T means are exact; beyond, they go on with three powers of 1/(T - 1), the first one known."""
SPACING, REACH = 0.5, 6.5
"""These are the distance of the x-nodes times the largest |w∘k|, and the last node times the smallest. The error is
exp(-(π/0.5)²)."""


class Counts:
    """The samples of one class at a finite T.

    Parameters
    ----------
    probs
        P(.|n), shape (L,). Tokens with P = 0 never occur.
    seq_len
        T, the query included: a whole number, 2 or more.
    z
        Attention logits, shape (L,); default 0.

    Raises
    ------
    BadInput
        T isn't such a number.

    Examples
    --------
    >>> two = Counts(np.array([0.75, 0.25]), seq_len=3)  # counts (2, 0), (1, 1), (0, 2)
    >>> f = two.mean_f()
    >>> f.round(4)
    array([0.8277, 0.3277])
    >>> two.pull(f).round(4)
    array([ 0.0663, -0.0663])
    """

    def __init__(self, probs: Floats, seq_len: float, z: Floats | None = None) -> None:
        SEQ_LEN("seq_len", seq_len)
        if math.isinf(seq_len):
            raise BadInput("seq_len = inf", "these are means over finite sequences", "take f itself, of Eqn 5")
        self._shape, self._held, self._n = len(probs), np.flatnonzero(probs), int(seq_len) - 1
        self._probs = np.asarray(probs, dtype=np.float64)[self._held]
        weights = np.exp((np.zeros(len(probs)) if z is None else z)[self._held])
        self._weights = weights / weights.max()

    def mean_f(self) -> Floats:
        """F = E f, shape (L,)."""
        (P, w), which, size = self._kinds()
        F = np.zeros(len(P))
        for _, wide, whole, (first, _, _) in self._nodes(P, w, size):
            F += wide * self._fixed(whole * first)
        return self._spread(F[which])

    def pull(self, rows: Floats) -> Floats:
        """E[f∘(v - f f·v)] for rows v, shape (..., L): what a row v = Y e does to z by Eqn 4."""
        rows = np.asarray(rows, dtype=np.float64)
        flat = rows.reshape(-1, self._shape)[:, self._held]
        (P, w, *columns), which, size = self._kinds(*flat)
        v = np.reshape(columns, (len(flat), len(P)))
        F, cube = np.zeros(len(P)), np.zeros_like(v)
        for at, wide, whole, (first, second, third) in self._nodes(P, w, size):
            others = ((size * v) @ first)[:, None] - v[:, :, None] * first
            F += wide * self._fixed(whole * first)
            cube += wide * 2 * at**2 * self._fixed(whole * (second * others + v[:, :, None] * third))
        return self._spread((F * v - cube)[:, which]).reshape(rows.shape)

    def _kinds(self, *more: Floats) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Equal tokens count once: their columns, the column of each token, and how many are of each kind."""
        columns = np.stack([self._probs, self._weights, *more])
        kinds, which, size = np.unique(columns, axis=1, return_inverse=True, return_counts=True)
        return kinds, which.ravel(), size.astype(np.float64)

    def _spread(self, values: Floats) -> Floats:
        result = np.zeros((*values.shape[:-1], self._shape))
        result[..., self._held] = values
        return result

    def _nodes(self, P: Floats, w: Floats, size: Floats) -> Iterator[tuple[float, float, Floats, Floats]]:
        """Nodes x with their weights; on the circle, all tokens' factor, and per kind E[(w k)^i], i = 1, 2, 3."""
        n = self._n
        largest, smallest = n * w.max(), math.sqrt(max(n**2 / (size / w**2).sum(), n * w.min() ** 2))
        rate = n * P
        top = int(min(n, np.ceil((rate + 12 * np.sqrt(rate) + 25).max())))
        k = np.arange(top + 1)
        chances, weighed = poisson.pmf(k, rate[:, None]), w[:, None] * k
        phases = np.exp(1j * np.outer(k, self._angles))
        for at in np.arange(0, REACH / smallest + SPACING / largest, SPACING / largest):
            damped = chances * np.exp(-((at * weighed) ** 2))
            powers = np.stack([(damped * weighed**i) @ phases for i in range(4)])
            wide = (1 if at == 0 else 2) * SPACING / largest / math.sqrt(math.pi)
            yield at, wide, np.prod(powers[0] ** size[:, None], axis=0), powers[1:] / powers[0]

    @cached_property
    def _angles(self) -> Floats:
        """An odd number of them: every factor's zeros lie at the angle π."""
        num = 2 * ((self._n + int(12 * math.sqrt(self._n)) + 40) // 2) + 1
        return 2 * np.pi * np.arange(num) / num

    @cached_property
    def _turned(self) -> NDArray[np.complex128]:
        return np.exp(-1j * self._n * self._angles)

    @cached_property
    def _chance(self) -> float:
        """The probability that independent Poisson counts sum to T - 1."""
        return float(poisson.pmf(self._n, self._n))

    def _fixed(self, values: Floats) -> Floats:
        """The Fourier coefficient at which the counts sum to T - 1, given that they do."""
        coefficient = np.real(values @ self._turned) / len(self._angles)
        return np.asarray(coefficient / self._chance)


class FirstOrder:
    """The coefficients of 1/(T - 1), at any z; leading axes batch over classes.

    Parameters
    ----------
    probs, f
        P(.|n), and f of Eqn 5 normalised, both of shape (..., L).
    kappa
        The tilt v·f/(T - 1), of shape (..., 1), below 1 over the largest f_l²/P_l; 0 for plain means.
    beside
        v less f f·v, of shape (..., L).
    """

    def __init__(self, probs: Floats, f: Floats, kappa: Floats | float = 0.0, beside: Floats | float = 0.0) -> None:
        self._f = f
        held = probs > 0
        w = f**2 / np.where(held, probs, np.inf)
        self._alone = w / (1 - kappa * w)
        self._kappa = kappa / (1 + kappa * _dot(f**2, self._alone))
        self._sum = np.where(held, probs, 0.0) / np.where(held, f, 1.0)  # frequencies sum to 1
        self._fixed = self._free(self._sum)
        self._fixed_by = _dot(self._sum, self._fixed)
        diagonal = self._alone - self._kappa * (self._alone * f) ** 2 - self._fixed**2 / self._fixed_by
        self._Sf = self._S(f)
        self._along = _dot(f, self._Sf)
        self.variance = diagonal - 2 * f * self._Sf + f**2 * self._along
        """The coefficient of the variance of f_l."""
        across = self.variance.sum(axis=-1, keepdims=True)
        cubic = np.where(held, (self._sum * diagonal / np.where(held, f, 1.0) - 1) / np.where(held, 2 * f, 1.0), 0.0)
        cubic = cubic - kappa * (f * across + 2 * (self._Sf - f * self._along))
        m = self._S(cubic - beside)
        self._bias = m - f * _dot(f, m) - self._Sf + f * (self._along - across / 2)

    def mean_f(self) -> Floats:
        """The coefficient of E f - f."""
        return np.asarray(self._bias)

    def own(self) -> Floats:
        """The coefficient of s, the pull of E f itself."""
        return np.asarray(self.pull(self._f) + self._f * self._bias - self._f**2 * _dot(self._f, self._bias))

    def pull(self, g: Floats) -> Floats:
        """The coefficient of E[f∘(g - f f·g)], for one g of shape (..., L) per class."""
        f, b = self._f, self._bias
        along = _dot(f, g)
        beside = g - f * along
        scattered = self._S(beside)
        turned = scattered - f * _dot(f, scattered)
        return np.asarray(b * g - f**2 * _dot(b, g) - (2 * f * b + self.variance) * along - 2 * f * turned)

    def _free(self, x: Floats) -> Floats:
        """(diag(1/w) - kappa P⊥_f)^-1 x: S before frequencies sum to 1."""
        return self._alone * (x - self._kappa * self._f * _dot(self._f, self._alone * x))

    def _S(self, x: Floats) -> Floats:
        return self._free(x) - self._fixed * (_dot(self._fixed, x) / self._fixed_by)


def _dot(one: Floats, other: Floats) -> Floats:
    return np.asarray((one * other).sum(axis=-1, keepdims=True))


class Means(NamedTuple):
    """Means over the samples of one class: F = E f, its own pull s, and the pull of another row; all of shape (L,)."""

    f: Floats
    push: Floats
    other: Floats


def means(probs: Floats, seq_len: float, row: Floats | None = None) -> Means:
    """F and s of one class at z = 0, for any T up to infinity.

    Parameters
    ----------
    probs
        P(.|n), shape (L,).
    seq_len
        T, the query included: 2 or more, or ``inf``.
    row
        The other row v, shape (L,), whose pull is E[f∘(v - f f·v)]; default 0.

    Examples
    --------
    >>> means(np.array([0.5, 0.3, 0.2]), 128).push.round(5)
    array([ 0.00507, -0.00229, -0.00279])
    """
    SEQ_LEN("seq_len", seq_len)
    probs = checked_rows(probs)
    if probs.ndim > 1:
        raise BadInput(f"probs of shape {probs.shape}", "one class at a time", "pass its row")
    f = probs / np.linalg.norm(probs)
    v = np.zeros_like(f) if row is None else row
    limit = np.stack([f, np.zeros_like(f), f * (v - f * (f @ v))])
    if math.isinf(seq_len):
        return Means(*limit)
    if seq_len <= EXACT_UP_TO:
        return _exact(probs, seq_len, v)
    first = FirstOrder(probs, f)
    slope = np.stack([first.mean_f(), first.own(), first.pull(v)])
    shares = np.array([2.0, 1.0]) / (EXACT_UP_TO - 1)
    left = np.stack([_exact(probs, 1 + round(1 / share), v) - limit - slope * share for share in shares])
    powers = np.stack([shares**2, shares**3], axis=1)
    square, cube = np.linalg.solve(powers, left.reshape(2, -1)).reshape(left.shape)
    share = 1 / (seq_len - 1)
    return Means(*(limit + slope * share + square * share**2 + cube * share**3))


def checked_rows(probs: ArrayLike) -> Floats:
    """Rows of probabilities, shape (..., L), or BadInput."""
    rule, remedy = "probabilities are not negative and sum to 1", "pass e.g. [0.5, 0.3, 0.2]"
    rows = check_numbers("probs", probs, least=0, rule=rule, remedy=remedy)
    if not rows.size or not rows.ndim or (np.abs(rows.sum(axis=-1) - 1) > SUM_TOLERANCE).any():
        raise BadInput(f"probs = {shown(probs)}", rule, remedy)
    return rows


def _exact(probs: Floats, seq_len: float, v: Floats) -> Means:
    counts = Counts(probs, seq_len)
    F = counts.mean_f()
    return Means(F, *counts.pull(np.stack([F, v])))
