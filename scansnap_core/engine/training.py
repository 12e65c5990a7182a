"""The shared training core: many runs at once (seeds x rates x data sets) of the model under real gradient steps."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from tqdm import tqdm

from scansnap_core.data.outputs import Outputs
from scansnap_core.data.sequences import SequenceClasses, check_classes
from scansnap_core.engine import draws, model, optimizers
from scansnap_core.engine.options import Options

FINITE_CHECK_EVERY = 50
"""Looking for runs that turned NaN stops a GPU, so it is done now and then; the step itself is found afterwards."""


class TrainingDiverged(UserWarning):
    """A run turned NaN; its values from then on are NaN and the other runs went on."""


def train(
    classes: SequenceClasses | Mapping[str, SequenceClasses],
    *,
    lr_y: float | Sequence[float],
    lr_z: float | Sequence[float],
    steps: int,
    seeds: Iterable[int] = (0,),
    batch_size: int | None = 128,
    seq_len: float = 128,
    optimizer: str = "sgd",
    momentum: float = 0.9,
    initial: str | tuple[Any, Any] = "zero",
    record: int | Iterable[int] | None = None,
    rng: str = "fresh",
    device: str = "auto",
    dtype: str = "float64",
    progress: bool = False,
) -> xr.Dataset:
    """Train the 1-layer transformer by Lemma 1's gradients, all runs in one batch.

    Parameters
    ----------
    classes
        The data, or several data sets by name (they get the dimension ``data``).
    lr_y, lr_z
        eta_Y and eta_Z: numbers, or lists that are paired into the dimension ``rate``.
    steps
        Updates to make. **Clock**: one step is one update with a batch of ``batch_size``; per step a class is seen
        with probability P(n) = 1/K in each sample. The paper's t (batch size 1) is this clock for ``batch_size=1``.
    seeds
        One run a seed for every rate pair; runs with one seed share data and initial values.
    batch_size
        B, or None for the expectation over the classes (only with ``seq_len=inf``).
    seq_len
        T, the query included, so T - 1 contextual tokens are drawn; ``inf`` is the paper's limit q = P(.|n).
    optimizer
        "sgd", "momentum" (SGD with ``momentum``) or "adam".
    initial
        "zero", "random" (uniform in ±1/sqrt(M)), or (Y, Z) as M x M arrays.
    record
        When Y and Z are kept: every that many steps, or a list of steps (0 is the start). Default: start and end.
    rng
        "fresh", or "replay" for the authors' order of random numbers.
    device
        "auto" (a GPU where there is one), "cpu" or "cuda".
    dtype
        "float64" or "float32".
    progress
        Show a progress bar, where there is a terminal to show it on.

    Returns
    -------
    xarray.Dataset
        ``loss`` (seed, rate, step): -J of the batch before update ``step``, in nats.
        ``Y`` (seed, rate, recorded, token, output) and ``Z`` (seed, rate, recorded, query, token) after ``recorded``
        updates. Only rows and columns that can move are held (see :class:`~scansnap_core.data.compact.Compact`); with
        Y(0) = 0 all outputs that are no next token are one column, ``output`` -1, with its ``multiplicity``.
        ``diverged_at`` (seed, rate): the step whose loss was the first not finite, or -1.

    Raises
    ------
    BadInput
        Before anything is computed: a rate that is not positive and finite, T < 2, an unknown optimiser or device, ...
    """
    options = Options.checked(
        lr_y=lr_y,
        lr_z=lr_z,
        steps=steps,
        seeds=seeds,
        batch_size=batch_size,
        seq_len=seq_len,
        optimizer=optimizer,
        momentum=momentum,
        initial=initial,
        record=record,
        rng=rng,
        device=device,
        dtype=dtype,
    )
    data_sets: Mapping[str, Any] = classes if isinstance(classes, Mapping) and classes else {"": classes}
    for data_set in data_sets.values():
        check_classes(data_set)
        options.check_initial(data_set.vocab_size)
    results = [_train_one(data_set, options, progress) for data_set in data_sets.values()]
    if isinstance(classes, SequenceClasses):
        return results[0]
    names = xr.DataArray(list(data_sets), dims="data", name="data")
    return xr.concat(results, dim=names, join="outer", combine_attrs="drop_conflicts")


def _train_one(classes: SequenceClasses, options: Options, progress: bool) -> xr.Dataset:
    rates, seeds, steps = options.rates, options.seeds, options.steps
    device, batch_size = options.device, options.batch_size
    compact, M, K = classes.compact, classes.vocab_size, classes.num_classes
    source = draws_of(classes, options)

    def tensor(array: Any) -> Tensor:
        return torch.as_tensor(np.asarray(array), dtype=getattr(torch, options.dtype), device=device)

    Y_0, Z_0, outputs = initial_values(options.initial, classes, source, len(seeds))
    per_run = (len(seeds), len(rates), -1, -1)
    Y, Z = tensor(Y_0).unsqueeze(1).expand(per_run).clone(), tensor(Z_0).unsqueeze(1).expand(per_run).clone()
    targets = tensor(outputs.targets)
    queries = tensor(compact.query_row[:, None] == np.arange(len(compact.queries)))
    counts = torch.tensor(outputs.multiplicity, dtype=targets.dtype, device=device)
    weight = tensor(1 / (batch_size or K))

    climbers: list[optimizers.Adam | optimizers.SGD] = []
    for parameter, rate in ((Y, [pair[0] for pair in rates]), (Z, [pair[1] for pair in rates])):
        lr = tensor(rate).reshape(1, -1, 1, 1)
        if options.optimizer == "adam":
            climbers.append(optimizers.Adam(parameter, lr))
        else:
            climbers.append(optimizers.SGD(parameter, lr, options.momentum))

    loss = torch.full((steps, len(seeds), len(rates)), torch.nan, dtype=Y.dtype, device=device)
    states = {s: (torch.full_like(Y, torch.nan), torch.full_like(Z, torch.nan)) for s in options.recorded}
    for step in tqdm(range(steps + 1), unit="step", leave=False, disable=None if progress else True):
        if step in states:
            states[step] = (Y.clone(), Z.clone())
        if step == steps or (step and step % FINITE_CHECK_EVERY == 0 and not loss[step - 1].isfinite().any()):
            break
        drawn, q = source.batch()
        index = torch.as_tensor(drawn, device=device).unsqueeze(1)
        gradients = model.gradients(
            tensor(q).unsqueeze(1), queries[index], targets[index], weight.expand(index.shape), Y, Z, counts
        )
        loss[step] = gradients.loss
        climbers[0].step(gradients.Y)
        climbers[1].step(gradients.Z)

    clock = {"units": f"updates of batch size {batch_size or 'expectation'}"}
    result = xr.Dataset(
        {
            "loss": (("step", "seed", "rate"), loss.cpu().numpy(), {"units": "nats"}),
            "Y": (("recorded", "seed", "rate", "token", "output"), _stack(states, 0), {"units": "logits"}),
            "Z": (("recorded", "seed", "rate", "query", "token"), _stack(states, 1), {"units": "logits"}),
            "multiplicity": ("output", outputs.multiplicity.copy(), {"units": "outputs"}),
        },
        coords={
            "step": ("step", np.arange(steps), clock),
            "recorded": ("recorded", options.recorded, clock),
            "seed": seeds,
            "lr_y": ("rate", [pair[0] for pair in rates], {"units": "per step"}),
            "lr_z": ("rate", [pair[1] for pair in rates], {"units": "per step"}),
            "token": classes.coords["token"],
            "query": classes.coords["query"],
            "output": classes.labels(outputs.labels),
        },
        attrs={
            "optimizer": options.optimizer,
            "momentum": options.momentum,
            "batch_size": str(batch_size or "expectation"),
            "seq_len": options.seq_len,
            "initial": options.initial if isinstance(options.initial, str) else "given",
            "rng": options.rng,
            "device": device.type,
            "dtype": options.dtype,
            "vocab_size": M,
            "num_classes": K,
        },
    ).transpose("seed", "rate", ...)
    return _with_divergence(result)


def _stack(states: dict[int, tuple[Tensor, Tensor]], which: int) -> np.ndarray:
    return torch.stack([state[which] for state in states.values()]).cpu().numpy()


def _with_divergence(result: xr.Dataset) -> xr.Dataset:
    """Name each run's first step whose loss isn't finite."""
    bad = ~np.isfinite(result.loss)
    first = xr.where(bad.any("step"), bad.argmax("step"), -1)
    # a last update can overflow after the last loss was finite
    end = result.isel(recorded=-1)
    lost = ~(np.isfinite(end.Y).all(["token", "output"]) & np.isfinite(end.Z).all(["query", "token"]))
    first = xr.where((first < 0) & lost, result.sizes["step"], first)
    for s, r in zip(*np.nonzero(first.values >= 0), strict=True):
        run = first[s, r]
        warnings.warn(
            f"run seed={int(run.seed)}, lr_y={float(run.lr_y):g}, lr_z={float(run.lr_z):g} turned NaN at step "
            f"{int(run)}: its later values are NaN; use smaller rates",
            TrainingDiverged,
            stacklevel=4,
        )
    return result.assign(diverged_at=first)


def draws_of(classes: SequenceClasses, options: Options) -> draws.Draws:
    """The source of the batches that the options ask for."""
    if options.batch_size is None:
        return draws.Expectation(classes, options.seeds)
    kind = draws.Replay if options.rng == "replay" else draws.Fresh
    return kind(classes, options.seeds, options.batch_size, options.seq_len)


def initial_values(
    initial: str | tuple[Any, Any], classes: SequenceClasses, source: draws.Draws, num_seeds: int
) -> tuple[np.ndarray, np.ndarray, Outputs]:
    """Where training begins, for S seeds: Y (S, L, O), Z (S, Q, L), and the O outputs."""
    compact = classes.compact
    L, Q = len(compact.tokens), len(compact.queries)
    if initial == "zero":
        outputs = classes.outputs
        return np.zeros((num_seeds, L, len(outputs))), np.zeros((num_seeds, Q, L)), outputs
    if initial == "random":
        Y, Z = source.initial()
    else:
        full_Y, full_Z = (np.asarray(array, dtype=np.float64) for array in initial)
        Y = np.tile(full_Y[compact.tokens], (num_seeds, 1, 1))
        Z = np.tile(full_Z[np.ix_(compact.queries, compact.tokens)], (num_seeds, 1, 1))
    return Y, Z, Outputs.separate(classes.next_of, classes.vocab_size)
