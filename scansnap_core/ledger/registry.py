"""The pages of a book, each registered by its own notebook.

The book's notebooks lie below ``chapters/`` (:mod:`scansnap_core.ledger.contents`), and a page's id
is the stem of its notebook's file name. The papers are those of the table of contents (``papers``).

A page's title stands in one place, the notebook's heading, such as ``# Lemma 6: the clock of the
decoder``. The notebook's metadata hold the rest under ``scansnap``::

    {"paper": "tian2023", "kind": "lemma", "number": 6, "equations": [44, 45], "uses": ["lemma_05"],
    "proof_uses": []}

Two kinds of edges lead from a statement to its grounds. ``uses`` names the statements without which
the statement itself can't be read, because they define a symbol or a condition that it contains;
``proof_uses`` names those that its proof appeals to, by name or by one of their formulas. A
reference to a later statement doesn't count.

Whatever is missing, unreadable or wrong raises `BadInput`.
"""

import difflib
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import COUNT, MAPPING, TEXT, Entry, list_of
from scansnap_core.base.rules import Rule, one_of
from scansnap_core.ledger.contents import book_folder, chapter_paths, entries, read_contents
from scansnap_core.ledger.papers import Paper, papers_of

KEY = "scansnap"
OTHER_KINDS = ("figure", "notation", "claim", "law", "beyond", "equations")
"""What a page can be beside a statement: "claim" is what a paper says in words, "law" this book's
own statement, "beyond" what a paper leaves open, and "equations" tries formulas that stand between
its statements."""
WITHOUT_CARD = ("notation", "equations")
"""Kinds of pages that open without a verdict card."""

_IDS = list_of(TEXT, "it is a list of statements' ids")
_NUMBERS = list_of(COUNT, "it is a list of the paper's numbers")


@dataclass(frozen=True)
class Page:
    """A page that can hold a verdict."""

    id: str
    """The stem of its notebook's file name, such as ``"lemma_06"``."""
    paper: Paper
    kind: str
    """One of the paper's kinds of statements or of `OTHER_KINDS`."""
    number: int
    """The paper's number; 0 for a page that has none."""
    title: str
    """What its heading says that it is about."""
    equations: tuple[int, ...] = ()
    """The paper's numbers of the formulas that state it, or that prove it where the statement has
    none of its own.
    """
    uses: tuple[str, ...] = ()
    proof_uses: tuple[str, ...] = ()

    @property
    def is_statement(self) -> bool:
        """Tell whether the page is one of its paper's statements."""
        return self.kind in self.paper.statements

    @property
    def name(self) -> str:
        """Return the paper's name of it, such as ``"Lemma 6"``, or where it has no number, its
        title.
        """
        return _numbered(self.kind, self.number, self.paper) or self.title

    @property
    def label(self) -> str:
        """Return the name where there is little room: of another paper's statement ``"Lemma 6, Li
        2023"``.
        """
        paper = self.paper
        if paper.own or not self.number:
            return self.name
        return (
            f"{self.kind.capitalize()} {self.number}, {paper.authors[0].split()[-1]} {paper.year}"
        )


def _numbered(kind: str, number: int, paper: Paper) -> str:
    """Write the name of a statement or figure that has a number, such as "Lemma 6"; else ""."""
    return f"{kind.capitalize()} {number}{paper.of}" if number else ""


def page_of(
    page_id: str,
    heading: str,
    metadata: Mapping[str, Any],
    papers: Mapping[str, Paper],
    source: str,
) -> Page:
    """Make a page of what its notebook's first line and metadata say; errors call the notebook
    ``source``.

    Raises BadInput if a key is missing or wrong, or number, file name and heading disagree.
    """
    MAPPING(f"{source}: metadata", metadata)
    place = f"{source}: metadata.{KEY}"
    take = Entry(
        place, metadata.get(KEY), ("paper", "kind", "number", "equations", "uses", "proof_uses")
    )
    paper = papers[take("paper", one_of(papers))]
    kind = take("kind", one_of((*paper.statements, *OTHER_KINDS)))
    number = 0
    if kind == "figure" or kind in paper.statements:
        number = take("number", Rule(COUNT.holds, "it is the paper's number, from 1", "correct it"))
        if not re.fullmatch(rf"(.+_)?{'fig' if kind == 'figure' else kind}_0*{number}", page_id):
            rule = f"it is the number that the file's name says, after {kind}"
            raise BadInput(f"{place}.number = {number}", rule, "correct it")
    start = f"# {_numbered(kind, number, paper)}: " if number else "# "
    if not (title := heading.removeprefix(start).strip()) or not heading.startswith(start):
        rule = f"it is '{start}' and what the page is about"
        raise BadInput(f"{source}: the heading {heading!r}", rule, "correct it")
    lists = (("equations", _NUMBERS), ("uses", _IDS), ("proof_uses", _IDS))
    title = title[0].upper() + title[1:]
    return Page(
        page_id, paper, kind, number, title, *(tuple(take(key, rule, ())) for key, rule in lists)
    )


def read_page(path: Path, papers: Mapping[str, Paper]) -> Page:
    """Read the page that a notebook registers, by the first line of its first text and its
    metadata; ``papers`` are the book's, by id.
    """
    notebook = read_json(path)
    head = next(
        (cell.get("source") for cell in notebook["cells"] if cell.get("cell_type") == "markdown"),
        "",
    )
    try:
        heading = "".join(head).partition("\n")[0]
    except TypeError:
        raise unreadable(path, "the source of its first text is no text") from None
    return page_of(path.stem, heading, notebook["metadata"], papers, str(path))


def read_json(path: Path) -> dict[str, Any]:
    """Read a notebook of format 4 as it is written; its metadata are a mapping, and its cells a
    list of mappings.

    Cells have ids since format 4.5. Where an older one has none, as Colab saves it, they are named
    by their places.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise unreadable(path, "it isn't UTF-8 text") from None
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, str(error)) from None
    match notebook:
        case {
            "nbformat": 4,
            "nbformat_minor": int() as minor,
            "metadata": dict(),
            "cells": list() as cells,
        } if all(isinstance(cell, dict) for cell in cells):
            if minor < 5:
                notebook["nbformat_minor"] = 5
                for place, cell in enumerate(cells):
                    cell.setdefault("id", f"cell-{place:02}")
            return dict(notebook)
    raise unreadable(path, "it isn't of format 4, with metadata and a list of cells")


def unreadable(path: Path, reason: str) -> BadInput:
    """Say why a file is no notebook."""
    reason = textwrap.shorten(reason, 200, placeholder=" …")
    return BadInput(f"{path}", f"it is no readable notebook ({reason})", "restore the file")


def page(page_id: str, inside: Path | None = None) -> Page:
    """Look a page of a book up by its id, such as ``"lemma_06"``.

    The book is the one to which the folder ``inside`` belongs. By default that is the working
    folder, which is the notebook's own while a notebook runs. :class:`BadInput` names the nearest
    ids if no page has this one.
    """
    book = book_folder(inside or Path())
    return read_page(notebook_of(page_id, book), papers_of(read_contents(book)))


def notebook_of(page_id: str, inside: Path | None = None) -> Path:
    """Return the notebook of a page, which is found as by `page`."""
    paths = {path.stem: path for path in chapter_paths(book_folder(inside or Path()) / "chapters")}
    check_id(page_id, paths)
    return paths[page_id]


def check_id(page_id: str, known: Iterable[str]) -> None:
    """Raise :class:`BadInput` with the nearest ids unless an id is known."""
    known = list(known)
    if page_id not in known:
        same = [other for other in known if _bare(other) == _bare(page_id)]
        nearest = same or difflib.get_close_matches(page_id.lower(), known, n=3, cutoff=0.5)
        remedy = (
            f"did you mean {' or '.join(nearest)}?"
            if nearest
            else f"the ids are {', '.join(known)}"
        )
        raise BadInput(f"id = {page_id!r}", "it names no statement, figure or page", remedy)


def _bare(page_id: str) -> str:
    """Strip an id of what people forget or add: ``"Lemma 6"`` and ``"lemma_06"`` are the same."""
    return re.sub(r"[^a-z0-9]|(?<![0-9])0", "", page_id.lower())


def read_pages(book: Path) -> dict[str, Page]:
    """Read all pages of a book: paper by paper, statements, figures and the rest, by number or in
    the book's order.
    """
    contents = read_contents(book)
    papers = papers_of(contents)
    pages = [read_page(path, papers) for path in chapter_paths(book / "chapters")]
    for fault in page_faults(pages):
        raise fault
    listed = [Path(entry).with_suffix("").name for entry in entries(contents, book)]

    def place(page: Page) -> tuple[int, int, int, int]:
        """Return by what pages are sorted: paper, kind, number, and place in the book."""
        kinds = (*page.paper.statements, *OTHER_KINDS)
        at = listed.index(page.id) if page.id in listed else len(listed)
        return list(papers).index(page.paper.id), kinds.index(page.kind), page.number, at

    return {page.id: page for page in sorted(pages, key=place)}


def page_faults(pages: Iterable[Page]) -> Iterator[BadInput]:
    """Find where pages that are right by themselves don't go together.

    Two pages have the same id or name, or a page rests on something that is no statement of the
    book, or, through others, on itself.
    """
    pages = list(pages)
    for page, other in (
        (page, other) for number, page in enumerate(pages) for other in pages[:number]
    ):
        if other.id == page.id:
            yield BadInput(page.id, "two notebooks have this file name", "rename one of them")
        elif other.name == page.name:
            yield BadInput(
                page.id, f"{other.id} is {page.name} too", "correct the number of one of them"
            )
    statements = [page.id for page in pages if page.is_statement]
    for page in pages:
        for key, grounds in (("uses", page.uses), ("proof_uses", page.proof_uses)):
            for ground in (ground for ground in grounds if ground not in statements):
                value = f"{page.id}: metadata.{KEY}.{key} has {ground!r}"
                rule = "it is no statement of the book"
                yield BadInput(value, rule, "correct it, or add its notebook first")
    try:
        TopologicalSorter({page.id: {*page.uses, *page.proof_uses} for page in pages}).prepare()
    except CycleError as error:
        circle = " rests on ".join(reversed(error.args[1]))
        yield BadInput(
            circle, "nothing rests on itself", "correct uses or proof_uses of one of them"
        )


def statements(pages: Mapping[str, Page]) -> dict[str, Page]:
    """Return those of the pages that are statements of a paper."""
    return {page.id: page for page in pages.values() if page.is_statement}
