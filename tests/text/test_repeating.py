"""The beginning of a recorded training is told from that of any other."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import xarray as xr

from scansnap_core import BadInput
from scansnap_core.text.recording import train_text
from scansnap_core.text.repeating import NotRepeated, check_repeated
from scansnap_core.text.settings import Settings
from tests.text.texts import small_corpus

CORPUS = small_corpus()
SMALL = Settings(steps=12, every=3, embedding=8, hidden=6, context=10, batch_size=5, lr=0.5, layers=2)
BEGINNING = dataclasses.replace(SMALL, steps=6)


@pytest.fixture(scope="module")
def recorded() -> xr.Dataset:
    """As the results hold it: with a layer more, which this training doesn't have."""
    run = train_text(CORPUS, SMALL)[0].swap_dims(snapshot="step")
    return run[["loss", "entropy"]].reindex(layer=[1, 2, 3])


def test_the_same_training(recorded: xr.Dataset) -> None:
    check_repeated(recorded, CORPUS, BEGINNING, tolerance=1e-4)


@pytest.mark.parametrize("change", [{"seed": 1}, {"lr": 0.6}, {"dropout": 0.1}, {"positions": False}])
def test_another_training(change: dict[str, Any], recorded: xr.Dataset) -> None:
    with pytest.raises(NotRepeated, match=r"loss differs from the record by .* within 6 steps, where 0.0001 is"):
        check_repeated(recorded, CORPUS, dataclasses.replace(BEGINNING, **change), tolerance=1e-4)


@pytest.mark.parametrize("name", ["loss", "entropy"])
@pytest.mark.parametrize("by", [2e-4, float("nan")])
def test_each_snapshot_and_layer_counts(name: str, by: float, recorded: xr.Dataset) -> None:
    at = recorded.step == 3
    if name == "entropy":
        at = at & (recorded.layer == 2)
    changed = recorded.assign({name: recorded[name].where(~at, recorded[name] + by)})
    with pytest.raises(NotRepeated, match=f"{name} differs"):
        check_repeated(changed, CORPUS, BEGINNING, tolerance=1e-4)
    after = recorded.assign({name: recorded[name].where(recorded.step <= 6)})
    check_repeated(after, CORPUS, BEGINNING, tolerance=1e-4)


def test_snapshots_that_the_record_lacks(recorded: xr.Dataset) -> None:
    with pytest.raises(BadInput, match=r"they lack \[4\], where a training of these settings is seen"):
        check_repeated(recorded, CORPUS, dataclasses.replace(SMALL, steps=4), tolerance=1e-4)
