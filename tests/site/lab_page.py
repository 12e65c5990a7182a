"""A page that holds labs, and what can be read off it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab import lab_html, write_lab
from lab_widgets import ESSAY, essay_script, widget_html
from playwright.sync_api import Page

from tests.site.book import ROOT

FIELDS = json.loads((ROOT / "site/lab/fields.json").read_text(encoding="utf8"))
PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf8"><title>Lab</title>
<link rel="stylesheet" href="uPlot.min.css"><link rel="stylesheet" href="lab.css">
<article class="bd-article">BODY</article>"""
# How far the first curve falls in a chart's lens, in pixels below its line of 0; and the chart's height.
DROP = """chart => {
  const end = Number(chart.querySelector('.ss-lens-curve').getAttribute('d').split(' ').at(-1));
  const zero = Number(chart.querySelector('.ss-lens-zero').getAttribute('d').match(/ ([^H]+)H/)[1]);
  return [end - zero, chart.querySelector('.u-over').clientHeight];
}"""
POWERS = str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")


def labs(*presets: str, play: bool = False) -> str:
    return "".join(lab_html(preset, "still.svg", "In words.", play=play) for preset in presets)


def write_page(folder: Path, body: str, **scripts: str) -> str:
    """Write a page and all that it loads: scripts by name, the lab's too if it holds a lab; returns its address."""
    write_lab(ROOT, folder)
    (folder / "still.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"/>')
    for name, text in scripts.items():
        (folder / f"{name}.js").write_text(text, encoding="utf8")
    names = ["uPlot.iife.min", *scripts, *(["lab"] if 'class="ss-lab"' in body else [])]
    loaded = "".join(f'<script src="{name}.js" defer></script>' for name in names)
    (folder / "index.html").write_text(PAGE.replace("BODY", body) + loaded, encoding="utf8")
    return (folder / "index.html").as_uri()


def write_essay(folder: Path, more: str = "") -> str:
    """Write a page with the essay's pictures and ``more``; returns its address."""
    return write_page(folder, "".join(map(widget_html, ESSAY)) + more, essay=essay_script(ROOT))


def first(page: Page, selector: str) -> Any:
    return page.locator(".ss-lab >> nth=0").locator(selector)


def wait_for_picture(page: Page) -> None:
    page.wait_for_function("document.querySelector('.ss-lab').dataset.state === 'done'")


def drawn(page: Page) -> dict[str, Any]:
    """Read what the first lab's charts hold, and the moments that it marks."""
    return page.evaluate("""() => {
      const { charts, picture } = document.querySelector('.ss-lab').lab;
      const data = Object.fromEntries(Object.entries(charts).map(([kind, chart]) => [kind, chart.data]));
      return { ...data, moments: [picture.moments.scan, picture.moments.snap] };
    }""")


def number(text: str) -> float:
    """A number as readers write it."""
    return float(text.translate(POWERS).replace(" × 10", "e"))
