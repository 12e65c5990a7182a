"""Momentum as a mass: orders in the rates, and the law with a mass against training; Adam's flow against Adam."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import scansnap_core as ss
from scansnap_core.engine.settings import BETWEEN_0_AND_1
from scansnap_core.law import Law, adam, inertia, many_classes, memory, trials, types_of
from scansnap_core.theory.solving import IntegrationFailed
from tests.refusing import refuses

CLASSES = ss.with_overlap(2, 100, 0.3, distinct_weights=[1, 0.5])
SMALL = ss.syn_small()
PART = np.array([0.1, 0.3, 1.0])


def trained(lr: float, steps: int, momentum: float) -> np.ndarray:
    marks = [round(x * steps) for x in PART]
    options: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    run = ss.train(CLASSES, lr_y=lr, lr_z=lr, steps=steps, batch_size=None, seq_len=math.inf, record=marks, **options)
    return run.Z.values.reshape(len(marks), -1)


def orders(flow: type, momentum: float) -> float:
    """Measure the power of the rate with which the largest error falls."""
    errors = []
    for lr, steps in ((0.2, 80), (0.05, 320)):
        made = flow(CLASSES, lr, lr, momentum=momentum)
        path = ss.solve(made, PART * steps / (1 - momentum), rtol=1e-8).Z.values.reshape(len(PART), -1)
        errors.append(np.abs(path - trained(lr, steps, momentum)).max())
    return float(np.log2(errors[0] / errors[1]) / 2)


@pytest.mark.parametrize(
    ("flow", "momentum", "least"), [(inertia.InertialFlow, 0.4, 1.7), (inertia.ReducedFlow, 0.0, 1.8)]
)
def test_both_flows_are_of_second_order(flow: type, momentum: float, least: float) -> None:
    assert orders(flow, momentum) > least


def test_mass() -> None:
    assert float(inertia.mass_of(0.0)) == 0.5
    assert float(inertia.mass_of(0.9)) == pytest.approx(95, rel=1e-12, abs=0)
    # one update as a central difference, at numbers
    mu, eta, g, before, now = 0.7, 0.3, 1.7, -0.4, 0.2
    after = now + mu * (now - before) + eta * g
    h, m = 1 / (1 - mu), float(inertia.mass_of(mu))
    assert m * (after - 2 * now + before) / h**2 + (after - before) / (2 * h) == pytest.approx(
        eta * g, rel=1e-12, abs=0
    )


def test_without_momentum_the_reduced_flow_leaves_the_true_one_by_half_a_step() -> None:
    flow, true = inertia.ReducedFlow(CLASSES, 0.1, 0.2), ss.TrueFlow(CLASSES, 0.1, 0.2)
    state = np.random.default_rng(0).normal(size=true.initial().size)
    pushed, step = true.rhs(0.0, state), 1e-6
    bent = (true.rhs(0.0, state + step * pushed) - true.rhs(0.0, state - step * pushed)) / (2 * step)
    moved = len(pushed) - CLASSES.num_classes  # B has no force of its own
    np.testing.assert_allclose(flow.rhs(0.0, state)[:moved], (pushed - bent / 2)[:moved], rtol=1e-6, atol=1e-9)


def test_plateau_solves_its_equation_and_overshoots() -> None:
    for mass, size in ((0.1, 50), (5.0, 1000), (1e4, 1e6)):
        A = float(inertia.plateau(mass, size))
        assert A + mass * math.expm1(-A / mass) == pytest.approx((1 - 1 / size) * math.log(size), rel=1e-9, abs=0)
        assert (1 - 1 / size) * math.log(size) < A
    assert float(inertia.plateau(1e6, 1000)) == pytest.approx(math.sqrt(2e6 * 0.999 * math.log(1000)), rel=0.01, abs=0)


def test_the_law_with_a_mass_predicts_momentum() -> None:
    types = types_of(SMALL)
    law = Law(types, 1.0)
    heavy, light = (
        np.stack([types.per_query(state.z_common, state.z_distinct) for state in path(np.array([50.0, 500.0]))])
        for path in (inertia.InertialLaw(law, 0.9, 0.5).path, law.path)
    )
    options: dict[str, Any] = {"steps": 100, "record": [10, 100], "batch_size": None, "optimizer": "momentum"}
    Z = ss.train(SMALL, lr_y=1, lr_z=1, seq_len=math.inf, **options).Z.isel(seed=0, rate=0).values
    assert np.linalg.norm(heavy - Z) < 0.01 * np.linalg.norm(Z)
    assert np.linalg.norm(light[1] - Z[1]) > 0.1 * np.linalg.norm(Z[1])


def updates_of(law: Law, momentum: float, pace: float, count: int) -> np.ndarray:
    """Step by momentum's own rule; the place after each update, from 0 on."""
    speed = law.start(1.0)
    places = [0 * speed, law.start(pace)]
    for _ in range(count - 1):
        speed = momentum * speed + law.rate(places[-1])
        places.append(places[-1] + pace * speed)
    return np.stack(places)


LAW = Law(types_of(CLASSES), 1.0)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_the_first_updates_are_made_one_by_one(momentum: float) -> None:
    made = inertia.InertialLaw(LAW, momentum, 0.3)
    count = np.array([0.5, 1, 2.25, 7.75, 8])
    places = updates_of(LAW, momentum, 0.3, 9)
    whole = count.astype(int)
    between = places[whole] + (count - whole)[:, None] * (places[whole + 1] - places[whole])
    for state, expected in zip(made.path(count * made.update), map(LAW.unpack, between), strict=True):
        for one, other in zip(state, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


def distance_from_updates(law: Law, momentum: float, pace: float, count: int) -> float:
    """Return the largest distance of a and z from the updates', relative to the largest value of each."""
    exact = law.unpack(updates_of(law, momentum, pace, count)[-1])
    (found,) = inertia.InertialLaw(law, momentum, pace).path(np.array([count * pace / (1 - momentum)]))
    parts = [(getattr(found, name), getattr(exact, name)) for name in ("a", "z_common", "z_distinct")]
    return max(float(np.abs(one - other).max() / np.abs(other).max()) for one, other in parts)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_the_later_updates_are_met_to_more_than_first_order(momentum: float) -> None:
    far, near = (distance_from_updates(LAW, momentum, 0.1 / n, 80 * n) for n in (1, 4))
    assert near < 1e-4
    assert far > 5 * near


def test_so_they_are_by_the_law_of_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    law, tau = Law(types_of(trials.systems(11, 2)[1]), 1.0), 12.0
    monkeypatch.setattr(memory, "MOST_WHOLE", 0)
    assert law.is_split
    far = distance_from_updates(law, 0.0, 0.3, 40)
    assert far < 0.01
    (without,) = many_classes.path(law, np.array([tau]))
    common = law.unpack(updates_of(law, 0.0, 0.3, 40)[-1]).z_common
    assert np.abs(without.z_common - common).max() > 4 * far * np.abs(common).max()  # control


class Away(Law):
    def rate(self, packed: np.ndarray) -> np.ndarray:
        return 1e100 * packed


@pytest.mark.parametrize("count", [4.5, 8.5])
def test_updates_that_run_away_are_told_with_the_last_finite_one(count: float) -> None:
    made = inertia.InertialLaw(Away(types_of(CLASSES), 1.0), 0.5, 0.3)
    path = made.path(np.array([4, count]) * made.update)
    assert np.isfinite(next(path).a).all()
    with pytest.raises(IntegrationFailed, match=r"up to lr_y t/K = 2\.4 only: the next update isn't finite") as error:
        next(path)
    assert error.value.last == pytest.approx(4 * made.update, rel=1e-12, abs=0)


def adam_apart(rate: float, betas: tuple[float, float], lr_z: float) -> float:
    steps = round(0.8 / rate)
    made = partial(torch.optim.Adam, betas=betas)
    recipe: dict[str, Any] = {"lr_y": rate, "lr_z": lr_z * rate, "steps": steps, "record": [steps], "batch_size": None}
    Z = ss.train(SMALL, optimizer=made, seq_len=math.inf, **recipe).Z.values.ravel()
    flow = adam.AdamFlow(SMALL, rate, lr_z * rate, betas=betas)
    return float(np.abs(ss.solve(flow, [steps], method="RK45", rtol=1e-5, atol=1e-9).Z.values.ravel() - Z).max())


@pytest.mark.parametrize(("betas", "lr_z"), [((0.9, 0.999), 1.0), ((0.5, 0.99), 0.3)])
def test_adams_flow_is_of_first_order(betas: tuple[float, float], lr_z: float) -> None:
    far, near = adam_apart(0.01, betas, lr_z), adam_apart(0.0025, betas, lr_z)
    assert near < 0.01
    assert far > 2.5 * near


NO_MASS = (
    ((0.0, 10), "mass = 0", "a mass is positive and finite"),
    ((-1.0, 10), "mass = -1", "a mass is positive and finite"),
    ((1.0, 1), "vocab_size = 1", "M is finite and at least 2"),
)
NO_MOMENTUM: tuple[Any, ...] = (1.0, -0.1, "much")
NO_MEMORY: tuple[Any, ...] = ((0.0, 0.9), (0.9, 1.0), ("0.9", 0.9))


@pytest.mark.parametrize(
    ("refused", "value", "rule"),
    [
        *((partial(inertia.plateau, *given), value, rule) for given, value, rule in NO_MASS),
        *(
            (
                partial(inertia.InertialFlow, CLASSES, 1.0, 1.0, momentum=mu),
                f"momentum = {mu!r}",
                BETWEEN_0_AND_1.says,
            )
            for mu in NO_MOMENTUM
        ),
        *(
            (partial(adam.AdamFlow, SMALL, 0.1, 0.1, betas=betas), f"betas = {betas!r}", adam.BETAS.says)
            for betas in NO_MEMORY
        ),
    ],
)
def test_bad_input_is_refused(refused: Callable[[], object], value: str, rule: str) -> None:
    with refuses(value, rule):
        refused()
