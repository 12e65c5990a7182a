import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest

from scansnap_core import BadInput
from scansnap_core.book.board import board_html, errata_html
from scansnap_core.book.graph import drawn_edges, graph_svg
from scansnap_core.book.stored import fully_verified, stored_verdicts, unverified_grounds
from scansnap_core.ledger import STATEMENTS
from scansnap_core.ledger.entries import VERDICT_MIME, Check, Conclusion, Refutation
from scansnap_core.ledger.statements import page

CHECK = Check("numeric", "error", "0.1", "≤ 0.5", "0.7", "another exponent")
SLIP = Refutation(
    "empirical", "rate <s>", "0.7", "≤ 0.5", "0.1", "with $1-\\rho$", "Lemma 3, Eqn 43", "1", "$1-\\rho$", "", "slower"
)
HOLDS = {"verdict": "holds"}
CONDITION = {"verdict": "holds under a condition"}
FAILS = {"verdict": "fails as printed"}


def url(page_id: str) -> str:
    return f"pages/{page_id}.html?a&b"


def write_chapter(
    folder: Path, page_id: str, *refutations: Refutation, verdict_of: str = "", cleared: bool = False
) -> None:
    cell = nbformat.v4.new_code_cell("lemma.conclude()", execution_count=None if cleared else 1)
    if not cleared:
        conclusion = Conclusion(page(verdict_of or page_id), (CHECK,), refutations)
        cell.outputs = [nbformat.v4.new_output("display_data", {VERDICT_MIME: conclusion.as_json()})]
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / f"{page_id}.ipynb")


@pytest.fixture
def chapters(tmp_path: Path) -> Path:
    """Lemma 14 holds; Lemma 17, which rests on it, holds; Lemma 3 fails; Lemma 5, which rests on it, holds."""
    for page_id in ("lemma_14", "lemma_17", "lemma_05"):
        write_chapter(tmp_path / "statements", page_id)
    write_chapter(tmp_path / "statements", "lemma_03", SLIP)
    write_chapter(tmp_path / "statements", "lemma_01", cleared=True)
    write_chapter(tmp_path / "figures", "fig_04")
    write_chapter(tmp_path / "beyond", "one_path", SLIP)
    return tmp_path


def test_verdicts_are_read_from_the_outputs(chapters: Path) -> None:
    verdicts = stored_verdicts(chapters)
    assert {page_id: verdict["verdict"] for page_id, verdict in verdicts.items()} == {
        "lemma_01": "open",
        "lemma_03": "fails as printed",
        "lemma_05": "holds",
        "lemma_14": "holds",
        "lemma_17": "holds",
        "fig_04": "reproduced",
        "one_path": "fails as printed",
    }


def test_a_verdict_of_another_page_counts_for_none(tmp_path: Path) -> None:
    write_chapter(tmp_path, "lemma_08", verdict_of="lemma_09")
    assert stored_verdicts(tmp_path) == {"lemma_08": {"verdict": "open"}}


def test_an_unreadable_notebook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lemma_08.ipynb").write_text("{")
    with pytest.raises(BadInput, match=r"lemma_08\.ipynb: it is no readable notebook"):
        stored_verdicts(tmp_path)
    with pytest.raises(BadInput, match="no such folder"):
        stored_verdicts(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("verdicts", "full"),
    [
        ({}, set()),
        ({"lemma_17": HOLDS}, set()),
        ({"lemma_14": HOLDS, "lemma_17": HOLDS}, {"lemma_14", "lemma_17"}),
        ({"lemma_14": CONDITION, "lemma_17": HOLDS}, {"lemma_14", "lemma_17"}),
        ({"lemma_14": FAILS, "lemma_17": HOLDS}, set()),
        # Lemma 3's proof rests on Lemma 17's, and that on Lemma 14.
        ({"lemma_03": HOLDS, "lemma_17": HOLDS}, set()),
        ({"lemma_03": HOLDS, "lemma_17": HOLDS, "lemma_14": HOLDS}, {"lemma_03", "lemma_17", "lemma_14"}),
    ],
)
def test_fully_verified_needs_every_ground(verdicts: dict[str, dict[str, Any]], full: set[str]) -> None:
    assert fully_verified(verdicts) == full


def test_all_grounds_are_named() -> None:
    assert unverified_grounds({"lemma_05": HOLDS, "lemma_14": FAILS}, "lemma_05") == [
        "lemma_03",
        "lemma_14",
        "lemma_17",
    ]


def test_everything_verified() -> None:
    assert fully_verified(dict.fromkeys(STATEMENTS, HOLDS)) == set(STATEMENTS)


def row(board: str, name: str) -> str:
    return next(part for part in board.split("<tr ") if f">{name}</a>" in part or f">{name} <" in part)


def test_the_board_shows_every_page(chapters: Path) -> None:
    board = board_html(chapters, url)
    ElementTree.fromstring(f"<div>{board}</div>")
    assert "4 of 25 statements have a verdict; 2 fully verified." in board
    assert board.count('<th scope="row">') == 39
    lemma = row(board, "Lemma 17")
    assert '<a href="pages/lemma_17.html?a&amp;b">Lemma 17</a>' in lemma
    assert 'class="ss-holds ss-full"' in lemma
    assert "✓ 1" in lemma
    assert "rests on Lemma 3, not verified" in row(board, "Lemma 5")
    assert "✗ 1" in row(board, "Lemma 3")
    assert 'class="ss-fails"' in row(board, "Lemma 3")
    assert "<a " in row(board, "Lemma 1")
    assert "open" in row(board, "Lemma 1")
    assert "<a " not in row(board, "Lemma 2")
    assert "reproduced" in row(board, "Figure 4")
    beyond = row(board.partition("Beyond the paper</th>")[2], "One path")
    assert '<a href="pages/one_path.html?a&amp;b">One path</a>' in beyond
    assert "fails as printed</span></td>" in beyond


def test_the_graph_links_what_has_a_chapter(chapters: Path) -> None:
    svg = ElementTree.fromstring(graph_svg(chapters, url))
    space = "{http://www.w3.org/2000/svg}"
    nodes = [g for g in svg.iter(f"{space}g") if g.get("class", "").startswith("ss-node")]
    assert len(nodes) == 25
    links = {a.get("href"): a for a in svg.iter(f"{space}a")}
    assert set(links) == {url(s) for s in ("lemma_01", "lemma_03", "lemma_05", "lemma_14", "lemma_17")}
    label = links[url("lemma_17")].get("aria-label")
    assert label == "Lemma 17, The deviation is close to the overlap: holds, fully verified"
    kinds = Counter(path.get("class") for path in svg.iter(f"{space}path"))
    edges = drawn_edges()
    stated = sum(ground in STATEMENTS[statement].uses for ground, statement in edges)
    legend = 1  # a sample of each kind
    assert kinds["ss-edge ss-uses"] == stated + legend
    assert kinds["ss-edge ss-proof-uses"] == len(edges) - stated + legend
    assert kinds.keys() == {"ss-arrow", "ss-edge ss-uses", "ss-edge ss-proof-uses"}


def test_no_node_of_the_graph_covers_another_or_leaves_the_picture(chapters: Path) -> None:
    svg = ElementTree.fromstring(graph_svg(chapters, url))
    boxes = [
        tuple(float(box.get(side, "")) for side in ("x", "y", "width", "height"))
        for box in svg.iter("{http://www.w3.org/2000/svg}rect")
    ]
    width, height = float(svg.get("width", "")), float(svg.get("height", ""))
    for number, (x, y, w, h) in enumerate(boxes):
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        for other_x, other_y, other_w, other_h in boxes[:number]:
            assert x >= other_x + other_w or other_x >= x + w or y >= other_y + other_h or other_y >= y + h


def test_the_errata_come_from_the_refutations(chapters: Path) -> None:
    errata = errata_html(chapters, url)
    ElementTree.fromstring(errata)
    assert errata.count('<th scope="row">') == 2
    assert "pages/one_path.html?a&amp;b#refutation-1" in errata
    assert '<a href="pages/lemma_03.html?a&amp;b#refutation-1">Lemma 3, Eqn 43</a>' in errata
    assert "rate &lt;s&gt;: 0.7, required ≤ 0.5" in errata
    assert r'<span class="math notranslate nohighlight">\(1-\rho\)</span>' in errata


def test_a_missing_condition_is_named_in_the_errata(tmp_path: Path) -> None:
    lacking = Refutation(**{**json.loads(json.dumps(SLIP.__dict__)), "repair": "", "condition": "dominance"})
    write_chapter(tmp_path, "theorem_3", lacking)
    assert "<td>lacks: dominance</td>" in errata_html(tmp_path, url)


def test_without_refutations_the_errata_say_so(tmp_path: Path) -> None:
    write_chapter(tmp_path, "lemma_08")
    assert "No chapter has refuted anything" in errata_html(tmp_path, url)
