"""The model at T = infinity in NumPy: every class once, with q = P(.|n) and the weight P(n).

Right-hand sides ask for it tens of thousands of times. It gives what :mod:`scansnap_core.engine.model` gives for such a
batch in a third of the time, because with a dozen tokens a call takes longer than its arithmetic, and NumPy's calls are
shorter than Torch's. Leading axes ("...") batch over states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scansnap_core.data.sequences import Floats, SequenceClasses


class Forward(NamedTuple):
    """For each class u (..., K, D), which the decoder reads, x_{T+1} - α (..., K, O), and Theorem 1's g (..., K, D)."""

    u: Floats
    error: Floats
    g: Floats


class Expectation:
    """The forward pass and Lemma 1's directions for one class system.

    Parameters
    ----------
    classes
        K classes over L tokens, with Q queries and O outputs.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> here = Expectation(ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2]))
    >>> here.f(np.zeros((1, 5))).round(3)
    array([[0.548, 0.374, 0.748, 0.   , 0.   ],
           [0.548, 0.   , 0.   , 0.374, 0.748]])
    """

    def __init__(self, classes: SequenceClasses) -> None:
        compact, outputs = classes.compact, classes.outputs
        # mutant: Probabilities are never negative.
        self._probs, self._held, self._query_row = compact.probs, compact.probs > 0, compact.query_row
        self._asks = (np.arange(len(compact.queries))[:, None] == compact.query_row).astype(np.float64)
        self._target, self._other = outputs.targets, 1 - outputs.targets
        self._log_multiplicity = np.log(outputs.multiplicity)
        self._weight, self._paces = 1 / classes.num_classes, classes.paces[:, None]
        self._per_output = self._paces / (classes.num_classes * outputs.multiplicity)

    def f(self, Z: Floats) -> Floats:
        """f_n = LN(X^T b), what the paper's decoder reads, as rows (..., K, L), of Z (..., Q, L)."""
        z = np.where(self._held, Z[..., self._query_row, :], -np.inf)
        weights = self._probs * np.exp(z - z.max(axis=-1, keepdims=True))
        return weights / np.sqrt((weights * weights).sum(axis=-1, keepdims=True))

    def forward(self, u: Floats, Y: Floats) -> Forward:
        """The decoder with Y (..., D, O) on what it reads, u (..., K, D)."""
        logits = u @ Y + self._log_multiplicity
        alpha = np.exp(logits - logits.max(axis=-1, keepdims=True))
        # 1 - alpha_nn as a sum, because the difference has no digits left once the class is learned
        others = alpha / alpha.sum(axis=-1, keepdims=True) * self._other
        error = self._target * others.sum(axis=-1, keepdims=True) - others
        return Forward(u, error, error @ Y.swapaxes(-1, -2))

    def of_Y(self, found: Forward) -> Floats:
        """dJ/dY, shape (..., D, O): of one of the equal columns, so that they stay equal."""
        return found.u.swapaxes(-1, -2) @ (found.error * self._per_output)

    def of_Z(self, found: Forward) -> Floats:
        """dJ/dZ, shape (..., Q, L), where the decoder reads f: diag(c) P^⊥_f g / ‖c‖_2 = f∘(g - f f^T g) (Eqn 4)."""
        f, g = found.u, found.g
        per_class = f * (g - f * (f * g).sum(axis=-1, keepdims=True))
        return self._weight * self.per_query(self._paces * per_class)

    def per_query(self, per_class: Floats) -> Floats:
        """The sum over each query's classes, shape (..., Q, L), of what each class says, (..., K, L)."""
        return self._asks @ per_class
