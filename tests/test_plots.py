"""The house style of figures."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from scansnap_core import plots
from tests.refusing import refuses


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    outputs: list[dict[str, Any]] = []
    monkeypatch.setattr(plots, "display", lambda data, raw: outputs.append(data))
    with plt.rc_context():
        plots.use_style()
        yield outputs
    plt.close("all")


def line(width: float = 6.0, end: float = 1.0) -> Figure:
    figure, axes = plt.subplots(figsize=(width, 3))
    axes.plot([0, end])
    return figure


def test_figure_and_caption_are_outputs_and_the_figure_is_closed(displayed: list[dict[str, Any]]) -> None:
    before = plt.get_fignums()
    plots.show(line(), "It rises to $1$.")
    picture, caption = displayed
    assert base64.b64decode(picture["image/png"]).startswith(b"\x89PNG")
    assert caption == {"text/markdown": "It rises to $1$.", "text/plain": "It rises to $1$."}
    assert plt.get_fignums() == before


def test_pictures_repeat_byte_for_byte_and_tell_no_version(displayed: list[dict[str, Any]]) -> None:
    for end in (1.0, 1.0, 2.0):
        plots.show(line(end=end), "A line.")
    first, again, other = (output["image/png"] for output in displayed[::2])
    assert first == again != other
    assert b"Software" not in base64.b64decode(first)


@pytest.mark.parametrize(
    ("width", "caption", "value", "rule"),
    [
        (6.0, " ", "caption = ' '", "a figure needs a caption"),
        (9.0, "A line.", "figure width 9 in", "a figure is at most 6.4 in wide, to be legible on a phone"),
    ],
)
def test_bad_figure_is_refused(
    width: float, caption: str, value: str, rule: str, displayed: list[dict[str, Any]]
) -> None:
    with refuses(value, rule):
        plots.show(line(width), caption)
    assert displayed == []


def test_what_is_no_figure_no_caption_and_no_table_is_refused(displayed: list[dict[str, Any]]) -> None:
    with refuses("fig = 0", "it is a figure of Matplotlib's"):
        plots.show(0, "A line.")  # type: ignore[arg-type]
    with refuses("caption = 3", "a figure needs a caption"):
        plots.show(line(), 3)  # type: ignore[arg-type]
    for head, rows, value in (
        (0, [[1]], "head = 0"),
        (["a"], 0, "rows = 0"),
        (["a"], [3], "a row = 3"),
        ("ab", [[1, 2]], "head = 'ab'"),
    ):
        with refuses(value, "a list of values"):
            plots.show_table(head, rows)  # type: ignore[arg-type]
    assert displayed == []


def test_a_table_is_shown_as_markdown_and_as_the_same_text(displayed: list[dict[str, Any]]) -> None:
    plots.show_table(["rate", "$h$"], ([rate, f"{2 * rate:.1f}"] for rate in (0.5, 1)))
    table = "| rate | $h$ |\n| --- | --- |\n| 0.5 | 1.0 |\n| 1 | 2.0 |"
    assert displayed == [{"text/markdown": table, "text/plain": table}]


def test_a_bar_in_a_formula_ends_no_cell(displayed: list[dict[str, Any]]) -> None:
    plots.show_table(["largest $|z|$", "$M$"], [["$|z_l|$ at $t_0$", 2]])
    head, _, row = displayed[0]["text/markdown"].splitlines()
    assert [head.count("|"), row.count("|")] == [3, 3]
    assert r"largest $\vert z\vert $" in head


STORM = ["the", "storm", "<unk>", "the"]


def test_words_are_shown_with_their_weights_and_as_sentences(displayed: list[dict[str, Any]]) -> None:
    weights = {"step 0": np.full(4, 0.25), "step 9": np.array([0.05, 0.8, 0.1, 0.05])}
    plots.show_words(STORM, weights, full=0.8, most=2)
    (shown,) = displayed
    assert shown["text/plain"] == (
        "step 0: Most weight: “the” 50 % (2 places), “storm” 25 %.\n"
        "step 9: Most weight: “storm” 80 %, “the” 10 % (2 places)."
    )
    assert '--share:1.000;--tint:1.000">storm<' in shown["text/html"]
    assert '--share:0.125;--tint:0.354">&lt;unk&gt;<' in shown["text/html"]
    assert shown["text/html"].count("--share:0.312") == 4  # at the start all words look alike


@pytest.mark.parametrize("weights", [np.full(3, 0.25), np.array([0.5, 0.6, -0.1, 0]), np.full(4, 1.5)])
def test_words_with_other_weights_are_refused(weights: np.ndarray, displayed: list[dict[str, Any]]) -> None:
    with refuses("row step 0", "it has a weight from 0 to 1 for each of the 4 words"):
        plots.show_words(STORM, {"step 0": weights})
    assert displayed == []
