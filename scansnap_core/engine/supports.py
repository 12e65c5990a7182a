"""Unit steps of the true flow for large systems, on the classes' supports alone, compiled for a CPU.

:class:`SupportRun` does what ``train(classes, batch_size=None, seq_len=inf)`` does from Y(0) = Z(0) = 0, and
:func:`scansnap_core.engine.model.gradients` is the reference to read and to test against. There a step multiplies
matrices of all K classes by all L tokens, though class n has f_nl = 0 off its support. Here a class meets the rows of Y
that it holds and no others: 6 S O operations a class, with S tokens of its own and O outputs, instead of 6 L O.

One step goes over Y once. A distinct token's row belongs to one class, so it moves as soon as that class's logits and
error are known, while it is still in the cache. Common tokens' rows wait until every class has read them.

Axes: L tokens, O outputs (K classes, and one column for the outputs that are no class), and the *places* of P: its
nonzero entries, class by class.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np
from scipy import sparse

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import Floats, SequenceClasses
from scansnap_core.extras import needs
from scansnap_core.rules import check_rate

with needs("sweeps"):
    from numba import njit

PARTS = 8
"""Into how many pieces a step's work is cut for an executor."""
COLUMNS = 64
"""Outputs that common rows are moved in together: their rows stay in the fastest cache over all classes."""
REORDERED = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered, as vector registers need; NaN and infinity stay what they are.

A loop either stores or sums, never both. Before a loop that stores, the program looks how far apart its arrays are, and
takes them one by one where registers would overlap; a sum in such a loop would be rounded in an order that depends on
where malloc put the arrays.
"""


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
        A rate that is not positive and finite; a system whose Y can't be held in memory.
    """

    def __init__(self, classes: SequenceClasses, lr_y: float, lr_z: float) -> None:
        check_rate("lr_y", lr_y)
        check_rate("lr_z", lr_z)
        probs, K, L = classes.sparse_probs, classes.num_classes, len(classes.tokens)
        outputs = classes.outputs
        try:
            self.Y, self._moves = np.zeros((L, len(outputs))), np.zeros((K, len(outputs)))
        except MemoryError:
            raise BadInput(
                value=f"K = {K} classes that hold L = {L} tokens",
                rule=f"Y takes {8 * L * len(outputs) / 2**30:.2g} GiB, and it is held in memory",
                remedy="use fewer classes or smaller supports",
            ) from None
        self._lr_y, self._lr_z = lr_y / K, lr_z / K
        self._log_multiplicity, self._per_output = np.log(outputs.multiplicity), 1 / outputs.multiplicity
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
                first, last, self.Y, z, self._starts, self._q, self._rows, self._is_own, self._target,
                self._log_multiplicity, self._per_output, self._lr_y, self._f, self._moves, self._dz, self._loss,
            )  # fmt: skip

        def columns(first: int, last: int) -> None:
            _climb_common(first, last, self.Y, self._common, self._rows, self._class_of, self._f, self._moves)

        _share(classes, len(self._target), threads)
        _share(columns, self.Y.shape[1], threads)
        with np.errstate(over="ignore", invalid="ignore"):  # the losses tell
            self._z += self._lr_z * np.bincount(self._cell_of, self._dz)
        return float(self._loss.mean())


def _share(work: Callable[[int, int], None], size: int, threads: Executor | None) -> None:
    """Do all of 0..size-1: in one piece, or in parts among threads."""
    cuts = np.linspace(0, size, 2 if threads is None else PARTS + 1).astype(int).tolist()
    list((map if threads is None else threads.map)(work, cuts[:-1], cuts[1:]))  # the maps are lazy


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _attend(q: Any, z: Any, f: Any) -> None:  # pragma: no cover
    """f of one class, on its support."""
    top = z.max()
    squares = 0.0
    for s in range(f.size):
        f[s] = q[s] * np.exp(z[s] - top)
    for s in range(f.size):
        squares += f[s] * f[s]
    f /= np.sqrt(squares)


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _err(error: Any, hit: Any) -> Any:  # pragma: no cover
    """Turn logits into x_{T+1} - alpha; returns the loss."""
    top = error.max()
    loss = top - error[hit]
    summed = 0.0
    for o in range(error.size):
        error[o] = np.exp(error[o] - top)
    for o in range(error.size):
        summed += error[o]
    for o in range(error.size):
        error[o] /= -summed
    error[hit] += 1.0
    return loss + np.log(summed)


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _climb_classes(
    first: Any, last: Any, Y: Any, z: Any, starts: Any, q: Any, rows: Any, is_own: Any, target: Any,
    log_multiplicity: Any, per_output: Any, lr_y: Any, f: Any, moves: Any, dz: Any, loss: Any,
) -> None:  # fmt: skip # pragma: no cover
    """Classes first..last-1: their f, errors (as ``moves`` of Y) and dz; and their distinct tokens' rows of Y moved."""
    O = Y.shape[1]  # noqa: E741
    error = np.empty(O)
    for n in range(first, last):
        here = slice(starts[n], starts[n + 1])
        f_n, g, held, own, move = f[here], dz[here], rows[here], is_own[here], moves[n]
        _attend(q[here], z[here], f_n)
        error[:] = log_multiplicity
        for s in range(held.size):
            y, weight = Y[held[s]], f_n[s]
            for o in range(O):
                error[o] += weight * y[o]
        loss[n] = _err(error, target[n])
        for o in range(O):
            move[o] = lr_y * error[o] * per_output[o]
        for s in range(held.size):
            y, weight = Y[held[s]], f_n[s]
            along = 0.0
            for o in range(O):
                along += error[o] * y[o]
            if own[s]:
                for o in range(O):
                    y[o] += weight * move[o]
            g[s] = along
        along = 0.0
        for s in range(held.size):
            along += f_n[s] * g[s]
        for s in range(held.size):
            g[s] = f_n[s] * (g[s] - f_n[s] * along)


@njit(nogil=True, cache=True, fastmath=REORDERED, error_model="numpy")
def _climb_common(
    first: Any, last: Any, Y: Any, places: Any, rows: Any, class_of: Any, f: Any, moves: Any
) -> None:  # pragma: no cover
    """Move the common tokens' rows of Y in columns first..last-1."""
    for start in range(first, last, COLUMNS):
        end = min(start + COLUMNS, last)
        for place in places:
            y, move, weight = Y[rows[place], start:end], moves[class_of[place], start:end], f[place]
            for o in range(y.size):
                y[o] += weight * move[o]
