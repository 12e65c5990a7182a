"""Blocks: what they compute, where it stands in the store, and how much room it takes. Nothing here writes a store."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.names import OPTIMIZERS
from scansnap_core.engine.training import train
from scansnap_core.sweeps import blocks
from scansnap_core.sweeps.grids import Grid
from tests.engine.references import frequent_classes, overlapping_classes
from tests.refusing import refuses

NAMES = ["Z", "diverged_at", "entropy", "final_loss"]


def two_systems() -> dict[str, SequenceClasses]:
    """K = 3 over tokens 0-5 with queries 6, 7, and K = 2 over tokens 2, 3 with query 1, of M = 9 and 4."""
    small = SequenceClasses([[0, 0, 1, 0], [0, 0, 0.25, 0.75]], query_of=[1, 1], next_of=[0, 3])
    return {"three": overlapping_classes(), "two": small}


GRID = Grid(
    data=two_systems(),
    rates=((0.5, 1.0), (2.0, 0.3), (3.0, 0.1)),
    steps=3,
    seeds=(8, 3),
    optimizers=("sgd", "momentum", "adam"),
    seq_lens=(5,),
    batch_sizes=(4,),
    initial="random",
    dtype="float64",
)


def block(**changes: Any) -> blocks.Block:
    return next(blocks.blocks(dataclasses.replace(GRID, **changes), "cpu"))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_diverged_run_is_marked_without_a_warning(optimizer: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = block(optimizers=(optimizer,), rates=((1e200, 1e200), (0.1, 0.1))).compute()
    assert found["diverged_at"][0] >= 0
    assert np.isnan(found["entropy"][0]).all()
    assert found["diverged_at"][1] == -1
    assert np.isfinite(found["entropy"][1, 0])


def test_the_compiled_program_serves_on_a_cpu_without_adam() -> None:
    assert [name for name in OPTIMIZERS if block(optimizers=(name,)).is_compiled] == ["sgd", "momentum"]
    assert not next(blocks.blocks(GRID, "cuda")).is_compiled
    expected: dict[str, Any] = {"seq_lens": (np.inf,), "batch_sizes": (None,)}
    assert block(**expected).is_compiled
    unlike = block(data={"unlike": frequent_classes()}, **expected)
    assert not unlike.is_compiled  # its samples weigh unlike
    whole = train(unlike.classes, seeds=[unlike.seed], **unlike.arguments).isel(seed=0, recorded=-1)
    assert np.array_equal(unlike.compute()["Z"], whole.Z)


def test_a_block_stands_where_its_labels_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "RATES_PER_BLOCK", 3)
    rates = tuple((float(i), 0.1 * i) for i in range(1, 8))
    grid = dataclasses.replace(
        GRID, rates=rates, seeds=tuple(range(6)), seq_lens=(16, 5, 128, 7, 32), batch_sizes=(3, 9, 4, 2)
    )
    layout = blocks.layout_of(grid)
    assert layout.block_counts == (2, 3, 5, 4, 6, 3)
    every = list(blocks.blocks(grid, "cpu"))
    assert [block.number for block in every] == list(range(layout.num_blocks))
    for block in every:
        starts = dict(zip(layout.block_sizes, layout.position(block.number), strict=True))
        sizes = layout.block_sizes
        place = {dim: slice(at * sizes[dim], (at + 1) * sizes[dim]) for dim, at in starts.items()}
        labels, given = layout.labels.isel(place), block.arguments
        assert grid.data[labels["data"].item()] is block.classes
        assert labels["seed"].item() == block.seed
        assert labels["optimizer"].item() == given["optimizer"]
        assert labels["seq_len"].item() == given["seq_len"]
        assert labels["batch_size"].item() == str(given["batch_size"])
        assert labels["lr_y"].values.tolist() == given["lr_y"]
        assert labels["lr_z"].values.tolist() == given["lr_z"]
        assert given["device"] == "cpu"
        assert block.num_runs == labels.sizes["rate"]


@pytest.mark.parametrize(("num_rates", "block_sizes"), [(1, [1]), (64, [64]), (65, [64, 1]), (130, [64, 64, 2])])
def test_stores_hold_64_rates_a_block(num_rates: int, block_sizes: list[int]) -> None:
    """So do those that were written before: with other blocks they couldn't be continued."""
    grid = dataclasses.replace(
        GRID, data=dict(list(GRID.data.items())[:1]), optimizers=("sgd",), seeds=(1,),
        rates=tuple((1.0, float(i)) for i in range(1, num_rates + 1)),
    )  # fmt: skip
    assert [block.num_runs for block in blocks.blocks(grid, "cpu")] == block_sizes
    assert blocks.layout_of(grid).block_sizes["rate"] == block_sizes[0]
    assert blocks.layout_of(grid).num_blocks == len(block_sizes)


def test_the_labels_cover_all_class_systems() -> None:
    layout = blocks.layout_of(GRID)
    labels = layout.labels
    assert labels["data"].values.tolist() == ["three", "two"]
    assert labels.vocab_size.values.tolist() == [9, 4]
    assert labels.num_classes.values.tolist() == [3, 2]
    assert labels["class"].values.tolist() == [0, 1, 2]
    assert labels["query"].values.tolist() == [1, 6, 7]
    assert labels.token.values.tolist() == [0, 1, 2, 3, 4, 5]
    assert labels.lr_y.values.tolist() == [0.5, 2.0, 3.0]
    assert labels.lr_z.values.tolist() == [1.0, 0.3, 0.1]
    assert labels.lr_y.units == labels.lr_z.units == "per step"
    axes = ("data", "optimizer", "seq_len", "batch_size", "seed", "rate")
    assert {name: (variable.dims, variable.dtype) for name, variable in layout.variables.items()} == {
        "entropy": ((*axes, "class"), "float64"),
        "final_loss": (axes, "float64"),
        "diverged_at": (axes, "int64"),
        "Z": ((*axes, "query", "token"), "float64"),
    }
    assert list(layout.block_sizes.items()) == [*((axis, 1) for axis in axes[:-1]), ("rate", 3)]


def first_token(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Z of the first token that a system holds."""
    return run.Z.isel(query=0, token=[0], drop=True).assign_attrs(before="checksum", written="after it")


def first_row(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Y of the first token, over the outputs of the system."""
    return run.Y.isel(token=0, drop=True)


def test_measures_may_have_a_part_of_the_labels_and_outputs() -> None:
    layout = blocks.layout_of(dataclasses.replace(GRID, measures=(first_token, first_row)))
    assert layout.labels.token.values.tolist() == [0, 1, 2, 3, 4, 5]
    assert layout.labels.output.values.tolist() == list(range(9))
    assert layout.variables["first_token"].attrs == {"units": "logits", "before": "checksum", "written": "after it"}
    assert layout.variables["first_row"].dims[-1] == "output"


def of_three_alone(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Z of the first query, and of a system of two classes only its first token."""
    row = run.Z.isel(query=0, drop=True)
    return row if classes.num_classes == 3 else row.isel(token=0, drop=True)


def test_a_measure_has_the_same_dimensions_for_all_systems() -> None:
    with refuses(
        "measure of_three_alone of dimensions ('rate',) and ('rate', 'token')",
        "a measure has the same dimensions for all class systems",
    ):
        blocks.layout_of(dataclasses.replace(GRID, measures=(of_three_alone,)))
