"""Systems that set how wide a sentence of the book may be: a search or a reader found them, and sentences got narrower.

All satisfy Assumption 2. The sentences are about how many times as far the paper's law (10) has moved a common token as
the true gradient flow has, about the direction of attention, and about a common token that hardly falls.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from scansnap_core import SequenceClasses, audit, with_overlap
from scansnap_core.data.population import one_common_token
from scansnap_core.theory.gallery import with_attention
from scansnap_core.theory.outcomes import compare, outcome, path_of
from tools.recording.population_search import CASES, OBJECTIVES, Found, coordinates, found_at, start

RECORD = Path(__file__).parents[2] / "results" / "population_worst.nc"

WORST_OF_ONE_QUERY = one_common_token((0.49933, 0.99769), ([1, 0.6323], [1, 0.3355]), 147, 1)
WORST_OF_TWO_QUERIES = one_common_token((0.998885, 0.499592), ([1, 0.3678], [1, 0.704]), 150, 2)
UNEVEN = one_common_token((0.51, 0.98), ([1, 1e-6], [1, 1e-6]), 145, 2)
TURNED = one_common_token((0.3211, 0.01489), ([1, 0.1317], [1, 0.2359]), 429_754_305, 1)
HARDLY_FALLING = one_common_token((0.9347, 0.005483), ([1, 0.205], [1, 0.09537]), 303_234_059, 2)
SYSTEMS = {
    "the worst of one query": WORST_OF_ONE_QUERY,
    "the worst of two queries": WORST_OF_TWO_QUERIES,
    "uneven, two queries": UNEVEN,
    "turned": TURNED,
    "hardly falling": HARDLY_FALLING,
}


def factors(classes: SequenceClasses, ratio: float, *marks: float) -> list[float]:
    """How many times as far (10) has moved the common token as the gradient, at multiples of t_0."""
    gradient = path_of(classes, ratio, "gradient", marks)
    return compare(classes, gradient, path_of(classes, ratio, "law (10)", marks)).least_times.tolist()


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_satisfies_assumption_2(name: str) -> None:
    rows = [row for row in audit(SYSTEMS[name]) if row.name.startswith("2")]
    assert len(rows) > 1
    assert [row.name for row in rows if not row.holds] == []


def test_with_one_query_the_worst_found_is_below_five() -> None:
    (at_snap,) = factors(WORST_OF_ONE_QUERY, 0.4009, 1.0)
    assert at_snap == pytest.approx(4.7, abs=0.05)
    # classes that are alike don't come so low: this is why a sentence about them can't speak of all classes
    (alike,) = factors(with_overlap(2, 147, 0.498, distinct_weights=[1.0, 0.5]), 0.4009, 1.0)
    assert alike > 5.4


def test_with_two_queries_the_gradient_can_move_the_token_farther() -> None:
    assert factors(WORST_OF_TWO_QUERIES, 7.9275, 1.0)[0] == pytest.approx(0.31, abs=0.01)
    # computed by another program, on entries that it gave with two digits
    assert factors(UNEVEN, 0.1, 1.0, 40.0) == pytest.approx([3.67, 0.994], rel=0.02)
    assert factors(UNEVEN, 1.0, 1.0, 40.0) == pytest.approx([1.59, 0.685], rel=0.02)


def test_the_gradient_can_leave_the_direction_of_law_10() -> None:
    gradient = path_of(TURNED, 9.8531, "gradient", (40.0,))
    found = compare(TURNED, gradient, path_of(TURNED, 9.8531, "law (10)", (40.0,)))
    assert found.cosine[0] == pytest.approx(0.41, abs=0.01)


def test_a_single_common_token_can_fall_by_very_little() -> None:
    done = outcome(HARDLY_FALLING, path_of(HARDLY_FALLING, 9.9752, "gradient", (40.0,)))
    share = float(-done.common_high[0] / done.size[0])
    assert 0 < share < 2e-3
    assert np.isfinite(done.size).all()


RARE = with_attention(np.array([[0.5, 3**0.5 / 2, 0.0], [0.99998, 0.0, (1 - 0.99998**2) ** 0.5]]), 1)


def test_with_unequal_frequencies_the_gradient_can_move_the_token_farther_at_any_rate() -> None:
    """Computed by another program too, to eight digits. If the classes are equally frequent, (10) moves it farther."""
    equal = {ratio: factors(RARE, ratio, 1.0)[0] for ratio in (0.01, 0.1)}
    assert equal == pytest.approx({0.01: 6.2, 0.1: 5.14}, abs=0.02)
    unequal = RARE.with_frequencies(np.array([0.03, 0.97]))
    rows = [row for row in audit(unequal) if row.name.startswith("2")]
    assert [row.name for row in rows if not row.holds] == []
    assert {ratio: factors(unequal, ratio, 1.0)[0] for ratio in (0.01, 0.1)} == pytest.approx(
        {0.01: 0.26, 0.1: 0.27}, abs=0.01
    )


def test_with_a_rare_class_a_step_can_move_attention_more_after_t_0_than_before() -> None:
    """The moment of snapping is that of equally frequent classes; under (10) and the gradient alike."""
    before, after = {}, {}
    for share in (0.5, 0.001):
        classes = RARE.with_frequencies(np.array([share, 1 - share]))
        for dynamics in ("gradient", "law (10)"):
            at_snap, later = path_of(classes, 0.1, dynamics, (1.0, 40.0))[:, 0, 0]
            before[share, dynamics] = at_snap
            after[share, dynamics] = (later - at_snap) / 39
    quicker = {key: after[key] / before[key] > 1 for key in before}
    assert quicker == {key: key[0] == 0.001 for key in before}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_a_search_found_gives_what_was_recorded(name: str, seed: int) -> None:
    record = xr.load_dataset(RECORD, engine="h5netcdf").sel(case=name, seed=seed)
    case = CASES[name]
    K = case.num_classes
    found = Found(
        vocab_size=int(record.vocab_size),
        entries=tuple(record.entries.values[:K].tolist()),
        weights=tuple(record.weights.values[:K].tolist()),
        counts=tuple(int(count) for count in record.counts.values[:K]),
        frequencies=tuple(record.frequencies.values[:K].tolist()),
        ratio=float(record.ratio),
        mark=float(record.mark),
    )
    classes = found.classes(case.own_queries)
    assert [row.name for row in audit(classes) if row.name.startswith("2") and not row.holds] == []
    again = OBJECTIVES[case.objective](classes, found.ratio, found.mark)
    # with a query each, the least fall found is rounding: 1e-4 of the largest |z|, which is 1e-12
    assert again == pytest.approx(float(record.value), rel=0.01, abs=5e-4)
    if name == "fall, two queries":
        return
    # a search begins near the worst systems made by hand, so it ends at nothing better
    begin = found_at(start(case), case)
    assert begin is not None
    at_start = OBJECTIVES[case.objective](begin.classes(case.own_queries), begin.ratio, begin.mark)
    assert again <= at_start * (1 + 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_every_point_that_is_searched_satisfies_assumption_2(name: str) -> None:
    case = CASES[name]
    size = len(coordinates(case))
    points = [start(case), *np.random.default_rng(0).uniform(-0.15, 1.15, (20, size))]
    found = [each for each in (found_at(x, case) for x in points) if each is not None]
    assert len(found) > 3
    for each in found:
        classes = each.classes(case.own_queries)
        assert [row.name for row in audit(classes) if row.name.startswith("2") and not row.holds] == []
        assert len(classes.common_tokens) == 1
        assert classes.is_uniform == (np.ptp(each.frequencies) == 0)
        assert 1e-3 <= each.ratio <= case.largest_ratio
        assert max(each.frequencies) / min(each.frequencies) <= 30 * (1 + 1e-9)
