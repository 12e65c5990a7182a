"""Whatever one chapter, one file or one folder holds: the other chapters are judged, and the fault is named."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scansnap_core.book import faults
from scansnap_core.book import verify as verifying
from scansnap_core.book.execute import Execution
from scansnap_core.book.notebooks import read_notebook
from scansnap_core.cli import main
from scansnap_core.ledger import VERDICT_MIME, Page
from scansnap_core.ledger.prose import NUMBERS_MIME
from tests.book.books import CHAPTER, GOOD_CELLS, PAPERS, write_book

FAULTY = CHAPTER.with_name("lemma_09.ipynb")
FILE = FAULTY.with_suffix(".yaml")
HOSTILE: tuple[Any, ...] = (None, 3, "text", [], {"a": [3]})
Change = Callable[[Path], object]
Judged = Callable[[], tuple[dict[str, bool], str]]


@pytest.fixture(scope="module")
def stored_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    book = tmp_path_factory.mktemp("pair")
    write_book(
        book, (CHAPTER, GOOD_CELLS), (FAULTY, tuple(cell.replace("lemma_08", "lemma_09") for cell in GOOD_CELLS))
    )
    assert main(["verify", "--book", str(book), "--store"]) == 0
    return book


@pytest.fixture
def book(stored_pair: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stored_pair, tmp_path / "book"))


@pytest.fixture
def judged(book: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Judged:
    """Verify the book as if each chapter gave what it stores: which chapters are verified, and what is said."""

    def as_stored(paths: list[Path], *_: object) -> dict[Path, Execution]:
        return {path: Execution(read_notebook(path), "", 0.0) for path in paths}

    def run() -> tuple[dict[str, bool], str]:
        monkeypatch.setattr(verifying, "execute_all", as_stored)
        (book / "found.json").unlink(missing_ok=True)
        code = main(["verify", "--book", str(book), "--json", str(book / "found.json")])
        table, errors = capfd.readouterr()
        found = json.loads((book / "found.json").read_text())
        assert "lemma_08" in table
        assert code == bool(errors)
        return {chapter["id"]: chapter["verified"] for chapter in found["chapters"]}, errors

    return run


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every mapping and list in a file's content, with each of its keys or indices."""
    if isinstance(content, dict | list):
        for key in list(content) if isinstance(content, dict) else range(len(content)):
            yield content, key
            yield from places(content[key])


def spoilt(content: Any) -> Iterator[None]:
    """Put hostile values into each place in turn: each into that of a mapping or list, one into that of a text."""
    for number, (inside, key) in enumerate(list(places(content))):
        right = inside[key]
        for wrong in HOSTILE if isinstance(right, dict | list) else HOSTILE[number % len(HOSTILE) :][:1]:
            inside[key] = wrong
            yield
        inside[key] = right


@pytest.mark.parametrize("file", [FAULTY, FILE])
def test_no_value_in_a_chapter_reaches_another(book: Path, judged: Judged, file: Path) -> None:
    content, refused = yaml.safe_load((book / file).read_text()), 0
    for _ in spoilt(content):
        (book / file).write_text(json.dumps(content))  # which is YAML, too
        verified, errors = judged()
        assert verified["lemma_08"]
        assert verified["lemma_09"] or "lemma_09" in errors
        refused += not verified["lemma_09"]
    assert refused > 30


def of_format(minor: int, *, with_ids: bool) -> Change:
    def change(book: Path) -> None:
        notebook = json.loads((book / FAULTY).read_text()) | {"nbformat_minor": minor}
        notebook["cells"] = [{k: v for k, v in cell.items() if with_ids or k != "id"} for cell in notebook["cells"]]
        (book / FAULTY).write_text(json.dumps(notebook))

    return change


def written(name: str | Path, content: bytes) -> Change:
    return lambda book: (book / name).write_bytes(content)


def made_a_folder(name: str | Path) -> Change:
    def change(book: Path) -> None:
        (book / name).unlink(missing_ok=True)
        (book / name).mkdir()

    return change


def linked(name: str | Path, to: str) -> Change:
    def change(book: Path) -> None:
        (book / name).unlink(missing_ok=True)
        (book / name).symlink_to(to)

    return change


def with_byte_order_mark(book: Path) -> None:
    (book / FAULTY).write_bytes(b"\xef\xbb\xbf" + (book / FAULTY).read_bytes())


UNLISTED = "_toc.yml lists chapters/statements/lemma_09, which has no file"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_format(0, with_ids=False), "its card shows the figure of 'picture'; the cells with one are ['cell-03']"),
        (of_format(3, with_ids=False), "the cells with one are ['cell-03']"),
        (with_byte_order_mark, "lemma_09.ipynb: it is no readable notebook (Unexpected UTF-8 BOM"),
        (written(FAULTY, b"\xe9"), "lemma_09.ipynb: it is no readable notebook (it isn't UTF-8 text)"),
        (written(FAULTY, b"[" * 100_000), "lemma_09.ipynb: it is no readable notebook (maximum recursion depth"),
        (made_a_folder(FAULTY), UNLISTED),
        (linked(FAULTY, "nowhere"), UNLISTED),
        (linked(FAULTY, FAULTY.name), UNLISTED),
        (written(FILE, b"\xe9"), "lemma_09.yaml: it isn't UTF-8 text"),
        (written(FILE, b"a: &a [*a]"), "lemma_09.yaml: found unconstructable recursive node"),
        (made_a_folder(FILE), "lemma_09.yaml: Is a directory"),
        (written("chapters/index.md", b"\xe9"), "scansnap: chapters/index.md: it isn't UTF-8 text"),
        (written("chapters/errata.yaml", b"\xe9"), "errata.yaml: it isn't UTF-8 text"),
        (made_a_folder("chapters/errata.yaml"), "errata.yaml: Is a directory"),
        (written("chapters/equations.yaml", b"- 1"), "equations.yaml = [1]: it is a mapping"),
        (made_a_folder("chapters/claims_in_words.yaml"), "claims_in_words.yaml: Is a directory"),
        (written("chapters/stray.yaml", b"\xe9"), "scansnap: chapters/stray.yaml: it isn't UTF-8 text"),
    ],
)
def test_a_fault_is_named_where_it_is(book: Path, judged: Judged, change: Change, said: str) -> None:
    change(book)
    verified, errors = judged()
    assert verified["lemma_08"]
    assert said in errors


@pytest.mark.parametrize(
    "change",
    [
        of_format(4, with_ids=True),
        written("chapters/._index.md", b"\x00\x05\x16\x07\xff"),
        written("chapters/._lemma_09.ipynb", b"\x00\x05\x16\x07\xff"),
        linked("chapters/.#index.md", "me@here.1234"),
        written("chapters/notes.md", b"caf\xe9"),
        made_a_folder("chapters/notes.md"),
        made_a_folder("chapters/notes.yaml"),
        made_a_folder("chapters/notes.ipynb"),
        linked("chapters/again", "."),
        lambda book: os.mkfifo(book / "chapters" / "pipe.ipynb"),
    ],
)
def test_what_is_no_part_of_the_book_is_passed_over(book: Path, judged: Judged, change: Change) -> None:
    change(book)
    assert judged() == ({"lemma_08": True, "lemma_09": True}, "")


def test_a_name_that_is_no_text_is_written_all_the_same(book: Path, judged: Judged) -> None:
    (book / "chapters" / os.fsdecode(b"lemma_\xff.ipynb")).write_text("{")
    verified, errors = judged()
    assert verified == {"lemma_08": True, "lemma_09": True, "lemma_\udcff": False}
    assert "no readable notebook" in errors


def test_a_pattern_in_the_contents_lists_what_the_site_builds(book: Path, judged: Judged) -> None:
    toc = f"format: jb-book\nroot: chapters/index\n{PAPERS}chapters:\n- glob: "
    (book / "_toc.yml").write_text(f"{toc}chapters/statements/*\n")
    assert judged() == ({"lemma_08": True, "lemma_09": True}, "")
    (book / "_toc.yml").write_text(f"{toc}chapters/statements/*_09\n")
    assert judged()[1] == "scansnap: lemma_08: it is missing from _toc.yml\n"


@pytest.mark.parametrize(
    ("mime", "content"), [(VERDICT_MIME, [1]), (VERDICT_MIME, {"id": "lemma_09"}), (NUMBERS_MIME, {"drop": 3})]
)
def test_what_only_looks_like_a_verdict_is_none(book: Path, judged: Judged, mime: str, content: Any) -> None:
    notebook = json.loads((book / FAULTY).read_text())
    notebook["cells"][5]["outputs"][0]["data"] = {mime: content}
    (book / FAULTY).write_text(json.dumps(notebook))
    verified, errors = judged()
    assert verified == {"lemma_08": True, "lemma_09": False}
    assert "lemma_09: its outputs hold no verdicts" in errors


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("figure", 3, "card.figure = 3: it is a text"),
        ("printed", {"by": "half", "says": "It holds."}, "card.printed.by = 'half': no check or refutation here"),
        ("repaired", {"formula": "a", "where": "b", "by": "numeric_half"}, "card.repaired: the verdict is 'holds'"),
        ("sgd", {"word": "lost", "says": "It fails."}, "card.sgd.word = 'lost': the choices are not concerned"),
    ],
)
def test_a_card_is_checked_before_the_chapter_runs(
    book: Path, judged: Judged, key: str, value: Any, fault: str
) -> None:
    claims = yaml.safe_load((book / FILE).read_text())
    claims["card"][key] = value
    (book / FILE).write_text(yaml.safe_dump(claims))
    verified, errors = judged()
    assert verified == {"lemma_08": True, "lemma_09": False}
    assert errors.startswith(f"scansnap: lemma_09: lemma_09.yaml: {fault}")
    assert errors.count("\n") == 1


def test_what_nobody_thought_of_is_one_chapters_fault(
    book: Path, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unforeseen(_: Any, page: Page) -> list[str]:
        return [] if page.id == "lemma_08" else [str(1 / 0)]

    monkeypatch.setattr(faults, "naming_faults", unforeseen)
    verified, errors = judged()
    assert verified == {"lemma_08": True, "lemma_09": False}
    assert errors == "scansnap: lemma_09: it can't be judged: ZeroDivisionError: division by zero\n"
