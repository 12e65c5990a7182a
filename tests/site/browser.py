"""Looks at a page in a browser and says what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import BrowserContext, Page, Playwright, Request, ViewportSize
from printing import find_browser

HOST = "127.0.0.1"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {HOST}",  # what asks for another host is refused, and recorded
)
# These flags suit pages that are loaded once, whose scripts end before a compiler that optimises has paid for itself.
RUN_ONCE = "--js-flags=--no-opt,--no-maglev,--always-sparkplug"
WIDE: ViewportSize = {"width": 1400, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
# The window reports a change to its listeners in the order in which they came, so the theme's script has answered it.
LISTEN_FOR_COLOURS = """() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  window.recoloured = new Promise(done => dark.addEventListener('change', done, { once: true }));
}"""
# A document begins with colours that change at once, and with nothing that the tab has kept of another one.
BEFORE_ITS_SCRIPTS = """
const still = new CSSStyleSheet();
still.replaceSync('* { transition: none !important }');
document.adoptedStyleSheets = [still];
sessionStorage.clear();"""
DETECTORS = Path(__file__).with_name("detectors.js").read_text(encoding="utf8").strip()
LOOK = f"""async names => {{
  const detectors = {DETECTORS};
  const found = [];
  for (const name of names) found.push(...await detectors[name]());
  return found;
}}"""


def browser_or_skip() -> str:
    """The path of a browser. Without one, tests are skipped, or fail where $REQUIRE_BROWSER is set."""
    path = find_browser()
    if path is None:
        missing = "no Chromium or Chrome was found on PATH or in $CHROMIUM."
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(f"REQUIRE_BROWSER is set, and {missing}")
        pytest.skip(f"{missing} To get it: install the system's chromium package, or set CHROMIUM to a browser's path")
    return path


@contextmanager
def open_browser(playwright: Playwright, *flags: str) -> Iterator[BrowserContext]:
    """A headless browser whose pages share a cache; it is the machine's own, none is ever downloaded."""
    with playwright.chromium.launch(executable_path=browser_or_skip(), args=[*FLAGS, *flags]) as browser:
        yield browser.new_context()


def open_still_tab(browser: BrowserContext) -> Page:
    """A tab for `faults`, which measures colours: they change at once, and no document keeps what another stored."""
    tab = browser.new_page()
    tab.add_init_script(BEFORE_ITS_SCRIPTS)
    return tab


def faults(page: Page, url: str) -> list[str]:
    """Load an address once and look at it wide and light, then narrow and dark: all that is wrong with it.

    What stands around the article is looked at wide and dark too: a narrow window hides the sidebars.
    The tab comes from `open_still_tab`.
    """
    found: list[str] = []

    def look(*detectors: str) -> None:
        found.extend(page.evaluate(LOOK, list(detectors)))

    def turn(window: ViewportSize, colours: Literal["light", "dark"]) -> None:
        page.evaluate(LISTEN_FOR_COLOURS)
        page.emulate_media(color_scheme=colours)
        page.set_viewport_size(window)
        page.evaluate("() => recoloured")

    with record_events(page, found):
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme="light")
        page.goto(url, wait_until="load")
        page.evaluate("async () => { await window.MathJax?.startup?.promise; await document.fonts.ready; }")
        page.wait_for_function("!document.querySelector('.ss-lab:not([data-state=done])')")
        look("texErrors", "cutFormulas", "machineFonts", "imagesWithoutAlt", "overflow", "faintText")
        turn(NARROW, "dark")
        look("overflow", "notDark", "faintText")
        page.evaluate(AXE_SCRIPT)
        look("strictLinks", "flatten", "axeWhole", "axeContrastAround")
        page.set_viewport_size(WIDE)
        look("axeContrastAround")
        turn(WIDE, "light")
        look("axeAround")
    return found


@contextmanager
def record_events(page: Page, found: list[str]) -> Iterator[None]:
    """Record requests off the machine, failed requests, console messages and script errors meanwhile."""

    def request(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != HOST:
            found.append(f"request off the machine: {request.url}")

    recorders: dict[Any, Callable[[Any], None]] = {
        "request": request,
        "response": lambda it: found.extend([f"status {it.status}: {it.url}"] if it.status >= 400 else []),
        "requestfailed": lambda it: found.append(f"request failed: {it.url}"),
        "console": lambda it: found.extend(
            [f"console {it.type}: {it.text}"] if it.type in ("error", "warning") else []
        ),
        "pageerror": lambda error: found.append(f"script error: {error}"),
    }
    for event, recorder in recorders.items():
        page.on(event, recorder)
    try:
        yield
    finally:
        for event, recorder in recorders.items():
            page.remove_listener(event, recorder)
