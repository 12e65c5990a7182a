"""The first page: a sentence whose words light up and play, few words before the doors, and no word unexplained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from lab_widgets import essay_script, widget_html
from playwright.sync_api import BrowserContext, Page

from scansnap_core import audit, solve, with_overlap
from scansnap_core.theory.flows import IdealisedFlow, TrueFlow
from tests.site.book import ROOT
from tests.site.lab_page import write_page

FIRST = (ROOT / "chapters/index.md").read_text(encoding="utf8")
MATHEMATICS = (ROOT / "chapters/mathematics.md").read_text(encoding="utf8")
READ = """law => {
  const { readingOf, moments } = document.querySelector('.ss-opening').lab;
  return readingOf(law, [3, 3, 2, 1], Float64Array.of(moments.scan / 1000, moments.snap, moments.all.at(-1)));
}"""
SCENE = "document.querySelector('.ss-opening').lab.scene"
SLIDER, TOLD = ".ss-opening [type=range]", ".ss-opening > .ss-lab-words"


@pytest.fixture(scope="module")
def opening_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a page with the first page's picture alone."""
    folder = tmp_path_factory.mktemp("opening")
    return write_page(folder, widget_html("opening"), essay=essay_script(ROOT))


@pytest.fixture
def opening(opening_address: str, page: Page) -> Page:
    """The picture for a reader who asked for less motion: it doesn't play of its own accord."""
    page.emulate_media(reduced_motion="reduce")
    page.goto(opening_address)
    page.wait_for_function("document.querySelector('.ss-opening').dataset.state === 'done'")
    return page


def test_the_picture_plays_of_its_own_accord_and_can_be_stopped(opening_address: str, browser: BrowserContext) -> None:
    page = browser.new_page()
    page.emulate_media(reduced_motion="no-preference")
    page.goto(opening_address)
    button = page.locator(".ss-opening .ss-lab-time button")
    page.wait_for_function("Number(document.querySelector('.ss-opening [type=range]').value) > 20")
    assert button.inner_text() == "Pause"
    assert page.locator(TOLD).get_attribute("aria-live") == "off"
    button.click()
    stopped = page.locator(SLIDER).input_value()
    page.wait_for_timeout(200)
    assert page.locator(SLIDER).input_value() == stopped
    page.close()


def test_for_a_reader_who_wants_less_motion_it_stands_at_the_snap(opening: Page) -> None:
    opening.wait_for_timeout(200)
    assert opening.locator(".ss-opening .ss-lab-time button").inner_text() == "Play"
    assert opening.locator(".ss-opening .ss-lab-time output").inner_text() == "step 36"
    lines = [
        opening.locator(line).evaluate("e => e.getBoundingClientRect().left")
        for line in (".ss-curve-now", ".ss-curve-then")
    ]
    assert lines[0] == pytest.approx(lines[1], abs=8)  # the picture has a hundred and sixty times


@pytest.mark.parametrize(
    ("row", "law", "name"),
    [
        (0, "true", "What training does, in small steps: the gradient"),
        (1, "ideal", "What the paper’s formulas say: its law"),
    ],
)
def test_weights_glow_and_the_right_guess_is_a_bar(row: int, law: str, name: str, opening: Page) -> None:
    """In each law's own row, under its name."""
    opening.locator(SLIDER).fill("1000")
    assert opening.locator(".ss-row-name").nth(row).inner_text() == name
    line = opening.locator(".ss-text").nth(row)
    end = opening.evaluate(READ, law)[2]
    odds = line.locator(".ss-odds").evaluate("e => e.firstChild.clientWidth / e.clientWidth")
    assert odds == pytest.approx(end["next"], abs=0.02)
    glow = (
        "els => els.map(e => Number(getComputedStyle(e).backgroundColor.match(/[\\d.]+\\)$/)?.[0].slice(0, -1) ?? 0))"
    )
    wave, common, sail, _, _, harbour = line.locator(".ss-token").evaluate_all(glow)[:6]
    assert wave > sail > harbour > common
    weights = [end["attention"][place] / count for place, count in ((1, 3), (0, 3))]
    assert [wave, common] == pytest.approx([0.3 * (9 * weight) ** 2 for weight in weights], abs=0.01)


def test_what_the_page_says_of_its_picture_is_so(opening: Page) -> None:
    """Almost a third, hardly moves, just as sure, nearly stops: what these words mean in numbers."""
    paper, gradient = opening.evaluate(READ, "ideal"), opening.evaluate(READ, "true")
    for start, snap, end in (paper, gradient):
        assert start["next"] == pytest.approx(1 / 1000, rel=0.1)
        assert snap["attention"][0] < start["attention"][0]
        assert end["attention"][1] > start["attention"][1]
    for seen, other in zip(paper, gradient, strict=True):
        assert seen["next"] == pytest.approx(other["next"], abs=0.01)
    assert "lose in this picture almost a third of their weight" in FIRST
    assert 0.68 < paper[2]["attention"][0] / paper[0]["attention"][0] < 0.73
    assert gradient[2]["attention"] == pytest.approx(gradient[0]["attention"], rel=0.04)

    # By the gradient "and" loses as much from the snap to the end of the picture as before.
    later = [seen[1]["attention"][0] - seen[2]["attention"][0] for seen in (paper, gradient)]
    before = [seen[0]["attention"][0] - seen[1]["attention"][0] for seen in (paper, gradient)]
    assert later[1] == pytest.approx(before[1], rel=0.1)
    assert later[0] < before[0] / 4
    moments = opening.evaluate("document.querySelector('.ss-opening').lab.moments")
    steps = [round(moments["all"][-1] - moments["snap"]), round(moments["snap"])]
    assert (
        '"and" loses by the gradient about as much in the {} steps after the snap as in the {} before.'.format(*steps)
        in FIRST
    )
    assert "(here, ten times)" in FIRST
    assert opening.evaluate(f"{SCENE}.etaY / {SCENE}.etaZ") == 10
    assert "reads nine words" in FIRST
    assert opening.locator(".ss-token").count() == 2 * 9


def test_curves_stand_over_the_slider_on_its_clock(opening: Page) -> None:
    """The weight of "and" by both laws, from 0 at the bottom; a line at the time that the slider shows."""
    assert "snap, step 36" in opening.locator(".ss-curve-mark").inner_text()
    snap = opening.locator(".ss-curve-then").evaluate("e => e.getBoundingClientRect().left")
    opening.locator(SLIDER).fill("700")
    place = opening.locator(SLIDER).evaluate("e => { const b = e.getBoundingClientRect(); return [b.left, b.width]; }")
    thumb = place[0] + 8 + (place[1] - 16) * 0.7
    assert snap == pytest.approx(place[0] + 8 + (place[1] - 16) / 5, abs=1)  # the slider ends at 5 t_0
    now = opening.locator(".ss-curve-now").evaluate("e => e.getBoundingClientRect().left")
    assert now == pytest.approx(thumb, abs=0.01 * place[1])  # the picture has a hundred and sixty times
    for law, dashed in (("ideal", "none"), ("true", "5px, 4px")):
        curve = opening.locator(f".ss-curve-{law}")
        heights = [float(number) for number in re.findall(r" ([\d.]+)", str(curve.get_attribute("d")))]
        start, _, end = (seen["attention"][0] for seen in opening.evaluate(READ, law))
        assert [heights[0], heights[-1]] == pytest.approx([250 * (0.4 - weight) for weight in (start, end)], abs=0.02)
        assert curve.evaluate("e => getComputedStyle(e).strokeDasharray") == dashed
    begins = opening.evaluate(READ, "true")[0]["attention"][0]
    assert opening.locator(".ss-curve-end").all_inner_texts() == [f"{100 * begins:.1f} %", "0 %"]

    # The upper curve's name stands over its end, the lower one's under it: none stands between the two.
    over, under = opening.locator(".ss-curve-name").evaluate_all(
        "els => els.map(e => e.getBoundingClientRect().toJSON())"
    )
    upper, lower = (
        opening.locator(f".ss-curve-{law}").evaluate("e => e.getBoundingClientRect().toJSON()")
        for law in ("true", "ideal")
    )
    assert over["bottom"] <= upper["bottom"] + 1
    assert under["top"] >= lower["bottom"] - 1
    opening.locator(SLIDER).fill("1000")
    shown = opening.locator(".ss-curve-name").all_inner_texts()
    ends = [100 * opening.evaluate(READ, law)[2]["attention"][0] for law in ("true", "ideal")]
    assert shown == [f"the gradient: {ends[0]:.1f} %", f"the paper’s law: {ends[1]:.1f} %"]


@pytest.mark.parametrize("step", [0, 300, 600, 1000])
def test_the_line_says_how_many_points_each_rule_took_off(step: int, opening: Page) -> None:
    """From the time on at which the gradient's change is more than rounding."""
    opening.locator(SLIDER).fill(str(step))
    weights = opening.evaluate("""() => {
      const { readingOf, times } = document.querySelector('.ss-opening').lab;
      const range = document.querySelector('.ss-opening [type=range]');
      const now = times[0] + (times.at(-1) - times[0]) * range.value / 1000;
      const shown = Float64Array.of(times[0], times.findLast((t) => t <= now * (1 + 1e-12)));
      return ['ideal', 'true'].map((law) => readingOf(law, [3, 3, 2, 1], shown).map(({ attention }) => attention[0]));
    }""")
    paper, gradient = (100 * (before - now) for before, now in weights)
    told = opening.locator(TOLD).inner_text()
    found = re.search(r"have lost (.+) points of their (.+) % by the gradient, (.+) by the paper’s law", told)
    assert found is not None, told
    for lost, said in ((gradient, found[1]), (paper, found[3])):
        assert said == ("less than 0.1" if lost < 0.1 else f"{lost:#.2g}".rstrip("."))
    assert float(found[2]) == pytest.approx(100 * weights[0][0], abs=0.051)


def test_as_many_statements_are_right_as_printed_as_it_says(site: Path) -> None:
    """By the board's verdicts."""
    page = BeautifulSoup((site / "chapters/verdicts.html").read_text(encoding="utf8"), "html.parser")
    rows = [row for row in page.select(".ss-board tr") if re.match(r"\s*(Lemma|Theorem|Corollary) \d", row.get_text())]
    holds = [row for row in rows if "ss-holds" in row["class"]]
    assert f"{len(holds)} of the paper's {len(rows)} lemmas, theorems and corollaries hold [as printed]" in FIRST
    assert len(rows) - len(holds) == 2


def test_the_example_keeps_to_the_papers_assumptions(opening: Page) -> None:
    assert "In the example, which keeps the paper's assumptions, its law moves attention" in FIRST
    scene = opening.evaluate(SCENE)
    classes = with_overlap(scene["K"], scene["M"], scene["rho"], distinct_weights=scene["w"])
    conditions = audit(classes, lr_y=scene["etaY"], lr_z=scene["etaZ"])
    assert [condition.name for condition in conditions if not condition.holds] == []


def test_by_the_snap_the_papers_law_moves_attention_some_thirty_times_as_far(opening: Page) -> None:
    """The weight of "and", and its score, which is the logit of the common token."""
    scene = opening.evaluate(SCENE)
    snap = opening.evaluate("document.querySelector('.ss-opening').lab.moments.snap")
    classes = with_overlap(scene["K"], scene["M"], scene["rho"], distinct_weights=scene["w"])
    common = classes.common_tokens[0]
    scores = [
        float(solve(dynamics(classes, scene["etaY"], scene["etaZ"]), [snap]).Z.sel(token=common).squeeze())
        for dynamics in (IdealisedFlow, TrueFlow)
    ]
    paper, gradient = opening.evaluate(READ, "ideal"), opening.evaluate(READ, "true")
    lost = [start["attention"][0] - snap["attention"][0] for start, snap, _ in (paper, gradient)]
    assert "its law moves attention some 30 times as far by the snap." in FIRST
    for by_law, by_gradient in (scores, lost):
        assert 27 < by_law / by_gradient < 33


def test_there_is_one_slider_both_laws_are_in_view_and_all_works_by_keyboard(opening: Page) -> None:
    assert opening.locator("[type=range]").count() == 1
    names = []
    for _ in range(2):
        opening.keyboard.press("Tab")
        names.append(opening.evaluate("document.activeElement.type"))
    assert names == ["button", "range"]
    before = opening.locator(TOLD).inner_text()
    opening.keyboard.press("End")
    assert opening.locator(TOLD).inner_text() != before


def test_at_most_five_hundred_words_stand_before_the_doors_and_no_symbol(site: Path) -> None:
    page = BeautifulSoup((site / "chapters/index.html").read_text(encoding="utf8"), "html.parser")
    article = page.select_one("article")
    assert article is not None
    doors = [str(link["href"]) for link in article.select(".ss-doors a")]
    assert doors == ["essay.html", "mathematics.html", "calculator.html"]
    assert [formula for formula in article.select(".math") if formula.find_parent("details") is None] == []
    before = FIRST.partition(":::::{div} ss-doors")[0].partition("\n# ")[2]
    words = re.sub(r"```.*?```|<[^>]*>|\{cite\}\S+", " ", before, flags=re.DOTALL).split()
    assert len(words) <= 500
    unexplained = ["common word", "distinct", "query", "token", "Assumption", "softmax", "logit", "(10)", "(26)", "(7)"]
    assert [word for word in unexplained if word in before] == []


def test_what_stood_on_the_first_page_stands_on_the_page_of_the_mathematics() -> None:
    for number in (7, 10, 26):
        assert MATHEMATICS.count(rf"\tag{{{number}}}") == 1
    things = MATHEMATICS.partition("## Three things that matter most")[2]
    assert re.findall(r"^(\d)\. \*\*", things, re.MULTILINE) == ["1", "2", "3"]
    assert "ss-model" in MATHEMATICS
