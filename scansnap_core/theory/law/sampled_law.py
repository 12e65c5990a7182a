"""The push of sampling: what a finite sequence length adds to the law, in the same clock.

At T = infinity the own part of the gradient is lost, because f_n pushes nothing along itself. A sample's f lies beside
the mean F_n of its class, and along F_n it is pushed: on average by

    s_n = E[f∘(F_n - f f·F_n)]

for a unit of ``own`` = <y_n, e_n - alpha_n>, whose integral at rest is |y_n|²/2. To first order in 1/(T - 1) that is
s_nl = f_l² (S_2 - 2 S_4 - (1 - 2 f_l²)/P_l)/(T - 1) with S_j = sum_l f_l^j/P_l; at
any T: :mod:`scansnap_core.theory.law.sample_means`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from scansnap_core.data.sequences import Floats
from scansnap_core.theory.law.memory import Errors, Law, Pair, Rows, State, Types
from scansnap_core.theory.law.sample_means import FirstOrder, means

WIDEST = 0.95
"""A tilt is at most this share of the one at which errors no longer fall off, and the scatter of ln error at most 1.

Beyond, at a T of a few times the evidence, the first order fails: errors then come from single rare samples.
"""
TINY, HUGE = 1e-300, 700.0


class SampledLaw(Law):
    """The law at a finite T: rows of Y gather samples' f, each weighed by its error, and samples are pushed beside it.

    At z = 0 plain means are exact; as z moves they follow their first order in 1/(T - 1), at the length that suits
    z = 0. What errors add, by weighing samples off the mean more, is taken to that order too, at any evidence over T.

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
        rows = (types.others * types.paces) @ f[:, : self._cut]  # what other classes have learned at first
        others = np.hstack([rows, np.zeros_like(types.distinct)]) * (self._probs > 0)
        exact = [means(row, seq_len, beside) for row, beside in zip(self._probs, others, strict=True)]
        F, own, drift = (np.stack(part) for part in zip(*exact, strict=True))
        self._share_f, self._left_f = _fitted(F - f, first.mean_f())
        self._share_s, _ = _fitted(own, first.own())
        # how much of F and of the other classes' rows is in a row, and what the first order leaves of their pulls
        self._told, self._left = np.linalg.pinv(np.stack([F, others], axis=-1)), np.zeros((*f.shape, 2))
        pulls = [self._pulled(first, f, row) for row in (F, others)]
        self._left = np.stack([own - pulls[0], drift - pulls[1]], axis=-1)

    def attention(self, state: State) -> Pair:
        """F of a class of each type, on its common and its distinct tokens; shapes (T, C) and (T, D)."""
        f = np.hstack(super().attention(state))
        return self._split(self._mean(FirstOrder(self._probs, f), f))

    def errors(self, state: State, f: Pair, rows: Rows) -> Errors:
        """Their means over samples. Half the variance of a logit comes to it, as long as it stays below the class's."""
        types, at_mean = self.types, super().errors(state, f, rows)
        variance = self._share_s * self._variance(state, state.common / state.a[:, None], rows.distinct)
        with np.errstate(divide="ignore"):
            below = np.clip(np.log((1 - at_mean.own[:, None]) / at_mean.other), 0.0, HUGE)
        spread = np.sqrt(np.maximum(variance, TINY))
        up = np.logaddexp(variance / 2 + log_ndtr((below - variance) / spread), below + log_ndtr(-below / spread))
        other = at_mean.other * np.exp(np.maximum(up, 0.0))
        total = 1 + _sum(types.others * (other - at_mean.other))
        other, rest = other / total, at_mean.rest / total[:, 0]
        return Errors((types.others * other).sum(axis=1) + types.rest * rest, other, rest)

    def _variance(self, state: State, common: Floats, distinct: Floats) -> Floats:
        """(T - 1) Var over samples of class i of the logit of another class, of type k, less its own; shape (T, T)."""
        f, mine, cut = np.hstack(super().attention(state)), np.hstack([common, distinct]), self._cut
        w = self._spread(f)
        theirs, ours = state.a + state.b.T, state.a[:, None] + state.b  # rows of Y differ by these, times fbar

        def along(weight: Floats) -> Floats:
            return np.asarray(theirs * (weight[:, :cut] @ common.T) - ours * _sum(weight * mine))

        square = theirs**2 * (w[:, :cut] @ common.T**2) + ours**2 * _sum(w * mine**2)
        square -= 2 * theirs * ours * ((w[:, :cut] * common) @ common.T)
        lengthwise = along(f)
        return np.asarray(square - 2 * lengthwise * along(w * f) + lengthwise**2 * _sum(w * f**2))

    def moves(self, state: State, F: Pair, own: Floats, g: Pair) -> tuple[Pair, Pair]:
        """Means over samples weighed by their errors, whose own share is ``own``: of f, and of f∘(g - f f·g)."""
        f, felt = np.hstack(super().attention(state)), np.hstack(g)
        over = np.divide(1 - own, own, out=np.zeros_like(own), where=own > 0)[:, None]
        v, w = over * felt, self._spread(f)  # -grad ln(1 - alpha_nn) over f
        along = _sum(f * v)
        kappa, beside = along * self._share_s, v - f * along  # the length that suits the scatter is that of its push
        reach = np.maximum(kappa * w.max(axis=1, keepdims=True) / WIDEST, np.sqrt(self._share_s * _sum(w * beside**2)))
        within = 1 / np.maximum(reach, 1)
        tilted = FirstOrder(self._probs, f, kappa * within, beside * within)
        return self._split(self._mean(tilted, f)), self._split(self._pulled(tilted, f, felt))

    def _spread(self, f: Floats) -> Floats:
        return np.asarray(f**2 / np.where(self._probs > 0, self._probs, np.inf))

    def _mean(self, over: FirstOrder, f: Floats) -> Floats:
        return np.asarray(f + self._share_f * over.mean_f() + self._left_f)

    def _pulled(self, over: FirstOrder, f: Floats, g: Floats) -> Floats:
        limit = f * (g - f * _sum(f * g))
        left = (self._left @ (self._told @ g[..., None]))[..., 0]
        return np.asarray(limit + self._share_s * over.pull(g) + left)

    def _split(self, values: Floats) -> Pair:
        return values[:, : self._cut], values[:, self._cut :]


def _sum(values: Floats) -> Floats:
    return np.asarray(values.sum(axis=1, keepdims=True))


def _fitted(known: Floats, wide: Floats) -> tuple[Floats, Floats]:
    """The share of ``wide`` in each row of ``known``, and what it leaves."""
    norm = _sum(wide**2)
    share = np.divide(_sum(wide * known), norm, out=np.zeros_like(norm), where=norm > 0)
    return share, known - share * wide
