"""What tools/recording/text.py extracts, on maps whose movement is known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from tools.recording import text

STEPS = np.arange(0, 1501, 25)


def store(bright: np.ndarray, rest: float = 0.0) -> xr.Dataset:
    """Maps of four queries that see all keys; every query's bright key at each snapshot, the rest even."""
    maps = np.full((len(STEPS), 1, 2, 4, 4), rest / 3)
    for number, key in enumerate(bright):
        maps[number, ..., key] = 1 - rest
    dims = ("snapshot", "layer", "sequence", "query", "key")
    return xr.Dataset({"maps": (dims, maps)}, coords={"step": ("snapshot", STEPS), "snapshot": np.arange(len(STEPS))})


FROZEN = np.zeros(len(STEPS), dtype=int)
TREMBLING = np.arange(len(STEPS)) % 2  # to and fro at every snapshot
WANDERING = np.maximum(np.arange(len(STEPS)) - 1, 0) // 10 % 4  # another key in every window


@pytest.mark.parametrize(
    ("bright", "by_lag", "apart", "floor"),
    [(FROZEN, [0, 0, 0, 0, 0], 0, 0), (TREMBLING, [1, 0, 0, 0, 0], 0, 1), (WANDERING, None, 1, 0)],
)
def test_what_moves(bright: np.ndarray, by_lag: list[int] | None, apart: float, floor: float) -> None:
    lags = text.by_lag(store(bright)).isel(layer=0)
    assert lags.lag.values.tolist() == [25, 50, 100, 250, 500]
    if by_lag is None:
        assert (np.diff(lags) >= 0).all()
        assert float(lags[-1]) == 1
    else:
        assert lags.values.tolist() == by_lag
    windows = text.by_window(store(bright)).isel(layer=0)
    assert windows.window.values.tolist() == [250, 500, 750, 1000, 1250, 1500]
    assert windows.window_moved.values[1:].tolist() == pytest.approx([apart] * 5, rel=1e-9, abs=0)
    assert windows.window_floor.values[1:].tolist() == pytest.approx([floor] * 5, rel=1e-9, abs=0)
    assert np.isnan([windows.window_moved[0], windows.window_floor[0]]).all()


def test_scores_move_where_maps_are_saturated() -> None:
    sharper = store(FROZEN, rest=1e-6)
    sharper.maps[30:] = store(FROZEN, rest=1e-9).maps[30:]
    drift = text.score_drift(sharper).isel(layer=0)
    # ln of the dark cells falls by ln 1000 against the bright one; a query sees 2, 3 or 4 keys
    spreads = [np.std([0, *[np.log(1000)] * dark]) for dark in (1, 2, 3)]
    assert float(drift[30]) == pytest.approx(np.mean(spreads) / 25, rel=1e-4, abs=0)
    assert float(abs(drift[31:]).max()) == 0
    assert np.isnan(drift[0])
    assert float(text.by_lag(sharper).max()) < 1e-6
