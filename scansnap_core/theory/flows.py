"""The three continuous dynamics as right-hand sides: the true gradient flow, update (26) and the idealised Eqn 10.

Clock: time is continuous and counts steps of batch size 1. Every flow weighs class n by P(n) = 1/K, the expected
change in such a step. Eqn 10 as printed sums over classes without that weight: ``IdealisedFlow(..., clock="printed")``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, check_classes
from scansnap_core.engine import model
from scansnap_core.rules import check_choice, check_flow_rate, check_rate
from scansnap_core.theory import clocks, formulas, spectrum
from scansnap_core.theory.functions import function_of

Floats = NDArray[np.float64]

_gamma = function_of(formulas.gamma, (formulas.h_, formulas.M))


class Flow(ABC):
    """What :func:`scansnap_core.theory.solving.solve` integrates: a right-hand side over a packed state.

    Parameters
    ----------
    classes
        The sequence classes, K of them.
    lr_y, lr_z
        eta_Y > 0 and eta_Z >= 0, per step; eta_Z = 0 holds attention at rest.
    shapes
        The arrays that the state packs, by name and in their order: Z and B, before them Y where the flow has it.
    class_weight
        What a class weighs in a unit of time: P(n) = 1/K by steps of batch size 1, 1 by Eqn 10 as printed.

    Raises
    ------
    BadInput
        A rate that is negative or not finite.
    """

    name: str

    def __init__(
        self,
        classes: SequenceClasses,
        lr_y: float,
        lr_z: float,
        shapes: Mapping[str, tuple[int, ...]],
        class_weight: float,
    ) -> None:
        check_rate("lr_y", lr_y)
        check_flow_rate("lr_z", lr_z)
        self.classes, self.lr_y, self.lr_z = classes, lr_y, lr_z
        self.shapes, self.class_weight = dict(shapes), class_weight
        self._cuts = np.cumsum([math.prod(shape) for shape in self.shapes.values()])

    def initial(self, Z: ArrayLike | None = None, Y: ArrayLike | None = None) -> Floats:
        """The state at t = 0: B(0) = 0, and Z(0) and Y(0) the given ones, of the flow's ``shapes``, or 0.

        Raises
        ------
        BadInput
            An array of another shape, one that isn't finite, or a Y for a flow without one.
        """
        parts = [np.zeros(shape) for shape in self.shapes.values()]
        for name, values in (("Z", Z), ("Y", Y)):
            if values is not None:
                at = self._position(name)
                parts[at] = _checked_start(name, values, self.shapes[name])
        return np.concatenate([part.ravel() for part in parts])

    def unpack(self, state: Floats) -> tuple[Floats, ...]:
        """The arrays of ``shapes``, in their order, of states (..., N) with the packed axis last: (..., *shape)."""
        parts = np.split(np.asarray(state), self._cuts[:-1], axis=-1)
        return tuple(p.reshape(p.shape[:-1] + shape) for p, shape in zip(parts, self.shapes.values(), strict=True))

    @abstractmethod
    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""

    def _position(self, name: str) -> int:
        if name not in self.shapes:
            raise BadInput(
                value=f"initial {name} for the {self.name}",
                rule=f"its state is {', '.join(self.shapes)}",
                remedy=f"leave {name} out, or solve another flow",
            )
        return list(self.shapes).index(name)


class TrueFlow(Flow):
    """The gradient flow of the expected objective at T = infinity: Eqn 7 for Y and Eqn 4 for Z, nothing dropped.

    The state packs Y (L, K + 1), Z (Q, L) and B (K,), where B_n = eta_Z times the integral of P(n) xi_n is the
    exponent of Eqn 12 with xi_n taken from the gradient g itself. The last column of Y stands for the M - K outputs
    that are no class; Y(0) = 0 keeps them equal.

    Parameters
    ----------
    classes, lr_y, lr_z
        As in :class:`Flow`.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.0157,  0.0022,  0.0056,  0.0022,  0.0056])
    """

    name = "true flow"

    def __init__(self, classes: SequenceClasses, lr_y: float, lr_z: float) -> None:
        check_classes(classes)
        compact, K = classes.compact, classes.num_classes
        outputs = classes.outputs
        L, Q = len(compact.tokens), len(compact.queries)
        super().__init__(classes, lr_y, lr_z, {"Y": (L, len(outputs)), "Z": (Q, L), "B": (K,)}, class_weight=1 / K)
        self._query_row = compact.query_row
        self._probs = torch.tensor(compact.probs)
        self._queries = torch.eye(Q, dtype=torch.float64)[torch.tensor(compact.query_row)]
        self._targets, self._multiplicity = torch.tensor(outputs.targets), torch.tensor(outputs.multiplicity)
        self._weight = torch.full((K,), self.class_weight, dtype=torch.float64)

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        Y, Z, _ = self.unpack(state)
        gradients = model.gradients(
            self._probs,
            self._queries,
            self._targets,
            self._weight,
            torch.from_numpy(Y),
            torch.from_numpy(Z),
            self._multiplicity,
        )
        parts = (
            self.lr_y * gradients.Y.numpy(),
            self.lr_z * gradients.Z.numpy(),
            self.lr_z * self._weight.numpy() * self.xi(Y, Z),
        )
        return np.concatenate([part.ravel() for part in parts])

    def xi(self, Y: Floats, Z: Floats) -> Floats:
        """xi_n = sum_{n'≠n} gamma beta_nn' f_n^T f_n' (Theorem 1a), beta read off g by projection on F; shape (K,)."""
        return spectrum.xi(spectrum.F(self._probs.numpy(), Z[self._query_row]), self.g(Y, Z))

    def g(self, Y: Floats, Z: Floats) -> Floats:
        """g = Y (x_{T+1} - alpha_n) for every class n, as rows: shape (K, L) (Theorem 1)."""
        return (self._errors(Y, Z) @ torch.from_numpy(Y).mT).numpy()

    def _errors(self, Y: Floats, Z: Floats) -> torch.Tensor:
        """x_{T+1} - alpha_n for every class n, as rows: shape (K, K + 1)."""
        f = model.normalise(model.attend(self._probs, self._queries @ torch.from_numpy(Z)))
        return self._targets - model.decode(f, torch.from_numpy(Y), self._multiplicity).exp()


class ModifiedFlow(TrueFlow):
    """Update (26) for Y and Eqn 4 for Z: the decoder of the proofs, without their assumption that attention rests.

    (26) moves Y along f_n - F E' e_n, where (7) has f_n, with E' that of the present F. State and clock as in
    :class:`TrueFlow`; B takes xi from the gradient g of this flow's own Y.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.ModifiedFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.2871,  0.0432,  0.1003,  0.0432,  0.1003])
    """

    name = "update (26)"

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        Y, Z, _ = self.unpack(state)
        F = spectrum.F(self._probs.numpy(), Z[self._query_row])
        error = self._weight[:, None] * self._errors(Y, Z) / self._multiplicity
        removed = F.T @ spectrum.E_prime(spectrum.E(F)) @ error.numpy()
        change = super().rhs(t, state)
        change[: self._cuts[0]] -= self.lr_y * removed.ravel()
        return change


class IdealisedFlow(Flow):
    """Eqn 10 as the proofs use it: z' = eta_Z gamma(t) Phi(z), beta_nn' = E'_n'n, gamma(t) at h(t/K).

    It is quasi-static: a function of the present z, as if Y had been built from the present f_n alone. Y does so where
    attention rests; elsewhere it adds up past f_n, under update (26) (:class:`ModifiedFlow`) as under the gradient.
    Theorem 1's small terms (sigma, delta, theta) are zero here, and E' follows the current z. The state packs Z (Q, L)
    and B (K,), with B_n' = eta_Z P(n) xi_n (Theorem 3).

    Parameters
    ----------
    classes, lr_y, lr_z
        As in :class:`Flow`.
    clock
        "steps": time counts steps of batch size 1, and a class weighs P(n) = 1/K. "printed": Eqn 10 as printed, which
        sums over classes without that weight, as if each were seen at every step; attention moves K times as fast.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.IdealisedFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.363 ,  0.0332,  0.1483,  0.0332,  0.1483])
    """

    name = "idealised"

    def __init__(self, classes: SequenceClasses, lr_y: float, lr_z: float, clock: str = "steps") -> None:
        check_classes(classes)
        check_choice("clock", clock, ("steps", "printed"))
        compact, K = classes.compact, classes.num_classes
        shapes = {"Z": (len(compact.queries), len(compact.tokens)), "B": (K,)}
        super().__init__(classes, lr_y, lr_z, shapes, class_weight=1 / K if clock == "steps" else 1.0)
        self._probs, self._query_row = compact.probs, compact.query_row

    def gamma(self, t: ArrayLike) -> Floats:
        """gamma(t) at h(t/K) (Eqn 85)."""
        M = self.classes.vocab_size
        return np.asarray(
            _gamma(clocks.height(np.asarray(t, dtype=np.float64) / self.classes.num_classes, M, self.lr_y), M)
        )

    def phi(self, Z: Floats) -> tuple[Floats, Floats]:
        """Phi(z), shape (Q, L), and sum_{n'≠n} beta_nn' f_n^T f_n', shape (K,): directions without the speed.

        On any clock they stand without the weight P(n).
        """
        F = spectrum.F(self._probs, Z[self._query_row])
        E = spectrum.E(F)
        beta = spectrum.E_prime(E).T
        np.fill_diagonal(beta, 0.0)
        pull = (beta * E).sum(axis=1)
        per_class = F * (pull[:, None] * F - beta @ F)
        phi = np.zeros(self.shapes["Z"])
        np.add.at(phi, self._query_row, per_class)
        return phi, pull

    def rhs(self, t: float, state: Floats) -> Floats:
        """d(state)/dt."""
        phi, pull = self.phi(self.unpack(state)[0])
        speed = self.lr_z * self.class_weight * self.gamma(t)
        return np.concatenate([(speed * phi).ravel(), speed * pull])


def _checked_start(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
    if array.shape != shape or not np.isfinite(array).all():
        raise BadInput(
            value=f"initial {name} of shape {array.shape}",
            rule=f"{name} starts at finite numbers of shape {shape}, on the tokens that some class holds",
            remedy="index the full matrix by classes.compact's queries and tokens",
        )
    return array
