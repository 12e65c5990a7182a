"""Train the model by gradient steps, many runs at once: every seed at every pair of rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from scansnap_core.base.progress import progress_bar
from scansnap_core.base.rules import FLAG, takes
from scansnap_core.data.sequences import CLASSES, SequenceClasses
from scansnap_core.engine import optimizers, variants
from scansnap_core.engine.draws import Counter, draws_of
from scansnap_core.engine.names import PLAIN
from scansnap_core.engine.results import (
    TrainingDiverged,
    labelled,
    labels_of,
    tokens_of,
    with_divergence,
    with_state,
)
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.starts import check_fits, final, initial_values
from scansnap_core.engine.surroundings import undisturbed

__all__ = ["TrainingDiverged", "train"]

FINITE_CHECK_EVERY = 50
"""The steps between two looks for runs that turned NaN. A look makes a GPU wait; the exact step is
found in the losses afterwards.
"""
WARM_UP = 3
"""The number of steps launched kernel by kernel before one is recorded on a GPU. Libraries
initialise themselves during the first ones.
"""


@takes(classes=CLASSES, progress=FLAG)
def train(
    classes: SequenceClasses,
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
    """Train the 1-layer transformer by Lemma 1's gradients, or a variant of it, all runs in one
    batch.

    Parameters
    ----------
    classes
        The data.
    lr_y, lr_z
        eta_Y and eta_Z: numbers, or lists that are paired into the dimension ``rate``, numbered
        from 0.
    steps
        Updates to make. **Clock**: one step is one update with a batch of ``batch_size``; per step
        a class is seen with probability P(n) in each sample (``classes.frequencies``, 1/K unless
        given). The paper's t (batch size 1) is this clock for ``batch_size=1``.
    seeds
        One run a seed for every rate pair; runs with one seed share data and initial values.
    batch_size
        B, or None for the expectation over the classes (only with ``seq_len=inf``).
    seq_len
        T, the query included, so T - 1 contextual tokens are drawn; ``inf`` is the paper's limit q
        = P(.|n).
    optimizer
        "sgd", "momentum" or "adam"; or a class of ``torch.optim``, or a function that makes an
        optimiser of two parameter groups (Y's and Z's, each with its ``lr``), or ``module:name`` of
        either. One is made for every run, so runs share nothing. It sees -dJ/dY and -dJ/dZ, and Y
        and Z as they are held here: decay leaves the rows of tokens that no class holds alone.
    momentum
        Of "momentum" alone; 0.9 if not given.
    model
        "plain", the paper's; "residual", "layernorm", "heads H", "summed heads H" or "positions W"
        (:mod:`scansnap_core.engine.variants`); or a function of a
        :class:`~scansnap_core.engine.variants.Batch`, Y and Z that returns ln α (autograd does the
        rest) or :class:`~scansnap_core.engine.model.Gradients`, or its ``module:name``. All but the
        first hold the query tokens in ``token`` too. Heads have the dimension ``head``.
    initial
        "zero", "random" (uniform in ±1/sqrt(M)), or (Y, Z) as M x M arrays, of heads H x M x M too.
        Or the data set of a training with ``keep_state``, to go on from its end: with the same
        classes and arguments (but for ``steps``, ``record``, ``keep_state``), 60 steps and then 40
        are 100 steps to the last bit, on one machine. ``step`` and ``recorded`` count on.
    record
        When Y and Z are kept: every that many steps, or a list of steps (0 is the start). Default:
        start and end. Steps are counted as ``step`` is.
    rng
        "fresh", NumPy's generator; "replay", the authors' order of random numbers; or "counter", by
        which each sample depends on its seed, step and place in the batch alone, and is drawn on
        the device (:mod:`scansnap_core.engine.draws`). Initial values are those of "fresh".
    device
        "auto" (a GPU where there is one), "cpu" or "cuda".
    dtype
        "float64" or "float32".
    keep_state
        Also return what a training goes on from: the states of "momentum" and "adam", and of random
        numbers.
    progress
        Show a progress bar in a terminal or a notebook; elsewhere print a line a minute to standard
        error.

    Returns
    -------
    xarray.Dataset
        ``loss`` (seed, rate, step): -J of the batch before update ``step``, in nats.
        ``Y`` (seed, rate, recorded, token, output) and ``Z`` (seed, rate, recorded, query, token)
        after ``recorded`` updates. Only rows and columns that can move are held
        (:class:`~scansnap_core.data.probabilities.Compact`); with Y(0) = 0 all outputs that are no
        next token are one column, ``output`` -1, with its ``multiplicity``. ``diverged_at`` (seed,
        rate): the step whose loss was the first not finite, or -1. With ``keep_state`` also
        ``rng_state`` (seed), the classes' ``checksum``, and the optimiser's ``velocity_Y``,
        ``mean_Y``, ``square_Y`` and those of Z.

    Raises
    ------
    BadInput
        Before anything is computed: a rate that is not positive and finite, T < 2, an unknown
        optimiser or device, more than memory holds, a data set that this training doesn't go on
        from, ... At the first step: a variant that returns the wrong shapes.

    Examples
    --------
    >>> from scansnap_core.data.datasets import syn_small
    >>> run = train(syn_small(), lr_y=1, lr_z=[0.5, 1], steps=50, keep_state=True)
    >>> dict(run.loss.sizes)
    {'seed': 1, 'rate': 2, 'step': 50}
    >>> more = train(syn_small(), lr_y=1, lr_z=[0.5, 1], steps=50, initial=run)
    >>> more.step.values[[0, -1]].tolist()
    [50, 99]
    """
    settings = Settings(
        lr_y=lr_y,
        lr_z=lr_z,
        steps=steps,
        seeds=seeds,
        batch_size=batch_size,
        seq_len=seq_len,
        optimizer=optimizer,
        momentum=momentum,
        model=model,
        initial=initial,
        record=record,
        rng=rng,
        device=device,
        dtype=dtype,
        keep_state=keep_state,
    )
    check_fits(classes, settings)
    with undisturbed(settings.device):
        return _train_one(classes, settings, progress)


def _train_one(classes: SequenceClasses, settings: Settings, progress: bool) -> xr.Dataset:
    """Train all runs, record and label; return what :func:`train` does. The settings were checked
    before.
    """
    runs = Runs(classes, settings)
    # The last losses, shape (S, R), by which runs that diverged are seen. A training that goes on
    # begins with those of its end, because all of its runs may have diverged already.
    last = torch.zeros(len(settings.seeds), len(settings.rates), dtype=runs.Y.dtype, device="cpu")
    if isinstance(settings.initial, xr.Dataset):
        last = torch.tensor(
            settings.initial["loss"].isel(step=-1).transpose("seed", "rate").values, device="cpu"
        )

    # What isn't reached, because all runs have diverged, stays NaN.
    loss = torch.full(
        (settings.steps, *last.shape), torch.nan, dtype=runs.Y.dtype, device=runs.Y.device
    )
    states = {
        s: (torch.full_like(runs.Y, torch.nan), torch.full_like(runs.Z, torch.nan))
        for s in settings.record
    }

    # Named models and optimisers have gradients in closed form; a user's own may need autograd.
    in_closed_form = isinstance(settings.model, str) and isinstance(settings.optimizer, str)
    stays_on_gpu = in_closed_form and settings.device == "cuda" and isinstance(runs.source, Counter)
    step_of_all = runs.step
    numbered = progress_bar(
        range(settings.start, settings.end + 1), progress, unit="step", total=settings.steps
    )
    with torch.inference_mode(in_closed_form), numbered as numbers:
        for step in numbers:
            if step in states:
                states[step] = (runs.Y.clone(), runs.Z.clone())
            if step == settings.end or (
                step % FINITE_CHECK_EVERY == 0 and not last.isfinite().any()
            ):
                break
            if stays_on_gpu and step == settings.start + WARM_UP:
                step_of_all = runs.recorded()
            loss[step - settings.start] = last = step_of_all()

    values = {
        "Y": torch.stack([Y for Y, _ in states.values()]).cpu().numpy(),
        "Z": torch.stack([Z for _, Z in states.values()]).cpu().numpy(),
    }
    result = labelled(
        classes, settings, loss.cpu().numpy(), values, tokens=runs.tokens, outputs=runs.outputs
    )
    if settings.keep_state:
        result = with_state(result, classes, runs.optimizer.states(), runs.source.state())
    return with_divergence(result, settings)


class Runs:
    """The runs of one class system, S seeds by R rates, at their present step, on their device.

    Y (S, R, L, O), whose rows and columns stand for ``tokens`` and ``outputs``, and Z (S, R, Q, L)
    change in place. During a step only the batch is copied to the device.

    ``settings`` were checked. They say where the runs begin, and whether they go on from others.
    """

    def __init__(self, classes: SequenceClasses, settings: Settings) -> None:
        """Put the beginning on the device: Y and Z, one copy for each seed and pair of rates, and
        the queries and targets of all classes.
        """
        self._device = torch.device(settings.device)
        self._dtype = getattr(torch, settings.dtype)
        model = settings.variant or settings.model
        self.source = draws_of(classes, settings)
        self._ascent = variants.plain if isinstance(model, str) else partial(variants.ascent, model)
        self.tokens = tokens_of(classes, settings.model)

        # Batches are drawn on the tokens that classes hold; a variant's rows have others too.
        held = np.searchsorted(self.tokens, classes.tokens)
        self._held = (
            torch.tensor(held, device=self._device) if len(held) < len(self.tokens) else None
        )
        Y, Z, self.outputs = initial_values(classes, settings, self.source, self.tokens)
        per_run = (len(settings.seeds), len(settings.rates), -1, -1)
        self.Y = self._placed(torch.from_numpy(Y)).expand(per_run).clone()
        self.Z = self._placed(torch.from_numpy(Z)).expand(per_run).clone()

        # Every class's query and target, from which those of a batch are picked.
        every = variants.at_infinite_length(classes, self.tokens, self.outputs)
        if settings.batch_size:
            every = every._replace(
                weight=torch.tensor(1 / settings.batch_size, dtype=torch.float64, device="cpu")
            )
        self._every = variants.Batch(*map(self._placed, every))
        self.optimizer = self._optimizer(classes, settings)

    def _placed(self, values: Tensor) -> Tensor:
        """Return a tensor on the device; floats in the training's type."""
        return values.to(self._device, self._dtype if values.is_floating_point() else None)

    def _optimizer(
        self, classes: SequenceClasses, settings: Settings
    ) -> optimizers.BuiltIn | optimizers.OnePerRun:
        """Make the optimiser of Y and Z; a run that goes on gets it as it stood at the end."""
        if not isinstance(settings.optimizer, str):
            return optimizers.OnePerRun(settings.optimizer, self.Y, self.Z, settings.rates)
        given = settings.rates, settings.momentum, settings.start
        both = optimizers.BuiltIn(settings.optimizer, self.Y, self.Z, *given)
        if isinstance(settings.initial, xr.Dataset):
            labels = labels_of(classes, self.tokens, self.outputs)
            for parameter, states in both.states().items():
                for name, state in states.items():
                    state.copy_(
                        torch.from_numpy(final(settings.initial, f"{name}_{parameter}", labels))
                    )
        return both

    def step(self) -> Tensor:
        """Make one update of all runs; return the losses (S, R) before it, on the device."""
        drawn, frequencies = self.source.batch()
        classes = torch.as_tensor(drawn, device=self._device)
        q = torch.as_tensor(frequencies, dtype=self._dtype, device=self._device)
        if self._held is not None:
            q = q.new_zeros(*q.shape[:-1], len(self.tokens)).index_copy_(-1, self._held, q)
        index = classes.unsqueeze(1)
        every = self._every
        samples = {"q": q.unsqueeze(1), "query": every.query[index], "target": every.target[index]}
        # The batch is kept until the next step. If it were freed at once, its memory would be
        # returned and allocated again.
        self._batch = batch = every._replace(**samples, weight=every.weight.expand(index.shape))
        found = self._ascent(batch, self.Y, self.Z)
        self.optimizer.step(found.Y, found.Z)
        return found.loss

    def recorded(self) -> Callable[[], Tensor]:
        """Record one step on a GPU; return a function that replays it as one call in place of
        hundreds.

        The recording holds the same kernels at the same addresses, so a step must change all that
        lasts in place and mustn't wait for the GPU. The losses lie in one place too, until the next
        call.
        """
        graph = torch.cuda.CUDAGraph()
        # In inference mode the GPU's random state would become a tensor that can't be changed
        # outside of it.
        with torch.inference_mode(False), torch.no_grad(), torch.cuda.graph(graph):
            loss = self.step()

        def replayed() -> Tensor:
            graph.replay()
            return loss

        return replayed
