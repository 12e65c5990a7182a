"""The order of the tests, and what to do about a notebook whose outputs differ."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

# A script's background job ignores interrupts. The processes that tests start and interrupt would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = ("tests/site/test_pages.py", "chapters/")
"""What begins first, so that processes that share the tests end together: it takes long in one piece."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long ones first; files stay whole."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say below nbval's differences what keeps them, as ``scansnap verify`` does."""
    failed = [report.nodeid.partition("::")[0] for report in terminalreporter.getreports("failed")]
    differing = dict.fromkeys(Path(file).stem for file in failed if file.endswith(".ipynb"))
    if differing:
        ids = " ".join(differing)
        terminalreporter.write_line(f"If what it gives now is right, scansnap verify --store {ids} keeps it")
