"""How the book is cited: `CITATION_FILE` is the source, and BibTeX, Zenodo's file and the site's
tags are made from it.

Where a file can't be read, or lacks what a reader must learn, the functions here raise `BadInput`.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.extras import needs
from scansnap_core.base.files import TEXT, Entry, list_of
from scansnap_core.base.rules import Rule
from scansnap_core.ledger.contents import read_contents
from scansnap_core.ledger.papers import TABLE_OF_CONTENTS, papers_of

CITATION_FILE = Path("CITATION.cff")
BIBLIOGRAPHY = Path("references.bib")
ZENODO_FILE = Path(".zenodo.json")


def _is_date(value: Any) -> bool:
    """Tell whether a text is a date as ISO 8601 writes it."""
    try:
        return datetime.date.fromisoformat(value).isoformat() == value
    except (TypeError, ValueError):
        return False


def _is_author(value: Any) -> bool:
    """Tell whether an entry names a person, or a group by a name that BibTeX can't split.

    At a comma or at the word "and", BibTeX takes a name for several parts or several persons,
    unless it is in braces. Not every program that converts the citation writes these.
    """
    if not isinstance(value, dict):
        return False
    if "name" in value:
        name = value["name"]
        return isinstance(name, str) and "," not in name and "and" not in name.lower().split()
    return isinstance(value.get("family-names"), str) and isinstance(
        value.get("given-names", ""), str
    )


_DATE = Rule(_is_date, "it is a date", "write year-month-day, such as 2026-11-29")
_ADDRESS = Rule(
    lambda value: isinstance(value, str) and value.startswith("https://"),
    "it is an address",
    "begin it with https://",
)
_SITE = Rule(
    lambda value: _ADDRESS.holds(value) and value.endswith("/"),
    "it is a folder's address",
    "end it with /",
)
_AUTHORS = Rule(
    lambda value: isinstance(value, list) and value != [] and all(map(_is_author, value)),
    "each author has family-names, or a name without a comma and without the word and, at which "
    "BibTeX would split it",
    "correct it",
)
_WORKS = Rule(
    lambda value: isinstance(value, list) and all(isinstance(work, dict) for work in value),
    "it is a list of works",
    "write each as title, authors, year",
)
_KEYWORDS = list_of(TEXT, "it is a list of different words", least=1)
_KEY = Rule(
    lambda value: isinstance(value, str) and value.isidentifier(),
    "it names the book in BibTeX and begins the names of its files",
    "write one word of letters, digits and _, a letter first",
)
_RULES = {
    "title": TEXT,
    "version": TEXT,
    "date-released": _DATE,
    "license": TEXT,
    "url": _SITE,
    "repository-code": _ADDRESS,
    "abstract": TEXT,
    "keywords": _KEYWORDS,
    "authors": _AUTHORS,
}
"""What a citation of the book needs."""


@dataclass(frozen=True)
class Citation:
    """What a reader must learn to cite the book.

    Parameters
    ----------
    title, version, license, abstract
        As the file says; the licence is an identifier of SPDX.
    released
        The day of this version.
    url, repository
        The addresses of the site, which ends in ``/``, and of the sources.
    keywords, authors
        An author is either ``{"name": ...}``, a group, or has ``family-names`` and perhaps
        ``given-names``.
    references
        The works that the book is about, as the file has them.
    """

    title: str
    version: str
    released: datetime.date
    license: str
    url: str
    repository: str
    abstract: str
    keywords: tuple[str, ...]
    authors: tuple[Mapping[str, str], ...]
    references: tuple[Mapping[str, Any], ...]


def read_citation(book: Path) -> Citation:
    """Read a book's `CITATION_FILE`.

    Raises
    ------
    BadInput
        If the file isn't there, lacks something (all that it lacks is named) or holds something
        wrong.
    """
    content = files.read(
        book / CITATION_FILE, example="see citation-file-format.github.io", kinds=(".cff",)
    )
    take = Entry(str(CITATION_FILE), content)
    if missing := [key for key in _RULES if take.values.get(key) in (None, "", [])]:
        raise BadInput(
            f"{CITATION_FILE} without {', '.join(missing)}", "a reader must learn it", "add it"
        )
    found = {key: take(key, rule) for key, rule in _RULES.items()}
    return Citation(
        title=found["title"],
        version=found["version"],
        released=datetime.date.fromisoformat(found["date-released"]),
        license=found["license"],
        url=found["url"],
        repository=found["repository-code"],
        abstract=found["abstract"],
        keywords=tuple(found["keywords"]),
        authors=tuple(found["authors"]),
        references=tuple(take("references", _WORKS, [])),
    )


def name_of(author: Mapping[str, str]) -> str:
    """Write an author's name as Zenodo and Highwire's tags want it.

    Examples
    --------
    >>> name_of({"family-names": "Du", "given-names": "Simon S."}), name_of({"name": "Bourbaki"})
    ('Du, Simon S.', 'Bourbaki')
    """
    if "name" in author:
        return author["name"]
    return ", ".join(filter(None, [author["family-names"], author.get("given-names", "")]))


def key_of(book: Path) -> str:
    """Return the word by which BibTeX knows a book, and with which the names of the files begin
    that its site offers.

    It is the ``key`` under ``meta`` in the table of contents; "book", if there is none.
    """
    meta = read_contents(book).get("meta") or {}
    return str(Entry(f"{TABLE_OF_CONTENTS}: meta", meta)("key", _KEY, "book"))


def bibtex(book: Path) -> str:
    """Cite the book, under the key that `key_of` gives, as `CITATION_FILE` does, and its paper as
    the bibliography does.

    In a book without a bibliography it is cited alone.
    """
    with needs("book"):
        from pybtex.database import BibliographyData, Person, parse_string
        from pybtex.database import Entry as Cited
        from pybtex.exceptions import PybtexError

    cited = read_citation(book)
    fields = {
        "title": cited.title,
        "version": cited.version,
        "month": str(cited.released.month),
        "year": str(cited.released.year),
        "url": cited.url,
    }
    authors = [
        # The braces keep the name of a group from being taken apart at its spaces.
        Person(last=f"{{{author['name']}}}")
        if "name" in author
        else Person(first=author.get("given-names", ""), last=author["family-names"])
        for author in cited.authors
    ]
    own = Cited("misc", list(fields.items()), {"author": authors})
    key = key_of(book)
    if not (book / BIBLIOGRAPHY).exists():
        return str(BibliographyData({key: own}).to_string("bibtex"))
    try:
        known = parse_string((book / BIBLIOGRAPHY).read_text(encoding="utf-8"), "bibtex").entries
    except (OSError, PybtexError) as error:
        raise BadInput(
            f"{BIBLIOGRAPHY}", f"it is no readable bibliography ({error})", "restore it"
        ) from None
    paper = next(paper.id for paper in papers_of(read_contents(book)).values() if paper.own)
    if paper not in known:
        raise BadInput(paper, f"{BIBLIOGRAPHY} lacks it", "add the paper under its key in _toc.yml")
    return str(BibliographyData({key: own, paper: known[paper]}).to_string("bibtex"))


def zenodo(book: Path) -> dict[str, Any]:
    """Describe the book as Zenodo reads it from `ZENODO_FILE`, with the works that it is about as
    related ones.
    """
    cited = read_citation(book)
    identifiers = [one for work in cited.references for one in work.get("identifiers", [])]
    return {
        "upload_type": "software",
        "title": cited.title,
        "version": cited.version,
        "publication_date": cited.released.isoformat(),
        "description": cited.abstract,
        "creators": [{"name": name_of(author)} for author in cited.authors],
        "license": cited.license,
        "access_right": "open",
        "language": "eng",
        "keywords": list(cited.keywords),
        "related_identifiers": [
            {
                "identifier": cited.url,
                "relation": "isDocumentedBy",
                "resource_type": "publication-book",
            },
            *(
                {
                    "identifier": one["value"],
                    "relation": "isSupplementTo",
                    "resource_type": "publication-article",
                }
                for one in identifiers
            ),
        ],
    }
