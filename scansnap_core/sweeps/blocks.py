"""What a sweep computes at a time and keeps: a block, and how blocks make one labelled data set."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.compiled import SharedRuns
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.training import TrainingDiverged, train
from scansnap_core.storage.store import Layout, Variable
from scansnap_core.sweeps.grids import Grid
from scansnap_core.theory import measures

RATES_PER_BLOCK = 64
"""Runs of one seed share data, so they are computed together; more of them make a block that is lost when killed."""
BLOCK_DIMS = ("data", "optimizer", "seq_len", "batch_size", "seed", "rate")
FILE_SYSTEM_BLOCK = 4096
"""Bytes: what a file takes at least."""


@dataclass(frozen=True)
class Block:
    """The runs of one class system, optimiser, T, B and seed, at one or several rates: it knows all they need.

    Parameters
    ----------
    number
        Its place in the store.
    classes, seed
        What the runs share.
    arguments
        Those of :func:`~scansnap_core.engine.training.train`.
    """

    number: int
    classes: SequenceClasses
    seed: int
    arguments: dict[str, Any]

    @property
    def num_runs(self) -> int:
        """How many runs it holds."""
        return len(self.arguments["lr_y"])

    def start(self) -> SharedRuns | None:
        """Draw the first samples for the compiled program, where it serves: on a CPU, without Adam."""
        if self.arguments["device"] != "cpu" or self.arguments["optimizer"] == "adam":
            return None
        return SharedRuns(self.classes, Settings.checked(**self.arguments, seeds=[self.seed]))

    def finish(self, started: SharedRuns | None, threads: ThreadPoolExecutor | None = None) -> dict[str, np.ndarray]:
        """Train what :meth:`start` returned.

        Returns
        -------
        dict
            ``entropy`` (rate, class), ``final_loss`` (rate), ``diverged_at`` (rate) and ``Z`` (rate, query, token) on
            the axes of the classes' :class:`~scansnap_core.data.sequences.Compact`; see :func:`layout_of`.
        """
        values = self._train() if started is None else started.finish(threads)
        labels = {"query": self.classes.compact.queries, "token": self.classes.compact.tokens}
        Z = xr.DataArray(values["Z"], dims=("rate", "query", "token"), coords=labels)
        with np.errstate(invalid="ignore"):  # a diverged run has no attention
            entropy = measures.entropy(measures.attention(Z, self.classes), self.classes)
        return {
            "entropy": entropy.values,
            "final_loss": values["loss"][:, -1],
            "diverged_at": values["diverged_at"],
            "Z": values["Z"],
        }

    def compute(self) -> dict[str, np.ndarray]:
        """All of it, in this thread."""
        return self.finish(self.start())

    def _train(self) -> dict[str, np.ndarray]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingDiverged)  # diverged_at tells of it
            result = train(self.classes, seeds=[self.seed], **self.arguments).isel(seed=0, recorded=0)
        return {name: result[name].values for name in ("loss", "diverged_at", "Z")}


def layout_of(grid: Grid) -> Layout:
    """The labelled arrays that a grid's results fill, NaN where a class system has no such class, query or token."""
    compacts = [classes.compact for classes in grid.data.values()]
    labels = xr.Dataset(
        coords={
            "data": list(grid.data),
            "vocab_size": ("data", [classes.vocab_size for classes in grid.data.values()]),
            "num_classes": ("data", [classes.num_classes for classes in grid.data.values()]),
            "optimizer": list(grid.optimizers),
            "seq_len": [float(seq_len) for seq_len in grid.seq_lens],
            "batch_size": [str(size or "expectation") for size in grid.batch_sizes],
            "seed": list(grid.seeds),
            "lr_y": ("rate", [lr_y for lr_y, _ in grid.rates], {"units": "per step"}),
            "lr_z": ("rate", [lr_z for _, lr_z in grid.rates], {"units": "per step"}),
            "class": np.arange(max(classes.num_classes for classes in grid.data.values())),
            "query": np.unique(np.concatenate([compact.queries for compact in compacts])),
            "token": np.unique(np.concatenate([compact.tokens for compact in compacts])),
        }
    )
    end = f"after {grid.steps} updates"
    last_loss = {"units": "nats", "long_name": "loss before the last update"}
    lost = {"units": "steps", "long_name": "the first step whose loss isn't finite, or -1"}
    return Layout(
        labels=labels,
        variables={
            "entropy": Variable((*BLOCK_DIMS, "class"), grid.dtype, {"units": "nats", "long_name": f"H_n {end}"}),
            "final_loss": Variable(BLOCK_DIMS, grid.dtype, last_loss),
            "diverged_at": Variable(BLOCK_DIMS, "int64", lost),
            "Z": Variable((*BLOCK_DIMS, "query", "token"), grid.dtype, {"units": "logits", "long_name": f"Z {end}"}),
        },
        block_sizes=dict.fromkeys(BLOCK_DIMS[:-1], 1) | {"rate": min(RATES_PER_BLOCK, len(grid.rates))},
    )


def blocks(grid: Grid, device: str) -> Iterator[Block]:
    """The blocks of a grid in the order of their numbers, to be trained on a device."""
    chunks = [slice(first, first + RATES_PER_BLOCK) for first in range(0, len(grid.rates), RATES_PER_BLOCK)]
    axes = (grid.data.values(), grid.optimizers, grid.seq_lens, grid.batch_sizes, grid.seeds, chunks)
    for number, (classes, optimizer, seq_len, batch_size, seed, chunk) in enumerate(itertools.product(*axes)):
        arguments = grid.arguments(optimizer, seq_len, batch_size) | {"device": device}
        arguments |= {name: arguments[name][chunk] for name in ("lr_y", "lr_z")}
        yield Block(number, classes, seed, arguments)


def placed(values: dict[str, np.ndarray], block: Block, labels: xr.Dataset) -> dict[str, np.ndarray]:
    """A block's values on the axes of the store, those that blocks divide first."""
    compact = block.classes.compact
    queries = np.searchsorted(labels["query"], compact.queries)
    tokens = np.searchsorted(labels["token"], compact.tokens)
    leading = (1,) * (len(BLOCK_DIMS) - 1) + (block.num_runs,)
    entropy = np.full((*leading, labels.sizes["class"]), np.nan, dtype=values["entropy"].dtype)
    entropy[..., : block.classes.num_classes] = values["entropy"]
    Z = np.full((*leading, labels.sizes["query"], labels.sizes["token"]), np.nan, dtype=values["Z"].dtype)
    Z[..., queries[:, None], tokens] = values["Z"]
    alone = {name: values[name].reshape(leading) for name in ("final_loss", "diverged_at")}
    return {"entropy": entropy, "Z": Z, **alone}


def num_bytes(grid: Grid) -> int:
    """What a grid's results take on a disk, at most: their numbers, which barely compress, and their files."""
    numbers = sum(
        classes.num_classes + 1 + len(classes.compact.queries) * len(classes.compact.tokens)
        for classes in grid.data.values()
    )
    num_values = (grid.num_runs // len(grid.data)) * numbers
    num_files = 5 * layout_of(grid).num_blocks  # four arrays, and a record
    return num_values * np.dtype(grid.dtype).itemsize + 8 * grid.num_runs + num_files * FILE_SYSTEM_BLOCK
