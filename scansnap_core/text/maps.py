"""What is measured of attention maps, and of any other rows of probabilities."""

from __future__ import annotations

import torch
from torch import Tensor


def entropy(maps: Tensor) -> Tensor:
    """The entropy of each row's probabilities, averaged over the rows, in nats.

    A row that sees i keys has ln(i) at most, so with a causal mask and T places even attention has ln(T!)/T: 2.63 for
    T = 35.

    Parameters
    ----------
    maps
        (layers, ..., key); a row's probabilities sum to 1.

    Returns
    -------
    Tensor
        (layers,)
    """
    return torch.special.entr(maps).sum(-1).flatten(1).mean(1)


def moved(before: Tensor, after: Tensor) -> Tensor:
    """The share of a row's probability that went elsewhere, averaged over the rows: the total variation distance.

    Parameters
    ----------
    before, after
        (layers, ..., key), the same rows at two moments.

    Returns
    -------
    Tensor
        (layers,), 0 where nothing moved and 1 where everything did.
    """
    return (after - before).abs().sum(-1).flatten(1).mean(1) / 2
