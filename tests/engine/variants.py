"""What a user may bring: a model, an optimiser, a measure. The tests train with them; the docs show them."""

from __future__ import annotations

import functools

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import model
from scansnap_core.engine.variants import Batch
from scansnap_core.theory import measures

ADAMW = functools.partial(torch.optim.AdamW, weight_decay=0.1)


def residual(batch: Batch, Y: Tensor, Z: Tensor) -> Tensor:
    """The residual connection of Sec. 7, ū = LN(LN(ũ) + u_{x_T}): autograd has its gradient."""
    x_T = batch.query @ (batch.queries[:, None] == batch.tokens).to(Y.dtype)
    f = model.normalise(model.attend(batch.q, batch.query @ Z))
    return model.decode(model.normalise(f + x_T), Y, batch.multiplicity)


def top_share(run: xr.Dataset, classes: SequenceClasses, *, tokens: int = 1) -> xr.DataArray:
    """How much attention each class pays to the tokens that it attends to most."""
    c = measures.attention(run.Z, classes).transpose(..., "token")
    largest = np.sort(c.values, axis=-1)[..., -tokens:]
    share = c.isel(token=0, drop=True).copy(data=largest.sum(axis=-1))
    return share.assign_attrs(units="attention", long_name=f"the top {tokens}")
