"""SGD with and without momentum, and Adam, give every run in the batch its own rate; torch's own
serve run by run.

``torch.optim`` holds one rate a parameter group and can't batch over rates; the tests hold these to
it. An optimiser of a user's own is made once for every run (:class:`OnePerRun`). All step *up* the
objective J, in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from scansnap_core.base.bad_input import BadInput
from scansnap_core.engine.names import ADAM_BETAS, ADAM_EPS, OPTIMIZERS
from scansnap_core.engine.surroundings import undisturbed

Factory = Callable[[list[dict[str, Any]]], torch.optim.Optimizer]
"""Makes an optimiser of two parameter groups, Y's and Z's, each with its ``lr``: any class of
``torch.optim``.
"""
Rates = Sequence[tuple[float, float]]
"""Pairs (eta_Y, eta_Z), one for each run of a seed."""


class SGD:
    """v <- momentum v + gradient; parameter <- parameter + lr v (torch's convention; momentum 0
    is plain SGD).

    Parameters
    ----------
    parameter
        All runs' Y or Z, shape (S, R, rows, columns); each step changes it in place.
    lr
        The rates' eta, shape (1, R, 1, 1).
    momentum
        mu, in [0, 1).
    steps
        The updates behind it, which only Adam has to know.
    """

    def __init__(self, parameter: Tensor, lr: Tensor, momentum: float, steps: int) -> None:
        self._parameter = parameter
        self._lr = lr
        self._momentum = momentum
        self._velocity = torch.zeros_like(parameter)

    def step(self, gradient: Tensor) -> None:
        """Make one update, in place, with the gradient of J in the parameter's shape."""
        if self._momentum:
            gradient = self._velocity.mul_(self._momentum).add_(gradient)
        self._parameter.add_(self._lr * gradient)

    def state(self) -> dict[str, Tensor]:
        """Return by name what the next update depends on, without the parameter and the
        gradient.
        """
        return {"velocity": self._velocity} if self._momentum else {}


class Adam:
    """Adam (Kingma and Ba, 2015) with torch's defaults; its state has ``steps`` updates behind
    it.

    Parameters are those of :class:`SGD`; it leaves ``momentum`` alone.
    """

    def __init__(self, parameter: Tensor, lr: Tensor, momentum: float, steps: int) -> None:
        """Begin with running means of 0, after ``steps`` updates."""
        self._parameter = parameter
        self._lr = lr
        # A GPU counts by itself, where its steps are recorded and replayed.
        on_cpu = parameter.device.type == "cpu"
        self._steps = (
            steps
            if on_cpu
            else torch.tensor(float(steps), dtype=torch.float64, device=parameter.device)
        )
        self._mean = torch.zeros_like(parameter)
        self._square = torch.zeros_like(parameter)

    def step(self, gradient: Tensor) -> None:
        """Make one update, in place, with the gradient of J in the parameter's shape.

        Both running means begin at 0; each is divided by the sum of its weights so far.
        """
        self._steps += 1
        beta_1, beta_2 = ADAM_BETAS
        self._mean.mul_(beta_1).add_(gradient, alpha=1 - beta_1)
        self._square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
        mean = self._mean / (1 - beta_1**self._steps)
        root = (self._square / (1 - beta_2**self._steps)).sqrt()
        self._parameter.add_(self._lr * mean / (root + ADAM_EPS))

    def state(self) -> dict[str, Tensor]:
        """Return by name what the next update depends on besides parameter, gradient and number
        of updates.
        """
        return {"mean": self._mean, "square": self._square}


BUILT_IN: dict[str, type[SGD | Adam]] = {"sgd": SGD, "momentum": SGD, "adam": Adam}
"""The step of each of :data:`~scansnap_core.engine.names.OPTIMIZERS`."""
assert BUILT_IN.keys() == {*OPTIMIZERS}, (
    f"OPTIMIZERS in names.py has {OPTIMIZERS}, and BUILT_IN in optimizers.py {tuple(BUILT_IN)}: "
    "give each name in one its place in the other"
)


class BuiltIn:
    """An optimiser with a name, for all runs at once: one instance updates Y, and another Z.

    Both have made ``steps`` updates already. Y and Z have the axes of seeds and of rates first.
    """

    def __init__(
        self, name: str, Y: Tensor, Z: Tensor, rates: Rates, momentum: float, steps: int
    ) -> None:
        """Make the optimisers of Y (S, R, L, O) and Z (S, R, Q, L), by a name in
        :data:`BUILT_IN`.
        """
        # Rates per pair, in the shape (1, rates, 1, 1) that broadcasts over seeds and entries.
        rates_y, rates_z = zip(*rates, strict=True)
        lr_y = torch.tensor(rates_y, dtype=Y.dtype, device=Y.device).reshape(1, -1, 1, 1)
        lr_z = torch.tensor(rates_z, dtype=Y.dtype, device=Y.device).reshape(1, -1, 1, 1)
        self._Y = BUILT_IN[name](Y, lr_y, momentum, steps)
        self._Z = BUILT_IN[name](Z, lr_z, momentum, steps)

    def step(self, dY: Tensor, dZ: Tensor) -> None:
        """Make one update of all runs, in place."""
        self._Y.step(dY)
        self._Z.step(dZ)

    def states(self) -> dict[str, dict[str, Tensor]]:
        """Return the states of Y's and of Z's optimiser by name, themselves: a value written
        into them is used.
        """
        return {"Y": self._Y.state(), "Z": self._Z.state()}


class OnePerRun:
    """Every run (seed, rate) has an optimiser of the same kind, on the run's own part of Y and Z.

    So whatever an optimiser computes, elementwise or over a whole matrix, a run gets the numbers
    that it would get alone. An optimiser that changes the parts or rates that it was given raises
    ValueError.
    """

    def __init__(self, make: Factory, Y: Tensor, Z: Tensor, rates: Rates) -> None:
        """Make an optimiser for each seed and each pair of rates; Y has the shape (S, R, L, O), and
        Z (S, R, Q, L).
        """
        self._runs = []
        for seed in range(Y.shape[0]):
            for rate, pair in enumerate(rates):
                parts = Y[seed, rate], Z[seed, rate]
                # The parts are views, so that what the optimiser moves is Y and Z.
                optimizer = make(
                    [{"params": [part], "lr": lr} for part, lr in zip(parts, pair, strict=True)]
                )
                held = [
                    (group["lr"], *map(id, group["params"])) for group in optimizer.param_groups
                ]
                if held != list(zip(pair, map(id, parts), strict=True)):
                    raise ValueError(
                        f"it holds the rates {[lr for lr, *_ in held]}, not {list(pair)}"
                    )
                self._runs.append((optimizer, (seed, rate), parts))

    def step(self, dY: Tensor, dZ: Tensor) -> None:
        """Make one update of all runs, in place."""
        for optimizer, run, parts in self._runs:
            for part, gradient in zip(parts, (dY, dZ), strict=True):
                part.grad = -gradient[run]  # torch's optimisers descend
            optimizer.step()

    def states(self) -> dict[str, dict[str, Tensor]]:
        """Return none: :class:`~scansnap_core.engine.settings.Settings` refuses to keep them."""
        return {}


def check_optimizer(name: str, make: Factory, rates: Rates) -> None:
    """Make a user's own optimisers and let them step once, on zeros: :class:`BadInput` if they
    can't.
    """
    try:
        with undisturbed():
            # A matrix of any size will do.
            Y, Z = torch.zeros(2, 1, len(rates), 2, 2, dtype=torch.float32, device="cpu")
            OnePerRun(make, Y, Z, rates).step(Y, Z)
    except Exception as error:  # a user's own code may raise anything
        raise BadInput(
            f"optimizer = {name}: {' '.join(str(error).split())}",
            "called with two parameter groups, Y's and Z's, each with its lr, it gives an "
            "Optimizer of torch's",
            "pass e.g. torch.optim.AdamW, or functools.partial of it; its step takes no closure",
        ) from None
