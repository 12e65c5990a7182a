"""The order of the tests."""

from __future__ import annotations

import pytest

LONG = ("tests/site/test_pages.py", "chapters/")
"""What begins first, so that processes that share the tests end together: it takes long in one piece."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long ones first; files stay whole."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
