"""What a newcomer does to add a statement of another paper: a notebook, and its lines in the table of contents."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from scansnap_core.book.board import board_html
from scansnap_core.book.errata import ERRATA_FILE, errata_html
from scansnap_core.book.graph import graph_svg
from scansnap_core.ledger import page
from tests.book.books import CLAIMS, GOOD_CELLS, REPAIRED, write_notebook
from tests.book.conftest import Run

NOTEBOOK = Path("chapters", "li2023_lemma_08.ipynb")
PAPER = """\
    li2023: {title: Topics, authors: [Yuchen Li, Yuanzhi Li, Andrej Risteski], year: 2023, statements: [lemma],
      dynamics: {gradient: {row: under the true gradient}, sgd: {row: under SGD}}}
"""
REFUTED = "lemma.witness('numeric').refutes('tenth', 0.7, control=another(0.3))"
CARD = {
    "printed": {"by": "tenth", "says": "It fails."},
    "repaired": {"formula": "1", "where": "Everywhere.", "by": "tenth"},
}
ERRATA = "{retired: {}, errata: [{number: E1, rank: slip, because: small, places: [li2023_lemma_08:tenth]}]}"


def url(page_id: str) -> str:
    return f"{page_id}.html"


def content(book: Path) -> dict[str, str]:
    return {str(path.relative_to(book)): path.read_text() for path in book.rglob("*") if path.is_file()}


def add_the_statement(book: Path) -> None:
    sources = [source.replace("lemma_08", "li2023_lemma_08") for source in GOOD_CELLS]
    tenth = REPAIRED | {"place": "Lemma 8", "erratum": "E1"}
    claims = CLAIMS | {"numeric": CLAIMS["numeric"] | {"tenth": tenth}, "card": CLAIMS["card"] | CARD}
    page: dict[str, Any] = {"paper": "li2023", "kind": "lemma", "number": 8, "uses": ["lemma_08"]}
    page["heading"] = "Lemma 8 of Li et al. (2023): a heading"
    write_notebook(book / NOTEBOOK, (*sources[:-1], REFUTED, sources[-1]), claims, **page)
    contents = (book / "_toc.yml").read_text()
    (book / "_toc.yml").write_text(contents.replace("chapters:\n", f"{PAPER}chapters:\n- file: {NOTEBOOK}\n"))


def test_a_statement_of_a_second_paper_touches_its_files_and_collides_with_nothing(book: Path, scansnap: Run) -> None:
    before = content(book)
    add_the_statement(book)
    changed = {path for path, text in content(book).items() if before.get(path) != text}
    assert changed == {str(NOTEBOOK), str(NOTEBOOK.with_suffix(".yaml")), "_toc.yml"}
    (book / ERRATA_FILE).write_text(ERRATA)  # what is refuted has a number, and is judged
    assert scansnap("verify", "--store", NOTEBOOK.stem)[::2] == (0, "")
    assert scansnap("verify")[::2] == (0, "")
    after = content(book)
    assert {path for path in after if before.get(path) != after[path]} == {*changed, str(ERRATA_FILE)}

    board = board_html(book, url)
    assert '<a href="lemma_08.html">Lemma 8</a>' in board
    section = board.partition(">Statements of Li et al. (2023)</th>")[2]
    assert '<a href="li2023_lemma_08.html">Lemma 8 of Li et al. (2023)</a>' in section
    assert "fails as printed" in section
    assert "2 of 2 statements have a verdict; 1 fully verified." in board

    assert page(NOTEBOOK.stem, book).title == "A heading"
    svg = ElementTree.fromstring(graph_svg(book, url))
    space = "{http://www.w3.org/2000/svg}"
    nodes = [node.findtext(f"{space}text") for node in svg.iter(f"{space}g") if "ss-node" in node.get("class", "")]
    assert nodes == ["Lemma 8", "Lemma 8, Li 2023"]
    assert len([path for path in svg.iter(f"{space}path") if path.get("class") == "ss-edge ss-uses"]) == 1 + 1

    link = '<a href="li2023_lemma_08.html#claim-tenth">Lemma 8 of Li et al. (2023)</a>'
    assert link in errata_html(book, url, "slip")
