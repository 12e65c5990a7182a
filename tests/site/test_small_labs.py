"""The essay's small labs in a real browser, against the package: fields, words, warnings, time, scales and gains."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from scansnap_core import with_overlap
from scansnap_core.theory import clocks
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from tests.site.lab_page import DROP, number
from tests.site.test_essay_text import gains

DRAG = """async slider => {
  for (let i = 0; i <= 20; i++) {
    slider.value = 50 * i;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise(requestAnimationFrame);
  }
}"""


def small_lab(page: Page, dyn: str, lr_z: float = 0.1) -> Any:
    """Return a small lab whose picture is drawn, and whose words have followed it."""
    name = f".ss-lab[data-preset='dyn={dyn}&etaZ={lr_z:g}']"
    lab = page.locator(name)
    page.wait_for_timeout(100)  # a change shows a moment later
    page.wait_for_function(f"""() => document.querySelector("{name}").dataset.state === 'done'""")
    page.wait_for_timeout(400)  # the words wait for a pause
    return lab


def test_a_small_lab_has_the_fields_and_words_asked_for(essay: Page) -> None:
    essay.goto(f"{essay.url}?#K=3")
    lab = small_lab(essay, "ideal")
    assert lab.locator("[data-field]").evaluate_all("els => els.map(e => e.dataset.field)") == ["M", "rho"]
    assert lab.locator(".ss-lab-plot").count() == 1
    for topic, words in {"1": ["and", "wave", "sail", "harbour"], "2": ["and", "cloud", "wing", "runway"]}.items():
        lab.locator("select").select_option(topic)
        essay.wait_for_timeout(400)
        assert lab.locator(".ss-lab-bars li span").all_inner_texts() == words
        assert lab.locator(".ss-lab-legend span").all_inner_texts()[:4] == words
        assert f"of the attention of topic {topic}" in lab.locator(".ss-lab-words").inner_text()


def test_a_style_belongs_to_a_law(essay: Page) -> None:
    """Solid is the paper's law (10), dashed the gradient and dotted SGD, whichever the small lab is about."""
    legends = {
        dyn: small_lab(essay, dyn)
        .locator(".ss-lab-legend span")
        .evaluate_all("els => els.map(e => [e.textContent, e.querySelector('path').getAttribute('stroke-dasharray')])")
        for dyn in ("ideal", "true", "sgd")
    }
    names = {None: "solid: the paper’s law (10)", "5,4": "dashed: the gradient", "2,2": "dotted: SGD"}
    for dyn, dash in (("ideal", None), ("true", "5,4"), ("sgd", "2,2")):
        assert [drawn for _, drawn in legends[dyn][:5]] == [dash] * 5
        assert [told for told, drawn in legends[dyn][4:]] == list(dict.fromkeys([names[dash], names["5,4"]]))


@pytest.mark.parametrize(("M", "rho"), [(1000, 0.3), (1000, 0.1), (1000, 0.5), (14, 0.3), (10**6, 0.002)])
def test_a_small_lab_says_the_gap_and_warns_outside_assumption_2(M: int, rho: float, essay: Page) -> None:
    lab = small_lab(essay, "ideal")
    lab.locator("[data-field=M] [type=range]").evaluate(DRAG)
    for key, value in (("M", M), ("rho", rho)):
        lab.locator(f"[data-field={key}] [type=text]").fill(str(value))
    lab = small_lab(essay, "ideal")
    assert lab.get_attribute("data-faults") == ""
    warning = lab.locator(".ss-lab-warning").inner_text()
    assert (warning == "") == (6 / np.sqrt(M) <= rho < 0.5)
    asked = f"{6 / np.sqrt(M):.3g} ≤ ρ < 0.5 at M = {M}" if M > 144 else "M > 144 here"  # 6/√M < 1/2
    assert warning == "" or warning.startswith(f"Outside Assumption 2, which asks for {asked}: ")
    said = lab.locator(".ss-lab-words").inner_text()
    assert "(1 t₀)" in said  # whatever M was on its way
    numbers = re.search(r"has (.*) % of .* after (.*) % at t = 0\. Its z is (.*), (.*) times the (.*?) under", said)
    assert numbers is not None
    classes = with_overlap(2, M, rho, distinct_weights=[1, 0.8, 0.5])
    preset = {"M": M, "rho": rho, "etaY": 1, "etaZ": 0.1}
    t_0 = clocks.transition(2, M, 1.0)[1]
    z, true = (gains(preset, flow, t_0) for flow in (IdealisedFlow, TrueFlow))
    weighed = classes.compact.probs[0, :4] * np.exp(z)
    start = classes.compact.probs[0, 0]
    assert number(numbers[1]) == pytest.approx(100 * weighed[0] / weighed.sum(), abs=0.051)
    assert number(numbers[2]) == pytest.approx(100 * start, abs=0.051)
    told = [number(text) for text in numbers.groups()[2:]]
    assert told == pytest.approx([z[0], z[0] / true[0], true[0]], rel=0.06, abs=0)
    gained = re.search(r"“harbour” has gained (.*?) of what “wave” has gained", said)
    assert gained is not None
    assert number(gained[1]) == pytest.approx(z[3] / z[1], rel=0.06, abs=0)


@pytest.mark.parametrize("M", [117, 130, 147])  # here time begins just below a power of ten
def test_every_vocabulary_has_its_curves(M: int, essay: Page) -> None:
    small_lab(essay, "ideal").locator("[data-field=M] [type=text]").fill(str(M))
    assert small_lab(essay, "ideal").locator("canvas").count() > 0


def test_a_text_of_two_words_says_why_nothing_moves(essay: Page) -> None:
    lab = small_lab(essay, "sgd")
    lab.locator("[type=text]").fill("2")
    assert "attention has no choice" in lab.locator("[data-field=T] .ss-lab-fault").inner_text()
    z = small_lab(essay, "sgd").evaluate("e => e.lab.picture.curves.z.map(values => Array.from(values))")
    assert not np.any(z)


def test_playing_starts_at_the_first_time_and_goes_on_from_the_readers(essay: Page) -> None:
    lab = small_lab(essay, "ideal")
    play, shown, slider = (lab.locator(f".ss-lab-time {part}") for part in ("button", "output", "[type=range]"))

    def over_t_0() -> float:
        return float(shown.inner_text().split(" = ")[2].split()[0])

    assert over_t_0() == 1
    play.click()
    essay.wait_for_timeout(200)
    time, words = lab.evaluate("e => ['.ss-lab-time output', '.ss-lab-words'].map(x => e.querySelector(x).textContent)")
    assert words.startswith(f"At {time.rpartition(' = ')[0]} (")
    play.click()
    assert play.inner_text() == "Play"
    assert over_t_0() < 0.5
    slider.fill("900")
    assert over_t_0() > 10
    play.click()
    play.click()
    assert over_t_0() > 10
    lab.get_by_role("button", name="Start over").click()
    small_lab(essay, "ideal")
    assert over_t_0() == 1


def test_a_scale_that_stays(essay: Page) -> None:
    """The bars show attention, and the scale of z holds the span at any rate."""
    lab = small_lab(essay, "true")
    lab.locator(".ss-lab-time [type=range]").fill("1000")
    scales = []
    for ratio in (0.001, 10):
        lab.locator("[data-field=etaZ] [type=text]").fill(str(ratio))
        small_lab(essay, "true")
        share = np.array(lab.evaluate("e => Array.from(e.lab.picture.curves.c.at(-1))"))
        bars = lab.locator(".ss-lab-bars b").evaluate_all("els => els.map(e => parseFloat(e.style.width) / 100)")
        assert bars == pytest.approx(share.tolist(), abs=1e-6)
        said = [number(text.split()[0]) for text in lab.locator(".ss-lab-bars output").all_inner_texts()]
        assert said == pytest.approx((100 * share).tolist(), abs=0.051)
        scales.append(lab.evaluate("e => e.lab.charts.z.scale"))
    assert scales[0][0] == pytest.approx(scales[1][0], rel=0.2, abs=0)
    assert all(low <= -0.06 < 0.011 <= high for low, high in scales)


@pytest.mark.parametrize("M", [1000, 10**6])
def test_a_lens_magnifies_the_gradient_beside_the_papers_law(M: int, essay: Page) -> None:
    lab = small_lab(essay, "ideal")
    lab.locator("[data-field=M] [type=text]").fill(str(M))
    small_lab(essay, "ideal")
    drop, height = lab.locator(".ss-lab-plot").evaluate(DROP)
    low, high = lab.evaluate("e => e.lab.charts.z.scale")
    gradient = lab.evaluate("e => e.lab.picture.beside.z[0].at(-1)")
    factor = number(lab.locator(".ss-lab-lens text").text_content().removeprefix("gradient × ").replace(",", ""))
    assert factor >= 5
    # The box takes shares 0.02 to 0.36 of the width. In it the curve's times stand by their logarithms.
    curve = str(lab.locator(".ss-lens-curve >> nth=0").get_attribute("d"))
    points = [float(point.split(" ")[0]) for point in curve[1:].split("L")]
    width = lab.locator(".ss-lab-plot .u-over").evaluate("e => e.clientWidth")
    times = np.log(lab.evaluate("e => Array.from(e.lab.charts.z.data[0])"))
    across = 0.02 + 0.34 * (times - times[0]) / (times[-1] - times[0])
    assert points == pytest.approx((width * across).tolist(), abs=0.1)
    box = lab.locator(".ss-lab-lens rect")
    edges = [float(str(box.get_attribute(name))) for name in ("x", "width")]
    assert edges == pytest.approx([0.02 * width + 0.5, 0.34 * width - 1], abs=1e-6)
    assert drop == pytest.approx(-factor * gradient / (high - low) * height, rel=0.02, abs=0.5)


def test_gains_are_shown_against_the_first_words(essay: Page) -> None:
    """Solid and dashed curves, the words below them and the table, against Python."""
    lab = small_lab(essay, "ideal", 1)
    t = 40 * clocks.transition(2, 1000, 1.0)[1]
    lab.locator(".ss-lab-time [type=range]").fill("1000")
    preset = {"M": 1000, "rho": 0.3, "etaY": 1, "etaZ": 1}
    z = [gains(preset, flow, t) for flow in (IdealisedFlow, TrueFlow)]
    ends = lab.evaluate("e => Array.from(e.lab.charts.gain.data.slice(1), values => values.at(-1))")
    assert ends == pytest.approx([*(z[0][1:] / z[0][1]), *(z[1][1:] / z[1][1])], rel=1e-4, abs=0)
    essay.wait_for_timeout(400)
    words = lab.locator(".ss-lab-words").inner_text()
    said = re.search(r"“harbour” has gained (.*) of what .*; under the gradient, (.*)\.", words)
    assert said is not None
    assert [number(text) for text in said.groups()] == pytest.approx([ends[2], ends[5]], rel=0.02, abs=0)
    cells = lab.locator("tbody tr >> nth=-1").locator("td").all_text_contents()
    assert [number(text) for text in cells[1:]] == pytest.approx([*z[0], *z[1]], rel=0.006, abs=0)
