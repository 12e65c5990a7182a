"""Train with compiled code: runs of one seed at many rates, and large systems under the true
gradient.

Both make the same step (:mod:`scansnap_core.engine.kernel`) on the classes' supports alone, and
:func:`scansnap_core.engine.training.train` is the reference to test them against. Neither imports
PyTorch.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from scipy import sparse

from scansnap_core.base.rules import RATE, check_memory, takes, whole
from scansnap_core.data.sequences import Floats, Ints, SequenceClasses
from scansnap_core.engine.compiled_draws import ByCounter
from scansnap_core.engine.draws import Draws, Fresh, draws_of
from scansnap_core.engine.kernel import climb, climb_classes, climb_common, prepare
from scansnap_core.engine.results import TrainingDiverged
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.starts import initial_values

CHUNK = 128
"""Samples are drawn for this many steps at a time; they take CHUNK x B x S numbers."""
PARTS = 8
"""A step of a large system is cut into this many pieces for an executor."""
COLUMNS = 256
"""Common rows are moved for this many outputs at a time, so that the errors stay in a fast
cache.
"""
CACHE_LINE = 64
"""Bytes that today's processors load at once."""


def num_threads() -> int:
    """Return OMP_NUM_THREADS, as NumPy and PyTorch do, or else the number of cores of this
    process.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(os.environ.get("OMP_NUM_THREADS", "").split(",")[0] or cores or 1)


class SharedRuns:
    """Runs of one seed by SGD with or without momentum, one for each pair of rates.

    They share their samples. A run's result doesn't depend on the other runs, nor on the threads
    that :meth:`finish` is given, to the last bit.

    Parameters
    ----------
    classes, settings
        What is trained, and how, with a single seed. Without a batch size, an update is that of the
        expectation over equally frequent classes.
    """

    def __init__(self, classes: SequenceClasses, settings: Settings) -> None:
        """Lay out what the compiled step reads, for R pairs of rates: Y (R, L, O), Z (R, Q, L),
        their velocities, and the places of P class by class.
        """
        if settings.batch_size is None:
            classes.check_uniform("a compiled expectation")
        prepare()
        self._settings = settings
        self._dtype = np.dtype(settings.dtype)

        # Draws by counter have code of their own; a source is needed for the initial values.
        self._counter: ByCounter | None = None
        if settings.rng == "counter" and settings.batch_size is not None:
            self._counter = ByCounter(classes, settings.seeds[0], settings.seq_len)
            self._source: Draws = Fresh(classes, settings.seeds, 0, math.inf)
        else:
            self._source = draws_of(classes, settings)

        # All runs begin with the same values: one copy for each pair of rates.
        first_Y, first_Z, outputs = initial_values(classes, settings, self._source, classes.tokens)
        runs = len(settings.rates)
        self._Z = np.tile(first_Z[0], (runs, 1, 1)).astype(self._dtype)
        self._velocity_Z = np.zeros_like(self._Z)

        # Y's rows are filled up to whole cache lines by outputs that no softmax sees: each stands
        # for exp(-inf) = 0 outputs, and moves 0 times as fast.
        num_tokens, num_outputs = first_Y.shape[-2:]
        self._Y = _zeros_in_lines((runs, num_tokens, num_outputs), self._dtype)
        self._Y[..., :num_outputs] = first_Y[0]
        self._velocity_Y = _zeros_in_lines((runs, num_tokens, num_outputs), self._dtype)
        width = self._Y.shape[2]
        self._log_multiplicity = np.full(width, -np.inf, self._dtype)
        self._log_multiplicity[:num_outputs] = np.log(outputs.multiplicity)
        self._per_output = np.zeros(width, self._dtype)
        self._per_output[:num_outputs] = 1 / outputs.multiplicity

        # These are copies, because arrays from another process can be read-only, which is another
        # type to Numba.
        probs = classes.sparse_probs
        self._starts = probs.indptr.astype(np.int64)
        self._rows = probs.indices.astype(np.int64)
        self._query_row = np.array(classes.compact.query_row)
        self._target = np.array(outputs.columns)

        # Each class's rows, padded with 0 to the largest class's S, shape (K, S); `_held` is True
        # where a row is real and False where it is padding.
        sizes = np.diff(self._starts)[:, None]
        self._held = np.arange(sizes.max()) < sizes
        self._supports = np.zeros(self._held.shape, np.int64)
        self._supports[self._held] = self._rows
        self._loss = np.empty((len(settings.rates), settings.steps), self._dtype)

    def _sample(self, first: int) -> tuple[Ints, Floats]:
        """Draw the samples of up to CHUNK steps from ``first`` on.

        Returns
        -------
        The classes, ascending in each step, shape (steps, B), and their token frequencies q on the
        padded supports, shape (steps, B, S).
        """
        num_steps = min(CHUNK, self._settings.steps - first)
        S = self._supports.shape[1]
        if self._counter is not None:
            q = np.zeros((num_steps, self._settings.batch_size or 0, S), self._dtype)
            return self._counter.steps(self._settings.start + first, q), q

        samples = []
        frequencies = []
        for _ in range(num_steps):
            # A source draws for several seeds; here there is one.
            drawn, q = self._source.batch()
            order = np.argsort(drawn[0], kind="stable")
            n = drawn[0][order]
            on_support = q[0][order[:, None], self._supports[n]]
            samples.append(n)
            frequencies.append(np.where(self._held[n], on_support, 0).astype(self._dtype))
        return np.stack(samples), np.stack(frequencies)

    def finish(self, threads: Executor | None = None) -> dict[str, np.ndarray]:
        """Make all updates, and return the results. It may be called once.

        The rates are divided among ``threads``, such as a ``ThreadPoolExecutor``'s.

        Returns
        -------
        ``loss`` (rate, step), -J before each update in nats; ``Z`` (rate, query, token) after the
        last update; and ``diverged_at`` (rate), the first step whose loss isn't finite. It is the
        number of steps if all losses are finite and the last update overflows, and -1 if the run
        didn't diverge.
        """
        number = self._dtype.type
        rates = self._settings.rates
        for first in range(0, self._settings.steps, CHUNK):
            samples, q = self._sample(first)

            def climb_at(
                rate: int, first: int = first, samples: Ints = samples, q: Floats = q
            ) -> None:
                """Train the run at one pair of rates for CHUNK steps, from step ``first`` on.

                ``samples`` are the steps' classes and ``q`` their token frequencies, the same for
                all rates. Y, Z, their velocities and the losses of these steps are written in
                place, in slices of this pair's own, so that threads don't meet. The numbers get
                the arrays' dtype, because a float64 would turn float32 sums into float64.
                """
                lr_y, lr_z = rates[rate]
                climb(
                    self._Y[rate],
                    self._Z[rate],
                    self._velocity_Y[rate],
                    self._velocity_Z[rate],
                    number(lr_y),
                    number(lr_z),
                    number(self._settings.momentum),
                    samples,
                    q,
                    self._starts,
                    self._rows,
                    self._query_row,
                    self._target,
                    self._log_multiplicity,
                    self._per_output,
                    self._loss[rate, first : first + CHUNK],
                )

            # list() runs the map, which is lazy.
            list((map if threads is None else threads.map)(climb_at, range(len(rates))))

        # A run diverged at the first step whose loss isn't finite. The last update can overflow
        # after the last loss was finite.
        bad = ~np.isfinite(self._loss)
        lost = ~(np.isfinite(self._Y).all(axis=(1, 2)) & np.isfinite(self._Z).all(axis=(1, 2)))
        after = np.where(lost, self._settings.steps, -1)
        diverged_at = np.where(bad.any(axis=1), bad.argmax(axis=1), after)
        return {"loss": self._loss, "Z": self._Z, "diverged_at": diverged_at}


class SupportRun:
    """One run of gradient descent from Y(0) = Z(0) = 0, by Lemma 1's expectation at T = infinity.

    **Clock**: a step is one update by the expected gradient, in which each class has the weight
    P(n) = 1/K. In expectation it moves as far as an SGD step of any batch size, the paper's t.

    Parameters
    ----------
    classes
        Equally frequent classes (``train`` takes others). Memory is about 8 (L + K)(K + 1) bytes,
        whatever M is.

    Attributes
    ----------
    Y : ndarray
        Shape (L, O): rows are ``classes.tokens``. Columns are the classes in their order, and then
        one that stands for each of the M - K outputs that name no class, if there are any.
        :meth:`advance` changes it.
    """

    @takes(lr_y=RATE, lr_z=RATE)
    def __init__(self, classes: SequenceClasses, lr_y: float, lr_z: float) -> None:
        """Lay out what the compiled step reads: Y (L, O), the entries of Z that move, and the
        places of P class by class.

        Rates are eta_Y and eta_Z per step, in which a class weighs 1/K.
        """
        classes.check_uniform("a run on supports")
        probs = classes.sparse_probs
        K = classes.num_classes
        L = len(classes.tokens)
        outputs = classes.outputs
        check_memory(f"K = {K} classes that hold L = {L} tokens", 8.0 * (L + K) * len(outputs))
        self.Y = np.zeros((L, len(outputs)))
        self._errors = np.zeros((K, len(outputs)))
        self._lr_z = lr_z / K
        self._log_multiplicity = np.log(outputs.multiplicity)
        self._scale = lr_y / K / outputs.multiplicity
        self._starts = probs.indptr.astype(np.int64)
        self._rows = probs.indices.astype(np.int64)
        self._q = probs.data.copy()
        self._target = np.arange(K)

        # The places of tokens that several classes hold, sorted by token.
        self._class_of = np.repeat(self._target, np.diff(self._starts))
        self._is_own = np.bincount(self._rows)[self._rows] == 1
        common = np.flatnonzero(~self._is_own)
        self._common = common[np.argsort(self._rows[common], kind="stable")]
        self._tokens, firsts = np.unique(self._rows[self._common], return_index=True)
        self._ends = np.append(firsts, len(common))

        # The entries of Z that move. Classes with one query share those of their common tokens.
        query_row = np.unique(classes.query_of, return_inverse=True)[1]
        self._cells, self._cell_of = np.unique(
            query_row[self._class_of] * L + self._rows, return_inverse=True
        )
        self._z = np.zeros(len(self._cells))
        self._shape_Z = (int(query_row.max()) + 1, L)
        self._f = np.zeros(probs.nnz)
        self._dz = np.zeros(probs.nnz)
        self._loss = np.zeros(K)

    @property
    def Z(self) -> sparse.csr_array:
        """Return the entries of Z that move, shape (Q, L).

        Rows are the distinct query tokens, and columns ``classes.tokens``, both ascending.
        """
        places = np.divmod(self._cells, self._shape_Z[1])
        return sparse.csr_array((self._z.copy(), places), shape=self._shape_Z)

    @property
    def operations(self) -> int:
        """Count the multiplications and additions with Y in a step: 6 for every place and
        output.
        """
        return 6 * len(self._q) * self.Y.shape[1]

    @takes(steps=whole())
    def advance(self, steps: int, threads: Executor | None = None) -> Floats:
        """Make further steps, and return -J before each, the mean over classes in nats, (steps,).

        A step's work is divided among ``threads``, such as a ``ThreadPoolExecutor``'s, which
        doesn't change the result. If rates are too large, everything becomes NaN, and
        :class:`TrainingDiverged` warns.
        """
        loss = np.array([self._step(threads) for _ in range(steps)])
        if not np.isfinite(loss).all():
            message = (
                f"the run turned NaN at step {np.argmin(np.isfinite(loss))} of {steps}; use "
                "smaller rates"
            )
            warnings.warn(message, TrainingDiverged, stacklevel=3)
        return loss

    def _step(self, threads: Executor | None) -> float:
        """Make one step, and return -J before it, in nats.

        No two parts of the work write to one place. First each class moves the rows of Y that it
        alone holds; when all have read the common rows, these are moved, by columns. Last, z
        moves.
        """
        z = self._z[self._cell_of]

        def move_own_rows(first: int, last: int) -> None:
            """Compute the gradients of classes first..last-1, and move the rows that one holds."""
            climb_classes(
                first,
                last,
                self.Y,
                z,
                self._starts,
                self._q,
                self._rows,
                self._is_own,
                self._target,
                self._log_multiplicity,
                self._scale,
                self._f,
                self._errors,
                self._dz,
                self._loss,
            )

        def move_common_rows(first: int, last: int) -> None:
            """Move the rows that several classes hold, on the columns first..last-1."""
            for start in range(first, last, COLUMNS):
                climb_common(
                    start,
                    min(start + COLUMNS, last),
                    self.Y,
                    self._tokens,
                    self._ends,
                    self._common,
                    self._class_of,
                    self._f,
                    self._errors,
                )

        _share(move_own_rows, len(self._target), threads)
        _share(move_common_rows, self.Y.shape[1], threads)

        # An entry of Z gets the sum over the classes that share it. Whether the run diverged is
        # seen in the losses.
        with np.errstate(over="ignore", invalid="ignore"):
            self._z += self._lr_z * np.bincount(self._cell_of, self._dz)
        return float(self._loss.mean())


def _zeros_in_lines(shape: tuple[int, int, int], dtype: np.dtype) -> np.ndarray:
    """Make zeros whose rows begin where a cache line begins, and fill whole lines.

    The last axis gets longer for that. Vectors then never lie across two lines, and loops have no
    rest that is shorter than a vector.
    """
    *outer, num_columns = shape
    per_line = CACHE_LINE // dtype.itemsize
    width = math.ceil(num_columns / per_line) * per_line
    size = math.prod(outer) * width

    # One line more than is needed, so that the first numbers can be left out up to a line's begin.
    room = np.zeros(size + per_line, dtype)
    first = -room.ctypes.data % CACHE_LINE // dtype.itemsize
    return room[first : first + size].reshape(*outer, width)


def _share(work: Callable[[int, int], None], size: int, threads: Executor | None) -> None:
    """Do the work for 0..size-1 in one piece, or in parts among threads."""
    num_parts = 1 if threads is None else PARTS
    cuts = np.linspace(0, size, num_parts + 1).astype(int).tolist()
    # list() runs the map, which is lazy.
    list((map if threads is None else threads.map)(work, cuts[:-1], cuts[1:]))
