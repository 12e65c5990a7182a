"""Means over sequences of finite length, exactly: of f = LN(X^T b), and of the pull that a row of Y has on attention.

A sample of T - 1 contextual tokens has counts k, multinomial, and f = LN(w∘k) with w = exp(z). The norm in it couples
all tokens; written as an integral of Gaussians, |w∘k|^-1 = (2/√π) ∫ exp(-x² |w∘k|²) dx, it falls into factors, one a
token. A multinomial is a family of independent Poisson counts, given their sum; the sum is fixed by a Fourier
integral. So any T costs two sums over a few hundred nodes, both of which converge faster than any power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import check_seq_len

Floats = NDArray[np.float64]

SPACING, REACH = 0.5, 6.5
"""The x-nodes' distance times the largest |w∘k|, and the last one times the smallest: errors of exp(-(π/0.5)²)."""


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
        check_seq_len(seq_len)
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
        """Tokens alike count once: their columns, where each token finds its own, and how many are of each kind."""
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
        """That independent Poisson counts sum to T - 1."""
        return float(poisson.pmf(self._n, self._n))

    def _fixed(self, values: Floats) -> Floats:
        """The Fourier coefficient at which the counts sum to T - 1, given that they do."""
        coefficient = np.real(values @ self._turned) / len(self._angles)
        return np.asarray(coefficient / self._chance)
