"""The files that the essay's pictures give to take into a talk: what is drawn, as SVG and as PNG."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from lab_widgets import ESSAY
from matplotlib.image import imread
from playwright.sync_api import Page

SVG = "{http://www.w3.org/2000/svg}"
INK = {"common": "#a33b00", "accent": "#0b5e8e"}


def taken(page: Page, name: str, kind: str) -> Path:
    """The file that a click on a picture's button saves."""
    with page.expect_download() as download:
        page.locator(f".ss-lab.ss-{name}").get_by_role("button", name=kind.upper()).click()
    assert download.value.suggested_filename == f"scansnap-{name}.{kind}"
    return download.value.path()


def drawing(page: Page, name: str) -> ElementTree.Element:
    return ElementTree.parse(taken(page, name, "svg")).getroot()


def number(element: ElementTree.Element, *names: str) -> list[float]:
    return [float(element.attrib[name]) for name in names]


def ink(colour: str) -> str:
    """A colour that an SVG names, as #rrggbb."""
    parts = re.findall(r"\d+", colour)[:3]
    return colour if colour.startswith("#") else "#" + "".join(f"{int(part):02x}" for part in parts)


def boxes(root: ElementTree.Element, colour: str, side: str) -> list[float]:
    return [float(box.attrib[side]) for box in root.iter(f"{SVG}rect") if ink(box.attrib["fill"]) == INK[colour]]


def words(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", ESSAY)
def test_nothing_in_a_picture_is_cut_off(name: str, essay: Page) -> None:
    svg = taken(essay, name, "svg").read_text(encoding="utf8")
    width, height = number(ElementTree.fromstring(svg), "width", "height")
    shown, outside = essay.evaluate(
        """svg => {
          const holder = document.body.appendChild(document.createElement('div'));
          holder.innerHTML = svg;
          const whole = holder.firstChild.getBoundingClientRect();
          const shapes = [...holder.querySelectorAll('text, rect, path')];
          const outside = shapes.filter(one => {
            const box = one.getBoundingClientRect();
            return box.left < whole.left || box.right > whole.right || box.top < whole.top || box.bottom > whole.bottom;
          });
          return [shapes.length, outside.map(one => one.outerHTML)];
        }""",
        svg,
    )
    assert (shown > 10, outside) == (True, [])
    assert min(width, height) > 100


@pytest.mark.parametrize("name", ESSAY)
def test_the_png_is_the_svg_1920_pixels_wide(name: str, essay: Page) -> None:
    if name == "spring":  # here memory holds some words, not all
        essay.locator(".ss-spring [type=text]").fill("0.1")
    width, height = number(drawing(essay, name), "width", "height")
    pixels = np.round(255 * imread(taken(essay, name, "png"), "png")).astype(int)
    assert pixels.shape[:2] == (round(1920 * height / width), 1920)
    seen = {ink(str(pixel)) for pixel in np.unique(pixels[..., :3].reshape(-1, 3), axis=0)}
    assert seen >= {*INK.values()}
    inked = (pixels != pixels[0, 0]).any(axis=(1, 2))
    assert np.flatnonzero(inked).max() > pixels.shape[0] * (1 - 50 / height)  # the words below


def test_the_words_stand_over_bars_of_their_attention(essay: Page) -> None:
    essay.get_by_label("the gradient").check()
    essay.locator(".ss-sentence [type=range]").fill("1000")
    root = drawing(essay, "sentence")
    texts = (
        "wave and sail and wave harbour and wave sail the → ship? ",
        "cloud and wing cloud and runway and cloud wing the → plane? ",
    )
    assert all(text in " ".join(words(root)) for text in texts)
    assert "By the gradient, at t = 1459 (40 t₀), the three" in " ".join(words(root))
    shares = essay.locator(".ss-token").evaluate_all("els => els.map(e => Number(e.style.getPropertyValue('--share')))")
    size = float(next(text for text in root.iter(f"{SVG}text") if text.text == "harbour").attrib["font-size"])
    bars = sorted(boxes(root, "common", "height") + boxes(root, "accent", "height"))
    assert bars == pytest.approx(sorted(8 * size * share for share in shares), abs=0.1)


def test_the_curves_stand_on_the_scale_of_their_ticks(essay: Page) -> None:
    root = drawing(essay, "pair")
    charts = root.findall(f".//{SVG}g")
    for dynamics, chart in zip(("ideal", "true"), charts, strict=True):
        ticks = [text for text in chart.iter(f"{SVG}text") if text.attrib["text-anchor"] == "end"]
        values = [float((text.text or "").replace("−", "-")) for text in ticks]
        scale = np.polyfit([number(text, "y")[0] - 4 for text in ticks], values, 1)
        curves = [
            path.attrib["d"][1:].split("L") for path in chart.iter(f"{SVG}path") if path.attrib["d"].count("L") > 9
        ]
        drawn = [np.polyval(scale, float(curve[-1].split()[1])) for curve in curves]
        z = essay.evaluate(f"document.querySelector('.ss-pair').lab.picture.curves.{dynamics}.z.map(v => v.at(-1))")
        assert drawn == pytest.approx(z, abs=0.01 * max(map(abs, z)))
        assert [len(curve) for curve in curves] == [len(curves[0])] * 4
    assert " ".join(words(root)).count("Attention logits z over time t") == 2
    share = essay.evaluate("document.querySelector('.ss-pair').lab.picture.curves.ideal.c.at(0)[0]")
    ticks = essay.locator(".ss-pair .ss-lab-bars div >> nth=0").evaluate("e => e.clientWidth")
    ratio = essay.evaluate("parseFloat(document.querySelector('.ss-pair .ss-lab-bars b').style.width) / 100")
    assert boxes(root, "common", "width")[0] == pytest.approx(ratio * ticks, abs=0.5)
    assert 0 < ratio < share


def test_the_words_below_are_of_the_moment_that_is_drawn(essay: Page) -> None:
    """A click is answered before the pause after which the page writes them."""
    with essay.expect_download() as download:
        essay.evaluate("""() => {
          const slider = document.querySelector('.ss-pair .ss-lab-time [type=range]');
          slider.value = 1000;
          slider.dispatchEvent(new Event('input', { bubbles: true }));
          document.querySelector('.ss-lab.ss-pair > [role=group] button').click();
        }""")
    said = " ".join(words(ElementTree.parse(download.value.path()).getroot()))
    assert "K = 2, M = 1000, ρ = 0.3" in said
    assert ": at t = 1459 the z of “and” is −0.486 by the paper’s law (10) and −0.0383 under" in said


def test_the_plane_is_drawn_with_its_colours(essay: Page) -> None:
    (plane,) = drawing(essay, "plane").findall(f"{SVG}svg")
    colours = [ink(path.attrib["stroke"]) for path in plane.iter(f"{SVG}path")]
    assert [colours.count(INK[name]) for name in ("common", "accent")] == [6, 6]  # line, head and sample of two arrows
    said = essay.locator(".ss-plane svg text").all_text_contents()
    assert [text.text for text in plane.iter(f"{SVG}text")] == said
    assert "update (26)" in said
    dashed = {
        ink(path.attrib["stroke"]) for path in plane.iter(f"{SVG}path") if path.attrib["stroke-dasharray"] != "none"
    }
    assert INK["accent"] in dashed
    assert INK["common"] not in dashed


def test_the_ground_is_the_pages(essay: Page) -> None:
    essay.evaluate("document.body.style.background = 'rgb(20, 24, 30)'")
    ground = next(drawing(essay, "spring").iter(f"{SVG}rect"))
    assert ink(ground.attrib["fill"]) == "#14181e"
