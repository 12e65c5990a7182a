"""The push of sampling: what a finite sequence length adds to the law, in the same clock.

At T = infinity the own part of the gradient is lost, because f_n pushes nothing along itself. A sample's f lies beside
the mean F_n of its class, and along F_n it is pushed: on average by

    s_n = E[f∘(F_n - f f·F_n)]

for a unit of ``own`` = <y_n, e_n - alpha_n>, whose integral at rest is |y_n|²/2. To first order in 1/(T - 1) that is
s_nl = f_l² (S_2 - 2 S_4 - (1 - 2 f_l²)/P_l)/(T - 1) with S_j = sum_l f_l^j/P_l; at
any T: :mod:`scansnap_core.theory.law.counts`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scansnap_core.bad_input import BadInput
from scansnap_core.data.checks import SUM_TOLERANCE
from scansnap_core.rules import check_numbers, check_seq_len, shown
from scansnap_core.theory.law.counts import Counts
from scansnap_core.theory.law.memory import Law, State
from scansnap_core.theory.law.types import Types

Floats = NDArray[np.float64]

EXACT_UP_TO = 257
"""The T up to which means are exact; beyond, they go on with three powers of 1/(T - 1), the first one known."""


class Means(NamedTuple):
    """Of the samples of one class: F = E f, and its own pull s, both of shape (L,)."""

    f: Floats
    push: Floats


def means(probs: Floats, seq_len: float) -> Means:
    """F and s of one class at z = 0, for any T up to infinity.

    Parameters
    ----------
    probs
        P(.|n), shape (L,).
    seq_len
        T, the query included: 2 or more, or ``inf``.

    Examples
    --------
    >>> means(np.array([0.5, 0.3, 0.2]), 128).push.round(5)
    array([ 0.00507, -0.00229, -0.00279])
    """
    check_seq_len(seq_len)
    probs = checked_rows(probs)
    if probs.ndim > 1:
        raise BadInput(f"probs of shape {probs.shape}", "one class at a time", "pass its row")
    f = probs / np.linalg.norm(probs)
    limit = np.stack([f, np.zeros_like(f)])
    if math.isinf(seq_len):
        return Means(*limit)
    if seq_len <= EXACT_UP_TO:
        return _exact(probs, seq_len)
    first = FirstOrder(probs, f)
    slope = np.stack([first.mean_f(), first.own()])
    shares = np.array([2.0, 1.0]) / (EXACT_UP_TO - 1)
    left = np.stack([_exact(probs, 1 + round(1 / share)) - limit - slope * share for share in shares])
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


def _exact(probs: Floats, seq_len: float) -> Means:
    counts = Counts(probs, seq_len)
    F = counts.mean_f()
    return Means(F, counts.pull(F))


class FirstOrder:
    """The coefficients of 1/(T - 1), at any z; leading axes batch over classes.

    Parameters
    ----------
    probs, f
        P(.|n), and f of Eqn 5 normalised, both of shape (..., L).
    """

    def __init__(self, probs: Floats, f: Floats) -> None:
        self._f = f
        self._w = f**2 / np.where(probs > 0, probs, np.inf)
        self._S_2, self._S_4 = ((each).sum(axis=-1, keepdims=True) for each in (self._w, f**2 * self._w))

    def mean_f(self) -> Floats:
        """Of F - f."""
        return np.asarray(self._f * (1.5 * self._S_4 - 0.5 * self._S_2 - self._w))

    def own(self) -> Floats:
        """Of s, the pull of F itself."""
        f, w = self._f, self._w
        return np.asarray(f**2 * (self._S_2 - 2 * self._S_4) - w * (1 - 2 * f**2))

    def pull(self, g: Floats) -> Floats:
        """Of E[f∘(g - f f·g)], for one g of shape (..., L) a class."""
        f, w, b = self._f, self._w, self.mean_f()
        along, bent = ((each * g).sum(axis=-1, keepdims=True) for each in (f, b))
        spread = w * (1 - 2 * f**2) + f**2 * self._S_4
        turned = w * g + f * ((self._S_4 - w) * along - (f * w * g).sum(axis=-1, keepdims=True))
        return np.asarray(b * g - f**2 * bent - 2 * f * b * along - spread * along - 2 * f * turned)


class SampledLaw(Law):
    """The law at a finite T: rows of Y gather F_n, and samples are pushed beside it.

    At z = 0 means are exact; as z moves they follow their first order in 1/(T - 1), at the length that suits z = 0.

    Parameters
    ----------
    types, ratio
        As in :class:`~scansnap_core.theory.law.memory.Law`.
    seq_len
        T, the query included; at infinity it is that law.
    """

    def __init__(self, types: Types, ratio: float, seq_len: float) -> None:
        super().__init__(types, ratio)
        self._probs, self._cut = np.hstack([types.common, types.distinct]), types.common.shape[1]
        f = self._probs / np.linalg.norm(self._probs, axis=1, keepdims=True)
        first = FirstOrder(self._probs, f)
        exact = [means(row, seq_len) for row in self._probs]
        F, s = (np.stack(part) for part in zip(*exact, strict=True))
        self._share_f, self._left_f = _fitted(F - f, first.mean_f())
        self._share_s, _ = _fitted(s, first.own())
        self._left_s = np.zeros_like(F)
        self._left_s = s - self._pulled(f, F, F)

    def attention(self, state: State) -> tuple[Floats, Floats]:
        """F of a class of each type, on its common and its distinct tokens; shapes (T, C) and (T, D)."""
        f = np.hstack(super().attention(state))
        F = f + self._share_f * FirstOrder(self._probs, f).mean_f() + self._left_f
        return F[:, : self._cut], F[:, self._cut :]

    def pull(self, state: State, f: tuple[Floats, Floats], g: tuple[Floats, Floats]) -> list[Floats]:
        """E[f∘(g - f f·g)] over samples."""
        pulled = self._pulled(np.hstack(super().attention(state)), np.hstack(f), np.hstack(g))
        return [pulled[:, : self._cut], pulled[:, self._cut :]]

    def _pulled(self, f: Floats, F: Floats, g: Floats) -> Floats:
        limit = f * (g - f * (f * g).sum(axis=1, keepdims=True))
        strength = (F * g).sum(axis=1, keepdims=True) / (F**2).sum(axis=1, keepdims=True)
        return np.asarray(limit + self._share_s * FirstOrder(self._probs, f).pull(g) + self._left_s * strength)


def _fitted(known: Floats, wide: Floats) -> tuple[Floats, Floats]:
    """The share of ``wide`` in each row of ``known``, and what it leaves."""
    norm = (wide**2).sum(axis=1, keepdims=True)
    share = np.divide((wide * known).sum(axis=1, keepdims=True), norm, out=np.zeros_like(norm), where=norm > 0)
    return share, known - share * wide
