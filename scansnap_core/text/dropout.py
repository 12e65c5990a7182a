"""Dropout by counter: what a step drops depends on the seed and the step alone, on every make of processor.

PyTorch promises no such thing of its own: there were releases whose dropout drew from another generator on Intel's
processors than on others, so that the same seed trained another model there. These words come from NumPy's Philox,
keyed by the seed and the step, in the order in which a step asks for them, and in less time. A training that goes on
needs no generator's state.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

WORD = 2**32
"""How many values a random word has."""


class Dice:
    """The random words of one step after another.

    Parameters
    ----------
    seed
        A whole number in [0, 2^64).

    Examples
    --------
    >>> from scansnap_core.text.dropout import Dice
    >>> dice = Dice(seed=0)
    >>> dice.begin(step=3)
    >>> first = dice.words(4)
    >>> dice.begin(step=3)
    >>> bool((dice.words(4) == first).all())
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.begin(step=0)

    def begin(self, step: int) -> None:
        """From here on, the words of that step."""
        self._philox = np.random.Philox(key=np.array([self._seed, step], np.uint64))

    def words(self, number: int) -> Tensor:
        """The next words of the step, uniform over all int32, shape (number,)."""
        drawn = self._philox.random_raw(-(-number // 2))
        return torch.from_numpy(drawn.view(np.int32)[:number])


class Dropout(nn.Dropout):  # noqa: TID251
    """``torch.nn.Dropout``; on a CPU, by the words of ``dice``.

    Parameters
    ----------
    p
        The probability that a number is dropped, in [0, 1), to within 2^-32. The others are divided by 1 - p.
    dice
        What it asks, in training, for a word for each number.
    """

    def __init__(self, p: float, dice: Dice) -> None:
        super().__init__(p)
        self._dice = dice

    def forward(self, x: Tensor) -> Tensor:
        """What is left of x, in training; else x."""
        if not self.training or not self.p or x.device.type != "cpu":
            return super().forward(x)
        first_kept = min(round(self.p * WORD), WORD - 1) - WORD // 2  # one of int32, too
        kept = self._dice.words(x.numel()) >= first_kept
        return x * kept.view_as(x).to(x.dtype).div_(1 - self.p)
