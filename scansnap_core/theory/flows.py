"""The continuous dynamics as right-hand sides: the true gradient flow, update (26) and the paper's
law (10).

Clock: time is continuous and counts steps of batch size 1. Every flow weighs class n by P(n), the
expected change in such a step. The paper's is 1/K; Eqn 10 as printed sums over classes without it:
``IdealisedFlow(..., clock="printed")``.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import (
    FLOW_RATE,
    RATE,
    check_not_masked,
    not_finite,
    one_of,
    shown,
    takes,
)
from scansnap_core.data.sequences import CLASSES, Floats, SequenceClasses
from scansnap_core.engine.names import MODELS, PLAIN, check_windows, name_of
from scansnap_core.engine.results import axes_of, rows_of, tokens_of
from scansnap_core.engine.settings import known_variant
from scansnap_core.theory import clocks, spectrum
from scansnap_core.theory.decoder import Expectation, Forward

if TYPE_CHECKING:
    from scansnap_core.engine.variants import Batch, Variant


class Flow(ABC):
    """A right-hand side over a packed state, which :func:`scansnap_core.theory.solving.solve`
    integrates.

    Parameters
    ----------
    classes
        The sequence classes, K of them.
    lr_y, lr_z
        eta_Y > 0 and eta_Z >= 0, per step; eta_Z = 0 holds attention at rest.
    shapes
        The names of the arrays that the state packs, in their order: Z and B, before them Y where
        the flow has it; and what it remembers of each, such as ``velocity_Y``.
    class_weight
        What a class weighs in a unit of time, in the mean over classes: 1/K by steps of batch size
        1, which is the default, 1 by Eqn 10 as printed. Class n weighs ``classes.paces[n]`` = K
        P(n) times as much.
    model
        "plain", the paper's; a variant's name, as in :func:`scansnap_core.engine.training.train`;
        or a :class:`~scansnap_core.engine.variants.Variant`.
    """

    name: str
    unit_length = False
    """Whether it is written for decoder inputs of length 1."""

    @takes(classes=CLASSES, lr_y=RATE, lr_z=FLOW_RATE)
    def __init__(
        self,
        classes: SequenceClasses,
        lr_y: float,
        lr_z: float,
        shapes: tuple[str, ...],
        class_weight: float | None = None,
        model: str | Variant = PLAIN,
    ) -> None:
        """Lay out the packed state: which array has which shape, and where it stands."""
        self.classes = classes
        self.lr_y = lr_y
        self.lr_z = lr_z
        self.class_weight = 1 / classes.num_classes if class_weight is None else class_weight
        self.model = model
        self.variant = _checked_variant(model)
        check_windows(self.variant, classes.vocab_size)
        self.tokens = tokens_of(classes, PLAIN if self.variant is None else self.variant)
        Q = len(classes.compact.queries)
        L = len(self.tokens)
        K = classes.num_classes
        decoders, heads = rows_of(self.variant)
        sizes = {"Y": (decoders * L, len(classes.outputs)), "Z": (heads * Q, L), "B": (K,)}
        # The last letter of a name gives the shape: momentum's velocities have longer names.
        self.shapes = {name: sizes[name[-1]] for name in shapes}
        cuts = itertools.accumulate(map(math.prod, self.shapes.values()), initial=0)
        self._parts = [slice(*ends) for ends in itertools.pairwise(cuts)]
        self._expectation = Expectation(classes)
        if self.unit_length:
            _check_unit_length(self)

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Return the labels of the axes of the arrays, without those of ``head``."""
        labels = self.classes.labels
        named = {"token": labels(self.tokens), "output": labels(self.classes.outputs.labels)}
        return self.classes.coords | named

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the axes of its arrays; where ``head`` is one, ``shapes`` holds
        the rows of all heads.
        """
        named = axes_of(self.variant) | {"B": ("class",)}
        return {name: named[name[-1]] for name in self.shapes}

    @cached_property
    def _batch(self) -> Batch:
        """The classes as a batch of endless sequences, in PyTorch.

        Only variants need it, because PyTorch is slow to import.
        """
        from scansnap_core.engine.surroundings import undisturbed
        from scansnap_core.engine.variants import at_infinite_length

        with undisturbed():
            return at_infinite_length(self.classes, self.tokens)

    def inputs(self, Z: Floats) -> Floats:
        """Return the decoder's input for every class, f_n or a variant's u_n, as rows: shape (K,
        D).
        """
        return self._read(Z)[0]

    def _read(self, Z: Floats) -> tuple[Floats, Callable[[Floats], Floats] | None]:
        """Compute :meth:`inputs`, and for a variant a function that pulls g back to Z.

        The function takes all g (K, D), and may be called once.
        """
        if self.variant is None:
            return self._expectation.f(Z), None
        import torch

        from scansnap_core.engine.surroundings import undisturbed

        with undisturbed():
            u, pull = self.variant.read(self._batch, torch.from_numpy(Z))
        return u.numpy(), undisturbed()(lambda g: pull(torch.from_numpy(g)).numpy())

    def initial(self, Z: ArrayLike | None = None, Y: ArrayLike | None = None) -> Floats:
        """Return the packed state at t = 0.

        B(0) = 0, and Z(0) and Y(0) are finite arrays of the flow's ``shapes``, or 0.
        """
        parts = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        for name, values in (("Z", Z), ("Y", Y)):
            if values is not None and name not in parts:
                value = f"initial {name} for the {self.name}"
                rule = f"its state is {', '.join(parts)}"
                raise BadInput(value, rule, f"leave {name} out, or solve another flow")
            if values is not None:
                parts[name] = _checked_start(name, values, self.shapes[name])
        return np.concatenate([part.ravel() for part in parts.values()])

    def unpack(self, state: Floats) -> tuple[Floats, ...]:
        """Split packed states (..., N) into the arrays of ``shapes``, in their order: (...,
        *shape).

        Arrays of one state are views: a change of one changes the state. What isn't an array of N
        numbers on its last axis raises `BadInput`.
        """
        size = self._parts[-1].stop
        if not isinstance(state, np.ndarray) or state.shape[-1:] != (size,):
            found = (
                f"of shape {state.shape}" if isinstance(state, np.ndarray) else f"= {shown(state)}"
            )
            rule = f"the flow {self.name!r} of these classes packs {size} numbers into a state"
            raise BadInput(
                f"state {found}", rule, "pass what its initial() or rhs() returned, as an array"
            )
        return tuple(
            state[..., part].reshape(state.shape[:-1] + shape)
            for part, shape in zip(self._parts, self.shapes.values(), strict=True)
        )

    @abstractmethod
    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt."""


def _checked_variant(model: Any) -> Variant | None:
    """Return the variant of a flow's ``model``, None for the paper's model, or raise BadInput.

    A function that returns ln α is no variant: a flow has to know what the decoder reads.
    """
    variant = known_variant(model)
    if variant is None and model != PLAIN:
        value = f"model = {shown(model) if isinstance(model, str) else name_of(model)}"
        rule = f"a flow's model says what its decoder reads: {', '.join(MODELS)}, or a Variant"
        raise BadInput(value, rule, "write yours as scansnap_core.engine.variants.Variant(inputs)")
    return variant


def _checked_start(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """Return initial values as an array of this shape, or raise BadInput that names them."""
    check_not_masked(f"initial {name}", values)
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != shape or not np.isfinite(array).all():
        rule = (
            f"{name} starts at finite numbers of shape {shape}, on the tokens that some class holds"
        )
        remedy = "index the full matrix by classes.compact's queries and tokens"
        raise BadInput(f"initial {name} of shape {array.shape}{not_finite(array)}", rule, remedy)
    return array


class TrueFlow(Flow):
    """The true gradient flow at T = infinity: Eqn 7 for Y and Eqn 4 for Z, with no term dropped.

    The state packs Y (L, K + 1), Z (Q, L) and B (K,), where B_n = eta_Z times the integral of P(n)
    xi_n is the exponent of Eqn 12 with xi_n taken from the gradient g itself. The last column of Y
    stands for the M - K outputs that are no class; Y(0) = 0 keeps them equal.

    Parameters
    ----------
    classes, lr_y, lr_z, model
        As in :class:`Flow`. With a variant f_n is what its decoder reads; the rows of heads stand
        one below the other.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.TrueFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.0157,  0.0022,  0.0056,  0.0022,  0.0056])
    """

    name = "true flow"

    def __init__(
        self, classes: SequenceClasses, lr_y: float, lr_z: float, model: str | Variant = PLAIN
    ) -> None:
        super().__init__(classes, lr_y, lr_z, ("Y", "Z", "B"), model=model)

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt of a packed state; it doesn't depend on t."""
        return self._rates(*self.unpack(state)[:2])[1]

    def xi(self, Y: Floats, Z: Floats) -> Floats:
        """Compute xi_n = sum_{n'≠n} gamma beta_nn' f_n^T f_n' (Theorem 1a), shape (K,).

        beta comes from the projection of g on F.
        """
        found = self._forward(Y, Z)
        return spectrum.xi(found.u, found.g)

    def g(self, Y: Floats, Z: Floats) -> Floats:
        """Compute g = Y (x_{T+1} - alpha_n) of every class n, as rows (K, D) (Theorem 1)."""
        return self._forward(Y, Z).g

    def _forward(self, Y: Floats, Z: Floats) -> Forward:
        return self._expectation.forward(self.inputs(Z), Y)

    def _rates(self, Y: Floats, Z: Floats) -> tuple[Forward, Floats]:
        """Return the forward pass at Y (L, O) and Z (Q, L), and d(state)/dt, packed.

        dY and dZ are eta times the gradients of the mean over classes by P(n), and dB is eta_Z P(n)
        xi_n.
        """
        u, pull = self._read(Z)
        found = self._expectation.forward(u, Y)
        paces = self.classes.paces
        if pull is None:
            dZ = self._expectation.of_Z(found)
        else:
            dZ = pull(self.class_weight * paces[:, None] * found.g)
        xi = paces * spectrum.xi(found.u, found.g)
        parts = (
            self.lr_y * self._expectation.of_Y(found),
            self.lr_z * dZ,
            self.lr_z * self.class_weight * xi,
        )
        return found, np.concatenate([part.ravel() for part in parts])


class ModifiedFlow(TrueFlow):
    """Update (26) for Y and Eqn 4 for Z: the proofs' decoder, where attention needn't rest.

    (26) moves Y along f_n - F E' e_n, where (7) has f_n, with E' that of the present F. State and
    clock as in :class:`TrueFlow`; B takes xi from the gradient g of this flow's own Y. Of a variant
    it's (26) with u_n for f_n.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.ModifiedFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.2871,  0.0432,  0.1003,  0.0432,  0.1003])
    """

    name = "update (26)"
    unit_length = True

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt of a packed state; it doesn't depend on t."""
        found, change = self._rates(*self.unpack(state)[:2])

        # Along f_n - F E' e_n in place of f_n; dY is a view, so that the change is in place.
        dY = self.unpack(change)[0]
        removed = spectrum.E_prime(spectrum.E(found.u)) @ found.u
        dY -= self.lr_y * self._expectation.of_Y(found._replace(u=removed))
        return change


class IdealisedFlow(Flow):
    """Eqn 10 as the proofs use it: z' = eta_Z gamma(t) Phi(z), beta_nn' = E'_n'n, gamma(t) at
    h(t/K).

    Where classes aren't equally frequent, each has the weight P(n) and its own gamma(t), at
    h(t P(n)).

    It is a function of the present z alone, as if Y had been built from the present f_n. That is so
    where attention rests; elsewhere Y adds up past f_n, under update (26)
    (:class:`ModifiedFlow`) as under the gradient. Theorem 1's small terms (sigma, delta, theta) are
    zero here, and E' follows the current z. The state packs Z (Q, L) and B (K,), with B_n' = eta_Z
    P(n) xi_n (Theorem 3).

    Parameters
    ----------
    classes, lr_y, lr_z, model
        As in :class:`Flow`. With a variant F holds what its decoder reads, and E' is that of these.
    clock
        "steps": time counts steps of batch size 1, and a class weighs P(n). "printed": Eqn 10 as
        printed, for uniform classes, which sums over them without that weight, as if each were seen
        at every step; attention moves K times as fast.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> classes = ss.with_overlap(2, 1000, 0.3, distinct_weights=[1, 2])
    >>> ss.solve(ss.IdealisedFlow(classes, lr_y=1, lr_z=0.1), [100]).Z.values.ravel().round(4)
    array([-0.363 ,  0.0332,  0.1483,  0.0332,  0.1483])
    """

    name = "idealised"
    unit_length = True

    @takes(clock=one_of(("steps", "printed")))
    def __init__(
        self,
        classes: SequenceClasses,
        lr_y: float,
        lr_z: float,
        clock: str = "steps",
        model: str | Variant = PLAIN,
    ) -> None:
        """Lay out the state of Z and B; by the printed clock a class weighs 1 in a unit of time."""
        super().__init__(classes, lr_y, lr_z, ("Z", "B"), model=model)
        if clock == "printed":
            classes.check_uniform("Eqn 10 as printed")
            self.class_weight = 1.0

    def gamma(self, t: ArrayLike) -> Floats:
        """Compute gamma(t) at h(t/K) (Eqn 85), of t's shape; for classes that aren't uniform at h(t
        P(n)), (..., K).

        Times that aren't finite or are negative raise `BadInput`, as for
        :func:`scansnap_core.theory.clocks.h`.
        """
        M = self.classes.vocab_size
        seen = clocks.checked_time(t) / self.classes.num_classes
        if not self.classes.is_uniform:
            seen = seen[..., None] * self.classes.paces  # K P(n), so that t/K becomes t P(n)
        return np.asarray(clocks.gamma(clocks.checked_height(seen, M, self.lr_y), M))

    def phi(self, Z: Floats, speed: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Compute Phi(z), shape (Q, L), and sum_{n'≠n} beta_nn' f_n^T f_n', shape (K,): directions
        without the speed.

        On any clock they stand without the weight P(n). Phi sums what classes say times ``speed``,
        of shape (K, 1).
        """
        F, back = self._read(Z)
        E = spectrum.E(F)
        beta = spectrum.E_prime(E).T
        np.fill_diagonal(beta, 0.0)
        # E is symmetric, so E' and beta are too, and rows sum to what columns do.
        pull = (beta * E).sum(axis=1)
        if back is not None:
            return back(-speed * (beta @ F)), pull
        return self._expectation.per_query(speed * F * (pull[:, None] * F - beta @ F)), pull

    def rhs(self, t: float, state: Floats) -> Floats:
        """Compute d(state)/dt of a packed state, t in steps of batch size 1: the direction Phi(z)
        times the speed gamma(t) eta_Z P(n), and dB by the same speed.
        """
        Z = self.unpack(state)[0]
        # Of uniform classes the speed is one number; of others each class has its own, which goes
        # into the sum over classes.
        scale = self.lr_z * self.class_weight
        gamma = self.gamma(t)
        if self.classes.is_uniform:
            phi, pull = self.phi(Z)
            return np.concatenate([(scale * gamma * phi).ravel(), scale * gamma * pull])
        speed = scale * self.classes.paces * gamma
        phi, pull = self.phi(Z, speed[:, None])
        return np.concatenate([phi.ravel(), speed * pull])


def _check_unit_length(flow: Flow) -> None:
    """Raise BadInput unless a flow's decoder reads inputs of length 1 for every class, at Z = 0."""
    lengths = np.linalg.norm(flow.inputs(np.zeros(flow.shapes["Z"])), axis=1)
    farthest = lengths[np.abs(lengths - 1).argmax()]
    if abs(farthest - 1) > 1e-9:
        value = f"a model whose decoder reads inputs of length {farthest:.3g} for the {flow.name}"
        raise BadInput(
            value, "it's written for inputs of length 1", "solve the TrueFlow, or normalise them"
        )
