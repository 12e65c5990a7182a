"""Balls of the clock and of flows: as narrow as asked, from every start, and where a rate isn't defined everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flint import arb, ctx

from scansnap_core import BadInput
from scansnap_core.theory import clocks
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


@pytest.mark.parametrize(("M", "t"), [(2, 0.125), (1000, 60), (50_272, 1e4)])
def test_the_clock_and_the_speed(M: int, t: float) -> None:
    assert abs(float(h_ball(t, M, 0.5)) / float(clocks.h(t, M, 0.5)) - 1) < 1e-12
    assert gamma_ball(3 * t, M, 0.5, K=3).overlaps(gamma_ball(t, M, 0.5))
    slope = (Gamma_ball(t * (1 + 1e-6), M, 0.5, 0.1) - Gamma_ball(t, M, 0.5, 0.1)) / (t * 1e-6)
    assert abs(slope / (0.1 * gamma_ball(t, M, 0.5)) - 1) < 1e-5


def test_a_box_of_the_clock_holds_its_points() -> None:
    box = h_ball(arb(60, 1), arb(1000, 10), arb(0.5, 0.01))
    assert all(box.contains(h_ball(t, M, lr)) for t in (59, 61) for M in (990, 1010) for lr in (0.49, 0.51))


def test_the_flow_is_enclosed_without_its_closed_form() -> None:
    M = arb(1000)
    flow = enclose_ode(lambda y: M / ((M - 1) + y.exp()), 0, 60, steps=300, order=16, precision=160)
    assert flow.rad() < 1e-12
    assert flow.overlaps(1000 * h_ball(60, 1000, 1, precision=160))
    assert not flow.overlaps(1000 * h_ball(60 + 1e-6, 1000, 1, precision=160))


def test_a_flow_that_leaves_every_ball_is_refused() -> None:
    with pytest.raises(BadInput, match="take more steps"):
        enclose_ode(lambda y: y * y, 1, 2, steps=20)


@pytest.mark.parametrize("rate", [lambda y: 0 * y.log() - 1, lambda y: 1e-9 / y - 1], ids=["log", "quotient"])
def test_the_step_that_is_refused_is_named(rate: Callable[[Any], Any]) -> None:
    # y falls from 1.05 by 0.1 a step, and has neither a logarithm nor a quotient at the end of the eleventh
    with pytest.raises(BadInput, match="over step 11;"):
        enclose_ode(rate, 1.05, 2, steps=20)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("end", [0.125, 0.5])
def test_a_step_errs_by_lagranges_remainder(order: int, end: float) -> None:
    with ctx.workprec(200):
        found, exact = enclose_ode(lambda y: y, 1, end, steps=1, order=order, precision=200), arb(end).exp()
        remainder = end ** (order + 1) / arb(order + 1).gamma() / (order + 1)
        assert found.contains(exact)
        span = exact - 1  # of the solution over the step: a ball that holds it has at least half of that as its radius
        assert remainder * span / 2 < found.rad() < 2 * remainder * span


@pytest.mark.parametrize("order", [1, 2, 12])
def test_a_rate_may_be_a_number(order: int) -> None:
    found = enclose_ode(lambda y: arb(2), 1, 3, order=order)
    assert found.contains(arb(7))
    assert found.rad() < 1e-18
