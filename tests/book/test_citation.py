import shutil
from pathlib import Path

import pytest
import yaml
from pybtex.database import parse_string

from scansnap_core import BadInput
from scansnap_core.book.errata import BIBLIOGRAPHY, BOOK_KEY, CITATION_FILE, bibtex
from tests.book.books import PAPERS
from tests.book.test_board import ROOT

URL = "https://example.org/book"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    for file in (CITATION_FILE, BIBLIOGRAPHY):
        shutil.copy(ROOT / file, tmp_path)
    (tmp_path / "_toc.yml").write_text(f"root: chapters/index\n{PAPERS}")
    return tmp_path


def test_the_book_is_cited_as_its_citation_file_says(book: Path) -> None:
    cited = yaml.safe_load((ROOT / CITATION_FILE).read_text())
    entry = parse_string(bibtex(book, "2026", URL), "bibtex").entries[BOOK_KEY]
    assert dict(entry.fields) == {"title": cited["title"], "version": cited["version"], "year": "2026", "url": URL}
    # braces keep "the ... authors" from being taken for a first and a last name
    assert [str(author) for author in entry.persons["author"]] == [f"{{{cited['authors'][0]['name']}}}"]
    people = cited["references"][0]["authors"]
    (book / CITATION_FILE).write_text(yaml.safe_dump({"title": "A book", "version": "1", "authors": people}))
    entry = parse_string(bibtex(book, "2026", URL), "bibtex").entries[BOOK_KEY]
    assert [str(author) for author in entry.persons["author"]][::3] == ["Tian, Yuandong", "Du, Simon S."]


def test_the_paper_is_cited_as_both_files_say_and_nothing_else() -> None:
    entries = parse_string(bibtex(ROOT, "2026", URL), "bibtex").entries
    known = parse_string((ROOT / BIBLIOGRAPHY).read_text(), "bibtex").entries["tian2023"]
    assert list(entries.items())[1:] == [("tian2023", known)]
    reference = yaml.safe_load((ROOT / CITATION_FILE).read_text())["references"][0]
    assert known.fields["title"] == reference["title"]
    assert known.fields["year"] == str(reference["year"])
    surnames = [" ".join(author.last_names) for author in known.persons["author"]]
    assert surnames == [author["family-names"] for author in reference["authors"]]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (CITATION_FILE, "title: alone", "CITATION.cff.version: a reader must learn it"),
        (CITATION_FILE, "[", "is valid YAML"),
        (BIBLIOGRAPHY, "@misc{", "no readable bibliography"),
        (BIBLIOGRAPHY, "@misc{other, title = {Other}}", "tian2023: references.bib lacks it"),
    ],
)
def test_unreadable_files_are_refused(book: Path, file: Path, text: str, said: str) -> None:
    (book / file).write_text(text)
    with pytest.raises(BadInput, match=said):
        bibtex(book, "2026", URL)
