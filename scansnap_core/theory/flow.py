"""What every flow is: a right-hand side over a packed state, for the paper's model or a variant of it."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, check_classes
from scansnap_core.engine import variants
from scansnap_core.engine.architectures import variant_of
from scansnap_core.engine.names import MODELS, PLAIN, check_windows, heads_of, name_of
from scansnap_core.engine.results import axes_of, tokens_of
from scansnap_core.rules import check_flow_rate, check_rate, not_finite, shown
from scansnap_core.theory.expectation import Expectation

Floats = NDArray[np.float64]


class Flow(ABC):
    """What :func:`scansnap_core.theory.solving.solve` integrates: a right-hand side over a packed state.

    Parameters
    ----------
    classes
        The sequence classes, K of them.
    lr_y, lr_z
        eta_Y > 0 and eta_Z >= 0, per step; eta_Z = 0 holds attention at rest.
    shapes
        The names of the arrays that the state packs, in their order: Z and B, before them Y where the flow has it; and
        what it remembers of each, such as ``velocity_Y``.
    class_weight
        What a class weighs in a unit of time, in the mean over classes: 1/K by steps of batch size 1, 1 by Eqn 10 as
        printed. Class n weighs ``classes.paces[n]`` = K P(n) times as much.
    model
        "plain", the paper's; a variant's name, as in :func:`scansnap_core.engine.training.train`; or a
        :class:`~scansnap_core.engine.variants.Variant`.

    Raises
    ------
    BadInput
        A rate that is negative or not finite; a model without a flow.
    """

    name: str

    def __init__(
        self,
        classes: SequenceClasses,
        lr_y: float,
        lr_z: float,
        shapes: tuple[str, ...],
        class_weight: float,
        model: str | variants.Variant = PLAIN,
    ) -> None:
        check_classes(classes)
        check_rate("lr_y", lr_y)
        check_flow_rate("lr_z", lr_z)
        self.classes, self.lr_y, self.lr_z, self.class_weight = classes, lr_y, lr_z, class_weight
        self.model, self.variant = model, _checked_variant(model)
        check_windows(model, classes.vocab_size)
        self.tokens = tokens_of(classes, PLAIN if self.variant is None else self.variant)
        self._batch = variants.at_infinite_length(classes, self.tokens)
        heads = max(1, heads_of(self.variant))
        Q, L, K = len(classes.compact.queries), len(self.tokens), classes.num_classes
        decoders = heads if self.variant is not None and self.variant.concatenates else 1
        sizes = {"Y": (decoders * L, len(classes.outputs)), "Z": (heads * Q, L), "B": (K,)}
        self.shapes = {name: sizes[name[-1]] for name in shapes}
        self._cuts = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        self._parts = [slice(*ends) for ends in itertools.pairwise([0, *self._cuts.tolist()])]
        self._expectation = Expectation(classes)

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """What the axes of its arrays are called, beside ``head``."""
        labels = self.classes.labels
        named = {"token": labels(self.tokens), "output": labels(self.classes.outputs.labels)}
        return self.classes.coords | named

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The names of the axes of its arrays; where ``head`` is one, ``shapes`` holds the rows of all heads."""
        named = axes_of(self.variant) | {"B": ("class",)}
        return {name: named[name[-1]] for name in self.shapes}

    def inputs(self, Z: Floats) -> Floats:
        """What the decoder reads of every class, f_n or a variant's u_n, as rows: shape (K, D)."""
        if self.variant is None:
            return self._expectation.f(Z)
        return self.variant.inputs(self._batch, torch.from_numpy(Z)).numpy()

    def _read(self, Z: Floats) -> tuple[Floats, Callable[[Floats], Floats] | None]:
        """:meth:`inputs`, and of a variant what takes g (K, D) of all classes back to Z's rows, once."""
        if self.variant is None:
            return self._expectation.f(Z), None
        u, pull = self.variant.read(self._batch, torch.from_numpy(Z))
        return u.numpy(), lambda g: pull(torch.from_numpy(g)).numpy()

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
        return tuple(
            state[..., part].reshape(state.shape[:-1] + shape)
            for part, shape in zip(self._parts, self.shapes.values(), strict=True)
        )

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


def _checked_variant(model: Any) -> variants.Variant | None:
    variant = variant_of(model)
    if variant is None and model != PLAIN:
        raise BadInput(
            value=f"model = {shown(model) if isinstance(model, str) else name_of(model)}",
            rule=f"a flow's model says what its decoder reads: {', '.join(MODELS)}, or a Variant",
            remedy="write yours as scansnap_core.engine.variants.Variant(inputs)",
        )
    return variant


def _checked_start(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != shape or not np.isfinite(array).all():
        raise BadInput(
            value=f"initial {name} of shape {array.shape}{not_finite(array)}",
            rule=f"{name} starts at finite numbers of shape {shape}, on the tokens that some class holds",
            remedy="index the full matrix by classes.compact's queries and tokens",
        )
    return array
