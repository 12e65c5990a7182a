"""The essay's pictures in a real browser, against the package; its guesses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page

from scansnap_core import with_overlap
from scansnap_core.law import closed
from scansnap_core.theory import clocks
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from scansnap_core.theory.solving import solve
from tests.site.lab_page import DROP, number
from tests.site.test_essay_text import ESSAY, gains, told

CLASSES = with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.8, 0.5])
# For each arrow of the plane: its name, and the vector from tail to tip, right and down, in lengths of f_1.
TIPS = """all => all.map((path) => {
  const [x1, y1, x2, y2] = path.getAttribute('d').match(/[-\\d.]+/g).map(Number);
  return [path.getAttribute('class'), [(x2 - x1) / 250, (y2 - y1) / 250]];
})"""
# For each arrow: its tail and tip, and the three points of its head, in pixels.
HEADS = """all => all.map((head) => [head.previousElementSibling, head].map(
  (path) => path.getAttribute('d').match(/-?[\\d.]+/g).map(Number)))"""
# Of a lens: how far its curves and its line of 0 reach from top to bottom, and for how much there is room in its box.
EXTENT = """lens => {
  const curves = [...lens.querySelectorAll('.ss-lens-curve')].map((one) => one.getAttribute('d').slice(1).split('L'));
  const heights = curves.flat().map((point) => Number(point.split(' ')[1]));
  heights.push(Number(lens.querySelector('.ss-lens-zero').getAttribute('d').match(/ ([^H]+)H/)[1]));
  return [Math.max(...heights) - Math.min(...heights), Number(lens.querySelector('rect').getAttribute('height')) - 8];
}"""
COUNTS = np.array([3.0, 3.0, 2.0, 1.0])


def test_words_light_up_as_attention_does(essay: Page) -> None:
    """The attention of a text of nine words, and the probability of its next one, under both laws."""
    got = essay.evaluate("""() => {
      const { readingOf, times, moments } = document.querySelector('.ss-sentence').lab;
      const at = [moments.scan, moments.snap, moments.all[4]];
      const read = (law) => readingOf(law, [3, 3, 2, 1], Float64Array.from(at));
      return { at, ideal: read('ideal'), true: read('true') };
    }""")
    own = [0, *CLASSES.distinct_tokens(0)]
    for name, flow in (("ideal", IdealisedFlow), ("true", TrueFlow)):
        path = solve(flow(CLASSES, 1.0, 0.1), got["at"])
        for moment, seen in enumerate(got[name]):
            z = path.Z.isel(query=0, recorded=moment).sel(token=own).values
            f = COUNTS * np.exp(z)
            assert seen["attention"] == pytest.approx((f / f.sum()).tolist(), rel=1e-6, abs=0)
            f /= np.linalg.norm(f)
            if name == "true":
                logits = f @ path.Y.isel(recorded=moment).sel(token=own).values
            else:
                F = CLASSES.compact.probs * np.exp(
                    path.Z.isel(recorded=moment).sel(token=CLASSES.coords["token"]).values
                )
                F /= np.linalg.norm(F, axis=1, keepdims=True)
                height = clocks.h(got["at"][moment] / 2, 1000, 1.0)
                places = [list(CLASSES.compact.tokens).index(token) for token in own]
                logits = np.append(1000 * height * np.linalg.solve(F @ F.T, F[:, places] @ f), 0.0)
            odds = np.exp(logits - logits.max()) * [1, 1, 998]
            assert seen["next"] == pytest.approx(odds[0] / odds.sum(), rel=1e-6, abs=0)


def test_the_two_texts_open_at_the_moment_of_snapping(essay: Page) -> None:
    """At the start there would be nothing to be seen."""
    shown = essay.locator(".ss-sentence .ss-lab-time output").inner_text()
    assert shown.endswith("= 1 t₀")
    told = essay.locator(".ss-sentence > .ss-lab-words").inner_text()
    after, before = (float(percent) for percent in re.findall(r"([\d.]+) %", told))
    assert after < before - 5


@pytest.mark.parametrize(("law", "label"), [("ideal", "the paper’s law (10)"), ("true", "the gradient")])
@pytest.mark.parametrize("end", [0, -1])
def test_the_reader_chooses_law_and_time(law: str, label: str, end: int, essay: Page) -> None:
    essay.get_by_role("radio", name=label).check()
    essay.locator(".ss-sentence [type=range]").fill("0" if end == 0 else "1000")
    want, start = essay.evaluate(f"""() => {{
      const {{ readingOf, times }} = document.querySelector('.ss-sentence').lab;
      return [times.at({end}), times[0]].map((t) => readingOf('{law}', [3, 3, 2, 1], Float64Array.of(t))[0]);
    }}""")
    shares = "els => els.map(e => Number(getComputedStyle(e).getPropertyValue('--share')))"
    common, wave, sail, harbour = np.divide(want["attention"], COUNTS)
    by_word = [wave, common, sail, common, wave, harbour, common, wave, sail]
    assert essay.locator(".ss-sentence .ss-token").evaluate_all(shares)[:9] == pytest.approx(by_word, abs=1e-4)
    odds = [float(said.split()[0]) for said in essay.locator(".ss-text output").all_inner_texts()]
    assert odds == pytest.approx([100 * want["next"]] * 2, abs=0.5 if end else 0.05)
    told = essay.locator(".ss-sentence > .ss-lab-words").inner_text()
    assert told.startswith(f"By {label}, at t = ")
    percents = [float(percent) for percent in re.findall(r"([\d.]+) %", told)]
    assert percents == pytest.approx([100 * want["attention"][0], 100 * start["attention"][0]], abs=0.051)


@pytest.mark.parametrize(("rho", "M"), [(0.3, 1000), (0.05, 1000000), (0.9, 30)])
def test_the_plane_shows_what_the_gradient_has_of_the_push(rho: float, M: int, essay: Page) -> None:
    for key, value in (("rho", rho), ("M", M)):
        essay.locator(f".ss-plane [data-field={key}] [type=text]").fill(str(value))
    tau = 2 * np.log(M)
    a, b, c = closed.evidence([tau], 2, M, rho)
    logits = a - rho * b, rho * a - b, -(1 + rho) * c
    own, other, rest = (np.exp(logit) for logit in logits)
    total = own + other + (M - 2) * rest
    other, rest = other / total, rest / total
    error = other + (M - 2) * rest
    share = (a * other + b * error - (M - 2) * c * rest) / (a * error + b * other + (M - 2) * c * rest) / rho
    assert essay.evaluate("document.querySelector('[data-widget=plane]').lab.share") == pytest.approx(
        share[0], rel=1e-6, abs=0
    )
    said = re.search(r"is (.*) % as long", essay.locator(".ss-plane > .ss-lab-words").inner_text())
    assert said is not None
    assert number(said[1]) == pytest.approx(100 * share[0], rel=0.06, abs=0)
    ends = dict(essay.locator(".ss-lab.ss-plane path:not(.ss-head, .ss-sample)").evaluate_all(TIPS))
    heads = essay.locator(".ss-lab.ss-plane path.ss-head").evaluate_all(HEADS)
    assert len(heads) >= 6  # an arrow of less than a pixel has none
    for shaft, head in heads:
        (tail, tip), (left, end, right) = np.reshape(shaft, (2, 2)), np.reshape(head, (3, 2))
        along = (tip - tail) * min(10 / np.linalg.norm(tip - tail), 1 / 2)
        assert [*end, *(left + right) / 2] == pytest.approx([*tip, *(tip - along)], abs=1e-6)
        assert (left - right).tolist() == pytest.approx([along[1], -along[0]], abs=1e-6)
    stretch = essay.evaluate("document.querySelector('[data-widget=plane]').lab.stretch")
    assert (ends["ss-update ss-felt"][1] / stretch, ends["ss-update"][1]) == pytest.approx(
        [rho * np.sqrt(1 - rho**2)] * 2, abs=1e-3
    )
    warned = essay.locator(".ss-lab.ss-plane .ss-lab-warning").inner_text() != ""
    assert warned != (6 / np.sqrt(M) <= rho < 0.5)
    for name, factor in (("ss-gradient ss-felt", stretch), ("ss-gradient", 1)):  # both felt parts on one scale
        assert ends[name][1] == pytest.approx(factor * share[0] * ends["ss-update"][1], abs=5e-3)
    assert max(ends[f"{name} ss-felt"][1] for name in ("ss-update", "ss-gradient")) > 0.4  # one is long enough to see
    removed = np.subtract([1 - rho**2, rho * np.sqrt(1 - rho**2)], [1, 0])
    assert ends["ss-removed"] == pytest.approx(removed.tolist(), abs=1e-3)
    legends = essay.locator(".ss-lab.ss-plane text.ss-felt").all_text_contents()
    assert len({*legends}) == 1
    assert (", × " in legends[0]) == (stretch > 1)
    if stretch > 1:
        assert number(legends[0].split("× ", 1)[1]) == pytest.approx(stretch, rel=0.06, abs=0)
    assert np.dot(ends["ss-update"], [rho, -np.sqrt(1 - rho**2)]) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(("K", "M", "rho", "lr_y", "lr_z"), [(2, 1000, 0.3, 0.5, 0.1), (3, 10**9, 0.1, 1.0, 1.0)])
def test_both_trainings_are_pythons(K: int, M: int, rho: float, lr_y: float, lr_z: float, essay: Page) -> None:
    for key, value in (("K", K), ("M", M), ("rho", rho), ("etaY", lr_y), ("etaZ", lr_z)):
        essay.locator(f".ss-pair [data-field={key}] [type=text]").fill(str(value))
    essay.wait_for_function("document.querySelector('.ss-pair').dataset.state === 'done'")
    got = essay.evaluate("""() => {
      const { curves, moments } = document.querySelector('.ss-pair').lab.picture;
      const of = ({ times, z }) => [Array.from(times), z.map((values) => Array.from(values))];
      return { ideal: of(curves.ideal), true: of(curves.true), moments };
    }""")
    assert [got["moments"][name] for name in ("scan", "snap")] == pytest.approx(
        clocks.transition(K, M, lr_y), rel=1e-12, abs=0
    )
    classes = with_overlap(K, M, rho, distinct_weights=[1, 0.8, 0.5])
    own = [0, *classes.distinct_tokens(0)]
    for name, flow in (("ideal", IdealisedFlow), ("true", TrueFlow)):
        times, z = got[name]
        want = solve(flow(classes, lr_y, lr_z), times, method="DOP853", rtol=1e-11, atol=1e-16)
        np.testing.assert_allclose(z, want.Z.isel(query=0).sel(token=own).values.T, rtol=1e-6, atol=1e-13)
    essay.wait_for_timeout(400)  # the words wait for a pause
    told = essay.locator(".ss-pair > .ss-lab-words").inner_text()
    t_0 = clocks.transition(K, M, lr_y)[1]
    at_t_0 = [t_0, *(np.interp(t_0, got[name][0], got[name][1][0]) for name in ("ideal", "true"))]
    said = re.search(r"at t = (.*) the z of “and” is (.*) by the paper’s law .10. and (.*) under", told)
    assert said is not None
    assert [number(text) for text in said.groups()] == pytest.approx(at_t_0, rel=6e-3, abs=0)


@pytest.mark.parametrize(("M", "least"), [(200, 2), (1000, 2), (10, 1), (10**9, 1000)])
def test_both_sides_have_one_scale_and_a_box_magnifies_the_gradient(M: int, least: float, essay: Page) -> None:
    essay.locator(".ss-pair [data-field=M] [type=text]").fill(str(M))
    essay.wait_for_function("document.querySelector('.ss-pair').dataset.state === 'done'")
    found = "document.querySelector('.ss-pair').lab"
    left, right = essay.evaluate(f"{found}.scales")
    assert left == right
    factor = essay.evaluate(f"{found}.lens.factor")
    z = {name: essay.evaluate(f"Array.from({found}.picture.curves.{name}.z[0])") for name in ("ideal", "true")}
    assert left[0] <= min(z["ideal"] + z["true"])
    assert factor >= least
    said = essay.locator(".ss-pair .ss-lab-lens text").all_text_contents()
    if factor == 1:
        assert said == []
        return
    assert said == [f"gradient × {factor:,}"]
    # 1, 2 or 5 times a power of ten: the largest such factor at which the curves fit into the box.
    extent, room = essay.locator(".ss-pair .ss-lab-lens").evaluate(EXTENT)
    digit = f"{factor:.0e}"[0]
    assert f"{factor:.6e}" == f"{float(f'{factor:.0e}'):.6e}"
    assert extent <= room + 0.2 < extent * {"1": 2, "2": 2.5, "5": 2}[digit]
    drop, height = essay.locator(".ss-pair .ss-lab-plot >> nth=1").evaluate(DROP)
    assert drop == pytest.approx(-factor * z["true"][-1] / (left[1] - left[0]) * height, rel=0.02, abs=0.5)


def test_both_sides_have_bars_on_one_scale(essay: Page) -> None:
    headings = essay.locator(".ss-pair figcaption").all_inner_texts()
    assert headings[::2] == ["The paper’s law (10)", "The true gradient"]
    for drawn_bars in essay.locator(".ss-pair .ss-lab-bars").all():  # the words of the texts below
        assert drawn_bars.locator("li > span").all_inner_texts() == ["and", "wave", "sail", "harbour"]
    essay.locator(".ss-pair .ss-lab-time [type=range]").fill("1000")
    for side, dynamics in enumerate(("ideal", "true")):
        curves = f"document.querySelector('.ss-pair').lab.picture.curves.{dynamics}"
        shares = essay.evaluate(f"Array.from({curves}.c.at(-1))")
        bars = essay.locator(f".ss-pair .ss-lab-bars >> nth={side}").locator("output").all_inner_texts()
        assert [float(bar.split()[0]) for bar in bars] == pytest.approx([100 * share for share in shares], abs=0.051)
    right = essay.locator(".ss-pair .ss-lab-bars >> nth=1")
    said = float(right.locator("output >> nth=0").inner_text().split()[0])
    drawn = float(right.locator("b >> nth=0").evaluate("e => e.style.width").rstrip("%"))
    start = 100 * CLASSES.compact.probs[0, 0]
    assert drawn == pytest.approx(said, abs=0.051)
    assert drawn < start


@pytest.mark.parametrize("ratio", [0.001, 0.1, 1, 10])
def test_memory_catches_words_as_the_gradient_does(ratio: float, essay: Page) -> None:
    essay.locator(".ss-spring [type=text]").fill(str(ratio))
    found = essay.evaluate("document.querySelector('.ss-spring').lab.found")
    words = found["words"]
    bars, ticks = (
        essay.locator(f".ss-spring .ss-lab-bars {tag}").evaluate_all(
            f"els => els.map(e => parseFloat(e.style.{side}) / 100)"
        )
        for tag, side in (("b", "width"), ("i", "left"))
    )
    assert bars == pytest.approx([word["gain"] for word in words], rel=1e-4, abs=0)
    assert ticks == pytest.approx([word["free"] for word in words], rel=1e-4, abs=0)
    said = [re.split(", m = ", text) for text in essay.locator(".ss-spring output").all_inner_texts()]
    assert [number(gain) for gain, _ in said] == pytest.approx([word["gain"] for word in words], abs=0.0051)
    assert [number(memory) for _, memory in said] == pytest.approx([w["memory"] for w in words], rel=0.06, abs=0)
    held = sum(word["memory"] > 1 for word in words)
    assert f"the memory number m of {held} of the three" in essay.locator(".ss-spring > .ss-lab-words").inner_text()
    assert held == {0.001: 0, 0.1: 2, 1: 3, 10: 3}[ratio]
    if ratio == 0.1:
        assert r"at $\eta_Z/\eta_Y = 0.1$, memory holds two of the three words by $40\,t_0$" in ESSAY
    t = 40 * clocks.transition(2, 1000, 1.0)[1]
    squares = np.square(CLASSES.compact.probs[0, 1:4]) / np.square(CLASSES.compact.probs[0]).sum()
    z = gains({"M": 1000, "rho": 0.3, "etaY": 1, "etaZ": ratio}, TrueFlow, t)[1:]
    assert [word["z"] for word in words] == pytest.approx(z.tolist(), rel=1e-6, abs=0)
    assert [word["gain"] for word in words] == pytest.approx((z / z[0]).tolist(), rel=1e-6, abs=0)
    assert [word["free"] for word in words] == pytest.approx((squares / squares[0]).tolist(), rel=1e-9, abs=0)
    assert found["a"] == pytest.approx(999 * clocks.h(t / 2, 1000, 1.0), rel=1e-9, abs=0)
    assert [word["memory"] for word in words] == pytest.approx(
        (ratio / 2 * squares * found["a"] ** 2).tolist(), rel=1e-9, abs=0
    )
    words_below = essay.locator(".ss-spring > .ss-lab-words").inner_text()
    squares_said = re.search(r"The f² of the words are (.*), (.*), (.*), and a = (.*?)\. In", words_below)
    assert squares_said is not None
    assert [number(text) for text in squares_said.groups()] == pytest.approx([*squares, found["a"]], rel=0.06, abs=0)
    if f"snapping_gradient:even_true_{ratio:g}" in ESSAY:
        assert told(f"snapping_gradient:even_true_{ratio:g}") == [round(words[2]["gain"], 2)]


def test_all_answers_can_be_shown_without_a_guess(essay: Page) -> None:
    answer, button = (
        essay.locator(".ss-guess-answer"),
        essay.get_by_role("button", name="Read without guessing: show all"),
    )
    assert answer.is_hidden()
    button.press("Enter")
    assert answer.is_visible()
    assert essay.locator(".ss-guess output").inner_text().strip() == "The answer: B."
    assert button.count() == 0


def test_on_paper_all_answers_are_open(essay: Page) -> None:
    assert essay.locator(".ss-guess-answer").is_hidden()
    essay.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert essay.locator(".ss-guess-answer").is_visible()


def test_an_answer_waits_for_the_guess(essay: Page) -> None:
    answer, said = essay.locator(".ss-guess-answer"), essay.locator(".ss-guess output")
    assert answer.is_hidden()
    essay.get_by_role("button", name="A", exact=True).press("Enter")
    assert answer.is_visible()
    assert said.inner_text().strip() == "Not quite: B."
    essay.get_by_role("button", name="B", exact=True).click()
    assert said.inner_text().strip() == "You are right."
