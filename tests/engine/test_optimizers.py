"""Built-in optimisers are torch's; of torch's own each run has one, so it moves as alone; others are refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

from scansnap_core.engine.names import MODELS, OPTIMIZERS
from scansnap_core.engine.optimizers import BuiltIn, check_optimizer
from scansnap_core.engine.training import train
from scansnap_core.law import predicting
from scansnap_core.text import settings as text
from tests.engine.references import overlapping_classes
from tests.engine.variants import ADAMW
from tests.refusing import refuses

OPTIONS: dict[str, Any] = {"steps": 30, "batch_size": 8, "seq_len": 16, "initial": "random"}
TORCHS = {name.lower(): made for name, made in vars(torch.optim).items() if isinstance(made, type)}
NAMESAKE = {"momentum": functools.partial(torch.optim.SGD, momentum=0.9)}
"""What a built-in optimiser is called in ``torch.optim``, where that isn't its name."""


def run(optimizer: Any, lr_y: Any = (0.3, 1.0), lr_z: Any = (0.1, 0.5), seeds: Any = (0, 7), **more: Any) -> xr.Dataset:
    return train(overlapping_classes(), lr_y=lr_y, lr_z=lr_z, seeds=seeds, optimizer=optimizer, **{**OPTIONS, **more})


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_built_in_optimizer_is_its_namesake_of_torchs(name: str) -> None:
    namesake = NAMESAKE.get(name) or TORCHS.get(name)
    assert namesake, f"the optimiser {name!r} has no reference: name its equal of torch.optim in NAMESAKE, in this file"
    theirs = run(namesake)
    apart = differences(run(name), theirs)
    assert apart < 1e-11, f"{name!r} and its equal of torch.optim are up to {apart:.3g} apart after 30 steps"
    # control
    alike = [other for other in OPTIMIZERS if other != name and differences(run(other), theirs) <= 1e-2]
    assert not alike, f"the test can't tell {name!r} from {alike}: change OPTIONS until it can"


def test_a_state_is_what_the_next_update_depends_on() -> None:
    Y, Z, rates = torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), [(1.0, 1.0)]
    for momentum, kept in ((0.0, []), (0.9, ["velocity"])):
        assert [*BuiltIn("sgd", Y, Z, rates, momentum, steps=0).states()["Y"]] == kept


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (OPTIMIZERS, train.__doc__),
        (MODELS, train.__doc__),
        (text.OPTIMIZERS, text.Settings.__doc__),
        (predicting.OPTIMIZERS, predicting.predict.__doc__),
    ],
    ids=["train's optimisers", "train's models", "optimisers on text", "predict's optimisers"],
)
def test_docstrings_list_every_name(names: tuple[str, ...], text: str) -> None:
    missing = [name for name in names if f'"{name}"' not in " ".join(text.split())]
    assert not missing, f"add {', '.join(missing)} to the docstring's list of names"


def differences(one: xr.Dataset, other: xr.Dataset) -> float:
    """Return the largest difference of two trainings in the loss, Y and Z."""
    return float(np.max([np.abs(one[name].values - other[name].values).max() for name in ("loss", "Y", "Z")]))


def test_their_names_are_stored() -> None:
    assert run("torch.optim:AdamW", steps=1).attrs["optimizer"] == "torch.optim.adamw:AdamW"
    assert run(ADAMW, steps=1).attrs["optimizer"] == "torch.optim.adamw:AdamW(weight_decay=0.1)"
    assert run("torch.optim:AdamW").equals(run(torch.optim.AdamW))


A_CALL = "called with two parameter groups, Y's and Z's, each with its lr, it gives an Optimizer of torch's"
A_NAME = (
    f"the choices are {', '.join(OPTIMIZERS)}; of your own, a function or its name as module:function, "
    "such as torch.optim:AdamW"
)


@pytest.mark.parametrize(
    ("make", "value", "rule"),
    [
        (
            torch.optim.LBFGS,
            "optimizer = torch.optim.lbfgs:LBFGS: LBFGS doesn't support per-parameter options (parameter groups)",
            A_CALL,
        ),
        (
            "torch.optim:NoSuch",
            "optimizer = 'torch.optim:NoSuch': module 'torch.optim' has no attribute 'NoSuch'",
            "its module can be imported and holds it",
        ),
        (
            None,
            "optimizer = None",
            A_NAME,
        ),
        (
            ["sgd"],
            "optimizer = ['sgd']",
            A_NAME,
        ),
    ],
)
def test_what_cannot_serve_is_refused(make: Any, value: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scansnap_core.engine.training._train_one", lambda *_: pytest.fail("work began"))
    with refuses(value, rule):
        run(make)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", torch.optim.SGD])
def test_momentum_is_momentums(optimizer: Any) -> None:
    with refuses("momentum = 0.9 with the optimizer …", "only the optimizer momentum has it"):
        run(optimizer, momentum=0.9)


# -- Without a training -----------------------------------------------------------------------------------------------


class NeedsLoss(torch.optim.SGD):
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        closure()


def with_rates(*factors: float) -> Callable[[list[dict[str, Any]]], torch.optim.Optimizer]:
    """SGD that multiplies the rates that it is given."""
    return lambda groups: torch.optim.SGD(
        [group | {"lr": factor * group["lr"]} for group, factor in zip(groups, factors, strict=True)]
    )


@pytest.mark.parametrize(
    ("make", "value", "rule"),
    [
        (
            NeedsLoss,
            "optimizer = mine: 'NoneType' object is not callable",
            A_CALL,
        ),
        (
            torch.optim.SparseAdam,
            "optimizer = mine: SparseAdam does not support dense gradients, please consider Adam instead",
            A_CALL,
        ),
        (
            lambda groups: torch.optim.SGD(groups[:1]),
            "optimizer = mine: it holds the rates [0.1], not [0.1, 0.5]",
            A_CALL,
        ),
        (
            with_rates(1, 2),
            "optimizer = mine: it holds the rates [0.1, 1.0], not [0.1, 0.5]",
            A_CALL,
        ),
        (
            with_rates(0.5, 1),
            "optimizer = mine: it holds the rates [0.05, 0.5], not [0.1, 0.5]",
            A_CALL,
        ),
        (
            lambda groups: torch.optim.SGD([g | {"params": [g["params"][0].clone()]} for g in groups]),
            "optimizer = mine: it holds the rates [0.1, 0.5], not [0.1, 0.5]",
            A_CALL,
        ),
        (
            lambda groups: None,
            "optimizer = mine: 'NoneType' object has no attribute 'param_groups'",
            A_CALL,
        ),
        # of the second pair of rates alone
        (
            lambda groups: torch.optim.SGD(groups[: 1 + (groups[0]["lr"] < 1)]),
            "optimizer = mine: it holds the rates [1], not [1, 1]",
            A_CALL,
        ),
    ],
)
def test_an_optimizer_that_wont_do_is_refused(make: Any, value: str, rule: str) -> None:
    with refuses(value, rule):
        check_optimizer("mine", make, [(0.1, 0.5), (1, 1)])
