"""The three continuous dynamics as right-hand sides: the true gradient flow, update (26) and the idealised Eqn 10.

Clock: time is continuous and counts steps of batch size 1. Every flow weighs class n by P(n), the expected
change in such a step. The paper's is 1/K; Eqn 10 as printed sums over classes without it:
``IdealisedFlow(..., clock="printed")``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, check_classes
from scansnap_core.engine import variants
from scansnap_core.engine.names import PLAIN
from scansnap_core.rules import check_choice
from scansnap_core.theory import clocks, formulas, spectrum
from scansnap_core.theory.expectation import Forward
from scansnap_core.theory.flow import Floats, Flow
from scansnap_core.theory.functions import function_of

_gamma = function_of(formulas.gamma, (formulas.h_, formulas.M))


class TrueFlow(Flow):
    """The gradient flow of the expected objective at T = infinity: Eqn 7 for Y and Eqn 4 for Z, nothing dropped.

    The state packs Y (L, K + 1), Z (Q, L) and B (K,), where B_n = eta_Z times the integral of P(n) xi_n is the
    exponent of Eqn 12 with xi_n taken from the gradient g itself. The last column of Y stands for the M - K outputs
    that are no class; Y(0) = 0 keeps them equal.

    Parameters
    ----------
    classes, lr_y, lr_z, model
        As in :class:`Flow`. With a variant f_n is what its decoder reads; the rows of heads stand one below the other.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.0157,  0.0022,  0.0056,  0.0022,  0.0056])
    """

    name = "true flow"

    def __init__(
        self, classes: SequenceClasses, lr_y: float, lr_z: float, model: str | variants.Variant = PLAIN
    ) -> None:
        check_classes(classes)
        super().__init__(classes, lr_y, lr_z, ("Y", "Z", "B"), class_weight=1 / classes.num_classes, model=model)

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        return self._moved(*self.unpack(state)[:2])[1]

    def xi(self, Y: Floats, Z: Floats) -> Floats:
        """xi_n = sum_{n'≠n} gamma beta_nn' f_n^T f_n' (Theorem 1a), beta read off g by projection on F; shape (K,)."""
        found = self._forward(Y, Z)
        return spectrum.xi(found.u, found.g)

    def g(self, Y: Floats, Z: Floats) -> Floats:
        """g = Y (x_{T+1} - alpha_n) for every class n, as rows: shape (K, D) (Theorem 1)."""
        return self._forward(Y, Z).g

    def _forward(self, Y: Floats, Z: Floats) -> Forward:
        return self._expectation.forward(self.inputs(Z), Y)

    def _moved(self, Y: Floats, Z: Floats) -> tuple[Forward, Floats]:
        """The forward pass at a state, and d(state)/dt."""
        u, pull = self._read(Z)
        found = self._expectation.forward(u, Y)
        paces = self.classes.paces
        dZ = self._expectation.of_Z(found) if pull is None else pull(self.class_weight * paces[:, None] * found.g)
        xi = paces * spectrum.xi(found.u, found.g)
        parts = (self.lr_y * self._expectation.of_Y(found), self.lr_z * dZ, self.lr_z * self.class_weight * xi)
        return found, np.concatenate([part.ravel() for part in parts])


class ModifiedFlow(TrueFlow):
    """Update (26) for Y and Eqn 4 for Z: the decoder of the proofs, without their assumption that attention rests.

    (26) moves Y along f_n - F E' e_n, where (7) has f_n, with E' that of the present F. State and clock as in
    :class:`TrueFlow`; B takes xi from the gradient g of this flow's own Y. Of a variant it's (26) with u_n for f_n.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.ModifiedFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.2871,  0.0432,  0.1003,  0.0432,  0.1003])
    """

    name = "update (26)"

    def __init__(
        self, classes: SequenceClasses, lr_y: float, lr_z: float, model: str | variants.Variant = PLAIN
    ) -> None:
        super().__init__(classes, lr_y, lr_z, model)
        _check_unit_length(self)

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        found, change = self._moved(*self.unpack(state)[:2])
        removed = self._expectation.of_Y(found._replace(u=spectrum.E_prime(spectrum.E(found.u)) @ found.u))
        change[: self._cuts[0]] -= self.lr_y * removed.ravel()
        return change


class IdealisedFlow(Flow):
    """Eqn 10 as the proofs use it: z' = eta_Z gamma(t) Phi(z), beta_nn' = E'_n'n, gamma(t) at h(t/K).

    Where classes aren't equally frequent, each is weighed by P(n) and has its own gamma(t), at h(t P(n)).

    It is quasi-static: a function of the present z, as if Y had been built from the present f_n alone. Y does so where
    attention rests; elsewhere it adds up past f_n, under update (26) (:class:`ModifiedFlow`) as under the gradient.
    Theorem 1's small terms (sigma, delta, theta) are zero here, and E' follows the current z. The state packs Z (Q, L)
    and B (K,), with B_n' = eta_Z P(n) xi_n (Theorem 3).

    Parameters
    ----------
    classes, lr_y, lr_z, model
        As in :class:`Flow`. With a variant F holds what its decoder reads, and E' is that of these.
    clock
        "steps": time counts steps of batch size 1, and a class weighs P(n). "printed": Eqn 10 as printed, for uniform
        classes, which sums over them without that weight, as if each were seen at every step; attention moves K times
        as fast.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.IdealisedFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.363 ,  0.0332,  0.1483,  0.0332,  0.1483])
    """

    name = "idealised"

    def __init__(
        self,
        classes: SequenceClasses,
        lr_y: float,
        lr_z: float,
        clock: str = "steps",
        model: str | variants.Variant = PLAIN,
    ) -> None:
        check_classes(classes)
        check_choice("clock", clock, ("steps", "printed"))
        if clock == "printed":
            classes.check_uniform("Eqn 10 as printed")
        weight = 1 / classes.num_classes if clock == "steps" else 1.0
        super().__init__(classes, lr_y, lr_z, ("Z", "B"), class_weight=weight, model=model)
        _check_unit_length(self)

    def gamma(self, t: ArrayLike) -> Floats:
        """gamma(t) at h(t/K) (Eqn 85), of t's shape; of classes that aren't uniform at h(t P(n)), shape (..., K)."""
        M, seen = self.classes.vocab_size, np.asarray(t, dtype=np.float64) / self.classes.num_classes
        if not self.classes.is_uniform:
            seen = seen[..., None] * self.classes.paces
        return np.asarray(_gamma(clocks.height(seen, M, self.lr_y), M))

    def phi(self, Z: Floats, speed: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Phi(z), shape (Q, L), and sum_{n'≠n} beta_nn' f_n^T f_n', shape (K,): directions without the speed.

        On any clock they stand without the weight P(n). Phi sums what classes say times ``speed``, of shape (K, 1).
        """
        F, back = self._read(Z)
        E = spectrum.E(F)
        beta = spectrum.E_prime(E).T
        np.fill_diagonal(beta, 0.0)
        pull = (beta * E).sum(axis=1)
        if back is not None:
            return back(-speed * (beta @ F)), pull
        return self._expectation.per_query(speed * F * (pull[:, None] * F - beta @ F)), pull

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        Z, scale, gamma = self.unpack(state)[0], self.lr_z * self.class_weight, self.gamma(t)
        if self.classes.is_uniform:
            phi, pull = self.phi(Z)
            return np.concatenate([(scale * gamma * phi).ravel(), scale * gamma * pull])
        speed = scale * self.classes.paces * gamma
        phi, pull = self.phi(Z, speed[:, None])
        return np.concatenate([phi.ravel(), speed * pull])


def _check_unit_length(flow: Flow) -> None:
    """(26) and (10) are written for decoder inputs of length 1."""
    lengths = np.linalg.norm(flow.inputs(np.zeros(flow.shapes["Z"])), axis=1)
    farthest = lengths[np.abs(lengths - 1).argmax()]
    if abs(farthest - 1) > 1e-9:
        raise BadInput(
            value=f"a model whose decoder reads inputs of length {farthest:.3g} for the {flow.name}",
            rule="it's written for inputs of length 1",
            remedy="solve the TrueFlow, or normalise them",
        )
