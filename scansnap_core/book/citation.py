"""Cite the book and its paper as BibTeX: the book from ``CITATION.cff``, the paper from the bibliography."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.extras import needs
from scansnap_core.ledger.registry import papers_of, read_contents

CITATION_FILE = Path("CITATION.cff")
BIBLIOGRAPHY = Path("references.bib")
BOOK_KEY = "scansnap"


def bibtex(book: Path, year: str, url: str) -> str:
    """Return the entries of the book, under the key ``scansnap``, and of the paper that it is about.

    Parameters
    ----------
    book : Path
        The folder with ``CITATION.cff``, the bibliography and the chapters.
    year, url : str
        Of the book, which ``CITATION.cff`` doesn't say.

    Raises
    ------
    BadInput
        If a file can't be read, or the bibliography lacks the paper.
    """
    with needs("book"):
        from pybtex.database import BibliographyData, Entry, Person, parse_string
        from pybtex.exceptions import PybtexError

    cited = _cited(book)
    try:
        known = parse_string((book / BIBLIOGRAPHY).read_text(encoding="utf-8"), "bibtex").entries
    except (OSError, PybtexError) as error:
        raise BadInput(f"{BIBLIOGRAPHY}", f"it is no readable bibliography ({error})", "restore it") from None
    paper = next(paper.id for paper in papers_of(read_contents(book)).values() if paper.own)
    if paper not in known:
        raise BadInput(paper, f"{BIBLIOGRAPHY} lacks it", "add the paper under its key in _toc.yml")
    fields = {"title": cited["title"], "version": cited["version"], "year": year, "url": url}
    own = Entry("misc", list(fields.items()), {"author": [_person(author, Person) for author in cited["authors"]]})
    return str(BibliographyData({BOOK_KEY: own, paper: known[paper]}).to_string("bibtex"))


def _cited(book: Path) -> dict[str, Any]:
    from scansnap_core import files

    cited = files.read(book / CITATION_FILE, example="restore it", kinds=(CITATION_FILE.suffix,))
    try:
        return {key: cited[key] for key in ("title", "version", "authors")}
    except (KeyError, TypeError) as error:
        rule = f"it is no citation with title, version and authors ({type(error).__name__})"
        raise BadInput(f"{CITATION_FILE}", rule, "restore it") from None


def _person(author: dict[str, str], make: Any) -> Any:
    """Make a person, or, where the file gives a name alone, a group, whose name isn't to be taken apart."""
    if "name" in author:
        return make(last=f"{{{author['name']}}}")
    return make(first=author.get("given-names", ""), last=author["family-names"])
