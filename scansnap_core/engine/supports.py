"""Unit steps of the true flow for large systems, on the classes' supports alone, compiled for a CPU.

:class:`SupportRun` does what ``train(classes, batch_size=None, seq_len=inf)`` does from Y(0) = Z(0) = 0, and
:func:`scansnap_core.engine.model.gradients` is the reference to read and to test against. There a step multiplies
matrices of all K classes by all L tokens, though class n has f_nl = 0 off its support. Here a class meets the rows of Y
that it holds and no others: 6 S O operations a class, with S tokens of its own and O outputs, instead of 6 L O.

One step goes over Y once. A distinct token's row belongs to one class, so it moves as soon as that class's logits and
error are known, while it is still in the cache. Common tokens' rows wait until every class has read them.

Axes: L tokens, O outputs (K classes, and one column for the outputs that are no class), and the *places* of P: its
nonzero entries, class by class. Columns that fill O up to a multiple of 16 have the logit minus infinity and stay 0.
All sums go in the order of :mod:`scansnap_core.engine.vectors`, whatever registers a processor has.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.engine.compiling import compiled_for_cpu
from scansnap_core.engine.vectors import (
    LANES,
    add_product,
    exp,
    larger,
    largest,
    load,
    minus,
    plus,
    product,
    splat,
    store,
    total,
)
from scansnap_core.rules import check_rate

PARTS = 8
"""Into how many pieces a step's work is cut for an executor."""
CACHE_LINE = 64
"""Bytes."""
COLUMNS = 64
"""Outputs that common rows are moved in together: their rows stay in the fastest cache over all classes, whose moves
lie one behind the other."""


class SupportRun:
    """One run of the true flow's unit steps from Y(0) = Z(0) = 0: Lemma 1's gradients in expectation at T = infinity.

    **Clock**: a step is one update by the expected gradient, each class weighed by P(n) = 1/K; in expectation it moves
    as far as an SGD step of any batch size, the paper's t.

    Parameters
    ----------
    classes
        The data. Memory: 8 (L + K)(K + 1) bytes, nearly, and nothing that grows with M.
    lr_y, lr_z
        eta_Y and eta_Z.

    Attributes
    ----------
    Y : ndarray
        Shape (L, O): rows are ``classes.tokens``, columns the classes in their order, and then one for each of the
        M - K outputs that are no class, if there are any. It moves with :meth:`advance`.

    Raises
    ------
    BadInput
        A rate that is not positive and finite; a system whose Y can't be held in memory, or whose classes aren't
        equally frequent (``train`` takes these).
    """

    def __init__(self, classes: SequenceClasses, lr_y: float, lr_z: float) -> None:
        check_rate("lr_y", lr_y)
        check_rate("lr_z", lr_z)
        classes.check_uniform("a run on supports")
        probs, K, L = classes.sparse_probs, classes.num_classes, len(classes.tokens)
        outputs = classes.outputs
        width = -(-len(outputs) // LANES) * LANES
        try:
            self._padded_Y, self._moves = _zeros(L, width), _zeros(-(-width // COLUMNS), K, COLUMNS)
        except MemoryError:
            raise BadInput(
                value=f"K = {K} classes that hold L = {L} tokens",
                rule=f"Y takes {8 * L * len(outputs) / 2**30:.2g} GiB, and it is held in memory",
                remedy="use fewer classes or smaller supports",
            ) from None
        self._lr_y, self._lr_z = lr_y / K, lr_z / K
        self.Y = self._padded_Y[:, : len(outputs)]
        self._log_multiplicity, self._per_output = np.full(width, -np.inf), np.zeros(width)
        self._log_multiplicity[: len(outputs)] = np.log(outputs.multiplicity)
        self._per_output[: len(outputs)] = 1 / outputs.multiplicity
        self._starts, self._rows = probs.indptr.astype(np.int64), probs.indices.astype(np.int64)
        self._q, self._target = probs.data.copy(), np.arange(K)
        self._class_of = np.repeat(self._target, np.diff(self._starts))
        self._is_own = np.bincount(self._rows)[self._rows] == 1
        self._common = np.flatnonzero(~self._is_own)
        # the entries of Z that move, each of which several classes of one query may share
        query_row = np.unique(classes.query_of, return_inverse=True)[1]
        self._cells, self._cell_of = np.unique(query_row[self._class_of] * L + self._rows, return_inverse=True)
        self._z = np.zeros(len(self._cells))
        self._shape_Z = (int(query_row.max()) + 1, L)
        self._f, self._dz, self._loss = np.zeros(probs.nnz), np.zeros(probs.nnz), np.zeros(K)

    @property
    def Z(self) -> sparse.csr_array:
        """Shape (Q, L): the entries that move, at the distinct query tokens and ``classes.tokens``, ascending."""
        return sparse.csr_array((self._z.copy(), np.divmod(self._cells, self._shape_Z[1])), shape=self._shape_Z)

    @property
    def operations(self) -> int:
        """Multiplications and additions in a step's products with Y: 6 for every place and output."""
        return 6 * len(self._q) * self.Y.shape[1]

    def advance(self, steps: int, threads: Executor | None = None) -> Floats:
        """Make steps from where the run stands.

        Parameters
        ----------
        steps
            How many.
        threads
            Where a step's work is shared out, such as a ``ThreadPoolExecutor``. It doesn't change a bit of the result.

        Returns
        -------
        ndarray
            -J before each step, the mean over classes in nats, shape (steps,).

        Raises
        ------
        BadInput
            ``steps`` is not a positive integer.

        Warns
        -----
        TrainingDiverged
            The rates are too large: from some step on everything is NaN.
        """
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
            raise BadInput(value=f"steps = {steps!r}", rule="a positive integer", remedy="pass e.g. 100")
        loss = np.array([self._step(threads) for _ in range(steps)])
        if not np.isfinite(loss).all():
            from scansnap_core.engine.training import (
                TrainingDiverged,  # torch would take more memory than most systems here
            )

            warnings.warn(
                f"the run turned NaN at step {np.argmin(np.isfinite(loss))} of {steps}; use smaller rates",
                TrainingDiverged,
                stacklevel=2,
            )
        return loss

    def _step(self, threads: Executor | None) -> float:
        z = self._z[self._cell_of]

        def classes(first: int, last: int) -> None:
            _climb_classes(
                first, last, self._padded_Y, z, self._starts, self._q, self._rows, self._is_own, self._target,
                self._log_multiplicity, self._per_output, self._lr_y, self._f, self._moves, self._dz, self._loss,
                _zeros(2, self._padded_Y.shape[1]),
            )  # fmt: skip

        def blocks(first: int, last: int) -> None:
            _climb_common(first, last, self._padded_Y, self._common, self._rows, self._class_of, self._f, self._moves)

        _share(classes, len(self._target), threads)
        _share(blocks, len(self._moves), threads)
        with np.errstate(over="ignore", invalid="ignore"):  # the losses tell
            self._z += self._lr_z * np.bincount(self._cell_of, self._dz)
        return float(self._loss.mean())


def _zeros(*shape: int) -> Floats:
    """Zeros that begin where a cache line does, so that no register's numbers lie on more than they must."""
    size = math.prod(shape)
    held = np.zeros(size + CACHE_LINE // 8)
    first = -held.ctypes.data % CACHE_LINE // 8
    return held[first : first + size].reshape(shape)


def _share(work: Callable[[int, int], None], size: int, threads: Executor | None) -> None:
    """Do all of 0..size-1: in one piece, or in parts among threads."""
    cuts = np.linspace(0, size, 2 if threads is None else PARTS + 1).astype(int).tolist()
    list((map if threads is None else threads.map)(work, cuts[:-1], cuts[1:]))  # the maps are lazy


@compiled_for_cpu
def _attend(q: Any, z: Any, f: Any) -> None:  # pragma: no cover
    """f of one class, on its support."""
    top = z.max()
    squares = 0.0
    for s in range(f.size):
        f[s] = q[s] * np.exp(z[s] - top)
        squares += f[s] * f[s]
    for s in range(f.size):
        f[s] /= np.sqrt(squares)


@compiled_for_cpu
def _decode(f: Any, Y: Any, held: Any, log_multiplicity: Any, logits: Any) -> Any:  # pragma: no cover
    """The logits f Y of one class, from four rows of Y at a time; returns the largest."""
    logits[:] = log_multiplicity
    in_fours = held.size - held.size % 4
    for s in range(0, in_fours, 4):
        y0, y1, y2, y3 = Y[held[s]], Y[held[s + 1]], Y[held[s + 2]], Y[held[s + 3]]
        f0, f1, f2, f3 = splat(f[s]), splat(f[s + 1]), splat(f[s + 2]), splat(f[s + 3])
        for o in range(0, logits.size, LANES):
            a = add_product(add_product(load(logits, o), f0, load(y0, o)), f1, load(y1, o))
            store(logits, o, add_product(add_product(a, f2, load(y2, o)), f3, load(y3, o)))
    for s in range(in_fours, held.size):
        y, weight = Y[held[s]], splat(f[s])
        for o in range(0, logits.size, LANES):
            store(logits, o, add_product(load(logits, o), weight, load(y, o)))
    top = splat(-np.inf)
    for o in range(0, logits.size, LANES):
        top = larger(top, load(logits, o))
    return largest(top)


@compiled_for_cpu
def _err(error: Any, top: Any, hit: Any, lr_y: Any, per_output: Any, move: Any) -> Any:  # pragma: no cover
    """Turn logits into x_{T+1} - alpha, and into the ``move`` of a row of Y with weight 1; returns the loss."""
    lost = top - error[hit]
    high, summed = splat(top), splat(0.0)
    for o in range(0, error.size, LANES):
        e = exp(minus(load(error, o), high))
        store(error, o, e)
        summed = plus(summed, e)
    scale, rate = splat(-1.0 / total(summed)), splat(lr_y)
    for o in range(0, error.size, LANES):
        e = product(load(error, o), scale)
        store(error, o, e)
        store(move, o, product(product(rate, e), load(per_output, o)))
    error[hit] += 1.0
    move[hit] = lr_y * error[hit] * per_output[hit]
    return lost + np.log(total(summed))


@compiled_for_cpu
def _along(y: Any, error: Any) -> Any:  # pragma: no cover
    """y . error."""
    along = splat(0.0)
    for o in range(0, y.size, LANES):
        along = add_product(along, load(y, o), load(error, o))
    return total(along)


@compiled_for_cpu
def _along_and_climb(y: Any, error: Any, weight: Any, move: Any) -> Any:  # pragma: no cover
    """y . error, and then y += weight move, in one pass over y."""
    along, weights = splat(0.0), splat(weight)
    for o in range(0, y.size, LANES):
        before = load(y, o)
        along = add_product(along, before, load(error, o))
        store(y, o, add_product(before, weights, load(move, o)))
    return total(along)


@compiled_for_cpu
def _climb_classes(
    first: Any, last: Any, Y: Any, z: Any, starts: Any, q: Any, rows: Any, is_own: Any, target: Any,
    log_multiplicity: Any, per_output: Any, lr_y: Any, f: Any, moves: Any, dz: Any, loss: Any, scratch: Any,
) -> None:  # fmt: skip # pragma: no cover
    """Classes first..last-1: their f, errors (as ``moves`` of Y) and dz; and their distinct tokens' rows of Y moved."""
    error, move = scratch
    for n in range(first, last):
        here = slice(starts[n], starts[n + 1])
        f_n, g, held, own = f[here], dz[here], rows[here], is_own[here]
        _attend(q[here], z[here], f_n)
        top = _decode(f_n, Y, held, log_multiplicity, error)
        loss[n] = _err(error, top, target[n], lr_y, per_output, move)
        for o in range(0, move.size, LANES):
            store(moves[o // COLUMNS, n], o % COLUMNS, load(move, o))
        along = 0.0
        for s in range(held.size):
            y = Y[held[s]]
            g[s] = _along_and_climb(y, error, f_n[s], move) if own[s] else _along(y, error)
            along += f_n[s] * g[s]
        for s in range(held.size):
            g[s] = f_n[s] * (g[s] - f_n[s] * along)


@compiled_for_cpu
def _climb_common(
    first: Any, last: Any, Y: Any, places: Any, rows: Any, class_of: Any, f: Any, moves: Any
) -> None:  # pragma: no cover
    """Move the common tokens' rows of Y in blocks first..last-1 of columns."""
    for block in range(first, last):
        start, end = block * COLUMNS, min((block + 1) * COLUMNS, Y.shape[1])
        for place in places:
            y, move, weight = Y[rows[place]], moves[block, class_of[place]], splat(f[place])
            for o in range(start, end, LANES):
                store(y, o, add_product(load(y, o), weight, load(move, o - start)))
