"""A training that goes on from another one, to the last bit; and what can't go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

from scansnap_core.data.datasets import syn_medium, syn_small
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.names import OPTIMIZERS
from scansnap_core.engine.training import TrainingDiverged, train
from tests.engine.references import overlapping_classes
from tests.engine.variants import residual
from tests.refusing import refuses

OPTIONS: dict[str, Any] = {
    "lr_y": [0.5, 2.0], "lr_z": [0.3, 0.1], "seeds": [3, 8], "batch_size": 8, "seq_len": 16, "device": "cpu",
}  # fmt: skip


def parts(classes: Any, first: int, second: int, **options: Any) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """A whole run, and the same in two."""
    settings = OPTIONS | options
    whole = train(classes, **settings, steps=first + second, record=1, keep_state=True)
    begun = train(classes, **settings, steps=first, record=1, keep_state=True)
    return whole, begun, train(classes, **settings | {"initial": begun}, steps=second, record=1, keep_state=True)


def assert_continues(whole: xr.Dataset, begun: xr.Dataset, rest: xr.Dataset) -> None:
    end, last = int(rest.recorded[0]), int(rest.recorded[-1])
    assert rest.recorded.values.tolist() == list(range(end, last + 1))
    assert rest.step.values.tolist() == list(range(end, last))
    assert np.isfinite(whole.loss).all()
    assert begun.loss.equals(whole.loss.sel(step=begun.step))
    expected = whole.sel(step=rest.step, recorded=rest.recorded)
    xr.testing.assert_identical(rest, expected)  # values to the last bit, states, labels and attributes
    for name in ("loss", "Y", "Z"):
        assert rest[name].values.tobytes() == expected[name].values.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rng", ["fresh", "replay", "counter"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("initial", ["zero", "random"])
def test_two_parts_are_the_whole(optimizer: str, initial: str, rng: str, dtype: str) -> None:
    assert_continues(*parts(syn_small(), 6, 4, optimizer=optimizer, initial=initial, rng=rng, dtype=dtype))


def test_the_expectation_a_variant_and_given_values_go_on_too() -> None:
    rng = np.random.default_rng(0)
    flow = {"batch_size": None, "seq_len": np.inf, "optimizer": "momentum", "model": residual}
    given = {"initial": (rng.normal(size=(9, 9)), rng.normal(size=(9, 9)))}
    assert_continues(*parts(overlapping_classes(), 5, 7, **flow, **given))


def test_through_a_file(tmp_path: Path) -> None:
    whole, begun, _ = parts(syn_small(), 6, 4, optimizer="momentum", rng="replay")
    begun.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as stored:
        rest = train(
            syn_small(), **OPTIONS, optimizer="momentum", rng="replay", steps=4, record=1, keep_state=True,
            initial=stored.load(),
        )  # fmt: skip
    assert_continues(whole, begun, rest)


def test_a_seed_and_a_rate_of_several_go_on_alone_and_keep_their_numbers() -> None:
    _, begun, rest = parts(syn_small(), 6, 4, optimizer="momentum")
    one, chosen = OPTIONS | {"seeds": [8], "lr_y": 2.0, "lr_z": 0.1}, begun.isel(seed=[1], rate=[1])
    alone = train(syn_small(), **one, optimizer="momentum", steps=4, record=1, initial=chosen)
    inside = rest.isel(seed=[1], rate=[1])
    assert alone.rate.values.tolist() == [1]
    assert alone.loss.values == pytest.approx(inside.loss.values, rel=1e-12, abs=0)
    assert alone.Y.values == pytest.approx(inside.Y.values, rel=0, abs=1e-12)


def test_a_diverged_run_stays_diverged() -> None:
    rates = {"lr_y": [1.0, 1e200], "lr_z": [1.0, 1e200]}
    with pytest.warns(TrainingDiverged):
        whole, _, rest = parts(syn_small(), 60, 50, **rates)
    assert (rest.diverged_at.isel(rate=1) >= 0).all()
    assert (rest.diverged_at.isel(rate=1) < 60).all()
    xr.testing.assert_identical(rest, whole.sel(step=rest.step, recorded=rest.recorded))
    with pytest.warns(TrainingDiverged):
        all_lost, _, after = parts(syn_small(), 100, 60, lr_y=1e200, lr_z=1e200)
    xr.testing.assert_identical(after, all_lost.sel(step=after.step, recorded=after.recorded))


def begun(**more: Any) -> xr.Dataset:
    return train(syn_small(), **OPTIONS, steps=3, **{"keep_state": True, **more})


SAME = "a training goes on with the classes and settings that it began with"
ITS_STATE = "a training goes on from the data set of one that kept its state"
NO_STATES = [
    (lambda: begun(keep_state=False), "initial with the variables loss, Y, Z, multiplicity, diverged_at", ITS_STATE),
    (lambda: begun().drop_vars("rng_state"), "initial with the variables loss, Y, …", ITS_STATE),
    (lambda: begun().isel(seed=0), "initial with the variables loss, Y, …", ITS_STATE),
    (
        lambda: begun().isel(recorded=[0]),
        "initial that ends at step 0 of 3",
        "a training goes on from the end of another",
    ),
    (xr.Dataset, "initial with the variables none", ITS_STATE),
    (lambda: begun(model=residual), "model = 'plain' after model = 'tests.engine.variants:residual'", SAME),
]
SMALL = (syn_small().probs, syn_small().query_of, syn_small().next_of)
OTHER_TOKENS = SequenceClasses(SMALL[0][::-1], *SMALL[1:])
OTHER_FREQUENCIES = SequenceClasses(*SMALL, frequencies=[0.25, 0.75])


@pytest.mark.parametrize(
    ("classes", "changes", "value", "rule"),
    [
        (OTHER_TOKENS, {}, "classes = SequenceClasses(K=2, M=34, queries=2) after others", SAME),
        (OTHER_FREQUENCIES, {}, "classes = SequenceClasses(K=2, M=34, queries=2, frequencies=… after others", SAME),
        (syn_medium(1), {}, "classes = SequenceClasses(K=2, M=33, queries=1) after others", SAME),
        (syn_small(), {"lr_y": [0.5, 1.0]}, "lr_y = [0.5, 1.0] after lr_y = [0.5, 2.0]", SAME),
        (syn_small(), {"seeds": [8, 3]}, "seeds = [8, 3] after seeds = [3, 8]", SAME),
        (syn_small(), {"optimizer": "adam"}, "optimizer = 'adam' after optimizer = 'sgd'", SAME),
        (
            syn_small(),
            {"optimizer": torch.optim.SGD},
            "optimizer = 'torch.optim.sgd:SGD' after optimizer = 'sgd'",
            SAME,
        ),
        (syn_small(), {"batch_size": 9}, "batch_size = '9' after batch_size = '8'", SAME),
        (syn_small(), {"seq_len": 17}, "seq_len = 17.0 after seq_len = 16.0", SAME),
        (syn_small(), {"rng": "replay"}, "rng = 'replay' after rng = 'fresh'", SAME),
        (syn_small(), {"dtype": "float32"}, "dtype = 'float32' after dtype = 'float64'", SAME),
        (syn_small(), {"model": residual}, "model = 'tests.engine.variants:residual' after model = 'plain'", SAME),
        (syn_small(), {"record": [1]}, "record = [1]", "recorded steps are integers in 3..5"),
        *((syn_small(), {"initial": run}, value, rule) for run, value, rule in NO_STATES),
    ],
)
def test_other_settings_and_no_states_are_refused(classes: Any, changes: dict[str, Any], value: str, rule: str) -> None:
    initial = changes.get("initial", begun)()
    with refuses(value, rule):
        train(classes, **{**OPTIONS, "steps": 2, **changes, "initial": initial})


@pytest.mark.parametrize(
    ("changes", "value", "rule"),
    [
        (
            {"optimizer": torch.optim.AdamW},
            "keep_state with torch.optim.adamw:AdamW",
            f"the state of {', '.join(OPTIMIZERS)} is kept, that of other optimisers isn't",
        ),
        ({"record": [0, 2]}, "keep_state with the last recorded step 2", "a training goes on from its end"),
    ],
)
def test_a_state_that_cannot_be_kept(changes: dict[str, Any], value: str, rule: str) -> None:
    with refuses(value, rule):
        begun(**changes)
