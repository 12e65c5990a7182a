"""The built-in optimisers' state, and optimisers of torch's that are made once for every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from scansnap_core import BadInput
from scansnap_core.engine.optimizers import SGD, Adam, OnePerRun, check_optimizer

RATES = torch.tensor([0.1, 3.0], dtype=torch.float64)


def test_what_the_next_update_depends_on() -> None:
    parameter = torch.ones(2, 3)
    assert SGD(parameter, RATES, 0.0).state() == {}
    assert list(SGD(parameter, RATES, 0.9).state()) == ["velocity"]
    assert list(Adam(parameter, RATES).state()) == ["mean", "square"]


def test_an_optimizer_for_every_run_climbs_as_each_would_alone() -> None:
    draw = torch.Generator().manual_seed(0)
    pairs = [(0.1, 0.5), (2.0, 3.0)]
    Y, Z = (torch.randn(3, 2, *shape, generator=draw, dtype=torch.float64) for shape in ((4, 5), (1, 4)))
    one_by_one = [
        (start[seed, rate].clone(), pairs[rate][which], (seed, rate), which)
        for which, start in enumerate((Y, Z))
        for seed in range(3)
        for rate in range(2)
    ]
    climbers = [SGD(part, torch.tensor(lr, dtype=torch.float64), 0.9) for part, lr, *_ in one_by_one]
    made = OnePerRun(lambda groups: torch.optim.SGD(groups, momentum=0.9), Y, Z, pairs)
    for _ in range(4):
        gradients = [torch.randn(part.shape, generator=draw, dtype=torch.float64) for part in (Y, Z)]
        made.step(*gradients)
        for climber, (*_, run, which) in zip(climbers, one_by_one, strict=True):
            climber.step(gradients[which][run])
    for part, _, run, which in one_by_one:
        torch.testing.assert_close((Y, Z)[which][run], part, rtol=1e-13, atol=0)
    assert made.states() == {}


class Signs(torch.optim.SGD):
    """A user's own: it takes gradients for granted."""

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for part in group["params"]:
                part.sub_(group["lr"] * part.grad.sign())


class NeedsLoss(torch.optim.SGD):
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        closure()


@pytest.mark.parametrize("make", [torch.optim.AdamW, torch.optim.SGD, Signs])
def test_an_optimizer_of_torchs_is_taken(make: Any) -> None:
    check_optimizer("mine", make, [(0.1, 0.5), (2.0, 2.0)])


def with_rates(*factors: float) -> Callable[[list[dict[str, Any]]], torch.optim.Optimizer]:
    """SGD that multiplies the rates that it is given."""
    return lambda groups: torch.optim.SGD(
        [group | {"lr": factor * group["lr"]} for group, factor in zip(groups, factors, strict=True)]
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (NeedsLoss, "'NoneType' object is not callable"),
        (torch.optim.LBFGS, "per-parameter options"),
        (lambda groups: torch.optim.SGD(groups[:1]), "it holds the rates"),
        (with_rates(1, 2), "it holds the rates"),
        (with_rates(2, 1), "it holds the rates"),
        (with_rates(1, 0.5), "it holds the rates"),
        (with_rates(0.5, 1), "it holds the rates"),
        (lambda groups: torch.optim.SGD([g | {"params": [g["params"][0].clone()]} for g in groups]), "it holds"),
        (lambda groups: None, "'NoneType' object has no attribute 'param_groups'"),
    ],
)
def test_an_optimizer_that_wont_do_is_refused(make: Any, said: str) -> None:
    with pytest.raises(BadInput, match=f"optimizer = mine: .*{said}"):
        check_optimizer("mine", make, [(0.1, 0.5)])


def test_each_pair_of_rates_is_tried() -> None:
    with pytest.raises(BadInput, match="it holds the rates"):
        check_optimizer("mine", lambda groups: torch.optim.SGD(groups[: 1 + (groups[0]["lr"] < 1)]), [(0.1, 1), (1, 1)])
