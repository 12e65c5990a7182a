"""The shared training core: many runs at once (seeds x rates x data sets) of the model under real gradient steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import optimizers, variants
from scansnap_core.engine.architectures import variant_of
from scansnap_core.engine.arguments import checked_data
from scansnap_core.engine.model import Gradients
from scansnap_core.engine.names import PLAIN
from scansnap_core.engine.results import TrainingDiverged, labelled, tokens_of, with_divergence, with_state
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.starts import draws_of, initial_values, last_loss, optimizer_of
from scansnap_core.progress import progress_bar
from scansnap_core.rules import FLAG

__all__ = ["TrainingDiverged", "train"]

FINITE_CHECK_EVERY = 50
"""Looking for runs that turned NaN stops a GPU, so it is done now and then; the step itself is found afterwards."""


def train(
    classes: SequenceClasses | Mapping[str, SequenceClasses],
    *,
    lr_y: float | Sequence[float],
    lr_z: float | Sequence[float],
    steps: int,
    seeds: Iterable[int] = (0,),
    batch_size: int | None = 128,
    seq_len: float = 128,
    optimizer: str | optimizers.Factory = "sgd",
    momentum: float | None = None,
    model: str | variants.Model = PLAIN,
    initial: str | tuple[Any, Any] | xr.Dataset = "zero",
    record: int | Iterable[int] | None = None,
    rng: str = "fresh",
    device: str = "auto",
    dtype: str = "float64",
    keep_state: bool = False,
    progress: bool = False,
) -> xr.Dataset:
    """Train the 1-layer transformer by Lemma 1's gradients, or a variant of it, all runs in one batch.

    Parameters
    ----------
    classes
        The data, or several data sets by name (they get the dimension ``data``).
    lr_y, lr_z
        eta_Y and eta_Z: numbers, or lists that are paired into the dimension ``rate``, numbered from 0.
    steps
        Updates to make. **Clock**: one step is one update with a batch of ``batch_size``; per step a class is seen
        with probability P(n) in each sample (``classes.frequencies``, 1/K unless given). The paper's t (batch size 1)
        is this clock for ``batch_size=1``.
    seeds
        One run a seed for every rate pair; runs with one seed share data and initial values.
    batch_size
        B, or None for the expectation over the classes (only with ``seq_len=inf``).
    seq_len
        T, the query included, so T - 1 contextual tokens are drawn; ``inf`` is the paper's limit q = P(.|n).
    optimizer
        "sgd", "momentum" or "adam"; or a class of ``torch.optim``, or a function that makes an optimiser of two
        parameter groups (Y's and Z's, each with its ``lr``), or ``module:name`` of either. One is made for every run,
        so runs share nothing. It sees -dJ/dY and -dJ/dZ, and Y and Z as they are held here: decay leaves the rows of
        tokens that no class holds alone.
    momentum
        Of "momentum" alone; 0.9 if not given.
    model
        "plain", the paper's; "residual", "layernorm", "heads H", "summed heads H" or "positions W"
        (:mod:`scansnap_core.engine.architectures`); or a function of a
        :class:`~scansnap_core.engine.variants.Batch`, Y and Z that returns ln α (autograd does the rest) or
        :class:`~scansnap_core.engine.model.Gradients`, or its ``module:name``. All but the first hold the query tokens
        in ``token`` too. Heads have the dimension ``head``.
    initial
        "zero", "random" (uniform in ±1/sqrt(M)), or (Y, Z) as M x M arrays, of heads H x M x M too. Or the data set
        of a training with ``keep_state``, to go on from its end: with the same classes and arguments (but for
        ``steps``, ``record``, ``keep_state``), 60 steps and then 40 are 100 steps to the last bit, on one machine.
        ``step`` and ``recorded`` count on.
    record
        When Y and Z are kept: every that many steps, or a list of steps (0 is the start). Default: start and end.
        Steps are counted as ``step`` is.
    rng
        "fresh", NumPy's generator; "replay", the authors' order of random numbers; or "counter", by which each sample
        depends on its seed, step and place in the batch alone, and is drawn on the device
        (:mod:`scansnap_core.engine.draws`). Initial values are those of "fresh".
    device
        "auto" (a GPU where there is one), "cpu" or "cuda".
    dtype
        "float64" or "float32".
    keep_state
        Also return what a training goes on from: the states of "momentum" and "adam", and of random numbers.
    progress
        Show a progress bar, where there is a terminal or a notebook to show it in.

    Returns
    -------
    xarray.Dataset
        ``loss`` (seed, rate, step): -J of the batch before update ``step``, in nats.
        ``Y`` (seed, rate, recorded, token, output) and ``Z`` (seed, rate, recorded, query, token) after ``recorded``
        updates. Only rows and columns that can move are held (see :class:`~scansnap_core.data.probabilities.Compact`);
        with Y(0) = 0 all outputs that are no next token are one column, ``output`` -1, with its ``multiplicity``.
        ``diverged_at`` (seed, rate): the step whose loss was the first not finite, or -1.
        With ``keep_state`` also ``rng_state`` (seed), the classes' ``checksum``, and the optimiser's ``velocity_Y``,
        ``mean_Y``, ``square_Y`` and those of Z.

    Raises
    ------
    BadInput
        Before anything is computed: a rate that is not positive and finite, T < 2, an unknown optimiser or device,
        more than memory holds, a data set that this training doesn't go on from, ... At the first step: a variant that
        returns the wrong shapes.

    Examples
    --------
    >>> from scansnap_core.data.datasets import syn_small
    >>> from scansnap_core.engine.training import train
    >>> run = train(syn_small(), lr_y=1, lr_z=[0.5, 1], steps=50, keep_state=True)
    >>> dict(run.loss.sizes)
    {'seed': 1, 'rate': 2, 'step': 50}
    >>> more = train(syn_small(), lr_y=1, lr_z=[0.5, 1], steps=50, initial=run)
    >>> more.step.values[[0, -1]].tolist()
    [50, 99]
    """
    FLAG("progress", progress)
    settings = Settings.checked(
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
        model=model,
        keep_state=keep_state,
    )
    data_sets = checked_data(classes)
    each = {name: _of(settings, name) for name in data_sets}
    for name, data_set in data_sets.items():
        each[name].check_fits(data_set)
    results = [_train_one(data_set, each[name], progress) for name, data_set in data_sets.items()]
    if isinstance(classes, SequenceClasses):
        return results[0]
    names = xr.DataArray(list(data_sets), dims="data", name="data")
    return xr.concat(results, dim=names, join="outer", combine_attrs="drop_conflicts")


def _of(settings: Settings, name: str) -> Settings:
    """Return the settings of one of several data sets, which goes on from its own part of ``initial``."""
    initial = settings.initial
    if not isinstance(initial, xr.Dataset) or "data" not in initial.dims:
        return settings
    if name not in initial["data"]:
        raise BadInput(f"initial without the data {name!r}", "each data set goes on from its own part", "add it")
    return dataclasses.replace(settings, initial=initial.sel(data=name))


def _train_one(classes: SequenceClasses, settings: Settings, progress: bool) -> xr.Dataset:
    runs = Runs(classes, settings)
    per_run = len(settings.seeds), len(settings.rates)
    loss = torch.full((settings.steps, *per_run), torch.nan, dtype=runs.Y.dtype, device=runs.Y.device)
    last = last_loss(settings)
    states = {s: (torch.full_like(runs.Y, torch.nan), torch.full_like(runs.Z, torch.nan)) for s in settings.recorded}
    with torch.inference_mode(settings.in_closed_form):
        for step in progress_bar(range(settings.start, settings.end + 1), progress, unit="step"):
            if step in states:
                states[step] = (runs.Y.clone(), runs.Z.clone())
            if step == settings.end or (step % FINITE_CHECK_EVERY == 0 and not last.isfinite().any()):
                break
            loss[step - settings.start] = last = runs.step()

    recorded = (torch.stack([state[which] for state in states.values()]).cpu().numpy() for which in (0, 1))
    values = dict(zip("YZ", recorded, strict=True))
    result = labelled(classes, settings, loss.cpu().numpy(), values, tokens=runs.tokens, outputs=runs.outputs)
    if settings.keep_state:
        result = with_state(result, classes, runs.optimizer.states(), runs.source.state())
    return with_divergence(result, settings)


class Runs:
    """The runs of one class system, seeds by rates, at their present step, on their device.

    A step brings nothing to the device but its batch.

    Parameters
    ----------
    classes
        The data.
    settings
        Checked arguments of :func:`scansnap_core.engine.training.train`.

    Attributes
    ----------
    Y, Z : Tensor
        (S, R, L, O) and (S, R, Q, L), S seeds and R rates; :meth:`step` changes them in place.
    tokens, outputs
        What rows and columns of Y stand for.
    source, optimizer
        Where batches come from, and what moves Y and Z.
    """

    def __init__(self, classes: SequenceClasses, settings: Settings) -> None:
        self._device, self._dtype = torch.device(settings.device), getattr(torch, settings.dtype)
        compact, self._model = classes.compact, variant_of(settings.model) or settings.model
        self.tokens, self.source = tokens_of(classes, settings.model), draws_of(classes, settings)
        held = np.searchsorted(self.tokens, compact.tokens)
        self._held = torch.tensor(held, device=self._device) if len(held) < len(self.tokens) else None
        Y, Z, self.outputs = initial_values(classes, settings, self.source, self.tokens)
        per_run = (len(settings.seeds), len(settings.rates), -1, -1)
        self.Y, self.Z = (self._tensor(values).expand(per_run).clone() for values in (Y, Z))
        # copies, because the outputs' and classes' own arrays are read-only, which torch doesn't know
        self._targets = self._tensor(self.outputs.targets)
        self._multiplicity = self._tensor(self.outputs.multiplicity.copy())
        self._queries = self._tensor(compact.query_row[:, None] == np.arange(len(compact.queries)))
        self._weight = self._tensor(1 / settings.batch_size if settings.batch_size else classes.frequencies.copy())
        named = self.tokens, compact.queries, self.outputs.labels
        self._labels = [torch.tensor(each, device=self._device) for each in named]
        self.optimizer = optimizer_of(classes, settings, self.Y, self.Z, self.tokens, self.outputs)

    def _tensor(self, array: Any) -> Tensor:
        return torch.as_tensor(np.asarray(array), dtype=self._dtype, device=self._device)

    def step(self) -> Tensor:
        """Make one update of all runs; return the losses (S, R) before it, on the device."""
        drawn, frequencies = self.source.batch()
        classes = torch.as_tensor(drawn, device=self._device)
        q = torch.as_tensor(frequencies, dtype=self._dtype, device=self._device)
        # kept to the next step: freed at once, its memory would go back and be fetched anew
        self._batch = self._batch_of(classes, q)
        found = self._gradients(self._batch)
        self.optimizer.step(found.Y, found.Z)
        return found.loss

    def _batch_of(self, classes: Tensor, q: Tensor) -> variants.Batch:
        index = classes.unsqueeze(1)
        if self._held is not None:
            q = q.new_zeros(*q.shape[:-1], len(self.tokens)).index_copy_(-1, self._held, q)
        samples = q.unsqueeze(1), self._queries[index], self._targets[index]
        return variants.Batch(*samples, self._weight.expand(index.shape), self._multiplicity, *self._labels)

    def _gradients(self, batch: variants.Batch) -> Gradients:
        if isinstance(self._model, str):
            return variants.plain(batch, self.Y, self.Z)
        return variants.ascent(self._model, batch, self.Y, self.Z)
