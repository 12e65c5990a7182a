"""The site, built from the stored outputs, a browser to look at it, and pages of labs alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from filelock import FileLock
from lab import lab_html
from playwright.sync_api import BrowserContext, Error, Page, Playwright, sync_playwright

from tests.site.browser import HOST, open_browser
from tests.site.lab_page import labs, wait_for_picture, write_essay, write_page

ROOT = Path(__file__).parents[2]


class QuietHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a connection serves many requests

    def log_message(self, format: str, *args: object) -> None:
        """Leave the test's output alone."""


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[BrowserContext]:
    with open_browser(playwright) as opened:
        yield opened


def build_site(output: Path, hash_seed: int, book: Path = ROOT) -> str:
    """Build a book's HTML below a folder, with warnings as errors, and return what was wrong with it."""
    builder = Path(sys.executable).with_name("jupyter-book")
    options = ["--path-output", str(output), "-W", "-n", "--keep-going", "--quiet"]
    # A build that knows the fork it runs in links to it: this one is the book's own, wherever it is tested.
    surroundings = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "GITHUB_REPOSITORY": ""}
    built = subprocess.run([builder, "build", book, *options], capture_output=True, text=True, env=surroundings)
    return (built.stderr or "it failed") if built.returncode else ""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book's HTML, built with warnings as errors: once, for all processes that share the tests."""
    base = tmp_path_factory.getbasetemp()
    output = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    said = output / "said"
    with FileLock(f"{output}.lock"):
        if not said.exists():
            said.write_text(build_site(output, hash_seed=1))
    assert said.read_text() == ""
    return output / "_build" / "html"


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of the folder that holds the site, served on this machine."""
    with ThreadingHTTPServer((HOST, 0), partial(QuietHandler, directory=str(site.parent))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def lab_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address, on the disk, of a page with the default lab and a second one."""
    return write_page(tmp_path_factory.mktemp("lab"), labs("", "K=4&rho=0.05"))


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    """A new tab, in which no script may fail."""
    opened, errors = browser.new_page(), list[Error]()
    opened.on("pageerror", lambda error: errors.append(error))
    try:
        yield opened
        opened.evaluate("0")  # what was said before the answer has arrived with it
        assert errors == []
    finally:
        opened.close()


VISITS = count()


@pytest.fixture
def show(lab_address: str, page: Page) -> Callable[[str], Page]:
    """Loads the labs at a setting's address and waits for the first one's whole picture."""

    def load(setting: str) -> Page:
        page.goto(f"{lab_address}?{next(VISITS)}#{setting}")
        wait_for_picture(page)
        return page

    return load


GUESS = (
    '<div class="ss-guess" data-right="1"><p>Which?</p><button type="button">A</button>'
    '<button type="button">B</button><output></output></div><div class="ss-guess-answer">It is B.</div>'
)


@pytest.fixture(scope="session")
def essay_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a page with the essay's pictures, a guess and four small labs."""
    names = "and,wave,sail,harbour/cloud,wing,runway"
    fields = {"true&etaZ=0.1": "etaZ", "ideal&etaZ=0.1": "M,rho", "sgd&etaZ=0.1": "T", "ideal&etaZ=1": "rho"}
    more: dict[str, Any] = {"true&etaZ=0.1": {"span": (-0.06, 0.011)}, "ideal&etaZ=1": {"chart": "gain"}}
    more["ideal&etaZ=0.1"] = {"lens": True}
    small = "".join(
        lab_html(f"dyn={preset}", "still.svg", "In words.", play=False, show=show, names=names, **more.get(preset, {}))
        for preset, show in fields.items()
    )
    return write_essay(tmp_path_factory.mktemp("essay"), GUESS + small)


@pytest.fixture
def essay(essay_address: str, page: Page) -> Page:
    """The page with the essay's pictures, all of them drawn."""
    page.goto(essay_address)
    page.wait_for_function("!document.querySelector('.ss-lab:not([data-state=done])')")
    return page
