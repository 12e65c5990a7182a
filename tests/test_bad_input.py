"""Each bad argument of a training is refused before anything is computed, naming value, rule and remedy."""

from __future__ import annotations

import ast
import contextlib
import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from scansnap_core import BadInput
from scansnap_core.base.rules import FLAG, RATE, SEQ_LEN, Rule, shown
from scansnap_core.data.datasets import syn_small
from scansnap_core.engine import training
from scansnap_core.engine.names import OPTIMIZERS
from scansnap_core.engine.settings import BETWEEN_0_AND_1, DEVICE, RNGS, SEEDS, STARTS
from scansnap_core.engine.training import train
from tests.refusing import refuses

GOOD: dict[str, Any] = {"lr_y": 1.0, "lr_z": 1.0, "steps": 2, "batch_size": 4, "seq_len": 8}
EYE = np.eye(34)

BAD = [
    ({"lr_y": 0.0}, "lr_y = 0.0", RATE.says),
    ({"lr_z": -1.0}, "lr_z = -1.0", RATE.says),
    ({"lr_z": [1.0, np.nan]}, "lr_z = nan", RATE.says),
    ({"lr_y": "fast"}, "lr_y = 'fast'", RATE.says),
    ({"lr_y": None}, "lr_y = None", RATE.says),
    ({"lr_y": [1, 2, 3], "lr_z": [1, 2]}, "3 values of lr_y and 2 of lr_z", "rates are paired"),
    ({"lr_y": [], "lr_z": []}, "0 values of lr_y and 0 of lr_z", "rates are paired"),
    ({"seq_len": 1}, "seq_len = 1", SEQ_LEN.says),
    ({"seq_len": 2.5}, "seq_len = 2.5", SEQ_LEN.says),
    ({"seq_len": np.nan}, "seq_len = nan", SEQ_LEN.says),
    ({"seq_len": "inf"}, "seq_len = 'inf'", SEQ_LEN.says),
    ({"steps": 0}, "steps = 0", "a positive integer"),
    ({"steps": 2.0}, "steps = 2.0", "a positive integer"),
    ({"batch_size": 0}, "batch_size = 0", "a positive integer"),
    (
        {"batch_size": None},
        "batch_size = None with seq_len = 8",
        "the expectation over classes is defined at T = infinity",
    ),
    ({"seeds": []}, "seeds = []", SEEDS.says),
    ({"seeds": [0, -1]}, "seeds = [0, -1]", SEEDS.says),
    (
        {"optimizer": "lion"},
        "optimizer = 'lion'",
        f"the choices are {', '.join(OPTIMIZERS)}; of your own, a function or its name as …",
    ),
    ({"momentum": 1.0}, "momentum = 1.0", BETWEEN_0_AND_1.says),
    ({"initial": "one"}, "initial = 'one'", STARTS.says),
    (
        {"initial": (EYE,)},
        f"initial = {shown((EYE,))}",
        "initial values are zero, random, (Y, Z), or the data set of a training to go on with",
    ),
    (
        {"initial": np.array(3.0)},  # it has a length that can't be asked for
        "initial = array(3.)",
        "initial values are zero, random, (Y, Z), or the data set of a training to go on with",
    ),
    ({"initial": (EYE, EYE[:3])}, "initial Z of shape (3, 34)", "Y and Z are finite M x M arrays, M = 34"),
    (
        {"initial": (np.nan * EYE, EYE)},
        "initial Y of shape (34, 34) with nan at (0, 0)",
        "Y and Z are finite M x M arrays, M = 34",
    ),
    ({"record": []}, "record = []", "recorded steps are integers in 0..2"),
    ({"record": [0, 3]}, "record = [0, 3]", "recorded steps are integers in 0..2"),
    ({"record": 0}, "record = 0", "a positive integer"),
    ({"rng": "lottery"}, "rng = 'lottery'", f"the choices are {', '.join(RNGS)}"),
    (
        {"rng": "replay", "seq_len": np.inf},
        "rng = 'replay' without a finite batch and T",
        "the authors' runs draw batches of finite sequences",
    ),
    ({"device": "tpu"}, "device = 'tpu'", DEVICE.says),
    ({"dtype": "float16"}, "dtype = 'float16'", "the choices are float64, float32"),
    ({"keep_state": 1}, "keep_state = 1", FLAG.says),
    ({"progress": 3}, "progress = 3", FLAG.says),
    (
        {"steps": 10**12},
        "the losses of 1 runs at 1,000,000,000,000 steps, which take 8,000,000,000,000 bytes",
        "all is held in memory, here … bytes",
    ),
    (
        {"batch_size": 10**12},
        "1 runs of 2 steps, recorded 2 times, which take … bytes",
        "all is held in memory, here … bytes",
    ),
    ({"seq_len": 1e30}, "seq_len = 1e+30", SEQ_LEN.says),
    ({"seeds": range(10**12)}, "seeds of more than 1,000,000 values", "a list holds at most 1,000,000"),
    ({"seeds": itertools.count()}, "seeds of more than 1,000,000 values", "a list holds at most 1,000,000"),
    ({"record": range(10**12)}, "record of more than 1,000,000 values", "a list holds at most 1,000,000"),
    (
        {"seeds": [2**63]},
        "seeds = [9223372036854775808]",
        SEEDS.says,
    ),
    ({"seeds": [1, 2, 1]}, "seeds holds 1 twice", "the values of an axis differ"),
    (
        {"steps": 10**7, "record": 1, "seeds": range(100)},
        "record of more than 1,000,000 values",
        "a list holds at most 1,000,000",
    ),
]


@pytest.fixture
def _nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_early(*_: Any) -> None:
        raise AssertionError("work started before the arguments were checked")

    monkeypatch.setattr(training, "_train_one", too_early)


@pytest.mark.usefixtures("_nothing_is_computed")
@pytest.mark.parametrize(("changes", "value", "rule"), BAD, ids=[value for _, value, _ in BAD])
def test_bad_argument(changes: dict[str, Any], value: str, rule: str) -> None:
    with refuses(value, rule) as caught:
        train(syn_small(), **{**GOOD, **changes})
    assert str(caught.value) == f"{caught.value.value}: {caught.value.rule}; {caught.value.remedy}"
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("_nothing_is_computed")
@pytest.mark.parametrize(
    ("changes", "value", "rule"), [({"lr_y": "1"}, "'1'", RATE), ({"seq_len": "8"}, "'8'", SEQ_LEN)]
)
def test_text_in_place_of_a_number_has_its_own_remedy(changes: dict[str, Any], value: str, rule: Rule) -> None:
    assert rule.of_text != rule.remedy
    with refuses(f"{next(iter(changes))} = {value}", rule.says, rule.of_text):
        train(syn_small(), **{**GOOD, **changes})


@pytest.mark.usefixtures("_nothing_is_computed")
def test_cuda_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with refuses("device = 'cuda'", "it needs a CUDA GPU, and PyTorch finds none here"):
        train(syn_small(), **GOOD, device="cuda")


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(BadInput("x = 1", "x is 2", "pass 2")))
    assert (error.value, error.rule, error.remedy, str(error)) == ("x = 1", "x is 2", "pass 2", "x = 1: x is 2; pass 2")


@pytest.mark.parametrize(
    ("value", "rule", "remedy", "red"),
    [
        ("x = 1", "x is 2", "pass 2", False),
        ("x = …", "… is 2", "…", False),
        ("x = 3", "x is 2", "pass 2", True),
        ("x = 1", "x is", "pass 2", True),
        ("x = 1", "x is 2", "pass …3", True),
    ],
)
def test_a_refusal_has_the_value_and_rule_asked_for(value: str, rule: str, remedy: str, red: bool) -> None:
    with pytest.raises(AssertionError) if red else contextlib.nullcontext(), refuses(value, rule, remedy):
        raise BadInput("x = 1", "x is 2", "pass 2")
    with pytest.raises(pytest.fail.Exception), refuses("…", "…"):
        pass


def test_what_is_called_check_refuses_and_what_is_called_checked_converts() -> None:
    found: dict[str, list[str]] = {"check": [], "checked": []}
    for path in (Path(__file__).parents[1] / "scansnap_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.FunctionDef):
                verb = node.name.lstrip("_").partition("_")[0]
                found.get(verb, []).append(ast.unparse(node.returns) if node.returns else "")
    assert set(found["check"]) == {"None"}
    assert "None" not in found["checked"]
    assert len(found["checked"]) > 20
