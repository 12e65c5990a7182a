"""The law at finite T: attention and its gradient are means over samples, weighted by errors.

At T = infinity the part of the gradient along a class's own f_n has no effect, because Eqn 4
projects it out. At a finite T it does push (``sample_means``): by s_n for a unit of ``own`` = <y_n,
e_n - alpha_n>, whose integral at rest is |y_n|²/2.

Each sample is weighted by the decoder's error on it. A sample whose f is far from the mean is
predicted worse. Where the class is known, its error is proportional to exp(-v·f) with a fixed
vector v = a fbar, the evidence times what was learned. So means weighted by errors are means over a
tilted distribution of samples, in which weighting by errors enlarges the scatter that causes the
errors.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from scansnap_core.data.sequences import Floats
from scansnap_core.law.memory import Errors, Law, Moved, Pair, Rows, State
from scansnap_core.law.sample_means import FirstOrder, dot, means
from scansnap_core.law.types import Types
from scansnap_core.theory import spectrum
from scansnap_core.theory.decoder import through_attention

WIDEST = 0.95
"""The tilt is at most this share of the largest one for which means exist, and the scatter of
ln(error) is at most 1.

Beyond, which happens at a T of a few times the evidence, the first order fails: errors then come
from single rare samples.
"""
NO_PUSH = 1e-9
"""A push s that is less than this share of E f - f is rounding."""
TINY = 1e-300
HUGE = 700.0


class SampledLaw(Law):
    """The law at a finite T, in which Y and z move by means over samples weighted by errors.

    At z = 0 plain means are exact. As z moves they change by their first order in 1/(T - 1), scaled
    to fit the exact ones at z = 0. Weighting samples by their errors is taken to that order too, at
    any evidence over T. At T = infinity it is :class:`~scansnap_core.law.memory.Law`, whose
    parameters ``types`` and ``ratio`` are.
    """

    def __init__(self, types: Types, ratio: float, seq_len: float) -> None:
        """Fit the first order in 1/(T - 1) to the exact means over samples at z = 0, type by
        type.
        """
        super().__init__(types, ratio)
        self._probs = np.hstack([types.common, types.distinct])
        self._cut = types.common.shape[1]
        f = spectrum.F(self._probs)
        first = FirstOrder(self._probs, f)

        # What a class feels of the other classes at first: the sum of their f on common tokens.
        rows = (types.others * types.paces) @ f[:, : self._cut]
        others = np.hstack([rows, np.zeros_like(types.distinct)]) * (self._probs > 0)
        exact = [means(row, seq_len, other) for row, other in zip(self._probs, others, strict=True)]
        F = np.stack([mean.f for mean in exact])
        own = np.stack([mean.push for mean in exact])
        drift = np.stack([mean.other for mean in exact])

        # Exact mean = share * first order + rest, at z = 0; the rest doesn't depend on z.
        self._share_f, self._left_f = _fitted(F - f, first.mean_f())
        self._share_s, _ = _fitted(own, first.own())

        # Where all tokens of a class are equally frequent s is zero, and what is computed for it is
        # rounding: its share is 0/0. The share of E f, which isn't zero there, takes its place.
        size = np.linalg.norm(first.own(), axis=1, keepdims=True)
        least = NO_PUSH * np.linalg.norm(first.mean_f(), axis=1, keepdims=True)
        self._share_s = np.where(size > least, self._share_s, self._share_f)

        # The push by a row g has such a rest too. It is known for g = F and for g = others, so g is
        # projected on these two rows.
        self._projection = np.linalg.pinv(np.stack([F, others], axis=-1))
        self._left = np.zeros((*f.shape, 2))
        by_F = self._pushed(first, f, F)
        by_others = self._pushed(first, f, others)
        self._left = np.stack([own - by_F, drift - by_others], axis=-1)

    def attention(self, state: Moved) -> Pair:
        """Compute F of a class of each type on its common and its distinct tokens.

        Returns
        -------
        Two arrays of shapes (T, C) and (T, D).
        """
        f = np.hstack(super().attention(state))
        return self._split(self._mean(FirstOrder(self._probs, f), f))

    def errors(self, state: State, f: Pair, rows: Rows) -> Errors:
        """Compute the means of the errors over samples.

        The logarithm of the odds of another class is nearly Gaussian over samples. The mean of an
        exponential adds half of its variance, as long as the logit stays below the class's own.
        """
        types = self.types
        at_mean = super().errors(state, f, rows)
        common = state.common / state.a[:, None]
        variance = self._share_s * self._variance(state, common, rows.distinct)
        with np.errstate(divide="ignore"):
            below = np.clip(np.log((1 - at_mean.own[:, None]) / at_mean.other), 0.0, HUGE)

        # ln E[min(e^x, e^below)] of a Gaussian x with mean 0 and this variance.
        spread = np.sqrt(np.maximum(variance, TINY))
        up = np.logaddexp(
            variance / 2 + log_ndtr((below - variance) / spread), below + log_ndtr(-below / spread)
        )

        # All outputs' probabilities still sum to 1.
        other = at_mean.other * np.exp(np.maximum(up, 0.0))
        total = 1 + dot(types.others, (other - at_mean.other))
        other = other / total
        rest = at_mean.rest / total[:, 0]
        return Errors((types.others * other).sum(axis=1) + types.rest * rest, other, rest)

    def _variance(self, state: State, common: Floats, distinct: Floats) -> Floats:
        """Compute (T - 1) times the variance of a logit difference over samples, shape (T, T).

        The difference, over samples of class i, is the logit of another class, of type k, less the
        logit of class i. It is f·d with d = theirs fbar_k - ours fbar_i.
        """
        f = np.hstack(super().attention(state))
        mine = np.hstack([common, distinct])
        cut = self._cut
        w = self._scatter(f)
        theirs = state.a + state.b.T
        ours = state.a[:, None] + state.b

        def weighted_sum(weight: Floats) -> Floats:
            """Compute sum_l weight_l d_l; classes i and k share common tokens alone."""
            return np.asarray(theirs * (weight[:, :cut] @ common.T) - ours * dot(weight, mine))

        # sum_l w_l d_l², then less what the normalisation of f projects out.
        square = theirs**2 * (w[:, :cut] @ common.T**2) + ours**2 * dot(w, mine**2)
        square -= 2 * theirs * ours * ((w[:, :cut] * common) @ common.T)
        f_d = weighted_sum(f)
        return np.asarray(square - 2 * f_d * weighted_sum(w * f) + f_d**2 * dot(w, f**2))

    def learned_and_push(self, state: State, F: Pair, own: Floats, g: Pair) -> tuple[Pair, Pair]:
        """Compute the means of f and of f∘(g - f f·g) over samples, each weighted by its error.

        Parameters
        ----------
        state, F, own, g
            The state, the mean attention, a class's own error of shape (T,), and the gradient g.
        """
        f = np.hstack(super().attention(state))
        gradient = np.hstack(g)

        # v = -d ln(1 - alpha_nn)/df, by which a sample's error depends on its f.
        over = np.divide(1 - own, own, out=np.zeros_like(own), where=own > 0)[:, None]
        v = over * gradient
        f_v = dot(f, v)
        across = v - f * f_v

        # The tilt is scaled as the push s is, by the share that fits the exact means at z = 0.
        w = self._scatter(f)
        kappa = f_v * self._share_s
        reach = np.maximum(
            kappa * w.max(axis=1, keepdims=True) / WIDEST,
            np.sqrt(self._share_s * dot(w, across**2)),
        )
        within = 1 / np.maximum(reach, 1)
        tilted = FirstOrder(self._probs, f, kappa * within, across * within)

        learned = self._split(self._mean(tilted, f))
        push = self._split(self._pushed(tilted, f, gradient))
        return learned, push

    def _scatter(self, f: Floats) -> Floats:
        """Compute w_l = f_l²/P_l, T - 1 times the variance of y_l if counts were independent."""
        return np.asarray(f**2 / np.where(self._probs > 0, self._probs, np.inf))

    def _mean(self, over: FirstOrder, f: Floats) -> Floats:
        """Compute E f: the first order, scaled to the exact mean at z = 0."""
        return np.asarray(f + self._share_f * over.mean_f() + self._left_f)

    def _pushed(self, over: FirstOrder, f: Floats, g: Floats) -> Floats:
        """Compute E[f∘(g - f f·g)]: the limit, the scaled first order, and the rest at z = 0."""
        left = (self._left @ (self._projection @ g[..., None]))[..., 0]
        return np.asarray(through_attention(f, g) + self._share_s * over.pull(g) + left)

    def _split(self, values: Floats) -> Pair:
        return values[:, : self._cut], values[:, self._cut :]


def _fitted(known: Floats, wide: Floats) -> tuple[Floats, Floats]:
    """Fit each row of ``known`` by a multiple of ``wide``; return the factors and what is left."""
    norm = dot(wide, wide)
    share = np.divide(dot(wide, known), norm, out=np.zeros_like(norm), where=norm > 0)
    return share, known - share * wide
