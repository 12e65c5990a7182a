"""Extract what the chapters of Figures 7 and 10 show from trainings on text; results/README.md has
the commands.

``text.nc`` names in its attribute ``sources`` the command, commit, versions and configuration of
every training.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import xarray as xr

from scansnap_core.base import files
from scansnap_core.storage.store import read

RESULTS = Path(__file__).parents[2] / "results"
SETTINGS = ("vocab_size", "layers", "lr", "seed", "dropout", "positions", "optimizer")
SHOWN_STEPS = (0, 500, 1000, 1500)
"""The iterations of Figure 7."""
LAGS = (25, 50, 100, 250, 500)
WINDOW = 10
"""Snapshots; their number is even, so that two windows are dealt by turns."""
SMALLEST = 1e-30
"""Below this a probability's logarithm isn't followed: in float32 it may have become 0."""


def score_drift(store: xr.Dataset) -> xr.DataArray:
    """Measure how far attention's scores moved since the last snapshot, in nats a step: (snapshot,
    layer).

    Scores are what the softmax turns into a row of attention; a constant over the row doesn't
    count, so it is the standard deviation over the keys of the change in ln c, its mean over the
    kept maps' queries that see two or more.
    """
    size = store.sizes["query"]
    seen = xr.DataArray(np.tri(size, dtype=bool), dims=("query", "key"))
    scores = np.log(store.maps.clip(min=SMALLEST)).where(seen)
    moved = (
        scores.diff("snapshot").std("key").isel(query=slice(1, None)).mean(["sequence", "query"])
    )
    return (moved / store.step.diff("snapshot")).reindex(snapshot=store.snapshot)


def moved(before: xr.DataArray, after: xr.DataArray) -> xr.DataArray:
    """Return the share of a kept map's probability that lies elsewhere, the mean over its queries
    and the sequences.
    """
    return abs(after - before).sum("key", skipna=False).mean(["sequence", "query"]) / 2


def by_lag(store: xr.Dataset) -> xr.DataArray:
    """Average the share moved between two snapshots of the second half over all such pairs: (lag,
    layer).
    """
    maps = store.maps.swap_dims(snapshot="step")
    half = store.sizes["snapshot"] // 2
    later = maps.isel(step=slice(half, None))
    values = []
    for lag in LAGS:
        starts = [step for step in later.step.values if step + lag <= later.step[-1]]
        ends = [step + lag for step in starts]
        pairs = (later.sel(step=at).drop_vars("step") for at in (starts, ends))
        values.append(moved(*pairs).mean("step"))
    return xr.concat(values, dim=xr.Variable("lag", list(LAGS))).drop_vars(
        "snapshot", errors="ignore"
    )


def by_window(store: xr.Dataset) -> xr.Dataset:
    """Return the share moved between the mean maps of windows of snapshots that follow one another:
    (window, layer).

    ``window_floor`` is what noise alone makes of it: the same maps dealt to two means by turns, so
    that both cover the same time. A window has its last step as label, and NaN where none lies
    before.
    """
    maps = store.maps.isel(snapshot=slice(1, None)).drop_vars(["step", "snapshot"])
    windows = maps.coarsen(snapshot=WINDOW).construct(snapshot=("window", "inside"))
    before = windows.shift(window=1)
    dealt = [
        xr.concat([before, windows], dim="inside").isel(inside=slice(turn, None, 2))
        for turn in (0, 1)
    ]
    apart = {
        "window_moved": moved(before.mean("inside"), windows.mean("inside")),
        "window_floor": moved(*(one.mean("inside", skipna=False) for one in dealt)),
    }
    return xr.Dataset(apart).assign_coords(window=store.step.values[WINDOW::WINDOW])


def curves(store: xr.Dataset) -> xr.Dataset:
    """Return one training's numbers by step, and what it was trained with."""
    configuration = json.loads(store.configuration)
    kept = store.drop_vars(["maps", "state"]).assign(score_drift=score_drift(store))
    kept = (
        kept.drop_dims(["sequence", "query", "key"])
        .swap_dims(snapshot="step")
        .drop_vars("snapshot")
    )
    kept = kept.merge(by_window(store)).assign(lag_moved=by_lag(store))
    settings = {name: ("run", [configuration[name]]) for name in SETTINGS}
    return kept.expand_dims("run").assign_coords(settings).drop_attrs(deep=False)


def shown_maps(stores: list[xr.Dataset]) -> xr.DataArray:
    """Return the lowest layer's map of the first watched sequence at Fig. 7's iterations (layers,
    step, query, key).
    """
    chosen = [
        store.swap_dims(snapshot="step").maps.sel(step=list(SHOWN_STEPS), layer=1, sequence=0)
        for store in stores
    ]
    depths = xr.Variable("depth", [store.sizes["layer"] for store in stores])
    return xr.concat(
        [maps.drop_vars(["layer", "sequence", "snapshot"]) for maps in chosen], dim=depths
    ).astype("f2")


def record(folder: Path) -> None:
    """Write ``text.nc`` from the stores in a folder."""
    stores = {path.stem: read(path) for path in sorted(folder.glob("*.zarr"))}
    runs = xr.concat([curves(store) for store in stores.values()], dim="run", join="outer")
    maps = shown_maps([stores[f"layers-{layers}_lr-5_seed-0"] for layers in (1, 3)])
    sources = [
        store.attrs | {"configuration": json.loads(store.configuration)}
        for store in stores.values()
    ]
    result = runs.assign(maps=maps.rename(step="shown_step")).assign_attrs(
        sources=json.dumps(sources)
    )
    coded = {name: {"zlib": True} for name in result.data_vars}
    files.keep(RESULTS / "text.nc", result.to_netcdf(engine="h5netcdf", encoding=coded))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the stores are")
    record(parser.parse_args().folder)
