"""What tools/recording/figures.py extracts from the sweep of Fig. 6, against trainings of the same runs, one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from scansnap_core.data.datasets import syn_medium
from scansnap_core.engine.training import train
from scansnap_core.storage.store import read
from scansnap_core.sweeps.grid_files import grid_of
from scansnap_core.sweeps.running import run
from scansnap_core.theory import measures
from tools.recording import figures

SIZES = [1, 3]
LR_Z, RATIO, SEED = 2.0, 5.0, 8
GRID = {
    "data": [f"syn_medium {m}" for m in SIZES], "rates": {"lr_z": [0.5, LR_Z], "ratio": [1, RATIO]}, "steps": 4,
    "seeds": [3, SEED], "seq_len": 16, "batch_size": 8, "optimizer": "momentum", "initial": "random",
    "dtype": "float64",
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> xr.Dataset:
    monkeypatch.setattr(figures, "THRESHOLDS", {m: figures.THRESHOLDS[m] for m in SIZES})
    run(grid_of(GRID, tmp_path), tmp_path / "a.zarr", device="cpu")
    return read(tmp_path / "a.zarr")


def test_a_cell_is_what_a_training_of_its_runs_has(store: xr.Dataset) -> None:
    entropy, recall = figures.entropy(store), figures.recall(store)
    assert entropy.dims == ("data", "seed", "lr_z", "ratio")
    assert entropy["data"].values.tolist() == recall["data"].values.tolist() == ["1/2", "3/6"]
    for m, size in zip(SIZES, ("1/2", "3/6"), strict=True):
        classes = syn_medium(m)
        Z = train(
            classes, lr_y=LR_Z * RATIO, lr_z=LR_Z, steps=4, seeds=[SEED], seq_len=16, batch_size=8,
            optimizer="momentum", initial="random", record=[4],
        ).Z  # fmt: skip
        at = {"data": size, "seed": SEED, "lr_z": LR_Z, "ratio": RATIO}
        H = measures.entropy(measures.attention(Z, classes), classes).mean()
        np.testing.assert_allclose(entropy.sel(at), H, rtol=1e-6)
        levels = np.linspace(*figures.THRESHOLDS[m], figures.NUM_THRESHOLDS)
        np.testing.assert_array_equal(recall.threshold.sel(data=size), levels)
        theirs = measures.recall(Z, classes, levels).values.ravel()
        np.testing.assert_allclose(recall.sel(at), theirs, atol=1e-6)
        assert 0 < np.ptp(theirs) < 1
        assert np.abs(recall.sel(at | {"seed": 3}) - theirs).max() > 0.01  # control
