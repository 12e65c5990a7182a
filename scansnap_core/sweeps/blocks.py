"""Compute a sweep block by block; together the blocks make one labelled data set."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core.base.bad_input import BadInput
from scansnap_core.data.sequences import ATTRIBUTE, SequenceClasses
from scansnap_core.engine.compiled import SharedRuns
from scansnap_core.engine.names import PLAIN, name_of
from scansnap_core.engine.results import TrainingDiverged, blank
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.starts import check_fits
from scansnap_core.storage.store import Layout, Variable
from scansnap_core.sweeps.grids import Grid
from scansnap_core.sweeps.measures import Measure

RATES_PER_BLOCK = 64
"""Runs of one seed share their samples, so they are computed together. A larger block loses more
work if the process is killed.
"""
BY_SYSTEM = ("class", "query", "token", "output")
"""These dimensions' labels can differ from one class system to another."""


@dataclass(frozen=True)
class Block:
    """The runs of one class system, model, optimiser, T, B and seed, at one or several rates."""

    number: int
    """Its place in the store."""
    classes: SequenceClasses
    seed: int
    arguments: dict[str, Any]
    """Those of :func:`~scansnap_core.engine.training.train`."""
    measures: tuple[Measure, ...]
    in_time: bool
    """Measures see all recorded steps, or the end alone."""

    @property
    def num_runs(self) -> int:
        """Count the runs."""
        return len(self.arguments["lr_y"])

    @property
    def is_compiled(self) -> bool:
        """Tell whether the compiled engine serves, which gives the losses, the last Z and where
        runs diverged.

        That is on a CPU, for the plain model with SGD or momentum, and for known measures at the
        end. All else is trained by :func:`~scansnap_core.engine.training.train`, several times as
        slowly.
        """
        given = self.arguments
        known = all(measure.is_known for measure in self.measures)
        compiled = (
            given["device"] == "cpu"
            and given["model"] == PLAIN
            and given["optimizer"] in ("sgd", "momentum")
        )
        # The compiled engine gives all samples the same weight.
        compiled &= self.classes.is_uniform or given["batch_size"] is not None
        return compiled and known and not self.in_time

    def compute(self, threads: Executor | None = None) -> dict[str, xr.DataArray]:
        """Make the runs, and return their measures by name, (rate, ...) on the classes' own labels.

        The compiled engine divides the rates among ``threads``.
        """
        if self.is_compiled:
            runs = SharedRuns(self.classes, Settings(**self.arguments, seeds=[self.seed]))
            run = self._labelled(runs.finish(threads))
        else:
            run = self._by_torch()
        return {measure.name: measure(run, self.classes) for measure in self.measures}

    def _by_torch(self) -> xr.Dataset:
        """Train, and return what measures see: all recorded steps, or the end without the
        dimension ``recorded``.
        """
        # This imports PyTorch, which takes a second.
        from scansnap_core.engine.training import train

        with warnings.catch_warnings():
            # The result has diverged_at.
            warnings.simplefilter("ignore", TrainingDiverged)
            run = train(self.classes, seeds=[self.seed], **self.arguments).isel(seed=0)
        # If measures see the end alone, it is the only moment that was recorded.
        return run if self.in_time else run.isel(recorded=-1)

    def _labelled(self, values: Mapping[str, np.ndarray]) -> xr.Dataset:
        """Label what the compiled engine returned, (rate, ...), as :meth:`_by_torch` does."""
        return xr.Dataset(
            {
                "loss": (("rate", "step"), values["loss"]),
                "Z": (("rate", "query", "token"), values["Z"]),
                "diverged_at": ("rate", values["diverged_at"]),
            },
            coords={
                **{dim: self.classes.coords[dim] for dim in ("query", "token")},
                "recorded": self.arguments["steps"],
            },
        )


def layout_of(grid: Grid) -> Layout:
    """Lay out the arrays that a grid's results will fill.

    Where a class system lacks a class, query or token of another, the arrays hold NaN. Every
    measure is tried on a dummy run of zeros of each class system, so that the shape of its result
    is known before anything is trained.

    Raises
    ------
    BadInput
        A measure can't be taken, or has dimensions of its own that differ between class systems.
    """
    systems = list(grid.data.values())
    found = [_tried(grid, classes) for classes in systems]
    coords: dict[str, Any] = {
        "data": list(grid.data),
        "vocab_size": ("data", [classes.vocab_size for classes in systems]),
        "num_classes": ("data", [classes.num_classes for classes in systems]),
        "model": list(map(name_of, grid.models)),
        "optimizer": list(map(name_of, grid.optimizers)),
        "seq_len": [float(seq_len) for seq_len in grid.seq_lens],
        "batch_size": [str(size or "expectation") for size in grid.batch_sizes],
        "seed": list(grid.seeds),
        "lr_y": ("rate", [lr_y for lr_y, _ in grid.rates], {"units": "per step"}),
        "lr_z": ("rate", [lr_z for _, lr_z in grid.rates], {"units": "per step"}),
        **{
            dim: np.unique(np.concatenate([c.coords[dim] for c in systems]))
            for dim in ("class", "query", "token")
        },
    }
    if "model" not in grid.axes:
        del coords["model"]
    axes = tuple(grid.axes)
    variables = {}
    for measure in grid.measured:
        arrays = [values[measure.name] for values in found]
        several = {array.dims for array in arrays}
        if len(several) > 1:
            raise BadInput(
                f"measure {measure.name} of dimensions {' and '.join(map(str, sorted(several)))}",
                "a measure has the same dimensions for all class systems",
                "leave a dimension of size 1 in place, or sweep over each system by itself",
            )
        # The first dimension is the rate, which is an axis of the grid.
        dims = tuple(map(str, arrays[0].dims[1:]))
        dtype = "int64" if measure.name == "diverged_at" else grid.dtype
        for dim in dims:
            labels = [each[dim].values for each in arrays]
            if dim in coords:
                labels.append(coords[dim])
            if dim in BY_SYSTEM:
                coords[dim] = np.unique(np.concatenate(labels))
            elif all(np.array_equal(each, labels[-1]) for each in labels):
                coords[dim] = labels[0]
            else:
                raise BadInput(
                    f"measure {measure.name} with different labels of {dim}",
                    f"labels are the same for all, except those of {', '.join(BY_SYSTEM)}",
                    "use one of these dimensions, or label it alike",
                )

        # A measure's attributes are the same for all class systems, except the classes' checksum.
        attributes = {name: value for name, value in arrays[0].attrs.items() if name != ATTRIBUTE}
        variables[measure.name] = Variable((*axes, *dims), dtype, attributes)
    sizes = dict.fromkeys(axes[:-1], 1) | {"rate": min(RATES_PER_BLOCK, len(grid.rates))}
    return Layout(labels=xr.Dataset(coords=coords), variables=variables, block_sizes=sizes)


def _tried(grid: Grid, classes: SequenceClasses) -> dict[str, xr.DataArray]:
    """Take every measure of a dummy run of zeros on these classes, at one pair of rates.

    Nothing is trained; the results say which dimensions, labels and attributes measures have.
    """
    # All blocks' results have one shape, and need the same memory.
    settings = Settings(**next(blocks(grid, "cpu")).arguments, seeds=[0])
    check_fits(classes, settings)
    # One pair of rates is enough for the shape; the dummy run doesn't depend on it.
    run = blank(classes, dataclasses.replace(settings, lr_y=1.0, lr_z=1.0)).isel(seed=0)
    # If measures see the end alone, it is the only moment that is recorded.
    run = run if grid.record is not None else run.isel(recorded=-1)
    return {measure.name: measure(run, classes) for measure in grid.measured}


def blocks(grid: Grid, device: str) -> Iterator[Block]:
    """Yield the blocks of a grid in the order of their numbers, to be trained on a device.

    There is one for each point of the axes but the rates, and for each RATES_PER_BLOCK rates.
    """
    chunks = [
        slice(first, first + RATES_PER_BLOCK)
        for first in range(0, len(grid.rates), RATES_PER_BLOCK)
    ]
    axes = (
        grid.data.values(),
        grid.models,
        grid.optimizers,
        grid.seq_lens,
        grid.batch_sizes,
        grid.seeds,
        chunks,
    )
    for number, (classes, model, optimizer, seq_len, batch_size, seed, chunk) in enumerate(
        itertools.product(*axes)
    ):
        arguments = grid.arguments(model, optimizer, seq_len, batch_size) | {"device": device}
        arguments |= {name: arguments[name][chunk] for name in ("lr_y", "lr_z")}
        yield Block(number, classes, seed, arguments, grid.measured, grid.record is not None)


def placed(values: Mapping[str, xr.DataArray], layout: Layout) -> dict[str, np.ndarray]:
    """Put a block's values, (rate, ...) by measure, on the axes of the store.

    A dimension such as ``token`` has the labels of all class systems there; where this block's has
    none, the value is NaN. An axis of size 1 comes first for each axis of the grid but the rate.
    """
    arrays = {}
    for name, array in values.items():
        # The first dimension is the rate. The others' labels in the store are ascending.
        own = {dim: layout.labels[dim].values for dim in array.dims[1:] if dim in BY_SYSTEM}
        filled = array.values
        if own:
            sizes = [len(own[dim]) if dim in own else size for dim, size in array.sizes.items()]
            filled = np.full(sizes, np.nan, dtype=array.dtype)
            at = [
                np.searchsorted(own[d], array[d]) if d in own else np.arange(size)
                for d, size in array.sizes.items()
            ]
            filled[np.ix_(*at)] = array.values
        arrays[name] = filled.reshape((1,) * (len(layout.block_sizes) - 1) + filled.shape)
    return arrays
