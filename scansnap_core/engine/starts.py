"""Where training begins: the source of its batches, the values of Y and Z, and their optimiser.

Torch is imported only where it is needed: it takes a second, and the compiled program of sweeps does without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from scansnap_core.data.probabilities import OTHERS, Outputs
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses
from scansnap_core.engine import draws
from scansnap_core.engine.arguments import RANDOM
from scansnap_core.engine.names import heads_of
from scansnap_core.engine.results import outputs_of
from scansnap_core.engine.settings import Settings, known_variant

if TYPE_CHECKING:
    from torch import Tensor

    from scansnap_core.engine import optimizers


def draws_of(classes: SequenceClasses, settings: Settings) -> draws.Draws:
    """Make the source of the batches that the settings ask for; a run that goes on gets those that follow."""
    if settings.batch_size is None:
        return draws.Expectation(classes, settings.seeds)
    given = classes, settings.seeds, settings.batch_size, settings.seq_len
    source: draws.Draws
    if settings.rng == "counter":
        source = draws.Counter(*given, settings.device)
    else:
        source = draws.Replay(*given) if settings.rng == "replay" else draws.Fresh(*given)
    if isinstance(settings.initial, xr.Dataset):
        source.resume(settings.initial[RANDOM].values.tolist())
    return source


def initial_values(
    classes: SequenceClasses, settings: Settings, source: draws.Draws, tokens: Ints
) -> tuple[Floats, Floats, Outputs]:
    """Return Y (S, R, L, O), Z (S, R, Q, L) and the O outputs, for S seeds, R rates and the L tokens of Y's rows.

    R is 1 where all rates begin with the same values. The rows of several heads stand one below the other.
    """
    S, queries = len(settings.seeds), classes.compact.queries
    variant, heads = known_variant(settings.model), max(1, heads_of(settings.model))
    decoders = heads if variant is not None and variant.concatenates else 1
    outputs = outputs_of(classes, settings)
    if isinstance(settings.initial, xr.Dataset):
        labels = labels_of(classes, tokens, outputs)
        return final(settings.initial, "Y", labels), final(settings.initial, "Z", labels), outputs
    if settings.begins == "zero":
        rows = (decoders * len(tokens), len(outputs)), (heads * len(queries), len(tokens))
        return np.zeros((S, 1, *rows[0])), np.zeros((S, 1, *rows[1])), outputs
    if settings.begins == "random":
        # the first head draws what the plain model does, and each other head from generators of its own
        more = [draws.Fresh(classes, [[seed, h] for seed in settings.seeds], 0, np.inf) for h in range(1, heads)]
        drawn = [_drawn(each, classes.vocab_size, tokens) for each in (source, *more)]
        Y, Z = (np.concatenate(each, axis=1)[:, None] for each in zip(*drawn, strict=True))
        return Y[:, :, : decoders * len(tokens)], Z, outputs
    full_Y, full_Z = (np.asarray(array, dtype=np.float64) for array in settings.initial)
    Y = _rows(np.broadcast_to(full_Y, (decoders, *full_Y.shape[-2:])), tokens)
    Z = _columns(np.broadcast_to(full_Z, (heads, *full_Z.shape[-2:]))[:, queries], tokens)
    Y, Z = (np.tile(part.reshape(-1, part.shape[-1]), (S, 1, 1, 1)) for part in (Y, Z))
    return Y, Z, outputs


def _drawn(source: draws.Draws, vocab_size: int, tokens: Ints) -> tuple[Floats, Floats]:
    if tokens[0] != OTHERS:
        return source.initial(tokens)
    Y, Z = source.initial(np.arange(vocab_size))
    return _rows(Y, tokens), _columns(Z, tokens)


def _rows(Y: Floats, tokens: Ints) -> Floats:
    """Take some tokens' rows of the full Y (..., M, O); all others' become one, the part along their 1/sqrt(n)."""
    if tokens[0] != OTHERS:
        return Y[..., tokens, :]
    others = np.delete(Y, tokens[1:], axis=-2)
    together = others.sum(axis=-2, keepdims=True) / np.sqrt(max(1, others.shape[-2]))
    return np.concatenate([together, Y[..., tokens[1:], :]], axis=-2)


def _columns(Z: Floats, tokens: Ints) -> Floats:
    """Take some tokens' columns of the full Z (..., Q, M); the others get no attention, whatever their logits."""
    return np.where(tokens == OTHERS, 0.0, Z[..., tokens])


def optimizer_of(
    classes: SequenceClasses,
    settings: Settings,
    Y: Tensor,
    Z: Tensor,
    tokens: Ints,
    outputs: Outputs,
) -> optimizers.BuiltIn | optimizers.OnePerRun:
    """Make the optimiser of Y (S, R, L, O) and Z (S, R, Q, L); a run that goes on gets it as it stood at the end."""
    import torch

    from scansnap_core.engine import optimizers

    if not isinstance(settings.optimizer, str):
        return optimizers.OnePerRun(settings.optimizer, Y, Z, settings.rates)

    def climber(parameter: Tensor, rates: list[float]) -> optimizers.SGD | optimizers.Adam:
        lr = torch.tensor(rates, dtype=parameter.dtype, device=parameter.device).reshape(1, -1, 1, 1)
        match settings.optimizer:
            case "sgd" | "momentum":
                return optimizers.SGD(parameter, lr, settings.momentum)
            case "adam":
                return optimizers.Adam(parameter, lr, settings.start)
        raise NotImplementedError(settings.optimizer)

    lr_y, lr_z = zip(*settings.rates, strict=True)
    both = optimizers.BuiltIn(climber(Y, list(lr_y)), climber(Z, list(lr_z)))
    if isinstance(settings.initial, xr.Dataset):
        labels = labels_of(classes, tokens, outputs)
        for parameter, states in both.states().items():
            for name, state in states.items():
                state.copy_(torch.from_numpy(final(settings.initial, f"{name}_{parameter}", labels)))
    return both


def labels_of(classes: SequenceClasses, tokens: Ints, outputs: Outputs) -> dict[str, np.ndarray]:
    """Label the axes of Y and Z as results do."""
    return {
        "query": classes.coords["query"],
        "token": classes.labels(tokens),
        "output": classes.labels(outputs.labels),
    }


def last_loss(settings: Settings) -> Tensor:
    """Return the losses (S, R) before the first update; a run that begins gets any finite ones."""
    import torch

    if isinstance(settings.initial, xr.Dataset):
        return torch.tensor(settings.initial["loss"].isel(step=-1).transpose("seed", "rate").values)
    return torch.zeros(len(settings.seeds), len(settings.rates))


def final(run: xr.Dataset, name: str, labels: Mapping[str, np.ndarray]) -> np.ndarray:
    """Take a variable at the run's end: (seed, rate, ...), with the axes and labels that are named, in their order."""
    end = run[name].isel(recorded=-1) if "recorded" in run[name].dims else run[name]
    chosen = {dim: values for dim, values in labels.items() if dim in end.dims}
    return np.asarray(end.sel(chosen).transpose("seed", "rate", *chosen).values)
