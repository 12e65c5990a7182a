"""Measures: those that are known, one of a user's own, in time, over variants; and what is no measure."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

from scansnap_core.data.datasets import with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.storage.store import read
from scansnap_core.sweeps import blocks
from scansnap_core.sweeps.grid_files import grid_of, load_grid
from scansnap_core.sweeps.grids import Grid
from scansnap_core.sweeps.measures import KNOWN, Measure
from scansnap_core.sweeps.running import run
from scansnap_core.theory import measures
from scansnap_core.theory.quantities import theory_of
from tests.engine.references import overlapping_classes, scattered_classes
from tests.engine.variants import ADAMW, residual, top_share
from tests.refusing import refuses

GRID = Grid(
    data={"scattered": scattered_classes(), "overlapping": overlapping_classes()},
    rates=((0.5, 1.0), (2.0, 0.3)),
    steps=6,
    seeds=(8, 3),
    seq_lens=(16,),
    batch_sizes=(4,),
    dtype="float64",
)


# The expected measures of a run of two rates. At the first rate Z = 0, so c_n is P(.|n) = (0.328, 0.448, 0.224): one
# common and two distinct tokens. The second rate diverged. Recall is tested in tests/theory.
CLASSES = with_overlap(2, 30, 0.3, distinct_weights=[1, 0.5])
H = np.log(3) - 2 / 3 * np.log(2)
REFERENCES: dict[str, Any] = {
    "entropy": [[H, H], [np.nan, np.nan]],
    "final_loss": [0.25, np.inf],
    "diverged_at": [-1, 2],
    "Z": [[[0.0] * 5], [[np.nan] * 5]],
}


def test_every_known_measure_has_a_reference() -> None:
    missing = KNOWN.keys() - REFERENCES.keys() - {"recall"}
    assert not missing, f"give {missing} what it measures of CLASSES, worked out by other means, in REFERENCES above"


@pytest.mark.parametrize("name", REFERENCES)
def test_known_measures_of_a_run_that_diverged(name: str) -> None:
    # A known measure reads these three alone: the compiled engine gives no others.
    at_rest = {
        "loss": (("rate", "step"), [[1.0, 0.5, 0.25], [1.0, 2.0, np.inf]]),
        "Z": (("rate", "query", "token"), REFERENCES["Z"]),
        "diverged_at": ("rate", [-1, 2]),
    }
    # As a sweep calls it: units are asked for.
    found = Measure.of(name)(xr.Dataset(at_rest, coords=CLASSES.coords).assign_coords(recorded=3), CLASSES)
    np.testing.assert_allclose(found, REFERENCES[name], rtol=1e-12, err_msg=f"{name!r} isn't what REFERENCES has")


def swept(tmp_path: Path, **changes: Any) -> xr.Dataset:
    run(dataclasses.replace(GRID, **changes), str(tmp_path / "a.zarr"), device="cpu")
    return read(str(tmp_path / "a.zarr"))


def test_measures_in_time_over_models_and_optimizers(tmp_path: Path) -> None:
    optimizers = ("momentum", "torch.optim:AdamW")
    models: tuple[Any, ...] = ("plain", residual)
    kept = ("entropy", {"name": "recall", "threshold": [0.1, 0.3]}, top_share, "final_loss")
    stored = swept(tmp_path, optimizers=optimizers, models=models, measures=kept, record=3)
    assert set(stored.data_vars) == {"entropy", "recall", "top_share", "final_loss", "diverged_at"}
    axes = ("data", "model", "optimizer", "seq_len", "batch_size", "seed", "rate")
    assert stored.entropy.dims == (*axes, "recorded", "class")
    assert stored["recall"].dims == (*axes, "recorded", "threshold")
    assert stored.final_loss.dims == axes
    assert stored.recorded.values.tolist() == [0, 3, 6]
    assert stored.threshold.values.tolist() == [0.1, 0.3]
    assert stored.model.values.tolist() == ["plain", "tests.engine.variants:residual"]
    assert stored.optimizer.values.tolist() == list(optimizers)
    assert {name: array.units for name, array in stored.data_vars.items()} == {
        "entropy": "nats", "recall": "share", "top_share": "attention", "final_loss": "nats", "diverged_at": "steps",
    }  # fmt: skip
    for name, classes in GRID.data.items():
        for label, model in zip(stored.model.values, models, strict=True):
            for optimizer in optimizers:
                expected = train(
                    classes, lr_y=[0.5, 2.0], lr_z=[1.0, 0.3], steps=6, seeds=[8, 3], seq_len=16, batch_size=4,
                    record=3, optimizer=optimizer, model=model,
                )  # fmt: skip
                one = stored.sel(data=name, model=label, optimizer=optimizer).isel(seq_len=0, batch_size=0)
                Z = expected.Z.sel(token=classes.tokens)
                H = measures.entropy(measures.attention(Z, classes), classes)
                K = classes.num_classes
                np.testing.assert_allclose(one.entropy[..., :K], H, rtol=1e-9)
                np.testing.assert_allclose(one["recall"], measures.recall(Z, classes, [0.1, 0.3]), rtol=1e-12)
                np.testing.assert_allclose(one.top_share[..., :K], top_share(expected, classes), rtol=1e-9)
                np.testing.assert_allclose(one.final_loss, expected.loss.isel(step=-1), rtol=1e-9)
    assert np.isfinite(stored.top_share.sel(data="overlapping").isel({"class": slice(3, None)})).sum() == 0


def test_known_measures_at_the_end_are_compiled_and_others_trained() -> None:
    def compiles(**changes: Any) -> bool:
        return next(blocks.blocks(dataclasses.replace(GRID, **changes), "cpu")).is_compiled

    recall = {"name": "recall", "threshold": 0.1}
    assert compiles(measures=("entropy", recall))
    assert not compiles(measures=("entropy", top_share))
    assert not compiles(measures=("entropy", recall), record=3)
    assert not compiles(models=(residual,))
    assert not compiles(optimizers=(ADAMW,))
    own = dataclasses.replace(Measure.of("entropy"), function=top_share)  # control: the name alone makes none known
    assert not compiles(measures=(own,))


def test_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_measures.py").write_text(
        "def range_of_z(run, classes, scale=1):\n"
        "    Z = run.Z.sel(token=classes.tokens)\n"
        "    spread = Z.max(['query', 'token']) - Z.min(['query', 'token'])\n"
        "    return (scale * spread).assign_attrs(units='logits')\n"
    )
    content = {
        "data": "syn_small", "rates": {"lr_y": 1, "lr_z": [1, 2]}, "steps": 4, "seeds": 2, "batch_size": 8,
        "optimizer": ["sgd", "torch.optim:AdamW"], "seq_len": 8, "record": 2,
        "measures": ["entropy", {"name": "my_measures:range_of_z", "scale": 2}],
    }  # fmt: skip
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(content))
    monkeypatch.syspath_prepend(tmp_path)
    grid = load_grid(str(tmp_path / "grid.yaml"))
    run(grid, tmp_path / "a.zarr", device="cpu")
    stored = read(tmp_path / "a.zarr")
    assert stored.range_of_z.dims[-1] == "recorded"
    assert (stored.range_of_z.isel(recorded=0) == 0).all()
    assert (stored.range_of_z.isel(recorded=-1) > 0).all()
    configuration = json.loads(stored.attrs["configuration"])
    entropy, own, diverged = configuration["measures"]
    assert (entropy, diverged) == ("entropy", "diverged_at")
    assert own["function"] == "my_measures:range_of_z"
    assert len(own["code"]) == 16
    assert list(configuration["functions"]) == ["torch.optim:AdamW"]
    run(grid, tmp_path / "a.zarr", device="cpu")  # goes on: all is there
    with (tmp_path / "my_measures.py").open("a") as file:
        file.write("# changed\n")
    with refuses(
        "store …/a.zarr: measures = ['entropy', {'code': '…, asked for is ['entropy', {'code': '…",
        "a store holds one configuration",
    ):
        run(load_grid(str(tmp_path / "grid.yaml")), tmp_path / "a.zarr", device="cpu")


OLD_KEYS = [
    "data", "lr_y", "lr_z", "steps", "seeds", "optimizer", "seq_len", "batch_size", "momentum", "initial", "rng",
    "dtype",
]  # fmt: skip


def test_configurations_without_measures_of_ones_own_are_as_they_were() -> None:
    """Stores that were written before hold these keys and no others, and could not be continued with more."""
    assert list(GRID.configuration()) == OLD_KEYS
    assert list(dataclasses.replace(GRID, measures=("entropy",)).configuration()) == [*OLD_KEYS, "measures"]


def no_units(run: xr.Dataset, classes: Any) -> xr.DataArray:
    return run.loss.isel(step=-1, drop=True).drop_attrs()


def no_rate(run: xr.Dataset, classes: Any) -> xr.DataArray:
    return run.loss.mean().assign_attrs(units="nats")


def own_labels(run: xr.Dataset, classes: Any) -> xr.DataArray:
    return run.Z.isel(query=0, drop=True).rename(token="place").assign_attrs(units="logits")


@pytest.mark.parametrize(
    ("kept", "value", "rule"),
    [
        (
            ("entropies",),
            "measure = 'entropies'",
            f"the choices are {', '.join(KNOWN)}; of your own, a function or its name as module:function",
        ),
        (
            ("my_module:f",),
            "measure = 'my_module:f': No module named 'my_module'",
            "its module can be imported and holds it",
        ),
        (("entropy", "entropy"), "measures holds 'entropy' twice", "the values of an axis differ"),
        (({"threshold": 1},), "measures hold {'threshold': 1}", "a measure has a name"),
        (
            (3,),
            "measure = 3",
            f"the choices are {', '.join(KNOWN)}; of your own, a function or its name as module:function",
        ),
        ((), "measures = []", "an axis of a grid has at least one value"),
        (3, "measures = 3", "a list of values"),
        (
            ("recall",),
            "measure recall: missing a required argument: 'threshold'",
            "a measure is called with a run, its classes and the arguments that it's listed with",
        ),
        (
            ({"name": "entropy", "threshold": 1},),
            "measure entropy: got an unexpected keyword argument 'threshold'",
            "a measure is called with a run, its classes and the arguments that it's listed with",
        ),
        (
            (lambda run: run.loss,),
            "measure <lambda>: too many positional arguments",
            "a measure is called with a run, its classes and the arguments that it's listed with",
        ),
        (
            (no_units,),
            "measure no_units returns DataArray of dimensions and attributes (('rate',), [])",
            "a measure is a labelled array over rate that names its units",
        ),
        (
            (no_rate,),
            "measure no_rate returns DataArray of dimensions and attributes ((), ['units'])",
            "a measure is a labelled array over rate that names its units",
        ),
        (
            (own_labels,),
            "measure own_labels with different labels of place",
            "labels are the same for all, except those of class, query, token, output",
        ),
    ],
)
def test_no_measures(kept: Any, value: str, rule: str, tmp_path: Path) -> None:
    with refuses(value, rule):
        run(dataclasses.replace(GRID, measures=kept), tmp_path / "a.zarr", device="cpu")
    assert not (tmp_path / "a.zarr").exists()


def test_a_module_that_fails_as_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with refuses(
        "measure = 'broken:f': ZeroDivisionError: division by zero",
        "its module can be imported and holds it",
        "correct the module",
    ):
        dataclasses.replace(GRID, measures=("broken:f",))


def test_one_value_in_a_file_is_a_list() -> None:
    content = {"data": "syn_small", "rates": {"lr_y": 1, "lr_z": 1}, "steps": 5, "seeds": 2, "measures": "entropy"}
    assert [each.name for each in grid_of(content, Path()).measured] == ["entropy", "diverged_at"]


def test_an_exception_in_a_measure_names_it_and_stays_the_cause() -> None:
    def spread(run: xr.Dataset, classes: Any) -> xr.DataArray:
        return run.loss.std("seed")

    def refusing(run: xr.Dataset, classes: Any) -> xr.DataArray:
        return measures.recall(run.Z, classes, np.nan)

    with refuses(
        "measure spread raised ValueError: 'seed' not found in array dimensions ('rate', 'step')",
        "a measure takes any run of the sweep: one seed, no dimension seed, and NaN where it diverged",
    ) as caught:
        blocks.layout_of(dataclasses.replace(GRID, measures=(spread,)))
    assert isinstance(caught.value.__cause__, ValueError)
    with refuses(
        "measure refusing: thresholds = nan", "thresholds are a number that isn't negative, or a list of them"
    ):
        blocks.layout_of(dataclasses.replace(GRID, measures=(refusing,)))


def test_a_sweep_of_named_tokens_is_read_with_its_classes(tmp_path: Path) -> None:
    rows = {"ship": {"and": 0.4, "wave": 0.6}, "plane": {"and": 0.4, "cloud": 0.6}}
    classes = SequenceClasses.from_dicts(rows, query_of="the", vocab_size=100)
    stored = swept(tmp_path, data={"topics": classes}, measures=("Z", "entropy"), record=3, optimizers=("sgd",))
    one = stored.isel(data=0, optimizer=0, seq_len=0, batch_size=0)
    assert one.token.values.tolist() == ["and", "cloud", "wave"]  # ascending, and not as the classes number them
    run = train(classes, lr_y=0.5, lr_z=1.0, steps=6, seeds=[8, 3], seq_len=16, batch_size=4, record=3, dtype="float64")
    c = measures.attention(one.Z.isel(rate=0), classes)
    np.testing.assert_array_equal(c.token, classes.coords["token"])
    np.testing.assert_allclose(c, measures.attention(run.Z.isel(rate=0), classes).transpose(*c.dims), rtol=1e-12)
    H = measures.entropy(c, classes)
    np.testing.assert_allclose(H, one.entropy.isel(rate=0).sel({"class": H["class"]}), rtol=1e-12)
    assert theory_of(classes, one).token.values.tolist() == ["and", "wave", "cloud"]
