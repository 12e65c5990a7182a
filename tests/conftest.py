"""The order of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONG = ("tests/site/test_pages.py", "chapters/")
"""What begins first, so that processes that share the tests end together: it takes long in one piece."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long ones first; files stay whole."""
    items.sort(key=lambda item: _turn(item.path))


def _turn(path: Path) -> int:
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return next((turn for turn, long in enumerate(LONG) if name.startswith(long)), len(LONG))
