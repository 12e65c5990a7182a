"""The functions behind the lab's charts, bars, curves, sliders and words: against Python, or numbers found by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_script import core_script, parts
from lab_widgets import calculator_script
from playwright.sync_api import BrowserContext, Page

from scansnap_core.base.digits import digits
from scansnap_core.law.expected_error import GROWTHS, ORDERS, SHORTNESS, Causes, errors_by_cause
from scansnap_core.law.order import effective_draws
from scansnap_core.law.overshoot import Stiffness, Updates, growth_of
from tests.site.book import ROOT
from tests.site.lab_page import FIELDS, write_page

INK = {
    "text": "#000001",
    "common": "#000002",
    "bound": "#000003",
    "grid": "#000004",
    "hues": ["200", "320"],
    "light": "40%",
}


def opened(browser: BrowserContext, folder: Path, script: str) -> Page:
    """A page whose script has left its functions open."""
    page = browser.new_page()
    page.goto(write_page(folder, "", functions=script))
    return page


@pytest.fixture(scope="module")
def lab(browser: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The functions of the lab and of the essay's pictures."""
    core = core_script(ROOT, "", "flowOf", "integrate", "lawFlow")
    folders = "\n".join(parts(ROOT, folder) for folder in ("page", "essay"))
    script = f"{core}const core = labCore();\nconst FIELDS = {json.dumps(FIELDS)};\n{folders}"
    page = opened(browser, tmp_path_factory.mktemp("parts"), script)
    yield page
    page.close()


@pytest.fixture(scope="module")
def calculator(browser: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The functions of the calculator, those of its core too."""
    head, _, rest = calculator_script(ROOT).partition("(function () {\n")
    script = head + rest.partition('document.querySelectorAll(".ss-calculator")')[0]
    assert script.count("return { attention,") == 1
    script = script.replace(
        "return { attention,", "return { firstTime, errorsOf, growthOf, orderShares, effectiveDraws, attention,"
    )
    page = opened(browser, tmp_path_factory.mktemp("calculator"), script)
    yield page
    page.close()


# -- charts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
def test_colours_are_even_steps_through_the_palette(d: int, lab: Page) -> None:
    colours = lab.evaluate("([ink, d]) => Array.from({ length: d }, (_, i) => distinctInk(ink, i + 1, d))", [INK, d])
    assert [float(re.findall(r"hsl\((\S+) 70% 40%\)", colour)[0]) for colour in colours] == pytest.approx(
        np.linspace(200, 320, d).tolist()
    )


@pytest.mark.parametrize(
    ("y", "step", "text"),
    [
        (0.75, 0.25, "0.75"),
        (-0.5, 0.5, "−0.5"),
        (3, 1, "3"),
        (40, 20, "40"),
        (2.5, 2.5, "2.5"),
        (0.3, 0.1, "0.3"),
        (0.0004, 0.0002, "0.0004"),
        (3e-12, 1e-13, "0.000000000003"),
    ],
)
def test_an_axis_writes_the_decimals_of_its_step(y: float, step: float, text: str, lab: Page) -> None:
    assert lab.evaluate("([y, step]) => decimal(y, step)", [y, step]) == text


@pytest.mark.parametrize(("low", "high"), [(1, 1), (-3, -3), (2, 2 + 1e-6), (-5 - 2e-6, -5)])
def test_a_span_too_narrow_for_ticks_is_made_a_millionth_wider(low: float, high: float, lab: Page) -> None:
    least = 1e-6 * max(abs(low), abs(high))
    assert lab.evaluate("([low, high]) => wide(low, high)", [low, high]) == [low - least, high + least]


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 2), (-3, -1), (1, 1 + 2e-6)])
def test_another_span_keeps_a_tenth_of_room_at_most_twice(low: float, high: float, lab: Page) -> None:
    found = lab.evaluate("([low, high]) => wide(low, high)", [low, high])
    assert found[0] <= low < high <= found[1]
    assert 1.09 * (high - low) < found[1] - found[0] < 1.5 * (high - low)


@pytest.mark.parametrize(("low", "high"), [(0.9, 25), (3, 30), (95, 130), (1e-3, 1.5e-2), (0.99999, 1)])
def test_ticks_of_a_logarithmic_clock(low: float, high: float, lab: Page) -> None:
    every = [float(f"{digit}e{power}") for power in range(-4, 4) for digit in range(1, 10)]
    assert lab.evaluate("([low, high]) => multiples(low, high)", [low, high]) == [t for t in every if low <= t <= high]


def lines(lab: Page, kind: str, shown: dict[str, Any], truth: dict[str, Any] | None) -> list[dict[str, Any]]:
    return lab.evaluate("given => linesOf(...given)", [kind, shown, truth, INK])


def colours_of(lab: Page, count: int) -> list[str]:
    """The colours of a class's tokens: the common one's, then those of the distinct ones."""
    own = lab.evaluate(
        "([ink, d]) => Array.from({ length: d }, (_, i) => distinctInk(ink, i + 1, d))", [INK, count - 1]
    )
    return [INK["common"], *own]


def test_each_token_has_a_curve_in_its_colour_and_dashed_one_of_the_gradient(lab: Page) -> None:
    z = [[1, 2], [3, 4], [5, 6], [7, 8]]
    gain = [[9, 9], [1, 1], [2, 2], [3, 3]]
    other = [[-value for value in values] for values in z]
    shown, truth = {"dynamics": "ideal", "z": z, "gain": gain}, {"z": other, "gain": other}
    drawn = lines(lab, "z", shown, truth)
    colours = colours_of(lab, 4)
    assert [line["values"] for line in drawn] == z + other
    assert [line["stroke"] for line in drawn] == 2 * colours
    assert [line["label"] for line in drawn][:4] == ["common token", "distinct 1", "distinct 2", "distinct 3"]
    assert [line.get("swatch") for line in drawn] == [
        *colours,
        INK["text"],
        None,
        None,
        None,
    ]  # one entry for the gradient
    assert [line.get("dash") for line in drawn] == 4 * [None] + 4 * [[5, 4]]
    assert [line["width"] for line in drawn] == 4 * [2] + 4 * [1.4]
    assert [line["name"] for line in drawn] == 2 * [f"token {i}" for i in range(4)]
    # The common token has no gain.
    drawn = lines(lab, "gain", shown, truth)
    assert [line["values"] for line in drawn] == gain[1:] + other[1:]
    assert [line["stroke"] for line in drawn] == 2 * colours[1:]
    assert [line.get("swatch") for line in drawn] == [*colours[1:], INK["text"], None, None]


def test_curves_of_the_gradient_that_coincide_are_stripes(lab: Page) -> None:
    words = ["and", "wave", "sail", "harbour"]
    shown = {"dynamics": "true", "words": words, "z": [[0], [0], [0], [0]]}
    drawn = lines(lab, "z", shown, None)
    assert [line["label"] for line in drawn] == [*words, "dashed: the gradient"]
    assert [line.get("width") for line in drawn] == [2, 5, 3.5, 2, None]  # wider below, so that all are seen
    shown["dynamics"] = "ideal"
    assert [line.get("width") for line in lines(lab, "z", shown, None)] == [2, 2, 2, 2, None]


CHART = """([kind, shown, truth, moments, now, span]) => {
  document.querySelector('.bd-article').style.width = '500px';
  window.chart = makeChart(kind, 'A chart', span);
  document.querySelector('.bd-article').replaceChildren(chart.figure);
  chart.draw(shown, truth, moments, now);
}"""
MARKS = (
    "() => [...chart.figure.querySelectorAll('.ss-lab-mark')].map((one) => [parseFloat(one.style.left), one.hidden])"
)
FRAME = """() => {
  const [holder, over] = ['.ss-lab-plot', '.u-over'].map((name) =>
    chart.figure.querySelector(name).getBoundingClientRect());
  return [over.left - holder.left, over.top - holder.top, over.width, over.height, holder.width];
}"""
SHAPES = """() => chart.figure.querySelector('.ss-lab-plot').shapes().map((one) => {
  const [d, x, y] = ['d', 'x', 'y'].map((name) => one.getAttribute(name));
  return [one.tagName, one.textContent, d, Number(x), Number(y)];
})"""
ENTROPY: dict[str, Any] = {"dynamics": "ideal", "times": [0.5, 5, 50], "z": [[0]], "entropy": [1.0, 0.8, 0.5]}
GRADIENT: dict[str, Any] = {"times": [0.5, 5, 50], "entropy": [1.0, 0.9, 0.85]}
MOMENTS = {"scan": 2, "snap": 10}


def draw(lab: Page, shown: dict[str, Any], truth: dict[str, Any] | None, now: float, *span: float) -> None:
    lab.evaluate(CHART, ["entropy", shown, truth, MOMENTS, now, span])


def across(t: float, first: float = 0.5, last: float = 50) -> float:
    """The share of a logarithmic axis up to a time."""
    return float(np.log(t / first) / np.log(last / first))


def test_marks_stand_at_their_times_and_only_inside(lab: Page) -> None:
    draw(lab, ENTROPY, GRADIENT, 20)
    width = lab.evaluate(FRAME)[2]
    for now in (20, 0.4, 60, 0.5, 50):
        lab.evaluate("now => chart.mark(now)", now)
        found = lab.evaluate(MARKS)
        assert [left for left, _ in found] == pytest.approx([width * across(t) for t in (2, 10, now)], abs=0.01)
        assert [hidden for _, hidden in found] == [False, False, not 0.5 <= now <= 50]


def test_a_chart_is_as_wide_as_its_place_and_follows_its_times(lab: Page) -> None:
    draw(lab, ENTROPY, GRADIENT, 20)
    left, _, width, _, whole = lab.evaluate(FRAME)
    assert whole == pytest.approx(500, abs=60)
    assert lab.evaluate("chart.figure.querySelector('.uplot').getBoundingClientRect().width") == pytest.approx(
        whole, abs=1
    )
    assert 0.75 * whole < width < whole - left + 1
    # Another last time, and nothing else.
    later = {**ENTROPY, "times": [0.5, 5, 500]}
    draw_again = "([shown, truth, moments]) => chart.draw(shown, truth, moments, 20)"
    lab.evaluate(draw_again, [later, {**GRADIENT, "times": later["times"]}, MOMENTS])
    width = lab.evaluate(FRAME)[2]
    assert lab.evaluate(MARKS)[1][0] == pytest.approx(width * across(10, last=500), abs=0.01)


def test_a_name_lights_its_curves_and_dims_the_others(lab: Page) -> None:
    shown = {"dynamics": "ideal", "times": [0.5, 5, 50], "z": [[0.0, 1, 2], [0.0, 3, 4]]}
    lab.evaluate(CHART, ["z", shown, {"times": shown["times"], "z": shown["z"]}, MOMENTS, 20, []])
    every = ["token 0 ideal", "token 1 ideal", "token 0 true", "token 1 true"]
    lit = "name => { document.dispatchEvent(new CustomEvent(LIGHT, { detail: name })); return chart.lit; }"
    for name, want in (("token 1", every[1::2]), ("law:true", every[2:]), ("storm", every), (None, every)):
        assert lab.evaluate(lit, name) == want


@pytest.mark.parametrize("span", [(), (0.6, 0.7), (-2.0, 0.7), (0.6, 3.0)])
def test_a_scale_holds_the_curves_and_its_span(span: tuple[float, ...], lab: Page) -> None:
    draw(lab, ENTROPY, GRADIENT, 20, *span)
    low, high = min(0.5, *span, 9), max(1, *span, -9)
    scale = lab.evaluate("chart.scale")
    assert scale[0] <= low < high <= scale[1]
    assert scale[1] - scale[0] < 1.6 * (high - low)


def test_a_training_that_has_not_come_as_far_has_no_values_later(lab: Page) -> None:
    short = {**ENTROPY, "times": [0.5, 5], "entropy": [1.0, 0.8]}
    draw(lab, short, GRADIENT, 20)
    assert lab.evaluate("chart.data") == [[0.5, 5, 50], [1, 0.8, None], [1, 0.9, 0.85]]
    draw(lab, ENTROPY, {"times": [0.5, 5], "entropy": [1.0, 0.9]}, 20)
    assert lab.evaluate("chart.data") == [[0.5, 5, 50], [1, 0.8, 0.5], [1, 0.9, None]]


def test_a_chart_as_a_file_stands_where_it_stands_on_the_page(lab: Page) -> None:
    draw(lab, ENTROPY, GRADIENT, 20)
    left, top, width, height, _ = lab.evaluate(FRAME)
    low, high = lab.evaluate("chart.scale")

    def x(t: float) -> float:
        return float(left + width * across(t))

    def y(value: float) -> float:
        return float(top + height * (high - value) / (high - low))

    shapes = lab.evaluate(SHAPES)
    # Lines of the grid, down and across, and the words beside them.
    down = [re.fullmatch(r"M(\S+) (\S+)V(\S+)", d) for tag, _, d, *_ in shapes if tag == "path"]
    level = [re.fullmatch(r"M(\S+) (\S+)H(\S+)", d) for tag, _, d, *_ in shapes if tag == "path"]
    texts = [(words, *at) for tag, words, _, *at in shapes if tag == "text"]
    upright = [[float(part) for part in found.groups()] for found in down if found]
    assert upright == pytest.approx(np.array([[x(t), top, top + height] for t in (1, 10)]), abs=0.02)
    assert [(words, at) for words, at, *_ in texts[:2]] == [
        ("1", pytest.approx(x(1), abs=0.02)),
        ("10", pytest.approx(x(10), abs=0.02)),
    ]
    assert all(top + height < at for _, _, at in [*texts[:2], texts[-1]])
    values = [float(words.replace("−", "-")) for words, *_ in texts[2:-1]]
    assert len(values) > 2
    lying = [[float(part) for part in found.groups()] for found in level if found]
    assert lying == pytest.approx(np.array([[left, y(value), left + width] for value in values]), abs=0.02)
    assert all(
        at < left and abs(height_of - y(value)) < 8
        for value, (_, at, height_of) in zip(values, texts[2:-1], strict=True)
    )
    assert texts[-1][:2] == ("time t, in steps", pytest.approx(left + width / 2, abs=0.02))
    # Then the curves.
    curves = [d[1:].split("L") for tag, _, d, *_ in shapes if tag == "path" and d.count("L")]
    for curve, given in zip(curves, (ENTROPY, GRADIENT), strict=True):
        want = [[x(t), y(value)] for t, value in zip(given["times"], given["entropy"], strict=True)]
        assert [[float(part) for part in point.split()] for point in curve] == pytest.approx(np.array(want), abs=0.06)


# -- bars and curves -------------------------------------------------------------------------------


def test_bars_are_attention_with_a_tick_where_it_began(lab: Page) -> None:
    found = lab.evaluate(
        """ink => {
          const bars = makeBars();
          bars.draw({ c: [[0, 0, 0], [0.5, 0.375, 0.125]] }, 1, [0.25, 0.5, 0.25], [1, 0.5], ink);
          return [...bars.list.children].map((row) => {
            const [bar, start] = row.querySelectorAll('b, i');
            const [name, number] = row.querySelectorAll('span, output');
            return [name.textContent, bar.style.width, start.style.left, number.textContent];
          });
        }""",
        INK,
    )
    assert found == [
        ["common", "50%", "25%", "50.0 %"],
        ["distinct 1, weight 1", "37.5%", "50%", "37.5 %"],
        ["distinct 2, weight 0.5", "12.5%", "25%", "12.5 %"],
    ]


def test_curves_of_weights_stand_on_the_sliders_clock(lab: Page) -> None:
    found = lab.evaluate("""() => {
      const weights = { true: [0.1, 0.01, 0.3], ideal: [0.1, 0.35, 0.02] };
      const names = { true: 'gradient', ideal: 'law' };
      const { element, show } = makeCurves([2, 4, 10], weights, names, { at: 6, text: 'here' });
      show(1);
      const d = (name) => element.querySelector(name).getAttribute('d');
      const tops = (name) =>
        [...element.querySelectorAll(name)].map((one) => [one.textContent, one.style.top, one.className]);
      return {
        curves: [d('.ss-curve-true'), d('.ss-curve-ideal')], then: d('.ss-curve-then'), now: d('.ss-curve-now'),
        labels: tops('.ss-curve-name'), ends: tops('.ss-curve-end'),
        mark: element.querySelector('.ss-curve-mark').style.left,
      };
    }""")
    # 1000 across for times 2 to 10, 100 down for weights from 0.4 to 0.
    assert found["curves"] == ["M0.0 75.00L250.0 97.50L1000.0 25.00", "M0.0 75.00L250.0 12.50L1000.0 95.00"]
    assert (found["then"], found["now"], found["mark"]) == ("M500.0 0V100", "M250.0 0V100", "50%")
    assert found["labels"] == [
        ["gradient: 1.0 %", "25%", "ss-curve-name ss-over"],
        ["law: 35.0 %", "95%", "ss-curve-name"],
    ]
    assert [end[:2] for end in found["ends"]] == [["10.0 %", "75%"], ["0 %", "100%"]]


# -- a small lab's words ---------------------------------------------------------------------------


def test_the_words_of_a_topic(lab: Page) -> None:
    text = "and,wave,sail/cloud,wing/tree"
    found = lab.evaluate("text => [1, 2, 3].map((n) => wordsOf(text, n))", text)
    assert found == [["and", "wave", "sail"], ["and", "cloud", "wing"], ["and", "tree"]]


SHOWN: dict[str, Any] = {
    "dynamics": "ideal",
    "times": [1, 2, 4],
    "words": ["and", "wave", "sail"],
    "winner": 1,
    "rarest": 2,
    "start": [0.5, 0.3, 0.2],
    "c": [[0.5, 0.3, 0.2], [0.4, 0.35, 0.25], [0.25, 0.5, 0.25]],
    "z": [[0, -0.3, -0.6], [0, 0.2, 0.4], [0, 0.1, 0.3]],
    "gain": [[1, 1, 1], [1, 1, 1], [1, 0.5, 0.75]],
}
TRUTH = {"times": [1, 2, 4], "z": [[0, -0.1, -0.2]], "gain": [[0, 0, 0], [1, 1, 1], [1, 0.8, 0.9]]}
BEGIN = "At t = 2 (0.5 t₀), {}, “and” has 40.0 % of the attention of topic 1, after 50.0 % at t = 0. Its z is −0.3"


@pytest.mark.parametrize(
    ("change", "truth", "said"),
    [
        (
            {},
            TRUTH,
            ", 3 times the −0.1 under the gradient. “sail” has gained 0.5 of what “wave” has gained; "
            "under the gradient, 0.8.",
        ),
        ({"dynamics": "true"}, None, ". “sail” has gained 0.5 of what “wave” has gained."),
        ({"dynamics": "sgd"}, TRUTH, "; under the gradient, on endless texts, it is −0.1."),
        ({"rarest": 1}, None, "."),
        ({"z": [SHOWN["z"][0], [0, -0.2, -0.4], SHOWN["z"][2]]}, None, "."),  # no gain to compare with
    ],
)
def test_what_a_small_lab_says(change: dict[str, Any], truth: Any, said: str, lab: Page) -> None:
    by = {"ideal": "by the paper’s law (10)", "true": "under the gradient", "sgd": "under SGD"}
    shown = SHOWN | change
    found = lab.evaluate("given => smallSentenceOf(...given)", [shown, truth, {"n": 1}, {"snap": 4}, 2])
    assert found == BEGIN.format(by[shown["dynamics"]]) + said


# -- time ------------------------------------------------------------------------------------------

TIME = """([even, calm]) => {
  window.requestAnimationFrame = (frame) => ((window.frame = frame), 1);
  window.setTimeout = (jump) => ((window.jump = jump), 1);
  window.matchMedia = () => ({ matches: calm });
  performance.now = () => 1000;
  window.seen = [];
  window.time = makeTime((t) => seen.push(t), { even, mark: 't₀' });
  time.span([2, 8, 32], { snap: 16, all: [2, 4, 8, 32] }, 4);
  window.slider = time.bar.querySelector('input');
  window.put = (value) => {
    slider.value = value;
    slider.dispatchEvent(new Event('input'));
  };
}"""
PLACE = """() => {
  const [words, flag] = ['output', 'small'].map((name) => time.bar.querySelector(name));
  return [Number(slider.value), words.textContent, flag.style.getPropertyValue('--at')];
}"""
PRESS = "() => time.bar.querySelector('button').click()"


@pytest.fixture
def watch(lab: Page) -> Iterator[Callable[..., Page]]:
    """Makes a slider from time 2 to time 32, on a page whose frames and pauses come when they are called."""

    def begin(*, even: bool = False, calm: bool = False) -> Page:
        lab.evaluate(TIME, [even, calm])
        return lab

    yield begin
    lab.reload()  # with its own clock


def test_a_slider_of_time_stands_by_the_logarithm(watch: Callable[..., Page]) -> None:
    page = watch()
    # 2, 8 and 32 are even steps; 4 is a quarter of the way and 16 three quarters.
    assert page.evaluate(PLACE) == [250, "t = 4 = 0.25 t₀", "0.75"]
    for place, t in ((0, 2), (500, 8), (1000, 32), (750, 16)):
        page.evaluate("place => put(place)", place)
        assert page.evaluate("seen.at(-1)") == pytest.approx(t)
    assert page.evaluate(PLACE)[1] == "t = 16 = 1 t₀"


def test_a_slider_of_time_stands_evenly_where_that_is_asked_for(watch: Callable[..., Page]) -> None:
    page = watch(even=True)
    place, words, flag = page.evaluate(PLACE)
    assert (place, words) == (round(1000 * 2 / 30), "t = 4 = 0.25 t₀")
    assert float(flag) == pytest.approx(14 / 30)
    for place, t in ((0, 2), (500, 17), (1000, 32)):
        page.evaluate("place => put(place)", place)
        assert page.evaluate("seen.at(-1)") == pytest.approx(t)


def test_a_time_outside_the_picture_is_its_nearest_end(watch: Callable[..., Page]) -> None:
    page = watch()
    times = "t => time.span([2, 8, 32], { snap: 16, all: [2, 4, 8, 32] }, t)"
    assert [page.evaluate(times, t) for t in (1, 2, 5, 32, 99)] == [2, 2, 5, 32, 32]


def test_playing_takes_eight_seconds_from_the_first_time_to_the_last(watch: Callable[..., Page]) -> None:
    page = watch()
    page.evaluate(PRESS)
    assert page.evaluate("seen") == [2]
    for milliseconds, t in ((-5, 2), (0, 2), (2000, 4), (4000, 8), (7999, 32 * 16 ** (-1 / 8000))):
        page.evaluate("time => frame(time)", 1000 + milliseconds)
        assert page.evaluate("seen.at(-1)") == pytest.approx(t, rel=1e-12)
        assert page.evaluate("time.playing")
    page.evaluate("frame(9000.5)")
    assert page.evaluate("[seen.at(-1), time.playing]") == [32, False]


def test_playing_goes_on_from_the_readers_time_but_not_from_the_end(watch: Callable[..., Page]) -> None:
    page = watch()
    page.evaluate("put(500)")
    page.evaluate(PRESS)
    page.evaluate("frame(3000)")
    assert page.evaluate("seen.at(-1)") == pytest.approx(16)  # a quarter of the way after 8
    page.evaluate("put(1000)")
    page.evaluate(PRESS)
    page.evaluate("frame(3000)")
    assert page.evaluate("seen.at(-1)") == pytest.approx(4)  # from the start


def test_with_less_motion_each_jump_goes_to_a_later_moment(watch: Callable[..., Page]) -> None:
    page = watch(calm=True)
    page.evaluate("time.span([3.999, 8, 32], { snap: 16, all: [2, 4, 8, 32] }, 5)")
    page.evaluate(PRESS)
    jumps = [page.evaluate("() => { jump(); return [seen.at(-1), time.playing]; }") for _ in range(2)]
    # 4 is as good as the first time, 3.999; after the last moment nothing plays.
    assert page.evaluate("seen") == pytest.approx([3.999, 8, 32])
    assert jumps == [[32, True], [32, False]]


# -- numbers that can be dragged -------------------------------------------------------------------

DRAG = """() => {
  document.querySelector('.bd-article').innerHTML = `<div class="box"><p data-field="M">
    <input type="range" min="50" max="450" step="any"><input type="text"></p></div>
    <span class="ss-drag" data-of=".box" data-field="M" data-label="M">0</span>`;
  const [range, text] = document.querySelectorAll('.box input');
  range.addEventListener('input', () => (text.value = range.value));
  window.span = document.querySelector('.ss-drag');
  span.setPointerCapture = () => {};
  window.set = (value) => {
    range.value = text.value = value;
  };
  set(150);
  makeDrag(span);
  window.pointer = (kind, x) => span.dispatchEvent(new PointerEvent(kind, { clientX: x }));
  window.press = (key) => span.dispatchEvent(new KeyboardEvent('keydown', { key }));
  const spoken = () => ['now', 'text'].map((name) => span.getAttribute(`aria-value${name}`));
  window.shown = () => [range.value, span.textContent, ...spoken()];
}"""


@pytest.mark.parametrize(
    ("key", "way"),
    [
        ("ArrowRight", 8),
        ("ArrowUp", 8),
        ("ArrowLeft", -8),
        ("ArrowDown", -8),
        ("PageUp", 40),
        ("PageDown", -40),
        ("Home", -100),
        ("End", 300),
        ("x", 0),
    ],
)
def test_a_key_moves_a_number_by_thousandths_of_its_slider(key: str, way: int, lab: Page) -> None:
    lab.evaluate(DRAG)
    assert lab.evaluate("shown()") == ["150", "150", "250", "150"]
    lab.evaluate("key => press(key)", key)
    value, text, now, spoken = lab.evaluate("shown()")
    assert float(value) == pytest.approx(150 + way)
    assert value == text == spoken
    assert now == str(round(1000 * (100 + way) / 400))


def test_a_drag_of_240_pixels_is_the_sliders_whole_way(lab: Page) -> None:
    lab.evaluate(DRAG)
    lab.evaluate("pointer('pointerdown', 100)")
    for x, value in ((160, 250), (70, 100), (40, 50), (0, 50), (280, 450), (400, 450)):
        lab.evaluate("x => pointer('pointermove', x)", x)
        assert float(lab.evaluate("shown()[0]")) == pytest.approx(value)
    lab.evaluate("pointer('pointerup', 400)")
    lab.evaluate("pointer('pointermove', 100)")
    assert lab.evaluate("shown()") == ["450", "450", "1000", "450"]


# -- the calculator --------------------------------------------------------------------------------


def test_when_values_first_pass_0(calculator: Page) -> None:
    pass_0 = """([power, root]) => {
      const values = (times) => Array.from(times, (t) => t ** power - root ** power);
      const times = Float64Array.from({ length: 9 }, (_, i) => 2 ** i);
      return core.firstTime(times, values(times), values);
    }"""
    for power, root in ((1, 3), (2, 5), (0.5, 100), (3, 17)):
        assert calculator.evaluate(pass_0, [power, root]) == pytest.approx(root, rel=1e-7)
    constant = "sign => String(core.firstTime([1, 2, 4], [sign, sign, sign], () => [sign]))"
    assert [calculator.evaluate(constant, sign) for sign in (1, -1, 0)] == ["0", "Infinity", "Infinity"]


def test_errors_to_expect_are_the_tables_at_their_entries_and_between(calculator: Page) -> None:
    """And below the first and beyond the last."""
    tables = {"shortness": SHORTNESS, "growth": GROWTHS, "chance": ORDERS}
    for name, (places, *_) in tables.items():
        middles = [(low + high) / 2 for low, high in pairwise(places)]
        beside = [place * (1 + side * 1e-9) for place in places for side in (-1, 1)]
        for x in (0.0, places[0] / 2, *places, *middles, *beside, 2 * places[-1]):
            given = [x if name == other else 0.0 for other in tables]
            want = errors_by_cause(Causes(*given))
            found = calculator.evaluate("given => core.errorsOf(...given)", given)
            assert found["likely"] == pytest.approx(want.likely.max(), rel=1e-9), (name, x)
            assert found["expected"] == pytest.approx(want.expected.max(), rel=1e-9), (name, x)


def test_a_distance_grows_as_the_packages(calculator: Page) -> None:
    """The largest eigenvalue of its second moments, where it grows."""
    grown = 0
    for mu, batch_size, mean, spread in product((0.0, 0.5, 0.9), (None, 1, 8), (0.1, 1.0, 3.0, 30.0), (0.0, 0.5, 9.0)):
        stiffness = Stiffness(mean, spread * mean**2)
        want = growth_of(stiffness, Updates(1.0, mu, batch_size))
        given = [{"mean": mean / 2, "variance": stiffness.variance / 4}, {"etaZ": 2, "mu": mu, "B": batch_size}]
        call = "([stiffness, updates]) => core.growthOf(stiffness, { ...updates, B: updates.B ?? Infinity })"
        got = calculator.evaluate(call, given)
        grown += want > 0
        assert max(got, 0) == pytest.approx(max(want, 0), rel=1e-6, abs=1e-6), (mu, batch_size, mean, spread)
    assert grown > 40


def test_the_order_moves_nothing_where_classes_share_nothing(calculator: Page) -> None:
    """It is exactly 0, and not where they share a word."""
    share = """shared => {
      const left = 1 - (shared[0] ?? 0);
      const kinds = [0.7, 0.6].map((p) => ({ size: 1, shared, own: [p * left, (1 - p) * left] }));
      return core.orderShares({ M: 100, K: 2, kinds, types: [[0], [1]] }, { etaY: 1, etaZ: 0.1, mu: 0, steps: 50 });
    }"""
    assert calculator.evaluate(share, []) == {"now": 0, "largest": 0}
    moved = calculator.evaluate(share, [0.4])
    assert moved["largest"] > moved["now"] > 0.01


def test_momentums_draws_count_as_the_packages(calculator: Page) -> None:
    for mu in (0.0, 0.5, 0.99):
        for t in (1, 3, 40, 5000):
            moved = sum((1 - mu**j) / (1 - mu) for j in range(1, t + 1))
            want = effective_draws(moved, mu)
            got = calculator.evaluate("given => core.effectiveDraws(...given)", [t, mu])
            assert got == pytest.approx(want, rel=1e-6), (mu, t)


@pytest.mark.parametrize("significant", [2, 3])
def test_numbers_are_written_as_the_package_writes_them(significant: int, calculator: Page) -> None:
    sizes = [0.0, 1.0, 3.14159, 12.6, 99.96, 999.6, 9996.0, 12345.0, 99949.0, 99960.0, 1e5, 123456.0, 1e6, 2e9]
    sizes += [0.5, 0.0123, 1.234e-3, 1e-4, 9.996e-5, 9.94e-5, 1.2e-5, 1e-5, 7.77e-12]
    sizes += [1245.0, 1255.0, 24500.0, 25500.0, 0.8125, 0.125, 12.5, 13.5, 1244.9999999999998]  # half-way
    for x in [*sizes, *[-x for x in sizes[1:]], float("inf"), float("-inf")]:
        given = f"() => written({'-' * (x < 0)}{'Infinity' if np.isinf(x) else repr(abs(x))}, {significant})"
        assert calculator.evaluate(given) == digits(float(x), significant), x
