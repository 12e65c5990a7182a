"""Extract what the chapters of Figures 6, 11 and 12 show from finished sweeps; results/README.md
has the commands.

Each file names in its attribute ``sources`` the command, commit, versions and configuration of
every sweep that it was extracted from.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import xarray as xr

from scansnap_core.base import files
from scansnap_core.data.datasets import syn_medium
from scansnap_core.storage.store import read
from scansnap_core.theory import measures

RESULTS = Path(__file__).parents[2] / "results"
THRESHOLDS = {1: (0.028, 0.038), 3: (0.012, 0.016), 5: (0.0075, 0.0105), 10: (0.0040, 0.0050)}
"""The axes of Figures 11 and 12, by the number of query tokens m."""
NUM_THRESHOLDS = 21


def by_rates(values: xr.DataArray, store: xr.Dataset) -> xr.DataArray:
    """Split ``rate`` into the axes lr_z and ratio, and drop the axes that hold one value."""
    ratios = (store.lr_y / store.lr_z).round(6)
    unfolded = (
        values.assign_coords(ratio=ratios)
        .drop_vars("lr_y")
        .set_index(rate=["lr_z", "ratio"])
        .unstack("rate")
    )
    single = [dim for dim in ("optimizer", "seq_len", "batch_size") if unfolded.sizes.get(dim) == 1]
    return unfolded.squeeze(single, drop=True).assign_coords(
        data=[f"{m}/{2 * m}" for m in THRESHOLDS]
    )


def entropy(store: xr.Dataset) -> xr.DataArray:
    """Average the entropy of attention on the distinct tokens over classes: (data, ..., seed, lr_z,
    ratio), in nats.
    """
    return by_rates(store.entropy.astype(float).mean("class", keep_attrs=True), store)


def recall(store: xr.Dataset) -> xr.DataArray:
    """Compute the share of distinct tokens above a threshold: (data, seed, lr_z, ratio, level)."""
    shares = []
    for name, (m, ends) in zip(store["data"].values, THRESHOLDS.items(), strict=True):
        classes = syn_medium(m)
        Z = store.Z.sel(
            data=name, query=classes.compact.queries, token=classes.compact.tokens
        ).astype(float)
        levels = np.linspace(*ends, NUM_THRESHOLDS)
        shares.append(
            measures.recall(Z, classes, levels).rename(threshold="level").drop_vars("level")
        )
    joined = by_rates(
        xr.concat(shares, dim="data", join="outer", coords="different", compat="equals"), store
    )
    axes = [np.linspace(*ends, NUM_THRESHOLDS) for ends in THRESHOLDS.values()]
    return joined.assign_coords(threshold=(("data", "level"), axes)).astype("float32")


def write(name: str, values: dict[str, xr.DataArray], stores: list[xr.Dataset]) -> None:
    """Write one netCDF file with the provenance of its sweeps.

    Raises
    ------
    ValueError
        A run diverged, so that its cell is no mean over its seeds.
    """
    if any((store.diverged_at >= 0).any() for store in stores):
        raise ValueError(f"{name}: a run diverged; the chapters show means over all seeds")
    sources = json.dumps(
        [store.attrs | {"configuration": json.loads(store.configuration)} for store in stores]
    )
    result = xr.Dataset(values).assign_attrs(sources=sources)
    coded = {key: {"zlib": True} for key in values}
    files.keep(RESULTS / name, result.to_netcdf(engine="h5netcdf", encoding=coded))


def record(folder: Path) -> None:
    """Write all files from the stores in a folder."""
    record_runs(folder)
    ratios = read(folder / "ratios.zarr")
    write("fig_06_ratios.nc", {"entropy": entropy(ratios)}, [ratios])
    causes = {
        f"{optimizer}_{initial}": read(folder / f"{optimizer}_{initial}.zarr")
        for optimizer in ("momentum", "plain")
        for initial in ("random", "zero")
    }
    write(
        "fig_06_causes.nc",
        {name: entropy(store) for name, store in causes.items()},
        list(causes.values()),
    )


def record_runs(folder: Path) -> None:
    """Write what the figures show; "fresh" are random numbers that aren't the authors', whoever
    draws them.
    """
    runs = [read(folder / f"fig_06_{name}.zarr") for name in ("replay", "fresh")]
    draws = xr.Variable("rng", ["replay", "fresh"])
    write("fig_06.nc", {"entropy": xr.concat([entropy(store) for store in runs], dim=draws)}, runs)
    write("fig_11.nc", {"recall": xr.concat([recall(store) for store in runs], dim=draws)}, runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the stores are")
    record(parser.parse_args().folder)
