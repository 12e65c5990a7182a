"""The site, built from the stored outputs, and a browser to look at it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import BrowserContext

from tests.site.browser import HOST, browser_or_skip, open_browser

ROOT = Path(__file__).parents[2]


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Leave the test's output alone."""


@pytest.fixture(scope="session")
def browser() -> Iterator[BrowserContext]:
    with open_browser(browser_or_skip()) as opened:
        yield opened


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book's HTML, built with warnings as errors."""
    output = tmp_path_factory.mktemp("site")
    builder = Path(sys.executable).with_name("jupyter-book")
    options = ["--path-output", str(output), "-W", "-n", "--keep-going", "--quiet"]
    built = subprocess.run([builder, "build", ROOT, *options], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return output / "_build" / "html"


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of the folder that holds the site, served on this machine."""
    with ThreadingHTTPServer((HOST, 0), partial(QuietHandler, directory=str(site.parent))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
