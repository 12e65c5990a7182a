"""The table of verdicts, on a phone and wide, and the graph of what rests on what."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from scansnap_core.ledger import read_pages, statements
from tests.site.book import ROOT
from tests.site.browser import NARROW, WIDE

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
    assert {"checks", "the true gradient", "SGD"} <= {head for _, head in labels}
    return [(label, head) for label, head in labels if label != head]


def test_each_cell_has_its_columns_head_for_a_label(board: Page) -> None:
    assert wrong_labels(board) == []


def test_a_label_one_column_off_is_found(board: Page) -> None:
    """Control: the first cell under the true gradient takes the label of its neighbour."""
    board.evaluate("document.querySelector('.ss-board .ss-under').dataset.head = 'SGD'")
    assert wrong_labels(board) == [("SGD", "the true gradient")]


def test_the_statements_have_the_widest_column_and_counts_stand_in_one_cell(board: Page) -> None:
    board.set_viewport_size(WIDE)
    widths = board.evaluate(
        "[...document.querySelector('.ss-board').tHead.rows[0].cells].map(e => [e.textContent, e.offsetWidth])"
    )
    assert [name for name, _ in widths] == ["statement", "checks", "verdict", "the true gradient", "SGD"]
    assert max(widths, key=lambda column: column[1])[0] == "statement"
    assert board.locator(".ss-board .ss-counts .ss-witness").count() > 100


LIT = """() => ['a[data-id]', 'path[data-from]'].map(kind =>
  [...document.querySelectorAll(`.ss-graph ${kind}`)].filter(e => e.classList.contains('ss-on'))
    .map(e => e.dataset.id ?? `${e.dataset.from} ${e.dataset.to}`))"""


def test_the_graph_lights_up_what_a_statement_rests_on(site: Path, page: Page) -> None:
    known = statements(read_pages(ROOT))

    def grounds(page_id: str) -> set[str]:
        own = {*known[page_id].uses, *known[page_id].proof_uses}
        return own.union(*map(grounds, own))

    page.goto((site / "chapters/graph.html").as_uri())
    assert page.evaluate(LIT) == [[], []]
    for statement in ("theorem_4", "lemma_01"):
        page.locator(f".ss-graph a[data-id={statement}]").focus()
        nodes, edges = page.evaluate(LIT)
        assert set(nodes) == grounds(statement) | {statement}
        assert all(end in nodes for edge in edges for end in edge.split())
        assert bool(edges) == (len(nodes) > 1)
    page.locator(".ss-graph a[data-id=lemma_03]").hover()
    assert set(page.evaluate(LIT)[0]) == grounds("lemma_03") | {"lemma_03"}
    page.locator("article h1").hover()
    assert page.evaluate(LIT) == [[], []]


def test_no_text_leaves_its_box(site: Path, page: Page) -> None:
    page.goto((site / "chapters/graph.html").as_uri())
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.ss-node')].filter(node => {
          const box = node.querySelector('.ss-box').getBoundingClientRect();
          return [...node.querySelectorAll('text')].some(text => {
            const own = text.getBoundingClientRect();
            return own.left < box.left || own.right > box.right || own.bottom > box.bottom;
          });
        }).map(node => node.textContent)"""
    )
    assert outside == []
