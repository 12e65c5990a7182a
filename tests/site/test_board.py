"""The table of verdicts on a phone, where each cell says what its column's head would say."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.site.browser import NARROW

# Of each cell that puts words before its own: these words, and its column's head.
LABELS = """() => [...document.querySelectorAll('.ss-board')].flatMap(table => {
  const heads = [...table.tHead.rows[0].cells].map(head => head.textContent);
  return [...table.tBodies].flatMap(body => [...body.rows]).flatMap(row => [...row.cells].flatMap((cell, column) => {
    const shown = getComputedStyle(cell, '::before').content;
    return shown === 'none' ? [] : [[shown.replaceAll('"', '').replace(/:? *$/, ''), heads[column]]];
  }));
})"""


@pytest.fixture
def board(site: Path, page: Page) -> Page:
    page.set_viewport_size(NARROW)
    page.goto((site / "chapters/verdicts.html").as_uri())
    return page


def wrong_labels(board: Page) -> list[tuple[str, str]]:
    labels = board.evaluate(LABELS)
    assert {"proved", "the true gradient", "SGD"} <= {head for _, head in labels}
    return [(label, head) for label, head in labels if label != head]


def test_each_cell_has_its_columns_head_for_a_label(board: Page) -> None:
    assert wrong_labels(board) == []


def test_a_label_one_column_off_is_found(board: Page) -> None:
    """Control: the first cell under the true gradient takes the label of its neighbour."""
    board.evaluate("document.querySelector('.ss-board .ss-under').dataset.head = 'SGD'")
    assert wrong_labels(board) == [("SGD", "the true gradient")]
