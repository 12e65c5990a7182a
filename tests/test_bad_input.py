"""Each bad argument of a training is refused before anything is computed, naming value, rule and remedy."""

from __future__ import annotations

import contextlib
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import torch

from scansnap_core import BadInput
from scansnap_core.data.datasets import syn_small
from scansnap_core.engine import training
from scansnap_core.engine.names import OPTIMIZERS
from scansnap_core.engine.settings import RNGS
from scansnap_core.engine.training import train
from tests.refusing import refuses

GOOD: dict[str, Any] = {"lr_y": 1.0, "lr_z": 1.0, "steps": 2, "batch_size": 4, "seq_len": 8}
RATE = "a learning rate is positive and finite; pass e.g. 1.0"
LENGTH = "T is a whole number of at least 2"
REST = "(one contextual token and the query) and at most 2^53, or inf"
EYE = np.eye(34)

BAD = [
    ({"lr_y": 0.0}, f"lr_y = 0.0: {RATE}"),
    ({"lr_z": -1.0}, f"lr_z = -1.0: {RATE}"),
    ({"lr_z": [1.0, np.nan]}, f"lr_z = nan: {RATE}"),
    ({"lr_y": "fast"}, f"lr_y = 'fast': {RATE}, a number without quotes"),
    ({"lr_y": None}, f"lr_y = None: {RATE}"),
    ({"lr_y": [1, 2, 3], "lr_z": [1, 2]}, "3 values of lr_y and 2 of lr_z: rates are paired; pass lists of one length"),
    ({"lr_y": [], "lr_z": []}, "0 values of lr_y and 0 of lr_z: rates are paired"),
    ({"seq_len": 1}, f"seq_len = 1: {LENGTH}"),
    ({"seq_len": 2.5}, f"seq_len = 2.5: {LENGTH}"),
    ({"seq_len": np.nan}, f"seq_len = nan: {LENGTH}"),
    ({"seq_len": "inf"}, f"seq_len = 'inf': {LENGTH} {REST}; write a number; infinity is .inf in YAML, math.inf"),
    ({"steps": 0}, "steps = 0: a positive integer; pass e.g. 100"),
    ({"steps": 2.0}, "steps = 2.0: a positive integer"),
    ({"batch_size": 0}, "batch_size = 0: a positive integer"),
    ({"batch_size": None}, "batch_size = None with seq_len = 8: the expectation over classes is defined at T = inf"),
    ({"seeds": []}, "seeds = []: a list of integers that are not negative, and at most 2^63 - 3; pass"),
    ({"seeds": [0, -1]}, "seeds = [0, -1]: a list of integers"),
    ({"optimizer": "lion"}, f"optimizer = 'lion': the choices are {', '.join(OPTIMIZERS)}; of your own"),
    ({"momentum": 1.0}, "momentum = 1.0: momentum lies in [0, 1); pass e.g. 0.9"),
    ({"initial": "one"}, "initial = 'one': the choices are zero, random"),
    ({"initial": (EYE,)}, "initial of 1 parts: initial values are zero, random, (Y, Z), or"),
    ({"initial": (EYE, EYE[:3])}, "initial Z of shape (3, 34): Y and Z are finite M x M arrays, M = 34"),
    ({"initial": (np.nan * EYE, EYE)}, "initial Y of shape (34, 34) with nan at (0, 0): Y and Z are finite"),
    ({"record": []}, "record = []: recorded steps are integers in 0..2; change the list or steps"),
    ({"record": [0, 3]}, "record = [0, 3]: recorded steps are integers in 0..2"),
    ({"record": 0}, "record = 0: a positive integer"),
    ({"rng": "lottery"}, f"rng = 'lottery': the choices are {', '.join(RNGS)}; use one of them"),
    ({"rng": "replay", "seq_len": np.inf}, "rng = 'replay' without a finite batch and T: the authors' runs"),
    ({"device": "tpu"}, "device = 'tpu': a device is auto, cpu or cuda; use auto"),
    ({"dtype": "float16"}, "dtype = 'float16': the choices are float64, float32"),
    ({"keep_state": 1}, "keep_state = 1: it is True or False; pass one of them"),
    ({"progress": 3}, "progress = 3: it is True or False"),
    ({"steps": 10**12}, "the losses of 1 runs at 1,000,000,000,000 steps, which take 8,000,000,000,000 bytes: all is"),
    ({"batch_size": 10**12}, "1 runs of 2 steps, recorded 2 times, which take "),
    ({"seq_len": 1e30}, f"seq_len = 1e+30: {LENGTH} {REST}; pass e.g. 128, or inf"),
    ({"seeds": range(10**12)}, "seeds of more than 1,000,000 values: a list holds at most 1,000,000; split the work"),
    ({"seeds": itertools.count()}, "seeds of more than 1,000,000 values"),
    ({"record": range(10**12)}, "record of more than 1,000,000 values"),
    ({"seeds": [2**63]}, "seeds = [9223372036854775808]: a list of integers that are not negative, and at most 2^63"),
    ({"seeds": [1, 2, 1]}, "seeds holds 1 twice: the values of an axis differ; remove one"),
    ({"steps": 10**7, "record": 1, "seeds": range(100)}, "record of more than 1,000,000 values"),
]  # fmt: skip


@pytest.fixture
def _nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_early(*_: Any) -> None:
        raise AssertionError("work started before the arguments were checked")

    monkeypatch.setattr(training, "_train_one", too_early)


@pytest.mark.usefixtures("_nothing_is_computed")
@pytest.mark.parametrize(("changes", "message"), BAD, ids=[message.split(":")[0] for _, message in BAD])
def test_bad_argument(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        train(syn_small(), **{**GOOD, **changes})
    assert str(caught.value).startswith(message)
    assert str(caught.value) == f"{caught.value.value}: {caught.value.rule}; {caught.value.remedy}"
    assert "\n" not in str(caught.value)


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
