"""The numbers in prose: compared with what the chapters compute, and written by ``--store``."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from scansnap_core.book.prose import number_faults, write_numbers
from scansnap_core.cli import main
from tests.book.books import CHAPTER, spoil
from tests.book.conftest import Run

PAGE, CARDS = Path("chapters", "index.md"), CHAPTER.with_suffix(".yaml")
GIVE = "lemma.numbers(drop=f'{another(1):.1f}')\nlemma.numbers({'way_0.1': '7 to 9'})"


def quoted(**numbers: str) -> str:
    return " and ".join(f'<data value="{name}">{said}</data>' for name, said in numbers.items())


def write(book: Path, text: str, file: Path = CHAPTER) -> None:
    """Put a text into the notebook or a page."""
    if file == CHAPTER:
        notebook = json.loads((book / file).read_text())
        notebook["cells"][0]["source"] = f"# Lemma 8: a heading\n\n{text}"
    (book / file).write_text(json.dumps(notebook) if file == CHAPTER else f"# Home\n\n{text}\n")


REMEDY = "run scansnap verify --store"
OWN = {"drop": "1.2", "way_0.1": "7 to 9", "numeric_half": "0.5", "numeric_half.control": "0.7"}


@pytest.fixture(scope="module")
def numbered(stored_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The good chapter gives two numbers, and quotes them all; so does a page."""
    book = Path(shutil.copytree(stored_book, tmp_path_factory.mktemp("numbered") / "book"))
    spoil(book, lambda cells: cells[3].update(source=GIVE))
    write(book, quoted(**OWN))
    write(book, quoted(**{f"lemma_08:{name}": said for name, said in OWN.items()}), PAGE)
    assert main(["verify", "--book", str(book), "--store"]) == 0
    return book


@pytest.fixture
def book(numbered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(numbered, tmp_path / "book"))


@pytest.mark.parametrize("file", [CHAPTER, PAGE])
@pytest.mark.parametrize("name", OWN)
def test_a_wrong_number_is_named_and_written(book: Path, file: Path, name: str) -> None:
    assert number_faults(book) == []
    page = "lemma_08:" if file == PAGE else ""
    right = (book / file).read_text()
    write(book, quoted(**{page + n: "8\n1" if n == name else said for n, said in OWN.items()}), file)
    (fault,) = number_faults(book)
    computed = f"the chapter computes {OWN[name]!r}: {REMEDY}"
    assert fault == f"{file}: the text says '8\\n1' for {page}{name}, and {computed}"
    write_numbers(book)
    meaning = str if page else json.loads
    assert meaning((book / file).read_text()) == meaning(right)


@pytest.mark.parametrize("file", [CHAPTER, PAGE])
@pytest.mark.parametrize("name", ["drip", "lemma_08:drip", "lemma_09:drop", "lemma_08:way_0.1.control", ""])
def test_a_number_without_a_source_is_named_and_stays(book: Path, file: Path, name: str) -> None:
    write(book, quoted(**{name: "1.2"}), file)
    before = (book / file).read_text()
    write_numbers(book)
    assert number_faults(book) == [f"{file}: the text says '1.2' for {name}, and the chapter gives no such number"]
    assert (book / file).read_text() == before


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("<data value='lemma_08:drop'>9</data>", "<data value='lemma_08:drop'>"),
        ('<data id="a" value="lemma_08:drop">9</data>', '<data id="a" value="lemma_08:drop">'),
        (f'<data value="lemma_08:drop">9 and {quoted(**{"lemma_08:drop": "1.2"})}', '<data value="lemma_08:drop">'),
        ('<data value="lemma_08:drop"', '<data value="lemma_08:drop"\n'),
    ],
)
def test_what_would_escape_the_comparison_is_named(book: Path, text: str, tag: str) -> None:
    write(book, text, PAGE)
    before = (book / PAGE).read_text()
    write_numbers(book)
    assert (book / PAGE).read_text() == before
    remedy = 'write <data value="name">…</data>'
    assert number_faults(book) == [f"{PAGE}: {tag} is no number that is compared: {remedy}"]


def test_a_number_on_a_card_is_compared(book: Path) -> None:
    (book / CARDS).write_text((book / CARDS).read_text() + f"# {quoted(drop='8')}\n")
    assert number_faults(book) == [f"{CARDS}: the text says '8' for drop, and the chapter computes '1.2': {REMEDY}"]
    write_numbers(book)
    assert (book / CARDS).read_text().endswith(f"# {quoted(drop='1.2')}\n")


def test_verify_compares_and_stores(book: Path, verify: Run) -> None:
    write(book, quoted(**{"lemma_08:drop": "8"}), PAGE)
    code, _, errors = verify()
    assert (code, errors.count("\n")) == (1, 1)
    assert f"scansnap: {PAGE}: the text says '8' for lemma_08:drop" in errors
    assert verify("--store")[::2] == (0, "")
    spoil(book, lambda cells: cells[3].update(source=GIVE.replace("another(1)", "another(2)")))
    assert "cell 4 stores another application/vnd.scansnap.numbers+json than it gives" in verify()[2]
    assert verify("--store")[::2] == (0, "")
    assert ">2.2</data>" in (book / PAGE).read_text()
    assert ">2.2</data>" in (book / CHAPTER).read_text()


def test_a_page_that_is_no_notebook_leaves_the_other_numbers_alone(book: Path) -> None:
    (book / CHAPTER).with_name("lemma_09.ipynb").write_text("{")
    assert number_faults(book) == []


def test_a_quoted_number_stands_beside_its_words(book: Path) -> None:
    claims = yaml.safe_load((book / CARDS).read_text())
    claims["numbers"] = {"drop": {"of": "numeric_half", "scope": "one system", "beside": "falls by"}}
    (book / CARDS).write_text(yaml.safe_dump(claims))
    one, other = (f'<data value="lemma_08:{name}">{OWN[name]}</data>' for name in ("drop", "numeric_half"))
    write(book, f"It falls by\n{one} in 2.5 steps, and by {other} in a step.", PAGE)
    assert number_faults(book) == []
    for text in (
        f"It falls by {other} in 2.5 steps, and by {one} in a step.",
        f"It rises by {one}. It falls by 1.",
        f"It falls by 3.\n\n- By {one}.\n- It falls by 1.",
    ):
        write(book, text, PAGE)
        (fault,) = number_faults(book)
        assert "lemma_08:drop isn't beside 'falls by'" in fault
