"""Where training begins: the source of its batches, the values of Y and Z, and their optimiser.

Torch is imported only where it is needed: it takes a second, and the compiled program of sweeps does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from scansnap_core.data.outputs import Outputs
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses
from scansnap_core.engine import draws
from scansnap_core.engine.results import outputs_of
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.state import RANDOM, final

if TYPE_CHECKING:
    from torch import Tensor

    from scansnap_core.engine import optimizers


def draws_of(classes: SequenceClasses, settings: Settings) -> draws.Draws:
    """The source of the batches that the settings ask for; of a run that goes on, of those that follow."""
    if settings.batch_size is None:
        return draws.Expectation(classes, settings.seeds)
    kind = draws.Replay if settings.rng == "replay" else draws.Fresh
    source = kind(classes, settings.seeds, settings.batch_size, settings.seq_len)
    if isinstance(settings.initial, xr.Dataset):
        source.resume(settings.initial[RANDOM].values.tolist())
    return source


def initial_values(
    classes: SequenceClasses, settings: Settings, source: draws.Draws, tokens: Ints
) -> tuple[Floats, Floats, Outputs]:
    """Y (S, R, L, O), Z (S, R, Q, L) and the O outputs, for S seeds, R rates and the tokens that Y's rows stand for.

    R is 1 where all rates begin with the same values.
    """
    S, queries = len(settings.seeds), classes.compact.queries
    outputs = outputs_of(classes, settings)
    if isinstance(settings.initial, xr.Dataset):
        labels = labels_of(classes, tokens, outputs)
        return final(settings.initial, "Y", labels), final(settings.initial, "Z", labels), outputs
    if settings.begins == "zero":
        return np.zeros((S, 1, len(tokens), len(outputs))), np.zeros((S, 1, len(queries), len(tokens))), outputs
    if settings.begins == "random":
        Y, Z = source.initial(tokens)
        return Y[:, None], Z[:, None], outputs
    full_Y, full_Z = (np.asarray(array, dtype=np.float64) for array in settings.initial)
    Y, Z = full_Y[tokens], full_Z[np.ix_(queries, tokens)]
    return np.tile(Y, (S, 1, 1, 1)), np.tile(Z, (S, 1, 1, 1)), outputs


def optimizer_of(
    classes: SequenceClasses, settings: Settings, Y: Tensor, Z: Tensor, tokens: Ints, outputs: Outputs
) -> optimizers.BuiltIn | optimizers.OnePerRun:
    """What moves Y (S, R, L, O) and Z (S, R, Q, L); of a run that goes on, as it stood at the end."""
    import torch

    from scansnap_core.engine import optimizers

    if not isinstance(settings.optimizer, str):
        return optimizers.OnePerRun(settings.optimizer, Y, Z, settings.rates)

    def climber(parameter: Tensor, rates: list[float]) -> optimizers.SGD | optimizers.Adam:
        lr = torch.tensor(rates, dtype=parameter.dtype, device=parameter.device).reshape(1, -1, 1, 1)
        if settings.optimizer == "adam":
            return optimizers.Adam(parameter, lr, settings.start)
        return optimizers.SGD(parameter, lr, settings.momentum)

    lr_y, lr_z = zip(*settings.rates, strict=True)
    both = optimizers.BuiltIn(climber(Y, list(lr_y)), climber(Z, list(lr_z)))
    if isinstance(settings.initial, xr.Dataset):
        labels = labels_of(classes, tokens, outputs)
        for parameter, states in both.states().items():
            for name, state in states.items():
                state.copy_(torch.from_numpy(final(settings.initial, f"{name}_{parameter}", labels)))
    return both


def labels_of(classes: SequenceClasses, tokens: Ints, outputs: Outputs) -> dict[str, np.ndarray]:
    """What the axes of Y and Z are called in results."""
    return {
        "query": classes.coords["query"],
        "token": classes.labels(tokens),
        "output": classes.labels(outputs.labels),
    }


def last_loss(settings: Settings) -> Tensor:
    """The losses (S, R) before the first update; of a run that begins, any finite ones."""
    import torch

    if isinstance(settings.initial, xr.Dataset):
        return torch.tensor(settings.initial["loss"].isel(step=-1).transpose("seed", "rate").values)
    return torch.zeros(len(settings.seeds), len(settings.rates))
