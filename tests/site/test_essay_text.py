"""What the essay says, against what its pictures and the package show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
from playwright.sync_api import Page

from scansnap_core import with_overlap
from scansnap_core.theory import clocks, formulas
from scansnap_core.theory.flows import IdealisedFlow, ModifiedFlow, TrueFlow
from scansnap_core.theory.solving import solve
from tests.site.book import ROOT

ESSAY = (ROOT / "chapters/essay.md").read_text(encoding="utf8")
PRESETS = [dict(pair.split("=") for pair in preset.split("&")) for preset in re.findall(r"```{lab} (.*)", ESSAY)]


def gains(preset: Mapping[str, Any], flow: type[IdealisedFlow | ModifiedFlow | TrueFlow], t: float) -> np.ndarray:
    """z of "and" and of a topic's three words in a lab of the essay."""
    classes = with_overlap(2, int(preset["M"]), float(preset["rho"]), distinct_weights=[1, 0.8, 0.5])
    path = solve(flow(classes, float(preset["etaY"]), float(preset["etaZ"])), [t])
    return path.Z.isel(query=0, recorded=0).sel(token=[0, *classes.distinct_tokens(0)]).values


def told(claim: str) -> list[float]:
    """Find every number that the essay prints for a claim."""
    return [float(text) for text in re.findall(rf'<data value="{claim}">(.*?)</data>', ESSAY)]


def test_the_essays_numbers_are_those_of_its_pictures() -> None:
    t_0 = clocks.transition(2, 1000, 1.0)[1]
    ratio = gains(PRESETS[0], IdealisedFlow, t_0)[0] / gains(PRESETS[0], TrueFlow, t_0)[0]
    assert told("theorem_4:ratio_k2") == [round(ratio)] * 2
    even = PRESETS[1] | {"etaZ": "1"}
    for claim, preset, flow in (
        ("even_10_1", even, IdealisedFlow),
        ("even_true_1", even, TrueFlow),
        ("even_true_10", PRESETS[1] | {"etaZ": "10"}, TrueFlow),
    ):
        z = gains(preset, flow, 40 * t_0)
        assert told(f"snapping_gradient:{claim}") == [round(z[3] / z[1], 2)]


def test_the_essays_dates_are_those_of_the_registry() -> None:
    assert formulas.t_0_prime == formulas.K * sp.log(formulas.M) / formulas.eta_Y
    assert r"Up to $t_0' = K\ln M/\eta_Y$" in ESSAY
    assert "After $t_0$, two to three times $t_0'$, each step moves attention very little" in ESSAY
    assert all(2 < np.divide(*clocks.transition(2, M, 1.0)[::-1]) < 3 for M in (100, 1000, 10**9))


def test_the_essays_steps_are_those_of_its_example() -> None:
    """What the essay says in numbers that no chapter computes: the snap, and how much of the gap is update (26)'s."""
    t_0 = clocks.transition(2, 1000, 1.0)[1]
    snap, end = (gains(PRESETS[0], IdealisedFlow, factor * t_0)[0] for factor in (1, 40))
    assert f"falls to −{-snap:.2f} in the first {t_0:.0f} steps, up to the marked time $t_0$" in ESSAY
    assert f"In the next {round(39 * t_0, -2):,.0f} steps it falls to −{-end:.2f}." in ESSAY
    update, true = (gains(PRESETS[0], flow, t_0)[0] for flow in (ModifiedFlow, TrueFlow))
    assert f"already moves it {update / true:.0f} times as far as the gradient" in ESSAY
    assert snap / update < 1.25  # that it lacks memory matters little by t_0
    late = [1 - first / last for first, last in ((true, gains(PRESETS[0], TrueFlow, 40 * t_0)[0]), (snap, end))]
    goes = 'in these the gradient goes {:.0%} of its way with "and", the paper\'s law (10) {:.0%}.'
    assert goes.format(*late).replace("%", " %") in ESSAY
    for ratio, words in (
        ("1", "at equal rates it is {:.0%} and {:.0%}"),
        ("0.001", "at a ratio of 0.001 {:.0%} and {:.0%}"),
    ):
        shares = [
            1 - np.divide(*(gains(PRESETS[0] | {"etaZ": ratio}, flow, factor * t_0)[0] for factor in (1, 40)))
            for flow in (TrueFlow, IdealisedFlow)
        ]
        assert words.format(*shares).replace("%", " %") in ESSAY
    wave = gains(PRESETS[1] | {"etaZ": "10"}, TrueFlow, 40 * t_0)[1]
    assert f'the $z$ of "wave" gains {wave:.3f}, which is {100 * np.expm1(wave):.0f} % of its weight' in ESSAY
    assert rf"(in our example, ${6 / np.sqrt(1000):.2f} \le \rho < 0.5$)" in ESSAY


def test_the_essay_says_how_its_two_texts_differ_from_their_topics() -> None:
    """The overlap by the words of the two texts, and the shares of a topic's words."""
    (first, second) = re.findall(r"^> (.+) \*\*the\*\* …$", ESSAY, re.MULTILINE)
    counts = [Counter(text.split()) for text in (first, second)]
    shared = sum(counts[0][word] * counts[1][word] for word in counts[0])
    overlap = shared / np.prod([np.linalg.norm(list(count.values())) for count in counts])
    assert f"By the words of these two alone, the overlap would be {overlap:.2f}." in ESSAY
    common, wave = with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.8, 0.5]).compact.probs[0, :2]
    said = f"It makes up {common:.0%} of a topic's words, the most frequent telling word {wave:.0%};"
    assert said.replace("%", " %") in ESSAY
    assert all(count["and"] == max(count.values()) for count in counts)


def test_memory_evens_words_out_at_about_a_hundred() -> None:
    """The rarest word's memory number where it gains nearly as much as the first."""
    t = 40 * clocks.transition(2, 1000, 1.0)[1]
    probs = with_overlap(2, 1000, 0.3, distinct_weights=[1, 0.8, 0.5]).compact.probs[0]
    square = probs[3] ** 2 / (probs @ probs)
    assert 50 < 10 / 2 * square * (999 * clocks.h(t / 2, 1000, 1.0)) ** 2 < 200
    z = gains(PRESETS[1] | {"etaZ": "10"}, TrueFlow, t)
    assert z[3] / z[1] > 0.95


def test_the_right_guesses_are_right() -> None:
    """The answer that counts as right, against what the laws do."""
    t_0 = clocks.transition(2, 1000, 1.0)[1]
    assert all(gains(PRESETS[0], flow, t_0)[0] < 0 for flow in (IdealisedFlow, TrueFlow))
    slow, fast = (gains(PRESETS[1] | {"etaZ": rate}, TrueFlow, 40 * t_0) for rate in ("1", "10"))
    assert slow[3] / slow[1] > 0.8
    assert fast[3] / fast[1] > 0.95
    guesses = re.findall(r'<div class="ss-guess" data-right="(\d)".*', ESSAY)
    buttons = [re.findall(r">([^<]+)</button>", line) for line in re.findall(r'<div class="ss-guess" .*', ESSAY)]
    right = [choices[int(place)] for choices, place in zip(buttons, guesses, strict=True)]
    assert right == ["loses attention", "about 0.8", "the words gain alike"]


def test_the_essay_quotes_the_texts_of_its_picture(essay: Page) -> None:
    drawn = [text.partition(" → ")[0] for text in essay.locator(".ss-text").all_text_contents()]
    assert re.findall(r"^> (.+) …$", ESSAY.replace("**", ""), re.MULTILINE) == drawn
    assert f"out of {1000} words." in ESSAY
    essay.get_by_role("radio", name="the gradient").check()
    essay.locator(".ss-sentence [type=range]").fill("1000")
    after, before = re.findall(r"[\d.]+ %", essay.locator(".ss-sentence > .ss-lab-words").inner_text())
    assert f'"and" of the first text falls from {before} to {after} by $40\\,t_0$.' in ESSAY


def test_short_texts_push_the_rarest_word_down(essay: Page) -> None:
    """The essay's sentence about its last lab, which shows SGD, is true for the lab's seed and for four others."""
    preset = {key: float(value) for key, value in PRESETS[2].items() if key != "dyn"}
    ends = essay.evaluate(
        """preset => {
          const { core } = document.querySelector('.ss-lab[data-show]').lab;
          const at = (T, seed) => {
            const settings = { ...preset, T, seed, w: [1, 0.8, 0.5], B: 32, dyn: 'sgd' };
            const system = core.withOverlap(settings);
            const times = core.moments(settings).all.slice(2).map(Math.round);
            const { z } = [...core.trainingPath(system, settings, times)].at(-1);
            return times.map((_, i) => [z[i * system.L], z[i * system.L + 3]]);
          };
          return [preset.T, Infinity].map((T) => [0, 1, 2, 3, 4].map((seed) => at(T, seed)));
        }""",
        preset,
    )
    short, endless = np.array(ends)
    assert (short[..., 1] < 0).all()
    assert (short[:, 0, 0] > 0).any()  # "and", at t_0
    assert (short[:, -1, 0] < 0).all()
    assert (endless[..., 0] < 0).all()
    assert (endless[..., 1] > 0).all()
