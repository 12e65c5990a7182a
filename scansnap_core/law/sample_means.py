"""Means over samples at z: how far a sequence of T tokens moves f, and what that pushes.

A sample of T - 1 contextual tokens of a class has counts k, multinomial, and f = LN(w∘k) with w =
exp(z). It differs from the mean F_n of its class, so F_n pushes it. The mean push is s_n = E[f∘(F_n
- f f·F_n)]. To first order in 1/(T - 1), at z = 0,

    s_nl = f_l² (S_2 - 2 S_4 - (1 - 2 f_l²)/P_l)/(T - 1),    S_j = sum_l f_l^j/P_l.

**Exactly** (:class:`Counts`). The norm in f couples all tokens. Written as an integral of
Gaussians,

    |w∘k|^-1 = (2/√π) ∫ exp(-x² |w∘k|²) dx,

it factorises over tokens. Multinomial counts are independent Poisson counts, given their sum; a
Fourier integral fixes the sum. So any T costs two sums over a few hundred nodes, both of which
converge faster than any power.

**To the first order in 1/(T - 1)** (:class:`FirstOrder`), also where samples are weighted by
exp(-v·f) with a fixed vector v: a tilted distribution. With y = (X^T b)/|c| - f, of covariance
C/(T - 1) under the untilted distribution, C = diag(f²/P) - f f^T,

    -v·f(y) = -v·f - v·y_⊥ + (v·f)(|y_⊥|²/2 - (f·y) |y_⊥|²) + ...,    y_⊥ = P⊥_f y,

and a multinomial is exp(-(T - 1) KL). At a fixed kappa = v·f/(T - 1), as T grows, the tilted
distribution is a Gaussian with

    S = (C^-1 - kappa P⊥_f)^-1

in the place of C, and with the mean m that the cubic terms of both expressions give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import SEQ_LEN, checked_numbers, number, shown, takes
from scansnap_core.data.inputs import SUM_TOLERANCE
from scansnap_core.data.sequences import Floats
from scansnap_core.theory.decoder import through_attention
from scansnap_core.theory.spectrum import F

EXACT_UP_TO = 257
"""Up to this T, means are exact. Beyond it they are extrapolated by three powers of 1/(T - 1), of
which the first is known.
"""
SPACING = 0.5
REACH = 6.5
"""The spacing of the x-nodes is SPACING over the largest |w∘k|, and the last node is REACH over the
smallest. The error is exp(-(π/0.5)²).
"""


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

    Examples
    --------
    >>> two = Counts(np.array([0.75, 0.25]), seq_len=3)  # counts (2, 0), (1, 1), (0, 2)
    >>> f = two.mean_f()
    >>> f.round(4)
    array([0.8277, 0.3277])
    >>> two.pull(f).round(4)
    array([ 0.0663, -0.0663])
    """

    @takes(seq_len=SEQ_LEN)
    def __init__(self, probs: Floats, seq_len: float, z: Floats | None = None) -> None:
        """Prepare the tokens that occur, with their weights e^z, and the Fourier integral that
        fixes the sum of counts at T - 1.
        """
        number(says="these are means over finite sequences", remedy="take f itself, of Eqn 5")(
            "seq_len", seq_len
        )
        self._shape = len(probs)
        self._held = np.flatnonzero(probs)
        self._n = int(seq_len) - 1
        self._probs = np.asarray(probs, dtype=np.float64)[self._held]
        weights = np.exp((np.zeros(len(probs)) if z is None else z)[self._held])
        self._weights = weights / weights.max()
        # The Fourier integral is a sum over equal angles. It takes in counts whose sum is larger
        # than T - 1 by the number of angles, too; there are so many angles that such a sum has no
        # weight. Their number is odd, because the factors can be zero at the angle π.
        num = 2 * ((self._n + int(12 * math.sqrt(self._n)) + 40) // 2) + 1
        self._angles = 2 * np.pi * np.arange(num) / num
        self._turned = np.exp(-1j * self._n * self._angles) / (num * _poisson(self._n, self._n))

    def mean_f(self) -> Floats:
        """Compute F = E f, shape (L,)."""
        (P, w), which, size = self._kinds()
        F = np.zeros(len(P))
        for _, wide, whole, (first, _, _) in self._nodes(P, w, size):
            F += wide * self._fixed(whole * first)
        return self._spread(F[which])

    def pull(self, rows: Floats) -> Floats:
        """Compute E[f∘(v - f f·v)] for rows v, shape (..., L): what v = Y e does to z by Eqn 4."""
        rows = np.asarray(rows, dtype=np.float64)
        flat = rows.reshape(-1, self._shape)[:, self._held]
        (P, w, *columns), which, size = self._kinds(*flat)
        v = np.reshape(columns, (len(flat), len(P)))
        F = np.zeros(len(P))
        cube = np.zeros_like(v)
        for at, wide, whole, (first, second, third) in self._nodes(P, w, size):
            F += wide * self._fixed(whole * first)
            # The cubic term f_l² sum_m f_m v_m: tokens m other than l, then l itself.
            others = ((size * v) @ first)[:, None] - v[:, :, None] * first
            product = whole * (second * others + v[:, :, None] * third)
            cube += wide * 2 * at**2 * self._fixed(product)
        return self._spread((F * v - cube)[:, which]).reshape(rows.shape)

    def _kinds(self, *more: Floats) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Group tokens with equal columns.

        Returns
        -------
        The columns of each kind of token: P, the weights, and ``more``; the kind of each token; and
        how many tokens are of each kind.
        """
        columns = np.stack([self._probs, self._weights, *more])
        kinds, which, size = np.unique(columns, axis=1, return_inverse=True, return_counts=True)
        return kinds, which.ravel(), size.astype(np.float64)

    def _spread(self, values: Floats) -> Floats:
        """Put values of the tokens that occur in their places; the others are 0."""
        result = np.zeros((*values.shape[:-1], self._shape))
        result[..., self._held] = values
        return result

    def _nodes(
        self, P: Floats, w: Floats, size: Floats
    ) -> Iterator[tuple[float, float, Floats, Floats]]:
        """Yield the nodes x of the Gaussian integral, with what it needs there.

        Yields
        ------
        x; its weight; the product of all tokens' factors at each angle of the Fourier integral; and
        for each kind of token E[(w k)^i exp(-(x w k)²)] over its factor, for i = 1, 2, 3.
        """
        n = self._n
        largest = n * w.max()
        smallest = math.sqrt(max(n**2 / (size / w**2).sum(), n * w.min() ** 2))

        # Poisson counts k with the rates n P, up to where the rest has no weight.
        rate = n * P
        top = int(min(n, np.ceil((rate + 12 * np.sqrt(rate) + 25).max())))
        k = np.arange(top + 1)
        chances = _poisson(k, rate[:, None])
        weighted = w[:, None] * k
        phases = np.exp(1j * np.outer(k, self._angles))
        for at in np.arange(0, REACH / smallest + SPACING / largest, SPACING / largest):
            damped = chances * np.exp(-((at * weighted) ** 2))
            powers = np.stack([(damped * weighted**i) @ phases for i in range(4)])
            wide = (1 if at == 0 else 2) * SPACING / largest / math.sqrt(math.pi)
            whole = np.prod(powers[0] ** size[:, None], axis=0)
            yield at, wide, whole, powers[1:] / powers[0]

    def _fixed(self, values: Floats) -> Floats:
        """Take the mean over independent Poisson counts, given that they sum to T - 1.

        It is one Fourier coefficient of ``values`` on the circle, over the chance of that sum.
        """
        return np.real(values @ self._turned)


class FirstOrder:
    """The coefficients of 1/(T - 1) in means over samples, at any z; leading axes batch over
    classes.

    Parameters
    ----------
    probs, f
        P(.|n), and f of Eqn 5 normalised, both of shape (..., L).
    kappa
        The tilt v·f/(T - 1), of shape (..., 1), below 1 over the largest f_l²/P_l; 0 for plain
        means.
    across
        v - f f·v, the part of v perpendicular to f, of shape (..., L).
    """

    def __init__(
        self, probs: Floats, f: Floats, kappa: Floats | float = 0.0, across: Floats | float = 0.0
    ) -> None:
        """Compute S and m of the module's docstring, for each class along the leading axes."""
        self._f = f
        held = probs > 0
        w = f**2 / np.where(held, probs, np.inf)

        # The inverse of diag(1/w) - kappa P⊥_f, a diagonal matrix and a rank-one one, by Sherman
        # and Morrison.
        self._alone = w / (1 - kappa * w)
        self._kappa = kappa / (1 + kappa * dot(f**2, self._alone))

        # The constraint: the frequencies of a sample sum to 1, so S is 0 in the direction _sum.
        self._sum = np.where(held, probs, 0.0) / np.where(held, f, 1.0)
        self._fixed = self._free(self._sum)
        self._fixed_by = dot(self._sum, self._fixed)

        # The diagonal of S, and S f.
        diagonal = (
            self._alone - self._kappa * (self._alone * f) ** 2 - self._fixed**2 / self._fixed_by
        )
        self._Sf = self._S(f)
        self._along = dot(f, self._Sf)
        self.variance = diagonal - 2 * f * self._Sf + f**2 * self._along
        """The coefficient of the variance of f_l."""
        total_variance = self.variance.sum(axis=-1, keepdims=True)

        # The mean m: S times the gradient of the cubic terms, of the multinomial and of the tilt.
        of_multinomial = (self._sum * diagonal / np.where(held, f, 1.0) - 1) / np.where(
            held, 2 * f, 1.0
        )
        of_tilt = kappa * (f * total_variance + 2 * (self._Sf - f * self._along))
        m = self._S(np.where(held, of_multinomial, 0.0) - of_tilt - across)

        # E f - f: m, and the curvature of the sphere |f| = 1 on which f lies.
        self._bias = m - f * dot(f, m) - self._Sf + f * (self._along - total_variance / 2)

    def mean_f(self) -> Floats:
        """Return the coefficient of E f - f."""
        return np.asarray(self._bias)

    def own(self) -> Floats:
        """Compute the coefficient of s, the push by E f itself."""
        return np.asarray(self.pull(self._f) + through_attention(self._f, self._bias))

    def pull(self, g: Floats) -> Floats:
        """Compute the coefficient of E[f∘(g - f f·g)], for one g of shape (..., L) per class.

        With f + e in place of f, the first order in e gives the terms with E e, and the second
        order those with the variance and the covariance of e.
        """
        f = self._f
        b = self._bias
        along = dot(self._f, g)
        scattered = self._S(g - f * along)
        turned = scattered - f * dot(f, scattered)
        return np.asarray(
            b * g - f**2 * dot(b, g) - (2 * f * b + self.variance) * along - 2 * f * turned
        )

    def _free(self, x: Floats) -> Floats:
        """Compute (diag(1/w) - kappa P⊥_f)^-1 x, which is S x without the constraint on the sum."""
        return self._alone * (x - self._kappa * self._f * dot(self._f, self._alone * x))

    def _S(self, x: Floats) -> Floats:
        """Compute S x."""
        return self._free(x) - self._fixed * (dot(self._fixed, x) / self._fixed_by)


def dot(one: Floats, other: Floats) -> Floats:
    """Compute the scalar products of rows, shape (..., 1)."""
    return np.asarray((one * other).sum(axis=-1, keepdims=True))


class Means(NamedTuple):
    """Means over samples of one class, of shape (L,) each.

    Attributes
    ----------
    f
        F = E f.
    push
        s, the push by F itself.
    other
        E[f∘(v - f f·v)], the push by another row v.
    """

    f: Floats
    push: Floats
    other: Floats


@takes(seq_len=SEQ_LEN)
def means(probs: Floats, seq_len: float, row: Floats | None = None) -> Means:
    """Compute the means over samples of one class at z = 0, for any T up to infinity.

    ``probs`` is P(.|n), shape (L,), and ``row`` is the other row v, by default 0.

    Examples
    --------
    >>> means(np.array([0.5, 0.3, 0.2]), 128).push.round(5)
    array([ 0.00507, -0.00229, -0.00279])
    """
    probs = checked_rows(probs)
    if probs.ndim > 1:
        raise BadInput(f"probs of shape {probs.shape}", "one class at a time", "pass its row")
    f = F(probs)
    v = np.zeros_like(f) if row is None else row
    limit = np.stack([f, np.zeros_like(f), through_attention(f, v)])
    if math.isinf(seq_len):
        return Means(*limit)
    if seq_len <= EXACT_UP_TO:
        return _exact(probs, seq_len, v)

    # Beyond that T: limit + slope/(T - 1) + square/(T - 1)² + cube/(T - 1)³, where the last two fit
    # two exact means, at EXACT_UP_TO and at half of it.
    first = FirstOrder(probs, f)
    slope = np.stack([first.mean_f(), first.own(), first.pull(v)])
    shares = np.array([2.0, 1.0]) / (EXACT_UP_TO - 1)
    left = np.stack(
        [_exact(probs, 1 + round(1 / share), v) - limit - slope * share for share in shares]
    )
    powers = np.stack([shares**2, shares**3], axis=1)
    square, cube = np.linalg.solve(powers, left.reshape(2, -1)).reshape(left.shape)
    share = 1 / (seq_len - 1)
    return Means(*(limit + slope * share + square * share**2 + cube * share**3))


def checked_rows(probs: ArrayLike) -> Floats:
    """Return rows of probabilities as floats, shape (..., L), or raise BadInput."""
    rule = "probabilities are not negative and sum to 1"
    remedy = "pass e.g. [0.5, 0.3, 0.2]"
    rows = checked_numbers("probs", probs, least=0, rule=rule, remedy=remedy)
    if not rows.size or not rows.ndim or (np.abs(rows.sum(axis=-1) - 1) > SUM_TOLERANCE).any():
        raise BadInput(f"probs = {shown(probs)}", rule, remedy)
    return rows


def _exact(probs: Floats, seq_len: float, v: Floats) -> Means:
    """Compute :func:`means` by :class:`Counts`; ``v`` is the other row."""
    counts = Counts(probs, seq_len)
    F = counts.mean_f()
    return Means(F, *counts.pull(np.stack([F, v])))


def _poisson(k: ArrayLike, mean: ArrayLike) -> Floats:
    """Compute the probability of k under a Poisson distribution, broadcast.

    ``scipy.stats`` has it too, but takes half a second to import.
    """
    log_probability = xlogy(k, mean) - gammaln(np.add(k, 1)) - mean
    return np.exp(log_probability)
