"""What a browser finds wrong with a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response, sync_playwright

from printing.chromium import find_browser

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
WIDE, NARROW = 1400, 390
# The window reports a change to its listeners in the order in which they came, so the theme's script has answered it.
LISTEN_FOR_COLOURS = """() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  window.recoloured = new Promise(done => dark.addEventListener('change', done, { once: true }));
}"""
DETECTORS = Path(__file__).with_name("detectors.js").read_text(encoding="utf8").strip()


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
def open_browser(path: str) -> Iterator[BrowserContext]:
    """A headless browser whose pages share a cache; it is the machine's own, none is ever downloaded."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser.new_context()
        finally:
            browser.close()


def faults(browser: BrowserContext, url: str) -> list[str]:
    """Load a page once and look at it wide and light, then narrow and dark: all that is wrong with it."""
    found: list[str] = []
    page = browser.new_page()

    def look(*detectors: str) -> None:
        for detector in detectors:
            found.extend(page.evaluate(f"{DETECTORS}.{detector}()"))

    def turn(width: int, height: int, colours: Literal["light", "dark"]) -> None:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(LISTEN_FOR_COLOURS)
        page.emulate_media(color_scheme=colours)
        page.evaluate("() => recoloured")

    try:
        record_events(page, found)
        page.set_viewport_size({"width": WIDE, "height": 900})
        page.emulate_media(color_scheme="light")
        page.goto(url, wait_until="load")
        page.add_style_tag(content="* { transition: none !important }")
        page.evaluate("async () => { await window.MathJax?.startup?.promise; await document.fonts.ready; }")
        look("texErrors", "imagesWithoutAlt", "overflow", "faintText")
        turn(NARROW, 844, "dark")
        look("overflow", "notDark", "faintText")
        page.evaluate(AXE_SCRIPT)
        look("flatten", "axeWhole", "axeAround")
        turn(WIDE, 900, "light")
        look("axeAround")
    finally:
        page.close()
    return found


def record_events(page: Page, found: list[str]) -> None:
    """Record requests off the machine, failed requests, console messages and script errors from now on."""

    def request(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != HOST:
            found.append(f"request off the machine: {request.url}")

    def response(response: Response) -> None:
        if response.status >= 400:
            found.append(f"status {response.status}: {response.url}")

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            found.append(f"console {message.type}: {message.text}")

    page.on("request", request)
    page.on("response", response)
    page.on("requestfailed", lambda request: found.append(f"request failed: {request.url}"))
    page.on("console", console)
    page.on("pageerror", lambda error: found.append(f"script error: {error}"))
