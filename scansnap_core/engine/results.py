"""Make the labels, initial values and limits of a training's data set.

Nothing in this module imports PyTorch, which takes a second and which the compiled engine doesn't
need.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from scansnap_core.bad_input import BadInput
from scansnap_core.data.probabilities import OTHERS, Outputs
from scansnap_core.data.sequences import ATTRIBUTE, Floats, Ints, SequenceClasses, checksum
from scansnap_core.engine import draws
from scansnap_core.engine.names import PLAIN, check_windows, heads_of
from scansnap_core.engine.settings import CHECKSUM, RANDOM, Settings, known_variant
from scansnap_core.rules import check_memory, not_finite, shown

if TYPE_CHECKING:
    from torch import Tensor

AXES = {"Y": ("token", "output"), "Z": ("query", "token")}
FIXED = (
    "seeds",
    "lr_y",
    "lr_z",
    "model",
    "optimizer",
    "momentum",
    "batch_size",
    "seq_len",
    "rng",
    "device",
    "dtype",
)
"""A run's numbers depend on these settings, the classes, the initial values and the steps alone."""
WORD_BYTES = 64
"""The most memory that a token of a sample takes while it's drawn by counter, in bytes."""


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
    """Return an empty result, all zeros, with the final labels and shapes."""
    tokens = tokens_of(classes, settings.model)
    outputs = outputs_of(classes, settings)
    runs = (len(settings.seeds), len(settings.rates))
    dtype = settings.dtype
    shapes = zip("YZ", _shapes(classes, settings, tokens, outputs), strict=True)
    recorded = {
        name: np.zeros((len(settings.record), *runs, *shape), dtype) for name, shape in shapes
    }
    loss = np.zeros((settings.steps, *runs), dtype)
    result = labelled(classes, settings, loss, recorded, tokens=tokens, outputs=outputs)
    return result.assign(diverged_at=(("seed", "rate"), np.full(runs, -1)))


def axes_of(variant: Any) -> dict[str, tuple[str, ...]]:
    """Name the axes of Y and Z in results, without those of runs."""
    headed = {"Y": heads_of(variant) and variant.concatenates, "Z": heads_of(variant)}
    return {name: ("head", *axes) if headed[name] else axes for name, axes in AXES.items()}


def rows_of(variant: Any) -> tuple[int, int]:
    """Count the blocks of rows in Y and in Z: one for each decoder, and one for each head."""
    heads = max(1, heads_of(variant))
    decoders = heads if heads > 1 and variant.concatenates else 1
    return decoders, heads


def _shapes(
    classes: SequenceClasses, settings: Settings, tokens: Ints, outputs: Outputs
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of one run's Y and Z."""
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


def with_state(
    run: xr.Dataset,
    classes: SequenceClasses,
    states: Mapping[str, Mapping[str, Tensor]],
    random: list[str],
) -> xr.Dataset:
    """Add what a later training needs to go on: the optimiser's state and each seed's random
    state.
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
    """Name each run's first step whose loss isn't finite, and warn of it."""
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


# -- Where a training begins -----------------------------------------------------------------------


def initial_values(
    classes: SequenceClasses, settings: Settings, source: draws.Draws, tokens: Ints
) -> tuple[Floats, Floats, Outputs]:
    """Return the values of Y and Z with which a training begins, and the outputs.

    Returns
    -------
    Y
        Shape (S, R, L, O), for S seeds, R rates, the L tokens of Y's rows and O outputs. R is 1 if
        all rates begin with the same values. The rows of several decoders stand one below the
        other.
    Z
        Shape (S, R, Q, L), for Q queries. The rows of several heads stand one below the other.
    outputs
        The O outputs.
    """
    S = len(settings.seeds)
    (decoders, heads) = rows_of(settings.variant)
    queries = classes.compact.queries
    outputs = outputs_of(classes, settings)
    if isinstance(settings.initial, xr.Dataset):
        labels = labels_of(classes, tokens, outputs)
        return final(settings.initial, "Y", labels), final(settings.initial, "Z", labels), outputs
    if settings.begins == "zero":
        shape_Y, shape_Z = _shapes(classes, settings, tokens, outputs)
        return np.zeros((S, 1, *shape_Y)), np.zeros((S, 1, *shape_Z)), outputs
    if settings.begins == "random":
        # The first head draws what the plain model draws; each other head has its own generators.
        more = [
            draws.Fresh(classes, [[seed, h] for seed in settings.seeds], 0, np.inf)
            for h in range(1, heads)
        ]
        drawn = [_drawn(each, classes.vocab_size, tokens) for each in (source, *more)]
        Y = np.concatenate([Y for Y, _ in drawn], axis=1)[:, None]
        Z = np.concatenate([Z for _, Z in drawn], axis=1)[:, None]
        return Y[:, :, : decoders * len(tokens)], Z, outputs

    # Given matrices: every decoder and every head begins with the same ones, as does every seed.
    full_Y, full_Z = [np.asarray(array, dtype=np.float64) for array in settings.initial]
    Y = _rows(np.broadcast_to(full_Y, (decoders, *full_Y.shape[-2:])), tokens)
    Z = _columns(np.broadcast_to(full_Z, (heads, *full_Z.shape[-2:]))[:, queries], tokens)
    Y = np.tile(Y.reshape(-1, Y.shape[-1]), (S, 1, 1, 1))
    Z = np.tile(Z.reshape(-1, Z.shape[-1]), (S, 1, 1, 1))
    return Y, Z, outputs


def _drawn(source: draws.Draws, vocab_size: int, tokens: Ints) -> tuple[Floats, Floats]:
    if tokens[0] != OTHERS:
        return source.initial(tokens)
    Y, Z = source.initial(np.arange(vocab_size))
    return _rows(Y, tokens), _columns(Z, tokens)


def _rows(Y: Floats, tokens: Ints) -> Floats:
    """Take some tokens' rows of the full Y, shape (..., M, O).

    Where the first of ``tokens`` is `OTHERS`, its row stands for all n tokens that aren't named. It
    is the part of theirs that is the same for all, as the coefficient of the unit vector with n
    entries of 1/sqrt(n).
    """
    if tokens[0] != OTHERS:
        return Y[..., tokens, :]
    others = np.delete(Y, tokens[1:], axis=-2)
    together = others.sum(axis=-2, keepdims=True) / np.sqrt(max(1, others.shape[-2]))
    return np.concatenate([together, Y[..., tokens[1:], :]], axis=-2)


def _columns(Z: Floats, tokens: Ints) -> Floats:
    """Take some tokens' columns of the full Z, shape (..., Q, M).

    Where ``tokens`` says `OTHERS`, one column stands for all tokens that no class holds. They get
    no attention whatever their logits, so it is 0.
    """
    return np.where(tokens == OTHERS, 0.0, Z[..., tokens])


def labels_of(classes: SequenceClasses, tokens: Ints, outputs: Outputs) -> dict[str, np.ndarray]:
    """Label the axes of Y and Z as results do."""
    return {
        "query": classes.coords["query"],
        "token": classes.labels(tokens),
        "output": classes.labels(outputs.labels),
    }


def final(run: xr.Dataset, name: str, labels: Mapping[str, np.ndarray]) -> np.ndarray:
    """Take a variable at the run's end: (seed, rate, ...), with the axes and labels that are named,
    in their order.
    """
    end = run[name].isel(recorded=-1) if "recorded" in run[name].dims else run[name]
    chosen = {dim: values for dim, values in labels.items() if dim in end.dims}
    return np.asarray(end.sel(chosen).transpose("seed", "rate", *chosen).values)


# -- What suits the classes ------------------------------------------------------------------------


def check_fits(classes: SequenceClasses, settings: Settings) -> None:
    """Check that initial values suit the classes, that windows divide M, and that all fits into
    memory.
    """
    check_windows(settings.variant, classes.vocab_size)
    if settings.rng == "replay":
        classes.check_uniform("rng = 'replay', the authors' order of random numbers,")
    M = classes.vocab_size
    outputs = len(classes.outputs) if settings.begins == "zero" else classes.vocab_size
    if isinstance(settings.initial, xr.Dataset):
        _check_continues(settings.initial, classes, settings)
    elif not isinstance(settings.initial, str):
        _check_given(settings.initial, M, heads_of(settings.variant))
    heads = max(1, heads_of(settings.variant))
    S = len(settings.seeds)
    T = settings.seq_len
    L = heads * len(classes.tokens)
    Q = len(np.unique(classes.query_of))
    batch = settings.batch_size
    runs = len(settings.rates) * S
    state = np.dtype(settings.dtype).itemsize * runs * (L * outputs + Q * L)
    samples = 8 * S * (batch or classes.num_classes) * (4 * L + outputs)
    words = (
        WORD_BYTES * T * S * (batch or 0) if settings.rng == "counter" and math.isfinite(T) else 0.0
    )
    tokens = 16 * T if settings.rng == "replay" else words
    check_memory(
        f"{runs:,} runs of {settings.steps:,} steps, recorded {len(settings.record):,} times",
        8.0 * runs * settings.steps + state * (2.0 * len(settings.record) + 4) + samples + tokens,
    )


def _check_given(initial: Any, vocab_size: int, heads: int) -> None:
    """Check that initial values are finite M x M arrays Y and Z; with heads either may be one for
    each, (H, M, M).
    """
    if not isinstance(initial, tuple | list) or len(initial) != 2:
        raise BadInput(
            f"initial of {len(initial)} parts"
            if hasattr(initial, "__len__")
            else f"initial = {shown(initial)}",
            "initial values are zero, random, (Y, Z), or the data set of a training to go on with",
            "pass a pair of M x M arrays",
        )
    shapes = [(vocab_size,) * 2] + [(heads, vocab_size, vocab_size)] * bool(heads)
    for name, array in zip("YZ", initial, strict=True):
        try:
            values = np.asarray(array)
        except (TypeError, ValueError, RuntimeError):
            values = np.array(None)
        numbers = values.dtype.kind in "iuf"
        if not numbers or values.shape not in shapes or not np.isfinite(values).all():
            raise BadInput(
                f"initial {name} of shape "
                f"{values.shape}{not_finite(values) if numbers else ', not of numbers'}",
                f"Y and Z are finite M x M arrays, M = {vocab_size}"
                + f", or {heads} of them" * bool(heads),
                "pass both in full, rows first",
            )


def _check_continues(run: xr.Dataset, classes: SequenceClasses, settings: Settings) -> None:
    """Check that a run goes on as it began: the classes and all settings but steps."""
    held = {"model": PLAIN, **run.attrs, "seeds": run["seed"].values.tolist()}
    held |= {name: run[name].values.tolist() for name in ("lr_y", "lr_z")}
    asked = {"model": PLAIN, **settings.attributes(classes), "seeds": settings.seeds}
    asked |= {"lr_y": settings.lr_y, "lr_z": settings.lr_z}
    values = [
        f"{name} = {shown(value)} after {name} = {shown(held.get(name))}"
        for name, value in asked.items()
        if name in FIXED and held.get(name) != value
    ]
    if str(run[CHECKSUM].values) != checksum(classes):
        values.insert(0, f"classes = {shown(classes)} after others")
    if values:
        rule = "a training goes on with the classes and settings that it began with"
        raise BadInput(values[0], rule, "pass the same, or start anew from (Y, Z)")
