"""The pages that are drawn from verdicts: the board, the graph, what holds as printed, what is proved."""

import dataclasses
import re
from collections import Counter
from pathlib import Path
from textwrap import wrap
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest

from scansnap_core.book.board import GROUPS, board_html, holding, holding_html, proofs_html
from scansnap_core.book.errata import ERRATA_FILE
from scansnap_core.book.graph import TITLE_CHARACTERS, graph_svg
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.book.open_points import sampled_html
from scansnap_core.ledger import Page, page, read_pages
from scansnap_core.ledger.cards import SCALE, SILENCE
from scansnap_core.ledger.contents import chapter_paths
from scansnap_core.ledger.entries import Check, Refutation, Row
from scansnap_core.ledger.registry import read_json
from scansnap_core.ledger.verdicts import VERDICT_MIME, Conclusion, Verdict
from tests.book.books import PAPERS, write_notebook
from tests.refusing import refuses

ROOT = Path(__file__).parents[2]
CHECK = Check("error", "numeric", "error", "0.1", "≤ 0.5", "0.7", "another exponent")
_SAID = {"place": "Lemma 3, Eqn 43", "printed": "1", "repair": "$1-\\rho$", "condition": "", "consequence": "slower"}
SLIP = Refutation("rate", "empirical", "rate <s>", "0.7", "≤ 0.5", "0.1", "with $1-\\rho$", **_SAID, erratum="E2")
ERRATA = """
{retired: {}, errata: [{number: E2, rank: slip, because: seen twice, places: [lemma_03:rate, one_path:rate]}]}
"""
CARD = (
    Row("as printed", "holds", "It holds."),
    Row("under SGD", "in part", "Half."),
    Row("under the true gradient", "fails", "No."),
)
HOLDS, CONDITION, FAILS = "holds", "holds under a condition", "fails as printed"
TRUE, WHATEVER, LESS, UNTRIED = (name.format(named="the true gradient flow") for name in GROUPS)


def url(page_id: str) -> str:
    return f"pages/{page_id}.html?a&b"


def write_chapter(
    book: Path,
    page_id: str,
    *refutations: Refutation,
    verdict_of: str = "",
    card: tuple[Row, ...] = (),
    **registers: Any,
) -> None:
    """A chapter below a folder of its own that stores a verdict, and the table of contents if there is none."""
    path = book / "chapters" / "some" / f"{page_id}.ipynb"
    write_notebook(path, ("lemma.conclude()",), {}, **registers)
    if not (book / "_toc.yml").exists():
        (book / "_toc.yml").write_text(f"root: chapters/index\n{PAPERS}")
    concluded = page(verdict_of, ROOT) if verdict_of else page(page_id, book)
    conclusion = Conclusion(concluded, (CHECK,), refutations, card)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", {VERDICT_MIME: conclusion.stored.as_json()})]
    nbformat.write(notebook, path)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Lemma 14 holds; Lemma 17, which rests on it, holds; Lemma 3 fails; Lemma 5, which rests on it, holds."""
    write_chapter(tmp_path, "lemma_14")
    write_chapter(tmp_path, "lemma_17", heading="Lemma 17: close to the overlap", proof_uses=["lemma_14"])
    write_chapter(tmp_path, "lemma_03", SLIP, uses=["lemma_01", "lemma_14"], proof_uses=["lemma_17"])
    write_chapter(tmp_path, "lemma_05", uses=["lemma_03"], proof_uses=["lemma_03"])
    write_notebook(tmp_path / "chapters" / "lemma_01.ipynb", (), {})
    write_chapter(tmp_path, "fig_04")
    write_chapter(tmp_path, "one_path", SLIP, heading="One curve <z>")
    (tmp_path / ERRATA_FILE).write_text(ERRATA)
    return tmp_path


def test_a_verdict_of_another_page_counts_for_none(tmp_path: Path) -> None:
    write_chapter(tmp_path, "lemma_08", verdict_of="lemma_09")
    assert read_stored(tmp_path).verdicts == {"lemma_08": Verdict("lemma_08")}


def test_an_unreadable_notebook_is_refused(book: Path, tmp_path: Path) -> None:
    (book / "chapters" / "lemma_08.ipynb").write_text("{")
    with refuses("…/chapters/lemma_08.ipynb", "it is no readable notebook (…)"):
        read_stored(book)
    with refuses("…/nowhere/_toc.yml", "the book needs a readable table of contents, which is a mapping"):
        read_stored(tmp_path / "nowhere")


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
def test_fully_verified_needs_every_ground(verdicts: dict[str, str], full: set[str]) -> None:
    stored = Stored(read_pages(ROOT), {page_id: Verdict(page_id, verdict) for page_id, verdict in verdicts.items()})
    assert stored.fully_verified == full
    left = [page_id for page_id in ("lemma_03", "lemma_14", "lemma_17") if verdicts.get(page_id, FAILS) == FAILS]
    assert stored.unverified_grounds("lemma_05") == left


def row(board: str, name: str) -> str:
    return next(part for part in board.split("<tr ") if f">{name}</a>" in part or f">{name} <" in part)


def test_the_board_shows_every_page(book: Path) -> None:
    board = board_html(book, url)
    ElementTree.fromstring(f"<div>{board}</div>")
    assert "4 of 5 statements have a verdict; 2 fully verified." in board
    assert board.count('<th scope="row">') == 7
    number = '<a class="ss-number" href="pages/errata.html?a&amp;b#e2">E2</a>'
    assert board.count("ss-number") == 2 * 2
    link = '<a href="pages/lemma_17.html?a&amp;b">Lemma 17</a>'
    for name, said in {
        "Lemma 17": [link, 'class="ss-holds ss-full"', "✓ 1"],
        "Lemma 5": ["rests on Lemma 3, not all of which holds as printed"],
        "Lemma 3": ["✗ 1", 'class="ss-fails"', number],
        "Lemma 1": ["<a ", "open"],
        "Figure 4": ["reproduced"],
    }.items():
        assert [text for text in said if text not in row(board, name)] == []
    beyond = row(board.partition("Beyond the paper</th>")[2], "One curve &lt;z&gt;")
    assert '<a href="pages/one_path.html?a&amp;b">One curve &lt;z&gt;</a>' in beyond
    assert f'fails as printed</span> <span class="ss-numbers">{number}</span></td>' in beyond


def test_the_board_refuses_errata_that_are_not_the_chapters(book: Path) -> None:
    (book / ERRATA_FILE).unlink()
    with refuses("chapters/errata.yaml: lemma_03:rate, one_path:rate", "a refutation has a number"):
        board_html(book, url)


def test_the_board_says_what_is_left_under_other_dynamics(tmp_path: Path) -> None:
    write_chapter(tmp_path, "lemma_14", card=CARD)
    write_chapter(tmp_path, "lemma_17")
    board = board_html(tmp_path, url)
    heads = board.partition("</thead>")[0]
    assert heads.index(">the true gradient</th>") < heads.index(">SGD</th>")
    cells = (
        '<td class="ss-under ss-fails" data-head="the true gradient">fails</td>'
        '<td class="ss-under ss-condition" data-head="SGD">in part</td></tr>'
    )
    assert row(board, "Lemma 14").count(cells) == 1
    assert len(re.findall(r'<td class="ss-under " data-head="[^"]*">–</td>', row(board, "Lemma 17"))) == 2


def rename_dynamics(book: Path, dynamics: str) -> None:
    """Give the paper of a book other dynamics, or none."""
    contents = (book / "_toc.yml").read_text()
    (book / "_toc.yml").write_text(re.sub(r"dynamics: .*", f"dynamics: {dynamics}}}", contents))


def test_the_columns_are_those_that_the_paper_names(tmp_path: Path) -> None:
    row_of_noise = Row("under noise", "as stated", "It holds.")
    write_chapter(tmp_path, "lemma_14", card=(*CARD, row_of_noise))
    rename_dynamics(tmp_path, "{noise: {row: under noise, named: noisy gradients}}")
    board = board_html(tmp_path, url)
    assert re.findall(r'<th scope="col">(.*?)</th>', board) == ["statement", "checks", "verdict", "noise"]
    assert '<th scope="rowgroup" colspan="4">Statements</th>' in board
    assert '<td class="ss-under ss-holds" data-head="noise">as stated</td></tr>' in row(board, "Lemma 14")
    assert list(holding(read_stored(tmp_path))) == ["also under noisy gradients, by proof or on the systems tried"]

    rename_dynamics(tmp_path, "{}")
    board = board_html(tmp_path, url)
    assert re.findall(r'<th scope="col">(.*?)</th>', board) == ["statement", "checks", "verdict"]
    assert "ss-under" not in board
    assert [[page.id for page in pages] for pages in holding(read_stored(tmp_path)).values()] == [["lemma_14"]]


def test_the_graph_links_every_statement(book: Path) -> None:
    svg = ElementTree.fromstring(graph_svg(book, url))
    space = "{http://www.w3.org/2000/svg}"
    assert len([g for g in svg.iter(f"{space}g") if g.get("class", "").startswith("ss-node")]) == 5
    links = {a.get("href"): a for a in svg.iter(f"{space}a")}
    assert set(links) == {url(s) for s in ("lemma_01", "lemma_03", "lemma_05", "lemma_14", "lemma_17")}
    (title,) = (element for element in links[url("lemma_17")].iter() if element.tag.endswith("title"))
    assert title.text == "Lemma 17, Close to the overlap: holds, fully verified"
    kinds = Counter(path.get("class") for path in svg.iter(f"{space}path"))
    # 1 -> 3, 3 -> 5; 14 -> 17 -> 3; not 14 -> 3, which that implies; and a sample of each in the legend
    assert kinds == {"ss-arrow": 1, "ss-edge ss-uses": 2 + 1, "ss-edge ss-proof-uses": 2 + 1}


def test_the_graph_of_one_statement_has_room_for_its_legend(tmp_path: Path) -> None:
    write_chapter(tmp_path, "lemma_14")
    svg = ElementTree.fromstring(graph_svg(tmp_path, url))
    said = [text for text in svg.iter("{http://www.w3.org/2000/svg}text") if text.get("text-anchor") is None]
    assert len(said) == 4 + 3
    letter = 7  # wide, in the legend's 13 pixels
    assert [text.text for text in said if float(text.get("x", "")) + letter * len(text.text or "") > 800] == []
    assert float(svg.get("width", "")) == 800


def test_a_book_without_statements_says_so_in_place_of_the_graph(tmp_path: Path) -> None:
    write_chapter(tmp_path, "one_path")
    assert graph_svg(tmp_path, url) == '<p class="ss-none">The book has no statement of a paper yet.</p>'


def test_no_node_of_the_graph_covers_another_or_leaves_the_picture() -> None:
    svg = ElementTree.fromstring(graph_svg(ROOT, url))
    boxes = [
        tuple(float(box.get(side, "")) for side in ("x", "y", "width", "height"))
        for box in svg.iter("{http://www.w3.org/2000/svg}rect")
    ]
    width, height = float(svg.get("width", "")), float(svg.get("height", ""))
    assert width <= 1100, "the column of a wide window shows 1100 px"
    assert all(len(wrap(page.title, TITLE_CHARACTERS)) <= 2 for page in read_pages(ROOT).values() if page.is_statement)
    assert [y for _, y, w, _ in boxes if w == 30] == [min(y for _, y, _, _ in boxes)] * 4, "the legend stands on top"
    for number, (x, y, w, h) in enumerate(boxes):
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        for other_x, other_y, other_w, other_h in boxes[:number]:
            assert x >= other_x + other_w or other_x >= x + w or y >= other_y + other_h or other_y >= y + h


@pytest.fixture(scope="module")
def stored() -> Stored:
    return read_stored(ROOT)


def test_a_stored_verdict_comes_back_as_it_was_written() -> None:
    for path in chapter_paths(ROOT / "chapters"):
        outputs = [output for cell in read_json(path)["cells"] for output in cell.get("outputs", [])]
        (written,) = [data[VERDICT_MIME] for output in outputs if VERDICT_MIME in (data := output.get("data", {}))]
        verdict = Verdict.of_json(written)
        assert verdict is not None
        assert verdict.as_json() == written
        assert Verdict.of_json({**written, "checks": [{"id": "size"}]}) is None


def with_verdict(stored: Stored, **changed: Any) -> dict[str, list[Page]]:
    verdicts = {**stored.verdicts, "lemma_06": dataclasses.replace(stored.verdicts["lemma_06"], **changed)}
    return holding(Stored(stored.pages, verdicts))


def test_what_fails_or_needs_a_condition_is_left_out(stored: Stored) -> None:
    listed = [page.id for pages in holding(stored).values() for page in pages]
    assert sorted(listed) == sorted(s for s in stored.statements if stored.verdict_of(s) == "holds")
    for verdict in ("fails as printed", "holds under a condition", "open"):
        left = with_verdict(stored, verdict=verdict)
        assert [page.id for pages in left.values() for page in pages] == [s for s in listed if s != "lemma_06"]


def test_the_cards_word_says_which_group(stored: Stored) -> None:
    groups = {"as stated": TRUE, "not concerned": WHATEVER, "not measured": UNTRIED}
    groups |= dict.fromkeys(("in part", "fails", "in kind, not in size"), LESS)
    assert sorted(groups) == sorted([*SCALE, *SILENCE])
    for word, group in groups.items():
        found = with_verdict(stored, card=(Row("under the true gradient", word, "It does."),))
        assert [name for name, pages in found.items() if "lemma_06" in [page.id for page in pages]] == [group]


def test_they_are_drawn_with_their_links_and_count(stored: Stored) -> None:
    drawn = holding_html(ROOT, lambda page_id: f"{page_id}.html")
    count = sum(len(pages) for pages in holding(stored).values())
    assert drawn.startswith(f"<p>{count} of 25 statements hold as they are printed:</p>")
    assert '<a href="lemma_06.html">Lemma 6</a> (The clock of the decoder)' in drawn
    assert drawn.count("<a ") == count


def test_the_list_counts_what_the_chapters_store(stored: Stored) -> None:
    proofs = sum(len(verdict.proofs) for verdict in stored.verdicts.values())
    sampled = sum(len(verdict.sampled) for verdict in stored.verdicts.values())
    drawn = proofs_html(ROOT, lambda page_id: f"{page_id}.html")
    assert f"{proofs + sampled} claims are about all cases that meet their conditions." in drawn
    assert f"{proofs} of them are proved:" in drawn
    assert f'The other {sampled} are only sampled: they <a href="open.html#only-sampled">are listed</a>' in drawn
    assert drawn.count("<tr>") == proofs + 1
    assert sampled_html(ROOT, lambda page_id: f"{page_id}.html").count("<tr>") == sampled + 1
    assert 'href="lemma_08.html"' in drawn
