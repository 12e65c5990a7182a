"""A training returns a labelled data set, which is made here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from scansnap_core.data.probabilities import OTHERS, Outputs
from scansnap_core.data.sequences import ATTRIBUTE, Ints, SequenceClasses, checksum
from scansnap_core.engine.arguments import CLASSES, RANDOM
from scansnap_core.engine.names import PLAIN, heads_of
from scansnap_core.engine.settings import Settings, known_variant

if TYPE_CHECKING:
    from torch import Tensor

AXES = {"Y": ("token", "output"), "Z": ("query", "token")}


class TrainingDiverged(UserWarning):
    """A run turned NaN; its values from then on are NaN and the other runs went on."""


def labelled(
    classes: SequenceClasses,
    settings: Settings,
    loss: np.ndarray,
    recorded: Mapping[str, np.ndarray],
    *,
    tokens: Ints,
    outputs: Outputs,
) -> xr.Dataset:
    """Label what was recorded, with units.

    Parameters
    ----------
    loss, recorded
        Shape (step, seed, rate); of ``recorded``, Y (recorded, seed, rate, token, output) and Z (recorded, seed, rate,
        query, token), with the rows of several heads one below the other.
    tokens, outputs
        What rows and columns of Y stand for.
    """
    begun = settings.initial  # its own numbers of rates, if it has some, so that the two can be put together
    clock = {"units": f"updates of batch size {settings.batch_size or 'expectation'}"}
    runs = ("seed", "rate")
    of_whom = {"Y": {}, "Z": {ATTRIBUTE: checksum(classes)}}
    variables = {
        name: (("recorded", *runs, *axes), per_head(recorded[name], axes, heads_of(settings.model)))
        for name, axes in axes_of(settings.model).items()
    }
    return xr.Dataset(
        {
            "loss": (("step", *runs), loss, {"units": "nats"}),
            **{name: (*variable, {"units": "logits", **of_whom[name]}) for name, variable in variables.items()},
            "multiplicity": ("output", outputs.multiplicity.copy(), {"units": "outputs"}),
        },
        coords={
            "step": ("step", np.arange(settings.start, settings.end), clock),
            "recorded": ("recorded", settings.recorded, clock),
            "seed": settings.seeds,
            "rate": begun["rate"].values if isinstance(begun, xr.Dataset) else np.arange(len(settings.rates)),
            "lr_y": ("rate", [lr_y for lr_y, _ in settings.rates], {"units": "per step"}),
            "lr_z": ("rate", [lr_z for _, lr_z in settings.rates], {"units": "per step"}),
            "token": classes.labels(tokens),
            "query": classes.coords["query"],
            "output": classes.labels(outputs.labels),
        },
        attrs=settings.attributes(classes),
    ).transpose(*runs, ...)


def blank(classes: SequenceClasses, settings: Settings) -> xr.Dataset:
    """Return a training's data set with zeros in place of its numbers: it shows the labels before any work."""
    tokens = tokens_of(classes, settings.model)
    outputs = outputs_of(classes, settings)
    sizes = {"token": len(tokens), "query": len(classes.compact.queries), "output": len(outputs)}
    runs = (len(settings.seeds), len(settings.rates))
    recorded = {
        name: np.zeros((len(settings.recorded), *runs, heads * sizes[row], sizes[column]), settings.dtype)
        for name, (*head, row, column) in axes_of(settings.model).items()
        for heads in [heads_of(settings.model) if head else 1]
    }
    loss = np.zeros((settings.steps, *runs), settings.dtype)
    result = labelled(classes, settings, loss, recorded, tokens=tokens, outputs=outputs)
    return result.assign(diverged_at=(("seed", "rate"), np.full(runs, -1)))


def axes_of(model: object) -> dict[str, tuple[str, ...]]:
    """Name the axes of Y and Z in results, runs aside."""
    variant = known_variant(model) if heads_of(model) else None
    heads = {"Y": variant is not None and variant.concatenates, "Z": variant is not None}
    return {name: (*["head"] * heads[name], *axes) for name, axes in AXES.items()}


def per_head(values: np.ndarray, axes: tuple[str, ...], heads: int) -> np.ndarray:
    """Split the rows of values (..., rows, columns) by head, if ``axes`` has heads."""
    return values.reshape(*values.shape[:-2], heads, -1, values.shape[-1]) if "head" in axes else values


def tokens_of(classes: SequenceClasses, model: object) -> Ints:
    """List the tokens that rows of Y stand for; a variant may also read the query tokens' rows, and all others'."""
    compact, variant = classes.compact, known_variant(model)
    if model == PLAIN:
        return compact.tokens
    both = np.union1d(compact.tokens, compact.queries)
    return np.append(OTHERS, both) if variant is not None and variant.rest else both


def outputs_of(classes: SequenceClasses, settings: Settings) -> Outputs:
    """List the outputs that columns of Y stand for; from Y(0) = 0 there are few, whatever M is."""
    if settings.begins == "zero":
        return classes.outputs
    return Outputs.separate(classes.next_of, classes.vocab_size)


def with_state(
    run: xr.Dataset, classes: SequenceClasses, states: Mapping[str, Mapping[str, Tensor]], random: list[str]
) -> xr.Dataset:
    """Add what a training goes on from: the states of the optimiser and of each seed's random numbers."""
    held = {
        f"{name}_{parameter}": (("seed", "rate", *AXES[parameter]), values.cpu().numpy())
        for parameter, state in states.items()
        for name, values in state.items()
    }
    return run.assign(held | {RANDOM: ("seed", np.array(random, dtype=object)), CLASSES: checksum(classes)})


def with_divergence(result: xr.Dataset, settings: Settings) -> xr.Dataset:
    """Name each run's first step whose loss isn't finite, and warn of it."""
    bad = ~np.isfinite(result.loss)
    first = xr.where(bad.any("step"), settings.start + bad.argmax("step"), -1)
    # a last update can overflow after the last loss was finite
    end = result.isel(recorded=-1)
    own = [[dim for dim in end[name].dims if dim not in first.dims] for name in "YZ"]  # heads have an axis more
    lost = ~(np.isfinite(end.Y).all(own[0]) & np.isfinite(end.Z).all(own[1]))
    first = xr.where((first < 0) & lost, settings.end, first)
    if isinstance(settings.initial, xr.Dataset):
        before = settings.initial.diverged_at.transpose(*first.dims).values
        first = xr.where(before >= 0, before, first)
    for s, r in zip(*np.nonzero(first.values >= 0), strict=True):
        run = first[s, r]
        warnings.warn(
            f"run seed={int(run.seed)}, lr_y={float(run.lr_y):g}, lr_z={float(run.lr_z):g} turned NaN at step "
            f"{int(run)}: its later values are NaN; use smaller rates",
            TrainingDiverged,
            stacklevel=4,
        )
    return result.assign(diverged_at=first)
