"""The mean of runs on drawn texts: it is SGD's, its error is what it says, and ``predict`` says what it did."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scansnap_core as ss
from scansnap_core.law import types_of
from scansnap_core.law.drawn_texts import LEAST_RUNS, error_of_mean, train_on_texts
from tests.refusing import refuses
from tools.recording.short_texts import descent

RUNS = 200
CLASSES = ss.with_overlap(3, 50, 0.6, distinct_weights=[1, 0.5])


def in_standard_errors(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The difference of two means over runs, shape (runs, Q, L), of the entries that move."""
    scatter = np.sqrt(one.var(axis=0, ddof=1) / len(one) + other.var(axis=0, ddof=1) / len(other))
    return (one.mean(axis=0) - other.mean(axis=0))[scatter > 0] / scatter[scatter > 0]


@pytest.mark.parametrize("momentum", [0.0, 0.8])
@pytest.mark.parametrize("batch_size", [2, None])
def test_its_mean_is_that_of_the_engine(batch_size: int | None, momentum: float) -> None:
    """Two queries, unequal frequencies; a batch of 256 stands for a full one."""
    rows = {"a": {"of": 0.5, "x": 0.3, "y": 0.2}, "b": {"of": 0.7, "u": 0.3}, "c": {"of": 0.2, "y": 0.8}}
    classes = ss.SequenceClasses.from_dicts(
        rows, query_of={"a": "p", "b": "p", "c": "q"}, vocab_size=40, frequencies={"a": 0.6, "b": 0.3, "c": 0.1}
    )
    how: dict[str, Any] = {"lr_y": 0.5, "lr_z": 0.5, "seq_len": 6}
    by_momentum: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    batch = {"batch_size": batch_size or 256}

    def engine(**changes: Any) -> np.ndarray:
        run = ss.train(classes, steps=20, seeds=range(RUNS), device="cpu", **(how | by_momentum | batch | changes))
        return np.asarray(run.Z.isel(rate=0, recorded=-1).transpose("seed", "query", "token").values)

    found = train_on_texts(
        classes, t=np.array([20.0]), runs=RUNS, momentum=momentum, batch_size=batch_size, seed=1000, **how
    ).Z[:, 0]
    assert np.abs(in_standard_errors(found, engine())).max() < 4
    for change in ({"lr_z": 1.0}, {"lr_y": 1.0}):  # controls
        assert np.abs(in_standard_errors(found, engine(**change))).max() > 6


def test_its_error_is_measured_where_the_law_is_far_off() -> None:
    classes = ss.with_overlap(2, 1000, 0.9, distinct_weights=[1, 0.5])
    t = (4, 12, 40, 120)
    how: dict[str, Any] = {"lr_y": 0.5, "lr_z": 0.5, "seq_len": 8}
    Z = descent(classes, 0.5, 0.5, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.PredictionOutOfRange)
        law = ss.predict(classes, t=t, **how)
        runs = ss.predict(classes, t=t, runs=8, **how)
    off = {
        found: np.linalg.norm(each.Z.values - Z, axis=(1, 2)) / np.linalg.norm(Z, axis=(1, 2))
        for found, each in (("law", law), ("runs", runs))
    }
    assert off["law"].max() > 0.3
    assert (off["runs"] < runs.expected_error.values).all()
    scatter = ss.predict(classes, t=[120], runs=32, **how)  # four times the runs, half the standard error
    assert scatter.likely_error.item() == pytest.approx(runs.likely_error.values[-1] / 2, rel=0.4, abs=0)
    assert runs.likely_error.values == pytest.approx(runs.expected_error.values * 0.7 / 1.8, rel=1e-12, abs=0)
    assert (runs.expected_error.values[1:] < 0.1).all()
    assert (law.attrs["runs"], runs.attrs["runs"], runs.law) == (0, 8, "the mean of runs")
    assert set(law) == set(runs)
    assert np.isnan(runs.step.values).all()
    assert runs.evidence.values == pytest.approx(law.evidence.values, rel=0.2)


def test_the_error_is_measured_in_standard_errors_of_the_mean() -> None:
    Z = np.zeros((4, 2, 1, 2))
    Z[:, 1, 0] = [[1, 4], [3, 4], [1, 4], [3, 4]]  # mean (2, 4), variance 4/3, standard error 0.577
    assert error_of_mean(Z) == pytest.approx([0.0, 1.8 * (1 / 3) ** 0.5 / 20**0.5])


def test_what_it_expects_of_real_text_held_out_is_what_was_measured() -> None:
    record = xr.load_dataset(Path(__file__).parents[2] / "results" / "drawn_texts.nc", engine="h5netcdf")
    text = record.isel(point=np.flatnonzero(record.held_out & (record.is_text == 1)))
    within = text.error.values <= text.expected_error.values
    assert (within.sum(), within.size) == (69, 72)
    asked = np.isfinite(text.law_error.values)
    assert (within[asked].sum(), asked.sum()) == (21, 24)
    assert not (text.law_error.values <= text.expected_error.values)[asked].any()  # control


def test_between_two_updates_it_is_interpolated_and_at_the_start_zero() -> None:
    t = np.array([0.0, 6.0, 6.25, 7.0])
    found = train_on_texts(CLASSES, 1.0, 0.5, t, seq_len=5, runs=2)
    zero, before, between, after = np.moveaxis(found.Z, 1, 0)
    assert not zero.any()
    assert between == pytest.approx(0.75 * before + 0.25 * after)
    assert found.evidence[2] == pytest.approx(0.75 * found.evidence[1] + 0.25 * found.evidence[3])
    alone = train_on_texts(CLASSES, 1.0, 0.5, t[1:2], seq_len=5, runs=2)
    assert (alone.Z[:, 0] == before).all()  # whatever other times are asked for


def test_classes_that_are_alike_are_averaged() -> None:
    types = types_of(CLASSES)
    Z = np.arange(7.0)[None]
    common, distinct = types.by_type(Z)
    assert common.tolist() == [[0.0]]
    assert distinct.tolist() == [[3.0, 4.0]]  # of 1, 3, 5 and of 2, 4, 6
    per_query = types.per_query(common, distinct)
    assert [part.tolist() for part in types.by_type(per_query)] == [common.tolist(), distinct.tolist()]
    with pytest.warns(ss.PredictionOutOfRange, match="4 runs scatter, and their mean isn't known better; ask for more"):
        found = ss.predict(CLASSES, 1, 0.1, 3, seq_len=4, batch_size=1, runs=4)
    assert found.Z.values[0, 0, 1] == found.Z.values[0, 0, 3] == found.Z.values[0, 0, 5]


@pytest.mark.parametrize(
    ("changes", "value", "rule"),
    [
        ({"runs": LEAST_RUNS - 1}, "runs = 3", "fewer runs don't tell how far they scatter"),
        ({"optimizer": "flow"}, "runs = 8 of a flow", "runs are of SGD"),
        (
            {"seq_len": np.inf},
            "runs = 8 in full batches of endless sequences",
            "runs differ by what is drawn, and here nothing is",
        ),
        (
            {"exact": True},
            "exact = True with runs = 8",
            "Y and Z are integrated exactly for endless sequences, without runs",
        ),
        ({"t": 1e5, "seq_len": 16}, "8 runs that draw 1.5e+09", "runs draw at most 1e+09 contextual tokens in all"),
        (
            {"t": 1e6, "seq_len": np.inf, "batch_size": 1},
            "8,000,000 updates by 8 runs",
            "all runs together make at most 1,000,000 updates",
        ),
    ],
)
def test_what_runs_are_not_for_is_refused(changes: dict[str, Any], value: str, rule: str) -> None:
    arguments: dict[str, Any] = {"lr_y": 1, "lr_z": 0.1, "t": 10, "seq_len": 8, "runs": 8} | changes
    with refuses(value, rule):
        ss.predict(CLASSES, **arguments)
