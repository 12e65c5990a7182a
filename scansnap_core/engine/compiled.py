"""Runs of one seed at many rates, trained by the compiled kernel: they share their samples."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from scansnap_core.data.sequences import Floats, Ints, SequenceClasses
from scansnap_core.engine.drawing import CompiledCounter, CompiledReplay
from scansnap_core.engine.draws import Draws, Fresh, Replay
from scansnap_core.engine.kernel import NO_OUTPUT, TOGETHER, climb, prepare
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.starts import draws_of, initial_values
from scansnap_core.engine.vectors import LANES

CHUNK = 128
"""Steps whose samples are drawn at a time: they take CHUNK x B x S numbers."""


def num_threads() -> int:
    """What OMP_NUM_THREADS says, as for NumPy and PyTorch, or else the cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(os.environ.get("OMP_NUM_THREADS", "").split(",")[0] or cores or 1)


class SharedRuns:
    """Runs of one seed, one for each pair of rates, by SGD with or without momentum on a CPU.

    Parameters
    ----------
    classes
        The data.
    settings
        Checked arguments of :func:`scansnap_core.engine.training.train`, with one seed.

    Notes
    -----
    A run's result doesn't depend on the other runs, nor on the threads that :meth:`finish` is given, to the last bit.
    """

    def __init__(self, classes: SequenceClasses, settings: Settings) -> None:
        if settings.batch_size is None:
            classes.check_uniform("a compiled expectation")
        prepare()
        self._classes, self._settings, self._dtype = classes, settings, np.dtype(settings.dtype)
        self._counter = _counter_of(classes, settings)
        self._source: Draws
        if self._counter is None:
            self._source = draws_of(classes, settings)
        else:
            self._source = Fresh(classes, settings.seeds, 0, math.inf)
        self._replay: CompiledReplay | None = None
        if isinstance(self._source, Replay) and settings.seq_len > 2:
            self._replay = CompiledReplay(classes, self._source, settings.seq_len)
        first_Y, first_Z, outputs = initial_values(classes, settings, self._source, classes.tokens)
        Y, Z = first_Y[0], first_Z[0]
        self._num_tokens = L = Y.shape[1]
        num_rates = len(settings.rates)
        self._supports, self._held = _supports(classes.compact.probs)
        # places beyond a support have rows of their own, which stay 0 like their frequencies
        shape_Y = (num_rates, L + TOGETHER, -(-Y.shape[2] // LANES) * LANES)
        self._Y, self._Z = np.zeros(shape_Y, self._dtype), np.zeros((num_rates, Z.shape[1], L + TOGETHER), self._dtype)
        self._Y[:, :L, : Y.shape[2]], self._Z[:, :, :L] = Y, Z
        self._velocity_Y, self._velocity_Z = np.zeros_like(self._Y), np.zeros_like(self._Z)
        self._log_multiplicity = np.full(shape_Y[2], NO_OUTPUT, self._dtype)
        self._log_multiplicity[: Y.shape[2]] = np.log(outputs.multiplicity)
        self._per_output = np.zeros(shape_Y[2], self._dtype)
        self._per_output[: Y.shape[2]] = 1 / outputs.multiplicity
        # copies, because arrays that came from another process may be read-only, which is another type to Numba
        self._query_row = np.array(classes.compact.query_row)
        self._target = np.array(outputs.columns)
        self._loss = np.empty((num_rates, settings.steps), self._dtype)
        self._batch = self._sample(0)

    def _sample(self, first: int) -> tuple[Ints, Floats]:
        """Samples of the steps from the first on, sorted by class in each: classes (steps, B) and q (steps, B, S')."""
        num_steps, S = min(CHUNK, self._settings.steps - first), self._supports.shape[1]
        if self._counter is not None or self._replay is not None:
            filled = np.zeros((num_steps, self._settings.batch_size or 0, -(-S // LANES) * LANES), self._dtype)
            if self._counter is not None:
                return self._counter.steps(self._settings.start + first, filled), filled
            if self._replay is not None:
                return self._replay.steps(filled), filled
        if isinstance(self._source, Fresh) and math.isfinite(self._settings.seq_len):
            return self._counted(self._source, num_steps)
        batches = []
        for _ in range(num_steps):
            drawn, q = (array[0] for array in self._source.batch())
            order = np.argsort(drawn, kind="stable")
            n = drawn[order]
            places = np.where(self._held[n], self._supports[n], 0)
            batches.append((n, np.where(self._held[n], q[order[:, None], places], 0)))
        samples, frequencies = zip(*batches, strict=True)
        filled = np.zeros((len(batches), len(samples[0]), -(-S // LANES) * LANES), self._dtype)
        np.stack(frequencies, out=filled[..., :S], casting="same_kind")
        return np.stack(samples), filled

    def _counted(self, source: Fresh, num_steps: int) -> tuple[Ints, Floats]:
        """What :meth:`_sample` returns, of a source that counts on the places of supports, for all steps at once."""
        drawn, counts = (array[:, 0] for array in source.counts(num_steps))
        order = np.argsort(drawn, axis=1, kind="stable")
        n = np.take_along_axis(drawn, order, axis=1)
        own = counts[np.arange(num_steps)[:, None, None], order[..., None], self._columns(counts.shape[2])[n]]
        filled = np.zeros((*n.shape, -(-own.shape[2] // LANES) * LANES), self._dtype)
        held, shares = self._held[n], filled[..., : own.shape[2]]
        np.divide(own, source.num_context, out=shares, casting="same_kind", where=held)
        return n, filled

    def _columns(self, width: int) -> Ints:
        """Where the places of each class's support stand among those of :attr:`Compact.drawn`: at the end of a row,
        but before the last of the L places if the class doesn't hold it.
        """
        own = self._classes.compact.probs > 0
        first = width - own.sum(axis=1) - ~own[:, -1]
        return np.minimum(first[:, None] + np.arange(self._held.shape[1]), width - 1)

    def finish(self, threads: ThreadPoolExecutor | None = None) -> dict[str, np.ndarray]:
        """Make all updates, once.

        Returns
        -------
        dict
            ``loss`` (rate, step), ``Z`` (rate, query, token) after the last update and ``diverged_at`` (rate), as
            :func:`scansnap_core.engine.training.train` has them.
        """
        rates = range(len(self._settings.rates))
        for first in range(0, self._settings.steps, CHUNK):
            following = None
            if first + CHUNK < self._settings.steps and threads is not None:
                following = threads.submit(self._sample, first + CHUNK)
            # the maps are lazy
            list((map if threads is None else threads.map)(lambda rate: self._climb(rate, first), rates))  # noqa: B023
            if following is not None:
                self._batch = following.result()
            elif first + CHUNK < self._settings.steps:
                self._batch = self._sample(first + CHUNK)
        bad = ~np.isfinite(self._loss)
        lost = ~(np.isfinite(self._Y).all(axis=(1, 2)) & np.isfinite(self._Z).all(axis=(1, 2)))
        after = np.where(lost, self._settings.steps, -1)
        return {
            "loss": self._loss,
            "Z": self._Z[:, :, : self._num_tokens],
            "diverged_at": np.where(bad.any(axis=1), bad.argmax(axis=1), after),
        }

    def _climb(self, rate: int, first: int) -> None:
        samples, q = self._batch
        number = self._dtype.type
        lr_y, lr_z = self._settings.rates[rate]
        climb(
            self._Y[rate], self._Z[rate], self._velocity_Y[rate], self._velocity_Z[rate],
            number(lr_y), number(lr_z), number(self._settings.momentum), samples, q,
            self._supports, self._query_row, self._target, self._log_multiplicity, self._per_output,
            self._loss[rate, first : first + CHUNK],
        )  # fmt: skip


def _counter_of(classes: SequenceClasses, settings: Settings) -> CompiledCounter | None:
    if settings.rng != "counter" or settings.batch_size is None:
        return None
    return CompiledCounter(classes, settings.seeds[0], settings.batch_size, settings.seq_len)


def _supports(probs: Floats) -> tuple[Ints, NDArray[np.bool_]]:
    """The places of each class's support on the L tokens, filled up with places beyond them, and which are filled."""
    own = [np.flatnonzero(row) for row in probs]
    size = -(-max(map(len, own)) // TOGETHER) * TOGETHER
    beyond = probs.shape[1] + np.arange(size) % TOGETHER
    supports, held = np.tile(beyond, (len(own), 1)), np.zeros((len(own), size), dtype=bool)
    for n, places in enumerate(own):
        supports[n, : len(places)], held[n, : len(places)] = places, True
    return supports, held
