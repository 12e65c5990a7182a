"""Pictures of runs: what the lines and cells hold, and that every family of curves is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from scansnap_core import pictures
from scansnap_core.data.datasets import syn_small, with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.theory import flows, measures
from scansnap_core.theory.solving import solve
from tests.refusing import refuses

WEAK = with_overlap(2, 1_000, 0.3, distinct_weights=[1, 0.8, 0.5])


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def path() -> xr.Dataset:
    return solve(flows.IdealisedFlow(WEAK, 1.0, 0.1), [0, 1, 10, 100])


def labels(figure: Figure) -> list[str]:
    legend = figure.axes[0].get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_attention_over_time_draws_c(path: xr.Dataset) -> None:
    figure = pictures.attention_over_time(path, WEAK, n=1)
    axes = figure.axes[0]
    c = measures.attention(path.Z, WEAK).isel({"class": 1})
    assert labels(figure) == ["token 0, common", "token 4, distinct", "token 5, distinct", "token 6, distinct"]
    for line, token in zip(axes.get_lines(), (0, 4, 5, 6), strict=True):
        assert line.get_xdata() == pytest.approx([1, 10, 100], rel=1e-12, abs=0)
        assert line.get_ydata() == pytest.approx(c.sel(token=token).values[1:], rel=1e-12, abs=0)
    assert (axes.get_xscale(), axes.get_xlabel()) == ("log", "steps of batch size 1")


def test_seeds_are_averaged_and_many_tokens_are_families() -> None:
    classes = syn_small()
    run = train(classes, lr_y=1, lr_z=1, steps=4, seeds=[0, 1], batch_size=8, record=2)
    figure = pictures.logits_over_time(run, classes)
    assert labels(figure) == ["common", "distinct"]
    lines = figure.axes[0].get_lines()
    assert len(lines) == 20
    assert lines[3].get_ydata() == pytest.approx(
        run.Z.isel(rate=0, query=0).sel(token=3).mean("seed").values[1:], rel=1e-12, abs=1e-18
    )
    entropy = pictures.entropy_over_time(run, classes)
    assert labels(entropy) == ["class 0", "class 1"]


def test_maps_hold_the_last_moment(path: xr.Dataset) -> None:
    cells = np.asarray(pictures.attention_map(path, WEAK).axes[0].images[0].get_array())
    np.testing.assert_allclose(cells, measures.attention(path.Z, WEAK).isel(recorded=-1), rtol=1e-12)
    image = pictures.logit_map(path, WEAK).axes[0].images[0]
    np.testing.assert_allclose(np.asarray(image.get_array()), path.Z.isel(recorded=-1), rtol=1e-12)
    assert image.norm.vmin == -image.norm.vmax  # type: ignore[operator]


Draw = Callable[[xr.Dataset, SequenceClasses], Figure]


@pytest.mark.parametrize(
    "draw", [pictures.attention_over_time, pictures.logits_over_time, pictures.entropy_over_time, pictures.logit_map]
)
def test_what_cannot_be_drawn_is_refused(draw: Draw, path: xr.Dataset) -> None:
    runs = train(WEAK, lr_y=[1, 2], lr_z=[1, 1], steps=2, batch_size=4)
    for wrong, classes, value, rule in (
        (runs, WEAK, "2 rates", "a picture shows one"),
        (path.isel(recorded=1), WEAK, "a run at one moment", "a picture wants the dimension recorded"),
        (path, syn_small(), "Z over 1 queries and 7 tokens", "a run and classes name the same queries and tokens"),
    ):
        with refuses(value, rule):
            draw(wrong, classes)
    assert plt.get_fignums() == []


def test_classes_and_moments_that_are_not_there_are_refused(path: xr.Dataset) -> None:
    for n in (2, -1, 0.5, "0"):
        with refuses(f"n = {n!r}", "classes are numbered 0..1"):
            pictures.attention_over_time(path, WEAK, n)  # type: ignore[arg-type]
    with refuses("nothing recorded after the start", "time is logarithmic"):
        pictures.attention_over_time(path.isel(recorded=[0]), WEAK)
    draws: tuple[Draw, ...] = (pictures.attention_map, pictures.logit_map, pictures.entropy_over_time)
    for draw in draws:
        with refuses("a run without a recorded step", "a picture shows at least one"):
            draw(path.isel(recorded=slice(0)), WEAK)


def test_one_head_and_one_seed_are_chosen() -> None:
    run = train(WEAK, lr_y=1, lr_z=1, steps=2, batch_size=4, record=1, model="heads 2", initial="random")
    with refuses("2 heads", "a picture shows one", "choose it, e.g. run.isel(head=0)"):
        pictures.attention_over_time(run, WEAK)
    seeds = train(WEAK, lr_y=1, lr_z=1, steps=2, batch_size=4, record=1, seeds=[0, 1])
    for one in (run.isel(head=1), seeds.isel(seed=1)):
        (line, *_) = pictures.attention_over_time(one, WEAK).axes[0].get_lines()
        c = measures.attention(one.Z, WEAK).isel({"class": 0, "token": 0})
        assert line.get_ydata() == pytest.approx(c.values.ravel()[1:], rel=1e-12, abs=0)


def test_named_tokens_and_classes_are_named() -> None:
    rows = {"ship": {"and": 0.4, "$wave": 0.6}, "plane": {"and": 0.4, **{f"cloud {i}": 0.06 for i in range(10)}}}
    classes = SequenceClasses.from_dicts(rows, query_of="the")
    path = solve(flows.TrueFlow(classes, 1.0, 0.1), [0, 1, 10])
    for n in (0, "ship"):
        figure = pictures.attention_over_time(path, classes, n)
        assert labels(figure) == ["token and, common", r"token \$wave, distinct"]
    assert figure.axes[0].get_ylabel() == "attention $c_l$ of class ship, query the"
    assert pictures.logits_over_time(path, classes, 1).axes[0].get_ylabel() == "$z_{ml}$ of class plane, query the"
    assert labels(pictures.entropy_over_time(path, classes)) == ["class ship", "class plane"]
    figure = pictures.attention_map(path, classes)
    figure.canvas.draw()
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()][1:] == [r"\$wave", *(f"cloud {i}" for i in range(10))]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["ship", "plane"]
