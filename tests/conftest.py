"""The order of the tests, and the ledger of skips: every skipped test says why and how to get it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

REMEDY = "To get it:"
ROOT = Path(__file__).parents[1]
LONG = ("tests/site/test_pages.py", "chapters/")
"""What begins first, so that processes that share the tests end together: it takes long in one piece."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long ones first; files stay whole."""
    items.sort(key=lambda item: _turn(item.path))


def _turn(path: Path) -> int:
    if not path.is_relative_to(ROOT):
        return len(LONG)
    name = path.relative_to(ROOT).as_posix()
    return next((turn for turn, long in enumerate(LONG) if name.startswith(long)), len(LONG))


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The reason that a skipped report carries, without pytest's prefix."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def is_unexplained(report: pytest.TestReport) -> bool:
    """Whether a test was skipped without saying how to get it. Pytest also calls an expected failure skipped."""
    return report.skipped and not hasattr(report, "wasxfail") and REMEDY not in skip_reason(report)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if is_unexplained(report):
        reason = skip_reason(report)
        report.outcome = "failed"
        report.longrepr = (
            f"{item.nodeid} was skipped ({reason}) and doesn't say how to get it: end the reason with '{REMEDY} ...'"
        )
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around pytest's own summary, so that the ledger comes last
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Any:
    result = yield
    write_ledger(terminalreporter)
    return result


def write_ledger(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was skipped, why, and how to get it."""
    skipped = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        skipped[skip_reason(report)].append(report.nodeid)
    terminalreporter.section("skipped tests")
    if not skipped:
        terminalreporter.write_line("None: every test ran.")
    for reason, tests in sorted(skipped.items()):
        why, _, remedy = reason.partition(REMEDY)
        terminalreporter.write_line(
            f"what       {tests[0]}" + (f" and {len(tests) - 1} more" if len(tests) > 1 else "")
        )
        terminalreporter.write_line(f"why        {why.strip()}")
        terminalreporter.write_line(f"to get it  {remedy.strip()}")
