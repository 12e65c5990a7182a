"""Where a training begins: its values of Y and Z, and whether these and the settings suit the
classes.

Nothing in this module imports PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import check_memory, not_finite, shown
from scansnap_core.data.probabilities import OTHERS, Outputs
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses, checksum
from scansnap_core.engine import draws
from scansnap_core.engine.names import PLAIN, check_windows, heads_of
from scansnap_core.engine.results import labels_of, outputs_of, rows_of, shapes_of
from scansnap_core.engine.settings import CHECKSUM, Settings

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
        shape_Y, shape_Z = shapes_of(classes, settings, tokens, outputs)
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
    """Draw initial values of all seeds, Y (S, L, M) and Z (S, Q, L), on these tokens.

    Where one of them stands for all others, all M are drawn and put together.
    """
    if tokens[0] != OTHERS:
        return source.initial(tokens)
    Y, Z = source.initial(np.arange(vocab_size))
    return _rows(Y, tokens), _columns(Z, tokens)


def _rows(Y: Floats, tokens: Ints) -> Floats:
    """Take some tokens' rows of the full Y, shape (..., M, O).

    Where the first of ``tokens`` is `OTHERS`, its row stands for all n tokens that aren't named. It
    is the sum of their rows over sqrt(n): the coordinate along the unit vector with n entries of
    1/sqrt(n), so that descent at the same rate does the same in this coordinate. What differs
    among their rows is left out, because the decoder reads these tokens in equal shares.
    """
    if tokens[0] != OTHERS:
        return Y[..., tokens, :]
    others = np.delete(Y, tokens[1:], axis=-2)
    num_others = max(1, others.shape[-2])  # if there are none, their sum is 0
    together = others.sum(axis=-2, keepdims=True) / np.sqrt(num_others)
    return np.concatenate([together, Y[..., tokens[1:], :]], axis=-2)


def _columns(Z: Floats, tokens: Ints) -> Floats:
    """Take some tokens' columns of the full Z, shape (..., Q, M).

    Where ``tokens`` says `OTHERS`, one column stands for all tokens that no class holds. They get
    no attention whatever their logits, so it is 0.
    """
    return np.where(tokens == OTHERS, 0.0, Z[..., tokens])


def final(run: xr.Dataset, name: str, labels: Mapping[str, np.ndarray]) -> np.ndarray:
    """Take a variable at the run's end: (seed, rate, ...), with the axes and labels that are named,
    in their order.
    """
    end = run[name].isel(recorded=-1) if "recorded" in run[name].dims else run[name]
    chosen = {dim: values for dim, values in labels.items() if dim in end.dims}
    return np.asarray(end.sel(chosen).transpose("seed", "rate", *chosen).values)


# -- Whether it suits the classes
# -------------------------------------------------------------------


def check_fits(classes: SequenceClasses, settings: Settings) -> None:
    """Raise :class:`BadInput` unless initial values suit the classes, windows divide M, and all
    fits into memory.

    Memory is estimated from above, in bytes: the losses, Y and Z at each recorded step and while an
    update is made, and a batch of samples with the random words they are drawn from.
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
    """Raise :class:`BadInput` unless initial values are a pair of finite arrays, Y and Z, M x M
    each.

    With H heads either may have one matrix for each, (H, M, M).
    """
    if not isinstance(initial, tuple | list) or len(initial) != 2:
        raise BadInput(
            f"initial = {shown(initial)}",
            "initial values are zero, random, (Y, Z), or the data set of a training to go on with",
            "pass a pair of M x M arrays",
        )
    shapes: list[tuple[int, ...]] = [(vocab_size, vocab_size)]
    sizes = f"M x M arrays, M = {vocab_size}"
    if heads:
        shapes.append((heads, vocab_size, vocab_size))
        sizes += f", or {heads} of them"
    for name, array in zip("YZ", initial, strict=True):
        try:
            values = np.asarray(array)
        # NumPy can't read rows of unlike length, or a tensor that autograd follows.
        except (TypeError, ValueError, RuntimeError):
            values = np.array(None)
        are_numbers = values.dtype.kind in "iuf"
        fault = not_finite(values) if are_numbers else ", not of numbers"
        if fault or values.shape not in shapes:
            raise BadInput(
                f"initial {name} of shape {values.shape}{fault}",
                f"Y and Z are finite {sizes}",
                "pass both in full; Y's rows are tokens, and Z's are queries",
            )


def _check_continues(run: xr.Dataset, classes: SequenceClasses, settings: Settings) -> None:
    """Raise :class:`BadInput` unless a run goes on with the classes that it began with, and with
    the same value of each setting in FIXED.

    A run of the plain model doesn't store its model.
    """
    held = {"model": PLAIN, **run.attrs, "seeds": run["seed"].values.tolist()}
    held |= {name: run[name].values.tolist() for name in ("lr_y", "lr_z")}
    asked = {"model": PLAIN, **settings.attributes(classes), "seeds": settings.seeds}
    asked |= {"lr_y": settings.lr_y, "lr_z": settings.lr_z}
    rule = "a training goes on with the classes and settings that it began with"
    remedy = "pass the same, or start anew from (Y, Z)"
    if str(run[CHECKSUM].values) != checksum(classes):
        raise BadInput(f"classes = {shown(classes)} after others", rule, remedy)
    for name, value in asked.items():
        before = held.get(name)
        if name in FIXED and before != value:
            raise BadInput(f"{name} = {shown(value)} after {name} = {shown(before)}", rule, remedy)
