"""All of Y and Z at T = infinity, where our law would cost more than what it approximates.

The decoder has a number for each token and each output, and the law needs far fewer. But each of
its steps costs more. So where Y and Z have up to 2,000 numbers, as those of twenty unlike classes
of four words, it is cheaper to leave nothing out.

Y and Z move by Lemma 1's gradients at T = infinity, as in
:class:`~scansnap_core.theory.flows.TrueFlow`. This is the same flow in the form that
:class:`~scansnap_core.law.inertia.InertialLaw` takes, so that steps of finite size can be taken
too. It also adds up each class's evidence, as the law does.

Clock: tau = eta_Y t/K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scansnap_core.base.rules import check_memory
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.law.log_tau import Motion
from scansnap_core.law.types import Types, mean_by
from scansnap_core.theory.decoder import Expectation, through_attention

MOST_NUMBERS = 2_000
"""Up to so many numbers of Y and Z, of some twenty unlike classes of four words, it costs less than
the law.
"""
ONE_BY_ONE = 1000
"""So many updates of full batches are made one by one, in a tenth of a second. Only later ones are
integrated.
"""
RTOL = 1e-8
ATOL = 1e-14
STORED = 100
"""Numbers that are stored for each one of the state: those of the solver, and of the gradients."""


class ExactState(NamedTuple):
    """What Y and Z have come to at one tau, of a class of each type.

    T types, C common tokens, D distinct tokens and R kinds of queries are counted as in
    :class:`~scansnap_core.law.types.Types`.

    Attributes
    ----------
    a
        The evidence a_k, the integral of 1 - alpha_kk, shape (T,).
    own
        The decoder's own errors now, 1 - alpha_kk, shape (T,).
    z_common, z_distinct
        Z on the common and the distinct tokens, shapes (R, C) and (T, D).
    """

    a: Floats
    own: Floats
    z_common: Floats
    z_distinct: Floats


class Exact(Motion[ExactState]):
    """Y and Z as a system of differential equations in ln tau.

    A packed state holds Y (L, O), Z (Q, L) and the evidence (K,).

    Parameters
    ----------
    classes, types
        The class system, and its types.
    ratio
        eta_Z/eta_Y, 0 or more.

    Examples
    --------
    >>> from scansnap_core import with_overlap
    >>> from scansnap_core.law.types import types_of
    >>> classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> exact = Exact(classes, types_of(classes), ratio=0.1)
    >>> (state,) = exact.path(np.array([50.0]))
    >>> state.z_common.round(4), state.z_distinct.round(4)
    (array([[-0.0157]]), array([[0.0056, 0.0022]]))
    """

    def __init__(self, classes: SequenceClasses, types: Types, ratio: float) -> None:
        """Lay out the packed state, and take from the classes what each step needs."""
        self.types = types
        self.ratio = ratio
        self._expectation = Expectation(classes)
        self._targets = classes.outputs.targets
        self._paces = classes.paces
        held = classes.compact.held
        L = held.shape[1]
        self._shapes = (L, len(classes.outputs)), (len(classes.compact.queries), L)
        self.num_values = num_values(classes)
        check_memory(f"{self.num_values:,} numbers of Y and Z", 8.0 * STORED * self.num_values)

        # A class that shares no token isn't moved at all, as in the law: its g is along its f.
        # What rounding leaves of the push is replaced by 0.
        shared = held.sum(axis=0) > 1
        self._moved = (held & shared).any(axis=1)

    def start(self, tau: float) -> Floats:
        """Return the packed state after an update from zero that takes ``tau``."""
        return tau * self.rate(np.zeros(self.num_values))

    def rate(self, packed: Floats) -> Floats:
        """Compute d(state)/dtau of a packed state: Y and Z by Lemma 1, and the evidence of each
        class by its own error.
        """
        Y, Z, _ = self._parts(packed)
        decoded = self._expectation.forward(self._expectation.f(Z), Y)

        # One step moves Y by eta_Y dJ/dY in expectation, and takes eta_Y/K of tau. So Y moves by K
        # dJ/dY per unit of tau.
        moved_Y = len(self._paces) * self._expectation.of_Y(decoded)
        push = self._moved[:, None] * through_attention(decoded.u, decoded.g)
        moved_Z = self.ratio * self._expectation.per_query(self._paces[:, None] * push)
        learned = self._paces * self._own(decoded.error)
        return np.concatenate([moved_Y.ravel(), moved_Z.ravel(), learned])

    def unpack(self, state: Floats) -> ExactState:
        """Average over classes and queries that are alike; further numbers may follow the state's
        own.
        """
        Y, Z, evidence = self._parts(state[: self.num_values])
        decoded = self._expectation.forward(self._expectation.f(Z), Y)
        by_class = np.column_stack([evidence, self._own(decoded.error)])
        a, own = mean_by(self.types.of_class, by_class).T
        return ExactState(a, own, *self.types.by_type(Z))

    def own_errors(self, state: ExactState) -> Floats:
        """Return 1 - alpha_nn of a class n of each type, shape (T,)."""
        return state.own

    def tolerances(self) -> tuple[float, float]:
        """Return the solver's tolerances."""
        return RTOL, ATOL

    def failed(self, log_tau: float) -> str:
        """Write how far it could be integrated."""
        return (
            f"Y and Z with lr_z/lr_y = {self.ratio:g} could be integrated up to lr_y t/K = "
            f"{np.exp(log_tau):.3g}"
        )

    def _parts(self, packed: Floats) -> tuple[Floats, Floats, Floats]:
        """Return views of Y, Z and the evidence."""
        of_Y, of_Z = self._shapes
        ends = np.cumsum([np.prod(of_Y), np.prod(of_Z)])
        Y, Z, evidence = np.split(packed, ends)
        return Y.reshape(of_Y), Z.reshape(of_Z), evidence

    def _own(self, error: Floats) -> Floats:
        """Take each class's error at its own next token, 1 - alpha_nn, from all errors (K, O)."""
        return np.asarray((error * self._targets).sum(axis=1))


def num_values(classes: SequenceClasses) -> int:
    """Count the numbers of Y, Z and the evidence, before anything of them is stored.

    Examples
    --------
    >>> from scansnap_core import with_overlap
    >>> num_values(with_overlap(2, 1000, 0.3))  # Y (21, 3), Z (1, 21), and evidence on 2 classes
    86
    """
    L = len(classes.tokens)
    queries = len(classes.coords["query"])
    return L * len(classes.outputs) + queries * L + classes.num_classes
