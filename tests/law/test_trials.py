"""The trial systems and the tokens on which forecasts are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scansnap_core import BadInput, IdealisedFlow, SequenceClasses, solve, train, with_overlap
from scansnap_core.law import trials

RESULTS = Path(__file__).parents[2] / "results"
SYSTEMS = trials.systems(5, 40)


def test_the_same_seed_draws_the_same_systems() -> None:
    assert trials.systems(5, 4) == SYSTEMS[:4]
    assert trials.systems(6, 4) != SYSTEMS[:4]
    with pytest.raises(BadInput):
        trials.systems(5, 0)


def test_they_are_of_the_sizes_that_it_promises() -> None:
    sizes = [(each.num_classes, each.vocab_size, len(each.compact.queries)) for each in SYSTEMS]
    K, M, Q = (np.array(column) for column in zip(*sizes, strict=True))
    assert 2 <= K.min() < 4
    assert 14 < K.max() <= 20
    assert 100 <= M.min() < 1_000
    assert 100_000 < M.max() <= 1_000_000
    assert set(Q[::2]) == {1}
    assert set(Q[1::2]) == {1, 2, 3}


def test_even_ones_have_equal_overlaps_and_odd_ones_unequal() -> None:
    for number, classes in enumerate(SYSTEMS):
        off = classes.E[~np.eye(classes.num_classes, dtype=bool)]
        assert off.max() > 0
        assert (np.ptp(off) < 1e-9) == (number % 2 == 0 or classes.num_classes == 2)
        assert off.max() <= trials.LARGEST_SHARE + 1e-9


def test_the_tokens_are_those_of_the_first_class() -> None:
    classes = SequenceClasses([[0.1, 0.2, 0.1, 0.2, 0.4, 0, 0], [0.1, 0.4, 0, 0, 0, 0.5, 0]], query_of=[6, 3])
    query, columns = trials.positions(classes)
    assert classes.coords["query"][query] == 6
    assert classes.tokens[columns].tolist() == [1, 4, 2]


def test_all_that_take_part_speak_of_the_same_tokens_and_times() -> None:
    taus = [1.0, 30.0]
    for classes in SYSTEMS[:2]:
        z = trials.true_flow(classes, 0.1, taus)
        assert trials.law(classes, 0.1, taus) == pytest.approx(z, rel=0.05, abs=0)
        idealised = solve(IdealisedFlow(classes, 1.0, 0.1), np.array(taus) * classes.num_classes).Z.values
        query, columns = trials.positions(classes)
        assert trials.quasi_static(classes, 0.1, taus) == pytest.approx(idealised[:, query, columns], rel=1e-5, abs=0)
        assert np.abs(idealised[:, query, columns] / z - 1).min() > 0.5


def test_a_finite_length_and_momentum_are_asked_on_the_same_clock() -> None:
    classes = trials.systems(5, 4)[3]
    plain, short, heavy = (
        trials.law(classes, 0.1, [3.0, 30.0], lr_y=lr_y, **how)
        for lr_y, how in ((1e-4, {}), (1e-4, {"seq_len": 64}), (1e-4, {"momentum": 0.9}))
    )
    assert trials.law(classes, 0.1, [3.0, 30.0]) == pytest.approx(plain, rel=1e-3, abs=0)  # the gradient flow
    assert np.abs(short / plain - 1).min() > 0.02
    assert heavy == pytest.approx(plain, rel=0.01, abs=0)  # so small a rate has no inertia
    steps = trials.steps(classes, [3.0], lr_y=0.05, momentum=0.9)
    assert steps == pytest.approx([6 * classes.num_classes], rel=1e-6, abs=0)


def test_what_was_predicted_of_sgd_is_what_the_law_says() -> None:
    predicted = xr.load_dataset(RESULTS / "unseen_sgd_predicted.nc", engine="h5netcdf")
    source = json.loads(predicted.source)
    classes = trials.systems(source["seed"], predicted.sizes["system"])[1]
    again = trials.law(classes, 0.1, predicted.tau.values, seq_len=64)  # of vanishing steps
    kept = predicted.law.sel(arm="T = 64", ratio=0.1)
    assert again == pytest.approx(kept.isel(system=1).values, rel=1e-4, abs=0)
    assert np.abs(again / kept.isel(system=2).values - 1).min() > 1e-3


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_batches_of_ones_own_go_as_training_does(momentum: float) -> None:
    """Full batches to the last digits; and every batch of two samples, by what the trained runs drew."""
    classes = with_overlap(3, 200, 0.3, distinct_weights=[1, 2]).with_frequencies([0.2, 0.3, 0.5])
    how: dict[str, Any] = {"optimizer": "momentum", "momentum": momentum} if momentum else {}
    recipe: dict[str, Any] = {"lr_y": 1.0, "lr_z": 0.5, "steps": 20, "seq_len": np.inf, "device": "cpu", **how}
    run = train(classes, batch_size=None, record=[20], **recipe)
    Z = [Z.copy() for Z in trials.descend(classes, [classes.frequencies[None]] * 20, 1.0, 0.5, momentum=momentum)]
    assert Z[-1][0] == pytest.approx(run.Z.squeeze(["seed", "rate", "recorded"]).values, rel=1e-9, abs=1e-15)
    rng = np.random.default_rng(3)
    draws = (rng.multinomial(2, classes.frequencies, size=4000) / 2 for _ in range(20))
    mine = list(trials.descend(classes, draws, 1.0, 0.5, momentum=momentum))[-1]
    theirs = (
        train(classes, batch_size=2, seeds=range(4000), record=[20], **recipe).Z.squeeze(["rate", "recorded"]).values
    )
    for moment in (np.mean, np.std):
        noise = np.sqrt((theirs.var(axis=0) + mine.var(axis=0)) / 4000)
        assert (np.abs(moment(mine, axis=0) - moment(theirs, axis=0)) <= 4.5 * noise + 1e-12).all()
