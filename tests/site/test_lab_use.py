"""The lab in a reader's hands: bad input, addresses, the keyboard, words, less motion, no scripts, presets."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab import setting_of
from playwright.sync_api import BrowserContext, Page

from scansnap_core.base.bad_input import BadInput
from tests.site.book import ROOT
from tests.site.lab_page import FIELDS, drawn, first, labs, number, wait_for_picture, write_page

SETTLE = 250
"""Milliseconds after which the lab writes its address."""
BAD_ADDRESSES = {
    "K=1": ("K", "K = 1: choose a whole number from 2 to 10"),
    "K=2.5": ("K", "choose a whole number"),
    "M=7": ("M", "M = 7 is too small: 2 classes of 3 distinct tokens, a common token and a query need 8 or more"),
    "K=3&M=4&w=1&rho=0.1": ("M", "3 classes of 1 distinct token, a common token and a query need 5 or more"),
    "M=many": ("M", "“many” isn't a number for M"),
    "w=1,-1": ("w", "Write 1 to 10 numbers from 0.01 to 100"),
    "w=": ("w", "Write 1 to 10 numbers"),
    "rho=0": ("rho", "without overlap no token is shared"),
    "rho=1.5": ("rho", "lie between 0 and 1"),
    "rho=0.5": ("rho", "breaks the upper bound of Assumption 2, ρ < 0.5 for K = 2"),
    "etaY=0": ("etaY", "η_Y = 0: a learning rate is positive; choose 0.1 to 10"),
    "etaZ=-1": ("etaZ", "a learning rate is positive"),
    "etaZ=1e9": ("etaZ", "choose 0.001 to 10"),
    "dyn=sgd&T=1": ("T", "T = 1: choose a whole number from 2 to 1024, or inf"),
    "dyn=sgd&B=0": ("B", "B = 0: choose a whole number from 1 to 1024"),
    "dyn=adam": ("dyn", "“adam” isn't a choice; choose ideal"),
    "dyn=law&model=residual": ("model", "“Residual connection” has the three flows here; choose one of them"),
    "dyn=sgd&model=layernorm": ("model", "“LayerNorm with its mean” has the three flows here"),
    "model=heads": ("model", "“heads” isn't a choice; choose plain"),
    "n=3": (None, "Class 3 isn't one of the 2; choose 1 to 2"),
    "t=-2": (None, "Time = -2: time is positive"),
    "t=0": (None, "Time = 0: time is positive"),
    "q=1": (None, "The address says “q=1”, which this page can't read"),
    "K=3%E0%A4%A": (None, "which this page can't read"),
    "%": (None, "which this page can't read"),
    "nonsense": (None, "which this page can't read"),
}


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_bad_input_gets_a_sentence_and_leaves_the_picture(address: str, show: Callable[[str], Page]) -> None:
    key, words = BAD_ADDRESSES[address]
    page = show("K=2")
    before = drawn(page)
    page.evaluate("address => { location.hash = address; }", address)
    where = f"[data-field={key}] .ss-lab-fault" if key else ".ss-lab-view > .ss-lab-fault"
    page.wait_for_function(
        "([where, words]) => document.querySelector(where).textContent.includes(words)", arg=[where, words]
    )
    if key:
        assert first(page, f"[data-field={key}] [aria-invalid=true]").count() == 1
        said = first(page, ".ss-lab-view > .ss-lab-fault").inner_text()
        assert "last sound setting: K = 2, M = 1000, ρ = 0.3, η_Y = 1, η_Z = 1." in said
        assert first(page, ".ss-lab-status").evaluate("e => getComputedStyle(e).filter") == "grayscale(1)"
    assert drawn(page) == before


def test_a_repaired_field_is_drawn(show: Callable[[str], Page]) -> None:
    page = show("etaY=0")
    assert first(page, "[data-field=etaY] .ss-lab-fault").inner_text().startswith("η_Y = 0")
    before = drawn(page)
    first(page, "[data-field=etaY] [type=text]").fill("0.5")
    page.wait_for_function(
        "old => document.querySelector('.ss-lab').lab.picture.moments.scan !== old", arg=before["moments"][0]
    )
    assert first(page, "[data-field=etaY] .ss-lab-fault").inner_text() == ""
    assert drawn(page)["moments"] == pytest.approx([2 * moment for moment in before["moments"]], rel=1e-12, abs=0)


def test_the_address_names_the_setting(show: Callable[[str], Page]) -> None:
    page = show("")
    first(page, "[data-field=rho] [type=text]").fill("0.25")
    first(page, "[data-field=w] [type=text]").fill("2, 1")
    first(page, "[data-field=dyn] select").select_option("true")
    page.wait_for_function("location.hash === '#w=2,1&rho=0.25&dyn=true'")
    wait_for_picture(page)
    assert drawn(page) == drawn(show("w=2,1&rho=0.25&dyn=true"))
    second = page.locator(".ss-lab >> nth=1")
    assert second.locator("[data-field=K] [type=text]").input_value() == "4"  # the address is the first lab's


def test_an_address_that_is_still_to_be_read_stays(show: Callable[[str], Page]) -> None:
    page = show("K=2")
    first(page, "[data-field=rho] [type=text]").fill("0.25")
    page.evaluate("history.replaceState(null, '', '#K=2&etaY=2')")  # as it stands before the event that tells of it
    page.wait_for_timeout(2 * SETTLE)
    assert page.evaluate("location.hash") == "#K=2&etaY=2"
    page.evaluate("dispatchEvent(new Event('hashchange'))")
    assert first(page, "[data-field=etaY] [type=text]").input_value() == "2"
    first(page, "[data-field=rho] [type=text]").fill("0.2")
    page.wait_for_function("location.hash === '#rho=0.2&etaY=2'")


def test_keyboard_alone(show: Callable[[str], Page]) -> None:
    page = show("rho=0.1")
    page.keyboard.press("Tab")
    for field in ("dyn", "model"):
        assert page.evaluate("document.activeElement.closest('[data-field]').dataset.field") == field
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.ss-lab').lab.picture.settings.K === 3")
    assert first(page, "[data-field=K] [type=text]").input_value() == "3"
    first(page, ".ss-lab-time [type=range]").focus()
    page.keyboard.press("End")
    assert str(first(page, ".ss-lab-time [type=range]").get_attribute("aria-valuetext")).endswith("= 40 t₀")
    page.wait_for_function(
        "words => document.querySelector('.ss-lab-words').textContent.includes(words)", arg="(40 t₀)"
    )


@pytest.mark.parametrize(
    ("key", "low", "high", "places"),
    [("etaY", 0.1, 10, 3), ("etaZ", 0.001, 10, 3), ("rho", 0.002, 0.99, 3), ("M", 10, 10**6, 2)],
)
def test_equal_ways_on_a_slider_are_equal_factors(
    key: str, low: float, high: float, places: int, show: Callable[[str], Page]
) -> None:
    """From the slider to the text, rounded, and back from the text to the slider."""
    page = show("beyond=1")
    slider, text = first(page, f"[data-field={key}] [type=range]"), first(page, f"[data-field={key}] [type=text]")
    assert [slider.get_attribute(name) for name in ("min", "max", "step")] == ["0", "1000", "1"]
    for place in (0, 253, 700, 1000):
        slider.fill(str(place))
        value = low * (high / low) ** (place / 1000)
        assert float(text.input_value()) == pytest.approx(float(f"{value:.{places - 1}e}"), rel=1e-12, abs=0)
    for value in (low, low**0.7 * high**0.3, high):
        written = f"{value:.0f}" if key == "M" else f"{value:.3g}"
        text.fill(written)
        assert slider.input_value() == str(round(1000 * np.log(float(written) / low) / np.log(high / low)))


def test_more_classes_lower_the_overlap_and_say_so(show: Callable[[str], Page]) -> None:
    page = show("")
    number, overlap = first(page, "[data-field=K] [type=text]"), first(page, "[data-field=rho] [type=text]")
    told, status = first(page, "[data-field=rho] .ss-lab-fault"), first(page, ".ss-lab-status")
    assert "ρ < 0.5 (met) and ρ ≥ 6/√M = 0.19 (met)." in status.inner_text()
    number.fill("10")
    page.wait_for_function("document.querySelector('.ss-lab').lab.picture.settings.K === 10")
    assert overlap.input_value() == "0.01"
    assert overlap.get_attribute("aria-invalid") == "false"
    assert told.inner_text() == "Lowered from 0.3: Assumption 2 asks for ρ < 0.0111."
    assert "ρ < 0.0111 (met) and ρ ≥ 6/√M = 0.19 (not met); both at once need M > 292000." in status.inner_text()
    number.fill("7")
    assert overlap.input_value() == "0.021"  # nine tenths of 1/42, in two digits
    number.fill("2")
    assert (overlap.input_value(), told.inner_text()) == ("0.3", "")


def test_each_curve_looks_unlike_the_others_and_is_named(show: Callable[[str], Page]) -> None:
    page = show("K=2&w=1,0.9,0.8,0.7,0.6,0.5,0.4,0.3,0.2,0.1&dyn=ideal")
    for chart in first(page, ".ss-lab-chart:has(.ss-lab-plot)").all():
        samples = chart.locator(".ss-lab-legend path").evaluate_all(
            "all => all.map(e => [e.getAttribute('stroke'), e.getAttribute('stroke-dasharray')].join())"
        )
        assert len(set(samples)) == len(samples) >= 2


DRAG = """async () => {
  const root = document.querySelector('.ss-lab');
  const slider = root.querySelector('[data-field=etaY] [type=range]');
  const turn = () => new Promise(done => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  });
  const million = () => {
    let total = 0;
    for (let k = 0; k < 1e6; k++) total += Math.exp(-k / 1e6);
    return total;
  };
  const ratios = [];
  for (let i = 1; i <= 25; i++) {
    const [before, asked] = [root.lab.picture, performance.now()];
    slider.value = 500 - 20 * i;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    while (root.lab.picture === before) await turn();
    const answered = performance.now();
    million();
    ratios.push((answered - asked) / (performance.now() - answered));
  }
  return ratios;
}"""


@pytest.mark.parametrize("dyn", ["ideal", "update26", "true", "law"])
def test_a_dragged_slider_is_answered_at_once(dyn: str, show: Callable[[str], Page]) -> None:
    page = show(f"K=10&M=102&w=10,9,8,7,6,5,4,3,2,1&rho=0.01&etaZ=10&dyn={dyn}")  # the largest system, 101 tokens
    # In units of a million exponentials, by turns, so that a slow machine is no fault: where they take 8 ms, an answer
    # takes a tenth of a second at most. Other processes may delay any single answer.
    assert np.quantile(page.evaluate(DRAG), 0.25) < 12


@pytest.mark.parametrize("address", ["K=3&rho=0.1&dyn=update26", "K=2&M=30&rho=0.9&beyond=1&w=1,2&etaZ=0.1&dyn=ideal"])
def test_words_say_what_the_picture_shows(address: str, show: Callable[[str], Page]) -> None:
    page = show(address)
    words = first(page, ".ss-lab-words")
    page.wait_for_function("document.querySelector('.ss-lab-words').textContent !== ''")
    assert words.get_attribute("aria-live") == "polite"
    got = drawn(page)
    at = int(np.searchsorted(got["z"][0], got["moments"][1] * (1 - 1e-9)))
    said = words.inner_text()
    assert f"z of the common token {got['z'][1][at]:.3g}".replace("-", "−") in said
    size = (len(got["z"]) - 1) // 2  # the curves of the dynamics shown, then the gradient's
    assert number(said.rpartition(" is ")[2].rstrip(".")) == pytest.approx(got["z"][1 + size][at], rel=6e-3, abs=0)
    assert "(1 t₀)" in said
    entropy = re.search(r"entropy (\S+) nats", said)
    assert entropy is not None
    assert number(entropy[1]) == pytest.approx(got["entropy"][1][at], rel=6e-3, abs=0)

    # The token with the most attention is named first, then the common token, or the distinct one with the most.
    setting = setting_of(address, ROOT)
    share = setting.classes().compact.probs[0, : 1 + len(setting.weights)]
    share = share * np.exp([curve[at] for curve in got["z"][1 : 1 + size]])
    share = 100 * share / share.sum()
    most = int(share.argmax())
    other = 0 if most else 1 + int(share[1:].argmax())
    names = ["the common token" if token == 0 else f"distinct token {token}" for token in (most, other)]
    found = re.search(rf"most attention, ([\d.]+) %, to {names[0]}, and ([\d.]+) % to {names[1]};", said)
    assert found is not None, said
    assert [float(text) for text in found.groups()] == pytest.approx([share[most], share[other]], abs=0.051)
    labels = [chart.get_attribute("aria-label") for chart in first(page, ".ss-lab-plot").all()]
    assert all(label and re.search(r"at t₀′, .+ at t₀, .+ at the end", label) for label in labels)
    assert len(labels) == 3


@pytest.mark.parametrize(
    ("weights", "leaders", "most"),
    [
        ("0.5,1,0.8", "distinct token 2", "to distinct token 2"),
        ("1,0.5,1", "distinct tokens 1 and 3", "each, to distinct tokens 1 and 3"),
        ("1,1,1", "distinct tokens 1, 2 and 3", "each, to distinct tokens 1, 2 and 3"),
    ],
)
def test_equally_frequent_tokens_are_named_together(
    weights: str, leaders: str, most: str, show: Callable[[str], Page]
) -> None:
    page = show(f"K=3&rho=0.1&w={weights}&dyn=true")
    page.wait_for_function("document.querySelector('.ss-lab-words').textContent !== ''")
    assert re.search(f"gives most attention, [0-9.]+ %,? {most}, and", first(page, ".ss-lab-words").inner_text())
    heads = first(page, "table >> nth=0").locator("tbody th").all_inner_texts()
    assert heads[1] == f"z of {leaders}"
    assert heads[3] == f"χ of {leaders}"
    size = leaders.count("1") + leaders.count("2") + leaders.count("3")
    legend = first(page, ".ss-lab-legend >> nth=2").inner_text()
    assert legend.startswith(f"χ of the {f'{size} ' if size > 1 else ''}most frequent distinct token")


def test_under_sgd_equally_frequent_tokens_have_a_range(show: Callable[[str], Page]) -> None:
    page = show("K=2&w=1,1&dyn=sgd&T=8&B=1&seed=3")
    z = first(page, "table >> nth=0").locator("tbody tr:nth-child(2) td:nth-child(3)").inner_text()
    got = drawn(page)
    at = int(np.searchsorted(got["z"][0], got["moments"][1] * (1 + 1e-9))) - 1
    assert [number(part) for part in z.split(" to ")] == pytest.approx(
        sorted(got["z"][token][at] for token in (2, 3)), rel=5e-3, abs=0
    )


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_lab_plays_by_itself_only_where_motion_is_welcome(motion: Any, tmp_path: Path, page: Page) -> None:
    page.emulate_media(reduced_motion=motion)
    page.goto(write_page(tmp_path, labs("", play=True)))
    wait_for_picture(page)
    assert first(page, ".ss-lab-time button").inner_text() == ("Play" if motion == "reduce" else "Pause")


def test_with_less_motion_time_jumps_from_moment_to_moment(page: Page, lab_address: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{lab_address}#t=1")
    wait_for_picture(page)
    scan = drawn(page)["moments"][0]
    press = "button => { button.click(); return document.querySelector('.ss-lab-time output').textContent; }"
    shown = first(page, ".ss-lab-time button").evaluate(press)  # at once, because the next jump comes by itself
    assert float(re.findall(r"[\d.]+", shown)[0]) == pytest.approx(scan / 2, rel=5e-3, abs=0)


def test_without_scripts_a_still_picture_stands(browser: BrowserContext, lab_address: str) -> None:
    assert browser.browser is not None
    with browser.browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(lab_address)
        picture = page.locator("img.ss-lab-still >> nth=0")
        box = picture.bounding_box()
        assert picture.is_visible()
        assert box
        assert box["width"] >= 30
        assert picture.get_attribute("alt") == "In words."


@pytest.mark.parametrize(
    "preset", ["K=1", "Q=3", "M=5", "rho=0.6", "etaY=0", "dyn=adam", "dyn=law&model=residual", "K=three", "K"]
)
def test_a_chapter_cannot_carry_a_bad_preset(preset: str) -> None:
    with pytest.raises((BadInput, ValueError)):
        setting_of(preset, ROOT)


def test_presets_are_read_as_the_lab_reads_them() -> None:
    assert int(FIELDS["K"]["default"]) == setting_of("", ROOT).K
    setting = setting_of("K=3&w=2,1&rho=0.6&beyond=1&etaZ=0.1", ROOT)
    assert (setting.K, setting.weights, setting.rho, setting.lr_z) == (3, (2.0, 1.0), 0.6, 0.1)
