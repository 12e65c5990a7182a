"""Balls of the clock and of flows: as narrow as asked, from every start, and where a rate isn't defined everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flint import arb, ctx

from scansnap_core.theory.certify.enclosures import Gamma_ball, enclose_ode, gamma_ball, h_ball


@pytest.mark.parametrize(
    "ball",
    [
        lambda precision: h_ball(60, 1000, 0.5, precision=precision),
        lambda precision: gamma_ball(60, 1000, 0.5, K=3, precision=precision),
        lambda precision: Gamma_ball(60, 1000, 0.5, 0.1, K=3, precision=precision),
    ],
    ids=["h", "gamma", "Gamma"],
)
def test_more_bits_narrow_a_ball(ball: Callable[[int], arb]) -> None:
    coarse, fine = ball(80), ball(300)
    assert coarse.overlaps(fine)
    assert coarse.rad() > 1e-30
    assert fine.rad() < 1e-70


def test_Gamma_is_the_integral_of_gamma_with_several_classes_too() -> None:
    t, K, lr_z = 60, 3, 0.1
    slope = (Gamma_ball(t + 1e-4, 1000, 0.5, lr_z, K) - Gamma_ball(t - 1e-4, 1000, 0.5, lr_z, K)) / 2e-4
    assert abs(slope / (lr_z * gamma_ball(t, 1000, 0.5, K)) - 1) < 1e-6


def test_solutions_from_all_of_the_start_are_held() -> None:
    with ctx.workprec(80):
        decay = enclose_ode(lambda y: -y, arb(1, 0.25), 1)
        for start in (0.75, 1, 1.25):
            assert decay.overlaps(start * arb(-1).exp())
        assert decay.rad() < 0.26 * arb(-1).exp()


@pytest.mark.parametrize("end", [0.25, 0.5])
def test_a_solution_that_rises_needs_no_rate_below_its_start(end: float) -> None:
    def rate(y: Any) -> Any:  # y' = 1/y, y = sqrt(1 + 2t), in one step
        return 1 / y

    found = enclose_ode(rate, 1, end, steps=1)
    assert found.overlaps(arb(1 + 2 * end).sqrt())
