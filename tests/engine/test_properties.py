"""Whatever a training is asked for, it gives a finite result with its invariants, or one marked as diverged, or
BadInput; and nothing else.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import torch
import xarray as xr
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from scansnap_core import BadInput
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.names import OPTIMIZERS
from scansnap_core.engine.training import train
from tests.engine.references import overlapping_classes
from tests.engine.variants import ADAMW, residual

ODD: list[Any] = [
    None, True, "", "one", [], {}, (), math.nan, math.inf, -1, 0, 0.5, 10**12, 10**400, 1e30, np.ones(2),
    np.ones((2, 2)), np.float32(2), np.int64(3), [1, "a"], [None], xr.Dataset(), torch.ones(2), object, b"x", {"a": 1},
    range(10**15),
    itertools.repeat(1), np.array("x"), 1j, [[1], [2, 3]], "sgd:", ":", "a:b",
]  # fmt: skip
RATES = st.one_of(st.floats(1e-3, 10), st.lists(st.floats(1e-3, 3), min_size=1, max_size=2), st.just(1e300))
GOOD: dict[str, st.SearchStrategy[Any]] = {
    "lr_y": RATES,
    "lr_z": RATES,
    "steps": st.integers(1, 4),
    "seeds": st.lists(st.integers(0, 9), min_size=1, max_size=2),
    "batch_size": st.one_of(st.integers(1, 4), st.none()),
    "seq_len": st.one_of(st.integers(2, 9), st.just(math.inf), st.just(1e15)),
    "optimizer": st.sampled_from([*OPTIMIZERS, ADAMW, "torch.optim:RMSprop"]),
    "momentum": st.one_of(st.none(), st.floats(-0.5, 1.5)),
    "model": st.sampled_from(["plain", residual, "tests.engine.variants:residual"]),
    "initial": st.sampled_from(["zero", "random", (np.eye(9), np.ones((9, 9))), (np.eye(9),), np.eye(9)]),
    "record": st.one_of(st.none(), st.integers(0, 5), st.lists(st.integers(0, 5), max_size=3)),
    "rng": st.sampled_from(["fresh", "replay"]),
    "device": st.sampled_from(["auto", "cpu"]),
    "dtype": st.sampled_from(["float64", "float32"]),
    "keep_state": st.booleans(),
}
WHOLE = {"lr_y": 1.0, "lr_z": 1.0, "steps": 2, "batch_size": 3, "seq_len": 5}


def asked(options: dict[str, Any], classes: Any = None) -> xr.Dataset | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return train(overlapping_classes() if classes is None else classes, **options)
    except BadInput as refused:
        message = str(refused)
    assert "\n" not in message
    assert len(message) < 600
    return None


def check(run: xr.Dataset, classes: SequenceClasses) -> None:
    start = float(np.log(classes.vocab_size))
    assert run.multiplicity.sum() == classes.vocab_size
    for chosen in (run.isel(seed=s, rate=r) for s in range(run.sizes["seed"]) for r in range(run.sizes["rate"])):
        diverged = int(chosen.diverged_at)
        finite = all(np.isfinite(chosen[name]).all() for name in ("loss", "Y", "Z"))
        assert finite or diverged >= 0
        assert np.isfinite(chosen.loss.sel(step=slice(None, diverged - 1))).all() or diverged < 0
        assert not (chosen.loss < -1e-5).any()  # a mean of -ln α
        if run.attrs["initial"] == "zero":
            assert abs(float(chosen.loss[0]) - start) < 1e-5  # the uniform prediction


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.fixed_dictionaries(
        {name: GOOD[name] for name in WHOLE}, optional={name: GOOD[name] for name in GOOD if name not in WHOLE}
    )
)
def test_of_the_right_kind(options: dict[str, Any]) -> None:
    run = asked(options)
    event("refused" if run is None else "trained")
    if run is not None:
        check(run, overlapping_classes())


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(GOOD)), st.sampled_from(ODD))
def test_of_a_wrong_kind(name: str, value: Any) -> None:
    run = asked({**WHOLE, name: value})
    event("refused" if run is None else "trained")
    if run is not None:
        check(run, overlapping_classes())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from([*ODD, {"a": 3}, {3: overlapping_classes()}]))
def test_no_classes(value: Any) -> None:
    if value is not None:
        assert asked(WHOLE, classes=value) is None
