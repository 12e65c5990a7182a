"""Plain SGD, SGD with momentum, and Adam, with a learning rate of its own for every run in the batch.

``torch.optim`` holds one rate a parameter group and can't batch over rates; the tests hold these to it.
All step *up* the objective J, in place.
"""

from __future__ import annotations

import torch
from torch import Tensor

NAMES = ("sgd", "momentum", "adam")
ADAM_BETAS = (0.9, 0.999)
ADAM_EPS = 1e-8


class SGD:
    """v <- momentum v + gradient; parameter <- parameter + lr v (torch's convention; momentum 0 is plain SGD)."""

    def __init__(self, parameter: Tensor, lr: Tensor, momentum: float) -> None:
        self._parameter, self._lr, self._momentum = parameter, lr, momentum
        self._velocity = torch.zeros_like(parameter)

    def step(self, gradient: Tensor) -> None:
        """Make one update, in place."""
        self._velocity.mul_(self._momentum).add_(gradient)
        self._parameter.add_(self._lr * self._velocity)


class Adam:
    """Adam (Kingma and Ba, 2015) with torch's defaults: betas (0.9, 0.999), eps 1e-8."""

    def __init__(self, parameter: Tensor, lr: Tensor) -> None:
        self._parameter, self._lr, self._steps = parameter, lr, 0
        self._mean, self._square = torch.zeros_like(parameter), torch.zeros_like(parameter)

    def step(self, gradient: Tensor) -> None:
        """Make one update, in place."""
        self._steps += 1
        beta_1, beta_2 = ADAM_BETAS
        self._mean.mul_(beta_1).add_(gradient, alpha=1 - beta_1)
        self._square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
        mean = self._mean / (1 - beta_1**self._steps)
        root = (self._square / (1 - beta_2**self._steps)).sqrt()
        self._parameter.add_(self._lr * mean / (root + ADAM_EPS))
