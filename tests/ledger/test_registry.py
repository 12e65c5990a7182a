import json
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.base.files import COUNT, MAPPING, TEXT
from scansnap_core.ledger import Chapter, Paper, page, read_pages, statements
from scansnap_core.ledger.papers import papers_of
from scansnap_core.ledger.registry import page_of
from tests.book.books import CHAPTER, register, write_book
from tests.refusing import refuses

ROOT = Path(__file__).parents[2]
PAGES = read_pages(ROOT)
STATEMENTS = statements(PAGES)
LI = {"title": "Topics", "authors": ["Yuchen Li", "Yuanzhi Li", "Andrej Risteski"], "year": 2023}
TIAN = {**LI, "authors": ["Yuandong Tian"], "statements": ["lemma"]}
PAPERS = papers_of({"meta": {"papers": {"tian2023": TIAN, "li2023": {**LI, "statements": ["theorem"]}}}})
LEMMA = {"paper": "tian2023", "kind": "lemma", "number": 6}
HEADING = "# Lemma 6: the clock"
A_PAPER = "the choices are tian2023, li2023"
A_KIND = "the choices are lemma, figure, notation, claim, law, beyond, equations"


def test_there_are_25_statements_and_10_figures_listed_kind_by_kind() -> None:
    assert len(STATEMENTS) == 25
    assert [PAGES[f"fig_{number:02d}"].number for number in range(3, 13)] == list(range(3, 13))
    for kind, last in (("lemma", 18), ("theorem", 5), ("corollary", 2)):
        assert [s.number for s in STATEMENTS.values() if s.kind == kind] == list(range(1, last + 1))
    kinds = list(dict.fromkeys(entry.kind for entry in PAGES.values()))
    assert kinds == ["lemma", "theorem", "corollary", "figure", "notation", "claim", "law", "beyond", "equations"]


def test_equation_numbers_are_the_papers_and_belong_to_one_statement() -> None:
    numbers = [number for s in STATEMENTS.values() for number in s.equations]
    assert all(1 <= number <= 138 for number in numbers)
    assert len(set(numbers)) == len(numbers)


def test_an_unknown_id_suggests_the_nearest() -> None:
    for asked, value, rule, remedy in (
        ("lemma_6", "id = 'lemma_6'", "it names no statement, figure or page", "did you mean lemma_06?"),
        ("Theorem 03", "id = 'Theorem 03'", "it names no statement, figure or page", "did you mean theorem_3?"),
        (
            "lema_11",
            "id = 'lema_11'",
            "it names no statement, figure or page",
            "did you mean lemma_11…?",
        ),
    ):
        with refuses(value, rule, remedy):
            page(asked, ROOT)


def test_names() -> None:
    ids = ("lemma_06", "corollary_1", "fig_04", "notation", "one_path")
    names = ["Lemma 6", "Corollary 1", "Figure 4", "Notation", "One path, one clock"]
    assert [PAGES[page_id].name for page_id in ids] == names


def test_papers_are_cited_by_their_authors() -> None:
    for number, citation in enumerate(("Li (2023)", "Li and Ho (2023)", "Li et al. (2023)"), 1):
        paper = Paper("x", "Topics", ("A. Li", "B. Ho", "C. Ma")[:number], 2023, ("lemma",), own=False)
        assert (paper.citation, paper.of) == (citation, f" of {citation}")


def test_statements_of_two_papers_have_two_names() -> None:
    own = page_of("lemma_06", HEADING, {"scansnap": LEMMA}, PAPERS, "a")
    theirs = {**LEMMA, "paper": "li2023", "kind": "theorem"}
    heading = "# Theorem 6 of Li et al. (2023): topics"
    other = page_of("li2023_theorem_06", heading, {"scansnap": theirs}, PAPERS, "b")
    assert (own.name, own.label) == ("Lemma 6", "Lemma 6")
    assert (other.name, other.label) == ("Theorem 6 of Li et al. (2023)", "Theorem 6, Li 2023")
    assert own.is_statement
    assert other.is_statement


@pytest.mark.parametrize(
    ("change", "value", "rule"),
    [
        ({"paper": "ho2020"}, ".paper = 'ho2020'", A_PAPER),
        ({"paper": ["tian2023"]}, ".paper = ['tian2023']", A_PAPER),
        ({"kind": "theorem"}, ".kind = 'theorem'", A_KIND),
        ({"number": 0}, ".number = 0", "it is the paper's number, from 1"),
        ({"number": True}, ".number = True", "it is the paper's number, from 1"),
        ({"number": 7}, ".number = 7", "it is the number that the file's name says, after lemma"),
        ({"equations": [1, "2"]}, ".equations = [1, '2']", "it is a list of the paper's numbers"),
        ({"uses": "lemma_05"}, ".uses = 'lemma_05'", "it is a list of statements' ids"),
        (
            {"proof_uses": ["lemma_05", "lemma_05"]},
            ".proof_uses = ['lemma_05', 'lemma_05']",
            "it is a list of statements' ids",
        ),
        ({"title": "The clock"}, ": key 'title'", "there is no such key"),
        ({"paper": None}, ".paper", A_PAPER),
        ({"kind": None}, ".kind", A_KIND),
        ({"number": None}, ".number", "it is the paper's number, from 1"),
    ],
)
def test_wrong_metadata_name_the_notebook_and_the_key(change: dict[str, Any], value: str, rule: str) -> None:
    with refuses(f"some/lemma_06.ipynb: metadata.scansnap{value}", rule):
        page_of("lemma_06", HEADING, {"scansnap": LEMMA | change}, PAPERS, "some/lemma_06.ipynb")


@pytest.mark.parametrize(
    ("metadata", "value", "rule"),
    [
        ({}, "a: metadata.scansnap.paper", A_PAPER),
        ({"scansnap": None}, "a: metadata.scansnap.paper", A_PAPER),
        ({"scansnap": [1]}, "a: metadata.scansnap = [1]", MAPPING.says),
    ],
)
def test_a_notebook_that_registers_nothing_is_refused(metadata: dict[str, Any], value: str, rule: str) -> None:
    with refuses(value, rule):
        page_of("lemma_06", HEADING, metadata, PAPERS, "a")


def test_a_title_is_what_the_heading_says() -> None:
    own = page_of("lemma_06", HEADING, {"scansnap": LEMMA}, PAPERS, "a")
    assert (own.name, own.title) == ("Lemma 6", "The clock")
    unnumbered = {"paper": "tian2023", "kind": "law"}
    law = page_of("law_adam", "# Adam: signs first", {"scansnap": unnumbered}, PAPERS, "a")
    assert (law.name, law.title) == ("Adam: signs first", "Adam: signs first")


@pytest.mark.parametrize("heading", ["# Lemma 9: the clock", "Lemma 6: the clock", "# Lemma 6:", "# Lemma 6: ", ""])
def test_a_heading_names_its_page_and_says_what_it_is_about(heading: str) -> None:
    with refuses(f"a: the heading {heading!r}", "it is '# Lemma 6: ' and what the page is about"):
        page_of("lemma_06", heading, {"scansnap": LEMMA}, PAPERS, "a")


@pytest.mark.parametrize(
    "contents", [{}, {"meta": None}, {"meta": {"papers": {}}}, {"meta": {"papers": 3}}, {"meta": [1]}]
)
def test_a_book_names_its_papers(contents: Any) -> None:
    with refuses("_toc.yml: meta.papers", "the table of contents names the papers that the book checks"):
        papers_of(contents)


@pytest.mark.parametrize(
    ("key", "wrong", "rule"),
    [
        ("authors", [], "it is a list of full names"),
        ("year", "2023", COUNT.says),
        ("statements", "lemma", "it is a list of kinds, such as [lemma, theorem]"),
        ("title", 3, TEXT.says),
    ],
)
def test_a_badly_named_paper_is_refused(key: str, wrong: Any, rule: str) -> None:
    entry = {**LI, "statements": ["lemma"], key: wrong}
    with refuses(f"_toc.yml: paper li2023.{key} = {wrong!r}", rule):
        papers_of({"meta": {"papers": {"li2023": entry}}})


def dynamics_of(entry: Any) -> list[tuple[str, str, str]]:
    papers = papers_of({"meta": {"papers": {"li2023": {**LI, "statements": ["lemma"], "dynamics": entry}}}})
    return [(each.key, each.row, each.named) for each in papers["li2023"].dynamics]


def test_a_paper_says_which_other_dynamics_its_cards_speak_of() -> None:
    noise = {"row": "under noise", "named": "noisy gradients"}
    assert dynamics_of({"noise": noise, "drift": {"row": "drifting"}}) == [
        ("noise", "under noise", "noisy gradients"),
        ("drift", "drifting", "drifting"),
    ]
    assert dynamics_of({}) == []


@pytest.mark.parametrize(
    ("entry", "value", "rule"),
    [
        (["noise"], "_toc.yml: paper li2023.dynamics = ['noise']", MAPPING.says),
        ({"noise": {}}, "_toc.yml: paper li2023.dynamics.noise.row", "a reader must learn it"),
        ({"noise": {"row": "a", "is": "b"}}, "_toc.yml: paper li2023.dynamics.noise: key 'is'", "there is no such key"),
        (
            {"a b": {"row": "a"}},
            "_toc.yml: paper li2023.dynamics: 'a b'",
            "a key is one word of letters, digits and _, and none of printed, repaired, figure",
        ),
        (
            {"repaired": {"row": "a"}},
            "_toc.yml: paper li2023.dynamics: 'repaired'",
            "a key is one word of letters, digits and _, and none of printed, repaired, figure",
        ),
        (
            {"a": {"row": "x"}, "b": {"row": "x"}},
            "_toc.yml: paper li2023.dynamics.b.row = 'x'",
            "another row has this name",
        ),
    ],
)
def test_badly_named_dynamics_are_refused(entry: Any, value: str, rule: str) -> None:
    with refuses(value, rule):
        dynamics_of(entry)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Lemmas 8 and 9, neither executed."""
    write_book(tmp_path, (CHAPTER, ()), (CHAPTER.with_name("lemma_09.ipynb"), ()))
    return tmp_path


def test_a_chapter_finds_its_page_from_the_notebooks_folder(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir((book / CHAPTER).parent)
    assert Chapter("lemma_08").page.title == "A heading"
    monkeypatch.chdir("/")
    with refuses(
        "/",
        "a page is found by the book around it, and no folder from here up holds _toc.yml",
        (
            "run this in the book's folder or below it; git clone "
            "https://github.com/scan-and-snap-executable/scan-and-snap-executable brings the book that "
            "this package comes with"
        ),
    ):
        Chapter("lemma_08")


def test_another_page_that_is_wrong_stops_no_chapter(book: Path) -> None:
    register(book / CHAPTER.with_name("lemma_09.ipynb"), kind="sonnet")
    assert page("lemma_08", book).name == "Lemma 8"
    with refuses(
        "…/chapters/statements/lemma_09.ipynb: metadata.scansnap.kind = 'sonnet'",
        "the choices are lemma, theorem, corollary, figure, notation, claim, law, beyond, equations",
    ):
        read_pages(book)


@pytest.mark.parametrize(
    ("uses", "value", "rule"),
    [
        ("lemma_07", "lemma_08: metadata.scansnap.uses has 'lemma_07'", "it is no statement of the book"),
        ("lemma_08", "lemma_08 rests on lemma_08", "nothing rests on itself"),
        ("lemma_09", "lemma_08 rests on lemma_09 rests on lemma_08", "nothing rests on itself"),
    ],
)
def test_grounds_are_other_statements(book: Path, uses: str, value: str, rule: str) -> None:
    register(book / CHAPTER.with_name("lemma_09.ipynb"), proof_uses=["lemma_08"])
    register(book / CHAPTER, uses=[uses])
    with refuses(value, rule):
        read_pages(book)


def test_two_pages_have_two_ids_and_two_names(book: Path) -> None:
    copied = json.loads((book / CHAPTER).read_text())
    (book / "chapters" / "another_lemma_8.ipynb").write_text(json.dumps(copied))
    with refuses("lemma_08", "another_lemma_8 is Lemma 8 too"):
        read_pages(book)
    (book / "chapters" / "another_lemma_8.ipynb").rename(book / "chapters" / "lemma_08.ipynb")
    with refuses("lemma_08", "two notebooks have this file name"):
        read_pages(book)
