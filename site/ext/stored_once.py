"""Reads what the book stores once per build: dozens of places ask for it, and the chapters take
half a second.
"""

from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

from scansnap_core.book.citation import Citation, key_of, read_citation
from scansnap_core.book.errata import Erratum, errata_of
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.ledger.contents import document_of


@cache
def stored_in(app: Sphinx) -> Stored:
    return read_stored(Path(app.srcdir))


@cache
def errata_in(app: Sphinx) -> list[Erratum]:
    return errata_of(stored_in(app), Path(app.srcdir))


@cache
def place_of(name: str, book: Path) -> str:
    return document_of(name, book)


@cache
def key_in(book: Path) -> str:
    return key_of(book)


@cache
def citation_of(book: Path) -> Citation:
    return read_citation(book)
