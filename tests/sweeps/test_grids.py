"""Grids: what named and written ones hold, and that bad ones are refused in one clear line before anything runs."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scansnap_core.base.files import MAPPING
from scansnap_core.base.rules import RATE, SEQ_LEN
from scansnap_core.data.datasets import syn_medium
from scansnap_core.engine.settings import BETWEEN_0_AND_1, STARTS
from scansnap_core.engine.training import train
from scansnap_core.sweeps import grid_files
from scansnap_core.sweeps.defaults import DEFAULTS, as_a_table, in_a_line, written
from scansnap_core.sweeps.grid_files import NAMED, NUMBER_OF_SEEDS, grid_of, load_grid
from scansnap_core.sweeps.grids import DATA, PAIR, Grid
from tests.engine.variants import residual
from tests.refusing import refuses

EXAMPLES = Path(__file__).parents[2] / "examples"
GOOD: dict[str, Any] = {"data": "syn_small", "rates": {"lr_y": 1, "lr_z": 1}, "steps": 5, "seeds": 2}


@pytest.mark.parametrize("name", ["fig6", "fig11", "fig12"])
def test_the_640_runs_of_syn_medium(name: str) -> None:
    grid = load_grid(name)
    assert grid.num_runs == 640
    assert [classes.vocab_size for classes in grid.data.values()] == [33, 79, 125, 240]
    assert grid.seeds == tuple(range(1, 11))
    pairs = {(lr_z, lr_y / lr_z) for lr_y, lr_z in grid.rates}
    assert pairs == {(lr_z, ratio) for lr_z in (0.5, 1, 2, 3) for ratio in (1, 2, 5, 10)}
    assert (grid.optimizers, grid.initial, grid.steps) == (("momentum",), "random", 100)
    assert grid.configuration()["momentum"] == 0.9
    assert (grid.seq_lens, grid.batch_sizes, grid.rng) == ((128,), (128,), "counter")


def test_the_example() -> None:
    grid = load_grid(str(EXAMPLES / "my_grid.yaml"))
    assert list(grid.data) == ["syn_medium 3", "two_topics.yaml"]
    assert grid.rates == ((0.5, 0.5), (2.5, 0.5), (2, 2), (10, 2))
    assert grid.num_runs == 2 * 4 * 3 * 2


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"lr_y": [1, 2], "lr_z": [3, 4]}, [(1, 3), (1, 4), (2, 3), (2, 4)]),
        ({"lr_y": [1, 2], "ratio": 4}, [(1, 0.25), (2, 0.5)]),
        ({"pairs": [[1, 2], [3, 4]]}, [(1, 2), (3, 4)]),
    ],
)
def test_rates(rates: dict[str, Any], expected: list[tuple[float, float]]) -> None:
    assert list(grid_of(GOOD | {"rates": rates}, Path()).rates) == expected


def test_a_grid_of_ones_own_trains_with_plain_sgd() -> None:
    grid = grid_of(GOOD, Path())
    assert grid.optimizers == ("sgd",)
    assert grid.configuration()["momentum"] == 0
    named = {key: default.value for key, default in DEFAULTS.items() if key not in ("momentum", "record")}
    named["measures"] = list(named["measures"])
    assert grid == grid_of(GOOD | named, Path())
    assert grid_of(GOOD | {"optimizer": "momentum"}, Path()).configuration()["momentum"] == DEFAULTS["momentum"].value


def test_trainings_and_sweeps_have_the_same_defaults_but_for_the_type() -> None:
    kept = {"momentum", "measures"}  # the first is that of "momentum"; a training keeps its whole course
    parameters = inspect.signature(train).parameters
    differ = {key for key, default in DEFAULTS.items() if key not in kept and parameters[key].default != default.value}
    assert differ == {"dtype"}


@pytest.mark.parametrize("name", NAMED)
def test_the_papers_grids_name_their_settings(name: str) -> None:
    assert {"optimizer", "seq_len", "batch_size", "dtype"} <= NAMED[name].keys()


def test_every_default_is_said_where_one_reads() -> None:
    optional = {key: default.value for key, default in DEFAULTS.items() if key != "record"}
    shown = yaml.safe_load(str(grid_files.__doc__).partition("::\n")[2].partition("\n``")[0])
    shown["measures"] = tuple(shown["measures"])
    assert {key: shown[key] for key in optional} == optional
    example = (EXAMPLES / "my_grid.yaml").read_text(encoding="utf8")
    said = dict(re.findall(r"^(\w+):.*\(default: (.*)\)$", example, re.MULTILINE))
    assert said == {key: written(value) for key, value in optional.items()} | {"measures": "all of these"}
    assert yaml.safe_load(example)["measures"] == list(DEFAULTS["measures"].value)
    for key, default in DEFAULTS.items():
        assert f"{key} {written(default.value)}" in in_a_line()
        assert f"| `{key}` |" in as_a_table()


def test_all_that_decides_the_results_is_in_the_configuration() -> None:
    some = {"optimizers": ("momentum",), "seq_lens": (8, 9)}
    grid = Grid(data={"a": syn_medium(1)}, rates=((1, 2), (3, 4)), steps=5, seeds=(1, 2), **some)  # type: ignore[arg-type]
    changes: dict[str, Any] = {
        "data": {"a": syn_medium(2)}, "rates": ((1, 2), (3, 5)), "steps": 6, "seeds": (2, 1), "optimizers": ("sgd",),
        "seq_lens": (9, 8), "batch_sizes": (4,), "momentum": 0.8, "initial": "random", "rng": "replay",
        "dtype": "float64", "models": ("plain", residual), "measures": ("entropy",), "record": 2,
    }  # fmt: skip
    assert changes.keys() == {field.name for field in dataclasses.fields(Grid)}
    one_lr_y = dataclasses.replace(grid, rates=((1, 2), (5, 4)))
    others = [dataclasses.replace(grid, **{name: value}) for name, value in changes.items()]
    texts = {json.dumps(each.configuration(), sort_keys=True) for each in (grid, one_lr_y, *others)}
    assert len(texts) == 2 + len(changes)


BAD = [
    ({"rate": 1}, "a grid: key 'rate'", "there is no such key"),
    ({"data": []}, "data = []", "an axis of a grid has at least one value"),
    ({"data": ["syn_small", "syn_small"]}, "data holds 'syn_small' twice", "the values of an axis differ"),
    (
        {"data": "syn_large"},
        "data = 'syn_large'",
        "data are syn_small, syn_medium m (with m query tokens), or a .yaml or .json file of classes",
    ),
    ({"data": "syn_medium 0"}, "num_queries = 0", "Syn-Medium has at least one query token"),
    ({"data": {"syn_medium": 3}}, "data = {'syn_medium': 3}", "data is a value or a list of values"),
    ({"data": "nowhere.yaml"}, "file nowhere.yaml: No such file or directory", "the file must exist and be readable"),
    ({"rates": {"lr_y": 1}}, "rates = {'lr_y': 1}", "rates has two of lr_y, lr_z and ratio, or pairs"),
    ({"rates": 1}, "rates = 1", "rates has two of lr_y, lr_z and ratio, or pairs"),
    ({"rates": {"lr_y": [], "lr_z": 1}}, "lr_y = []", "an axis of a grid has at least one value"),
    ({"rates": {"lr_y": [1, -1], "lr_z": 1}}, "lr_y = -1", RATE.says),
    ({"rates": {"lr_z": 1, "ratio": 0}}, "ratio = 0", RATE.says),
    ({"rates": {"lr_z": 1e200, "ratio": 1e200}}, "lr_y = inf", RATE.says),
    ({"rates": {"pairs": [[1, 1], [1, 1]]}}, "rates holds (1.0, 1.0) twice", "the values of an axis differ"),
    ({"rates": {"pairs": [[1, "a"]]}}, "lr_z = 'a'", RATE.says),
    ({"rates": {"pairs": [[1, 2, 3]]}}, "a pair of rates = [1, 2, 3]", PAIR.says),
    ({"rates": {"pairs": []}}, "rates = []", "an axis of a grid has at least one value"),
    ({"seeds": 0}, "seeds = 0", NUMBER_OF_SEEDS.says),
    ({"seeds": "all"}, "seeds = 'all'", NUMBER_OF_SEEDS.says),
    ({"seeds": [1, 2, 1]}, "seeds holds 1 twice", "the values of an axis differ"),
    ({"seq_len": [128, 1]}, "seq_len = 1", SEQ_LEN.says),
    (
        {"batch_size": "expectation"},
        "batch_size = None with seq_len = 128",
        "the expectation over classes is defined at T = infinity",
    ),
    ({"momentum": 1}, "momentum = 1", BETWEEN_0_AND_1.says),
    (
        {"momentum": 0.9, "optimizer": "sgd"},
        "momentum = 0.9 with the optimizer sgd",
        "only the optimizer momentum has it",
    ),
    ({"initial": "one"}, "initial = 'one'", STARTS.says),
]


@pytest.mark.parametrize(("change", "value", "rule"), BAD, ids=[value for _, value, _ in BAD])
def test_a_bad_grid(change: dict[str, Any], value: str, rule: str) -> None:
    with refuses(value, rule):
        grid_of(GOOD | change, Path())


@pytest.mark.parametrize("key", GOOD)
def test_a_missing_key(key: str) -> None:
    content = {name: value for name, value in GOOD.items() if name != key}
    with refuses(f"a grid: no key '{key}'", "it is required"):
        grid_of(content, Path())


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("- 1", "a grid = [1]", MAPPING.says),
        ("", "a grid: no key 'data'", "it is required"),
        ("step: 1", "a grid: key 'step'", "there is no such key"),
    ],
)
def test_a_bad_file(text: str, value: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with refuses(f"file {path}: {value}", rule):
        load_grid(str(path))


def test_a_grid_is_a_figures_or_a_file() -> None:
    with refuses("grid fig7", f"a grid is one of {', '.join(NAMED)}, or a .yaml file"):
        load_grid("fig7")


def test_a_grid_from_python() -> None:
    with refuses("rates = []", "an axis of a grid has at least one value"):
        Grid(data={"a": syn_medium(1)}, rates=(), steps=1, seeds=(0,))
    for data in ({}, 5, {"a": 1}, syn_medium(1)):
        with refuses("data = …", DATA.says):
            Grid(data=data, rates=((1, 1),), steps=1, seeds=(0,))  # type: ignore[arg-type]
