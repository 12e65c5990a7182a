"""Label what a training returns: the axes of Y and Z, units, and where runs diverged.

Nothing in this module imports PyTorch, which takes a second and which the compiled engine doesn't
need.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from scansnap_core.data.probabilities import OTHERS, Outputs
from scansnap_core.data.sequences import ATTRIBUTE, Ints, SequenceClasses, checksum
from scansnap_core.engine.names import PLAIN, heads_of
from scansnap_core.engine.settings import CHECKSUM, RANDOM, Settings, known_variant

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
    """Label what a training recorded, with units.

    Parameters
    ----------
    classes, settings
        What was trained, and how.
    loss
        Shape (steps, seeds, rates).
    recorded
        "Y" and "Z", with the shapes (recorded, seeds, rates, rows, columns). Rows of several heads
        stand one below the other.
    tokens, outputs
        What the rows and the columns of Y stand for.
    """
    # A training that goes on keeps the numbers of its rates, so that both parts can be joined.
    begun = settings.initial
    rate = np.arange(len(settings.rates))
    if isinstance(begun, xr.Dataset):
        rate = begun["rate"].values
    clock = {"units": f"updates of batch size {settings.batch_size or 'expectation'}"}
    runs = ("seed", "rate")
    axes = axes_of(settings.variant)
    heads = heads_of(settings.variant)
    about = {"Y": {"units": "logits"}, "Z": {"units": "logits", ATTRIBUTE: checksum(classes)}}
    parts = {}
    for name in axes:
        values = per_head(recorded[name], axes[name], heads)
        parts[name] = (("recorded", *runs, *axes[name]), values, about[name])
    return xr.Dataset(
        {
            "loss": (("step", *runs), loss, {"units": "nats"}),
            **parts,
            "multiplicity": ("output", outputs.multiplicity.copy(), {"units": "outputs"}),
        },
        coords={
            "step": ("step", np.arange(settings.start, settings.end), clock),
            "recorded": ("recorded", settings.record, clock),
            "seed": settings.seeds,
            "rate": rate,
            "lr_y": ("rate", settings.lr_y, {"units": "per step"}),
            "lr_z": ("rate", settings.lr_z, {"units": "per step"}),
            "token": classes.labels(tokens),
            "query": classes.coords["query"],
            "output": classes.labels(outputs.labels),
        },
        attrs=settings.attributes(classes),
    ).transpose(*runs, ...)


def blank(classes: SequenceClasses, settings: Settings) -> xr.Dataset:
    """Return a result of :func:`scansnap_core.engine.training.train` that is all zeros, with its
    labels and shapes.

    A sweep's measures are tried on it before anything is trained.
    """
    tokens = tokens_of(classes, settings.model)
    outputs = outputs_of(classes, settings)
    runs = (len(settings.seeds), len(settings.rates))
    dtype = settings.dtype
    shapes = zip("YZ", shapes_of(classes, settings, tokens, outputs), strict=True)
    recorded = {
        name: np.zeros((len(settings.record), *runs, *shape), dtype) for name, shape in shapes
    }
    loss = np.zeros((settings.steps, *runs), dtype)
    result = labelled(classes, settings, loss, recorded, tokens=tokens, outputs=outputs)
    return result.assign(diverged_at=(("seed", "rate"), np.full(runs, -1)))


def axes_of(variant: Any) -> dict[str, tuple[str, ...]]:
    """Name the axes of Y and Z in results, without those of runs.

    Z has an axis of heads if the variant has heads, and Y if each head has rows of its own too.
    """
    headed = {"Y": heads_of(variant) and variant.concatenates, "Z": heads_of(variant)}
    return {name: ("head", *axes) if headed[name] else axes for name, axes in AXES.items()}


def rows_of(variant: Any) -> tuple[int, int]:
    """Count the blocks of rows in Y and in Z: one for each decoder, and one for each head."""
    heads = max(1, heads_of(variant))
    decoders = heads if heads > 1 and variant.concatenates else 1
    return decoders, heads


def shapes_of(
    classes: SequenceClasses, settings: Settings, tokens: Ints, outputs: Outputs
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of one run's Y and Z, in which the rows of several heads stand one below
    the other.
    """
    decoders, heads = rows_of(settings.variant)
    shape_Y = (decoders * len(tokens), len(outputs))
    shape_Z = (heads * len(classes.compact.queries), len(tokens))
    return shape_Y, shape_Z


def per_head(values: np.ndarray, axes: tuple[str, ...], heads: int) -> np.ndarray:
    """Split the rows of values (..., rows, columns) by head, if ``axes`` has heads."""
    if "head" not in axes:
        return values
    return values.reshape(*values.shape[:-2], heads, -1, values.shape[-1])


def tokens_of(classes: SequenceClasses, model: object) -> Ints:
    """List the tokens for which rows of Y stand.

    A variant also reads the query tokens' rows, and some variants read one row for all other
    tokens.
    """
    compact = classes.compact
    variant = known_variant(model)
    if isinstance(model, str) and model == PLAIN:
        return compact.tokens
    both = np.union1d(compact.tokens, compact.queries)
    return np.append(OTHERS, both) if variant is not None and variant.rest else both


def outputs_of(classes: SequenceClasses, settings: Settings) -> Outputs:
    """List the outputs for which columns of Y stand; from Y(0) = 0 there are few, whatever M is."""
    if settings.begins == "zero":
        return classes.outputs
    return Outputs.separate(classes.next_of, classes.vocab_size)


def labels_of(classes: SequenceClasses, tokens: Ints, outputs: Outputs) -> dict[str, np.ndarray]:
    """Label the axes of Y and Z as results do."""
    return {
        "query": classes.coords["query"],
        "token": classes.labels(tokens),
        "output": classes.labels(outputs.labels),
    }


def with_state(
    run: xr.Dataset,
    classes: SequenceClasses,
    states: Mapping[str, Mapping[str, Tensor]],
    random: list[str],
) -> xr.Dataset:
    """Add what a later training needs to go on: the optimiser's state, each seed's random state,
    and the digest of the classes.

    ``states`` has for Y and for Z the parts of the optimiser's state by name, shape (seeds, rates,
    rows, columns), and ``random`` a text for each seed.
    """
    held = {
        f"{name}_{parameter}": (("seed", "rate", *AXES[parameter]), values.cpu().numpy())
        for parameter, state in states.items()
        for name, values in state.items()
    }
    return run.assign(
        held | {RANDOM: ("seed", np.array(random, dtype=object)), CHECKSUM: checksum(classes)}
    )


def with_divergence(result: xr.Dataset, settings: Settings) -> xr.Dataset:
    """Add ``diverged_at`` (seed, rate), and warn of each run that has one.

    It is the first step whose loss isn't finite; the number of all updates, if only the values
    after the last one aren't finite; and -1 for any other run.
    """
    bad = ~np.isfinite(result.loss)
    first = xr.where(bad.any("step"), settings.start + bad.argmax("step"), -1)

    # The last update can overflow after the last loss was finite. Several heads have one axis more.
    end = result.isel(recorded=-1)
    own = [[dim for dim in end[name].dims if dim not in first.dims] for name in "YZ"]
    lost = ~(np.isfinite(end.Y).all(own[0]) & np.isfinite(end.Z).all(own[1]))
    first = xr.where((first < 0) & lost, settings.end, first)

    # A run that had diverged before it went on keeps that step.
    if isinstance(settings.initial, xr.Dataset):
        before = settings.initial.diverged_at.transpose(*first.dims).values
        first = xr.where(before >= 0, before, first)
    for s, r in zip(*np.nonzero(first.values >= 0), strict=True):
        run = first[s, r]
        warnings.warn(
            f"run seed={int(run.seed)}, lr_y={float(run.lr_y):g}, lr_z={float(run.lr_z):g} "
            f"turned NaN at step {int(run)}: its later values are NaN; use smaller rates",
            TrainingDiverged,
            stacklevel=5,  # The warning names the line that called train.
        )
    return result.assign(diverged_at=first)
