"""The essay's pictures in a real browser, against the package; its guesses and its small labs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lab import lab_html
from lab_widgets import ESSAY, essay_script, widget_html
from playwright.sync_api import Locator, Page

from scansnap_core import with_overlap
from scansnap_core.theory import clocks
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from scansnap_core.theory.law import closed
from scansnap_core.theory.solving import solve
from tests.site.book import ROOT
from tests.site.lab_page import write_page

CLASSES = with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.8, 0.5])
COUNTS = np.array([3.0, 3.0, 2.0, 1.0])
GUESS = (
    '<div class="ss-guess" data-right="1"><p>Which?</p><button type="button">A</button>'
    '<button type="button">B</button><output></output></div><div class="ss-guess-answer">It is B.</div>'
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    small = lab_html("dyn=true", "still.svg", "In words.", play=False, show="etaZ,T", names="and,wave,sail,harbour")
    body = "".join(map(widget_html, ESSAY)) + GUESS + small
    return write_page(tmp_path_factory.mktemp("essay"), body, essay=essay_script(ROOT))


@pytest.fixture
def essay(address: str, page: Page) -> Page:
    page.goto(address)
    page.wait_for_function("document.querySelector('.ss-pair').dataset.state === 'done'")
    return page


def choose(widget: Locator, **settings: float) -> None:
    for key, value in settings.items():
        widget.locator(f"[data-field={key}] [type=text]").fill(str(value))


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


def test_the_reader_chooses_law_and_time(essay: Page) -> None:
    told = essay.locator(".ss-sentence > .ss-lab-words")
    shares = "els => els.map(e => Number(getComputedStyle(e).getPropertyValue('--share')))"
    before = essay.locator(".ss-sentence .ss-word").evaluate_all(shares)
    assert sum(before[:9]) == pytest.approx(1, abs=1e-3)
    essay.get_by_label("the gradient").check()
    assert told.inner_text().startswith("By the gradient")
    assert essay.locator(".ss-sentence .ss-word").evaluate_all(shares) != before
    essay.locator(".ss-sentence [type=range]").fill("0")
    percents = re.findall(r"([\d.]+) %", told.inner_text())
    assert percents == ["33.3", "33.3"]


@pytest.mark.parametrize(("rho", "M"), [(0.3, 1000), (0.05, 1000000), (0.9, 30)])
def test_the_plane_shows_what_the_gradient_has_of_the_push(rho: float, M: int, essay: Page) -> None:
    choose(essay.locator(".ss-plane"), rho=rho, M=M)
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


@pytest.mark.parametrize(("K", "M", "rho", "lr_z"), [(2, 1000, 0.3, 0.1), (3, 10**9, 0.1, 1.0)])
def test_both_trainings_are_pythons(K: int, M: int, rho: float, lr_z: float, essay: Page) -> None:
    choose(essay.locator(".ss-pair"), K=K, M=M, rho=rho, etaZ=lr_z)
    essay.wait_for_function("document.querySelector('.ss-pair').dataset.state === 'done'")
    got = essay.evaluate("""() => {
      const { curves, moments } = document.querySelector('.ss-pair').lab.picture;
      const of = ({ times, z }) => [Array.from(times), z.map((values) => Array.from(values))];
      return { ideal: of(curves.ideal), true: of(curves.true), moments };
    }""")
    assert [got["moments"][name] for name in ("scan", "snap")] == pytest.approx(
        clocks.transition(K, M, 1.0), rel=1e-12, abs=0
    )
    classes = with_overlap(K, M, rho, distinct_weights=[1, 0.8, 0.5])
    own = [0, *classes.distinct_tokens(0)]
    for name, flow in (("ideal", IdealisedFlow), ("true", TrueFlow)):
        times, z = got[name]
        want = solve(flow(classes, 1.0, lr_z), times, method="DOP853", rtol=1e-11, atol=1e-17)
        np.testing.assert_allclose(z, want.Z.isel(query=0).sel(token=own).values.T, rtol=1e-6, atol=1e-13)


def test_the_right_bars_stand_under_a_magnifier(essay: Page) -> None:
    factor = essay.evaluate("document.querySelector('.ss-pair').lab.picture.factor")
    assert factor == 10
    assert "changes × 10" in essay.locator(".ss-pair figcaption >> nth=2").inner_text()
    essay.locator(".ss-pair .ss-lab-time [type=range]").fill("1000")
    right = essay.locator(".ss-pair .ss-lab-bars >> nth=1")
    said = float(right.locator("output >> nth=0").inner_text().split()[0])
    drawn = float(right.locator("b >> nth=0").evaluate("e => e.style.width").rstrip("%"))
    start = 100 * with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.8, 0.5]).compact.probs[0, 0]
    assert drawn - start == pytest.approx(factor * (said - start), abs=0.6)


@pytest.mark.parametrize("ratio", [0.001, 0.1, 10])
def test_memory_catches_words_as_the_gradient_does(ratio: float, essay: Page) -> None:
    essay.locator(".ss-spring [type=text]").fill(str(ratio))
    found = essay.evaluate("document.querySelector('.ss-spring').lab.found")
    classes = with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.6, 0.3, 0.01])
    t = 40 * clocks.transition(2, 1000, 1.0)[1]
    own = classes.distinct_tokens(0)
    squares = np.sort(np.square(classes.compact.probs[0, 1:5]) / np.square(classes.compact.probs[0]).sum())[::-1]
    gains = solve(TrueFlow(classes, 1.0, ratio), [t]).Z.isel(query=0, recorded=0).sel(token=own).values / squares
    assert [word["kept"] for word in found] == pytest.approx((gains[:3] / gains[3]).tolist(), rel=1e-6, abs=0)
    a = 999 * clocks.h(t / 2, 1000, 1.0)
    assert [word["memory"] for word in found] == pytest.approx(
        (ratio / 2 * squares[:3] * a**2).tolist(), rel=1e-9, abs=0
    )


def test_an_answer_waits_for_the_guess(essay: Page) -> None:
    answer, said = essay.locator(".ss-guess-answer"), essay.locator(".ss-guess output")
    assert answer.is_hidden()
    essay.get_by_role("button", name="A", exact=True).press("Enter")
    assert answer.is_visible()
    assert said.inner_text().strip() == "Not quite."
    essay.get_by_role("button", name="B", exact=True).click()
    assert said.inner_text().strip() == "You are right."


def test_a_small_lab_has_the_fields_and_words_asked_for(address: str, page: Page) -> None:
    page.goto(f"{address}#K=3")
    lab = page.locator(".ss-lab[data-show]")
    page.wait_for_function("document.querySelector('.ss-lab[data-show]').dataset.state === 'done'")
    assert lab.locator("[data-field]").evaluate_all("els => els.map(e => e.dataset.field)") == ["etaZ", "T"]
    assert lab.locator(".ss-lab-plot").count() == 1
    assert lab.locator(".ss-lab-bars li span").all_inner_texts() == ["and", "wave", "sail", "harbour"]
    assert "to “wave”" in lab.locator(".ss-lab-words").inner_text()
