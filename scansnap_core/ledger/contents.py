"""A book's folder, the files below it, and its table of contents.

The folder that holds ``_toc.yml`` is the book. What can't be read raises `BadInput`.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError
from importlib.metadata import metadata as metadata_of
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.ledger.papers import TABLE_OF_CONTENTS

PAGE_SUFFIXES = (".ipynb", ".md", ".rst", ".txt")
"""Endings of the files that a table of contents may list without them."""
READING_PAGE = "trust"
"""The name of the page that begins with how a check is read."""


def book_folder(inside: Path) -> Path:
    """Return the book in which a folder lies: the nearest folder from there up that holds a table
    of contents.
    """
    start = inside.resolve()
    for folder in (start, *start.parents):
        if (folder / TABLE_OF_CONTENTS).is_file():
            return folder
    rule = (
        "a page is found by the book around it, and no folder from here up holds "
        f"{TABLE_OF_CONTENTS}"
    )
    remedy = "run this in the book's folder or below it"
    if address := _repository():
        remedy += f"; git clone {address} brings the book that this package comes with"
    raise BadInput(f"{start}", rule, remedy)


def _repository() -> str:
    """Return the address of this package's own sources, as it was installed with; empty where that
    isn't said.
    """
    with suppress(PackageNotFoundError):
        for entry in metadata_of(__name__.partition(".")[0]).get_all("Project-URL") or []:
            name, _, address = entry.partition(", ")
            if name == "Repository":
                return address
    return ""


def chapter_paths(chapters_dir: Path) -> list[Path]:
    """Return every notebook below a folder, sorted by path; BadInput if there is no such folder."""
    if not chapters_dir.is_dir():
        raise BadInput(
            f"{chapters_dir}",
            "there is no such folder",
            "run this in the book's folder, or name it",
        )
    return files_below(chapters_dir, ".ipynb")


def files_below(folder: Path, suffix: str) -> list[Path]:
    """Return the regular files below a folder whose names end so, sorted; editors hide theirs
    behind a leading dot.
    """
    found = (path for path in folder.rglob(f"*{suffix}") if path.is_file())
    return sorted(
        p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts)
    )


def read_contents(book: Path) -> dict[str, Any]:
    """Read a book's table of contents as it is written; BadInput if it is no mapping, or can't be
    read.
    """
    path = book / TABLE_OF_CONTENTS
    contents = files.read(path, example="restore it") if path.is_file() else None
    if not isinstance(contents, dict):
        rule = "the book needs a readable table of contents, which is a mapping"
        raise BadInput(f"{path}", rule, "run this in the book's folder, or name it with --book")
    return contents


def entries(contents: Any, book: Path) -> Iterator[str]:
    """Return the files that a book's table of contents lists, without suffix or with, in its
    order.
    """
    if isinstance(contents, dict):
        for key, value in contents.items():
            if key in ("root", "file"):
                yield str(value)
            elif key == "glob":
                yield from _matching(str(value), book)
            elif key != "meta":
                yield from entries(value, book)
    elif isinstance(contents, list):
        for value in contents:
            yield from entries(value, book)


def document_of(name: str, book: Path) -> str:
    """Return the document, without suffix, of what a book computes under a name, such as
    ``errata``.

    It is the document whose file has this name. In a book without such a page it is the first page,
    where a small book has all that is computed.
    """
    contents = read_contents(book)
    documents = (Path(entry).with_suffix("").as_posix() for entry in entries(contents, book))
    own = (document for document in documents if document.rpartition("/")[2] == name)
    return next(own, Path(str(contents.get("root"))).with_suffix("").as_posix())


def reading_link(chapter: Path) -> str:
    """Return the link from a chapter's file to how a chapter is read; empty where no page says it.

    The page is the one that the contents list under the name `READING_PAGE`.
    """
    book = book_folder(chapter.parent)
    document = document_of(READING_PAGE, book)
    if document.rpartition("/")[2] != READING_PAGE:
        return ""
    return Path(os.path.relpath(book / f"{document}.md", chapter.parent)).as_posix()


def _matching(pattern: str, book: Path) -> list[str]:
    """Return the pages, without suffix, whose names match a pattern, sorted as the site sorts
    them.
    """
    try:
        found = [
            path.relative_to(book)
            for suffix in PAGE_SUFFIXES
            for path in book.glob(f"{pattern}{suffix}")
        ]
    # pathlib raises the first where ** stands beside other characters, and the second for an
    # absolute pattern.
    except (ValueError, NotImplementedError):
        rule = "a pattern is that of files below the book's folder"
        raise BadInput(
            f"{TABLE_OF_CONTENTS}: glob: {pattern}", rule, "write e.g. chapters/*"
        ) from None
    return sorted({path.with_suffix("").as_posix() for path in found})
