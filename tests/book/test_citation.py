import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from pybtex.database import Person, parse_string

from scansnap_core.book.citation import (
    BIBLIOGRAPHY,
    CITATION_FILE,
    ZENODO_FILE,
    bibtex,
    key_of,
    name_of,
    read_citation,
    zenodo,
)
from tests.book.books import PAPERS
from tests.book.test_board import ROOT
from tests.refusing import refuses

CONTENT = yaml.safe_load((ROOT / CITATION_FILE).read_text())


@pytest.fixture
def book(tmp_path: Path) -> Path:
    for file in (CITATION_FILE, BIBLIOGRAPHY):
        shutil.copy(ROOT / file, tmp_path)
    (tmp_path / "_toc.yml").write_text(f"root: chapters/index\n{PAPERS}")
    return tmp_path


def write(book: Path, **changed: object) -> None:
    """Write the book's citation with other values; None leaves a key out."""
    content = {key: value for key, value in (CONTENT | changed).items() if value is not None}
    (book / CITATION_FILE).write_text(yaml.safe_dump(content))


def test_the_book_is_cited_as_its_citation_file_says(book: Path) -> None:
    entry = parse_string(bibtex(book), "bibtex").entries[key_of(book)]
    assert dict(entry.fields) == {
        "title": CONTENT["title"],
        "version": CONTENT["version"],
        "month": str(CONTENT["date-released"].month),
        "year": str(CONTENT["date-released"].year),
        "url": CONTENT["url"],
    }
    assert [str(author) for author in entry.persons["author"]] == [f"{{{CONTENT['authors'][0]['name']}}}"]
    write(book, authors=CONTENT["references"][0]["authors"])
    entry = parse_string(bibtex(book), "bibtex").entries[key_of(book)]
    assert [str(author) for author in entry.persons["author"]][::3] == ["Tian, Yuandong", "Du, Simon S."]


def test_programs_that_know_no_braces_take_the_groups_name_for_one_surname() -> None:
    """BibTeX takes the last word for the surname and ``and`` for the end of a name."""
    (author,) = read_citation(ROOT).authors
    person = Person(name_of(author))
    assert person.last_names == [name_of(author)]
    assert not person.first_names + person.prelast_names + person.lineage_names


def test_cffconvert_gives_the_same_entry() -> None:
    """It wants an older jsonschema than the book's, so it isn't installed with it; the workflow brings it along."""
    program = shutil.which("cffconvert")
    if program is None:
        pytest.skip("cffconvert isn't on PATH; `pipx install cffconvert` brings it")
    subprocess.run([program, "--validate"], cwd=ROOT, check=True, capture_output=True)
    text = subprocess.run([program, "-f", "bibtex"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (theirs,) = parse_string(text, "bibtex").entries.values()
    ours = parse_string(bibtex(ROOT), "bibtex").entries[key_of(ROOT)]
    assert dict(theirs.fields) == {key: value for key, value in ours.fields.items() if key != "version"}  # it has none
    assert [str(person) for person in theirs.persons["author"]] == [
        str(person).strip("{}") for person in ours.persons["author"]
    ]


def test_the_paper_is_cited_as_both_files_say_and_nothing_else() -> None:
    entries = parse_string(bibtex(ROOT), "bibtex").entries
    known = parse_string((ROOT / BIBLIOGRAPHY).read_text(), "bibtex").entries["tian2023"]
    assert list(entries) == ["scansnap", "tian2023"]
    assert entries["tian2023"] == known
    reference = CONTENT["references"][0]
    assert known.fields["title"] == reference["title"]
    assert known.fields["booktitle"] == reference["collection-title"]
    assert [known.fields[key] for key in ("year", "volume")] == [str(reference[key]) for key in ("year", "volume")]
    assert known.fields["note"] == reference["identifiers"][0]["value"]
    surnames = [" ".join(author.last_names) for author in known.persons["author"]]
    assert surnames == [author["family-names"] for author in reference["authors"]]


def test_zenodos_file_is_made_from_the_citation() -> None:
    """``python -m tools.zenodo`` writes it."""
    said = json.loads((ROOT / ZENODO_FILE).read_text(encoding="utf8"))
    assert said == zenodo(ROOT)
    for key in ("title", "version", "license", "keywords"):
        assert said[key] == CONTENT[key]
    assert said["publication_date"] == CONTENT["date-released"].isoformat()
    assert said["creators"] == [{"name": author["name"]} for author in CONTENT["authors"]]
    assert {one["identifier"] for one in said["related_identifiers"]} == {CONTENT["url"], "arXiv:2305.16380"}


@pytest.mark.parametrize(
    ("changed", "value", "rule"),
    [
        ({"version": None, "url": None}, "CITATION.cff without version, url", "a reader must learn it"),
        ({"authors": []}, "CITATION.cff without authors", "a reader must learn it"),
        ({"date-released": "29 November"}, "CITATION.cff.date-released = '29 November'", "it is a date"),
        ({"date-released": "2026-02-30"}, "CITATION.cff.date-released = '2026-02-30'", "it is a date"),
        (
            {"url": "https://example.org/book"},
            "CITATION.cff.url = 'https://example.org/book'",
            "it is a folder's address",
        ),
        ({"url": "example.org/"}, "CITATION.cff.url = 'example.org/'", "it is a folder's address"),
        (
            {"repository-code": "git@example.org"},
            "CITATION.cff.repository-code = 'git@example.org'",
            "it is an address",
        ),
        (
            {"authors": [{"name": "Scan and Snap"}]},
            "CITATION.cff.authors = [{'name': 'Scan and Snap'}]",
            (
                "each author has family-names, or a name without a comma and without the word and, at "
                "which BibTeX would split it"
            ),
        ),
        (
            {"authors": [{"name": "Snap, executable"}]},
            "CITATION.cff.authors = [{'name': 'Snap, executable'}]",
            (
                "each author has family-names, or a name without a comma and without the word and, at "
                "which BibTeX would split it"
            ),
        ),
        (
            {"authors": ["Snap"]},
            "CITATION.cff.authors = ['Snap']",
            (
                "each author has family-names, or a name without a comma and without the word and, at "
                "which BibTeX would split it"
            ),
        ),
        ({"keywords": "one"}, "CITATION.cff.keywords = 'one'", "it is a list of different words"),
        ({"references": ["a paper"]}, "CITATION.cff.references = ['a paper']", "it is a list of works"),
    ],
)
def test_a_citation_that_lacks_something_is_refused(
    book: Path, changed: dict[str, object], value: str, rule: str
) -> None:
    write(book, **changed)
    with refuses(value, rule):
        read_citation(book)


@pytest.mark.parametrize(
    ("file", "text", "value", "rule"),
    [
        (CITATION_FILE, "[", "file …/CITATION.cff: while parsing …", "the file is valid YAML or JSON"),
        (BIBLIOGRAPHY, "@misc{", "references.bib", "it is no readable bibliography (…)"),
        (BIBLIOGRAPHY, "@misc{other, title = {Other}}", "tian2023", "references.bib lacks it"),
    ],
)
def test_unreadable_files_are_refused(book: Path, file: Path, text: str, value: str, rule: str) -> None:
    (book / file).write_text(text)
    with refuses(value, rule):
        bibtex(book)


def test_a_book_without_key_and_bibliography_is_cited_alone(book: Path) -> None:
    (book / BIBLIOGRAPHY).unlink()
    assert list(parse_string(bibtex(book), "bibtex").entries) == ["book"]


@pytest.mark.parametrize("key", ["'two words'", "3"])
def test_a_key_that_cannot_begin_a_files_name_is_refused(book: Path, key: str) -> None:
    contents = (book / "_toc.yml").read_text()
    (book / "_toc.yml").write_text(contents.replace("meta:\n", f"meta:\n  key: {key}\n"))
    with refuses("_toc.yml: meta.key = …", "it names the book in BibTeX and begins the names of its files"):
        bibtex(book)
