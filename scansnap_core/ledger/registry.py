"""The pages of a book, each registered by its own notebook, and the papers that its table of contents names.

The folder that holds ``_toc.yml`` is the book. Its notebooks lie below ``chapters/``, and a page's id is the stem of
its notebook's file name. The papers stand in the table of contents, the one that the book is about first::

    meta:
      papers:
        tian2023:
          title: Scan and Snap
          authors: [Yuandong Tian, Yiping Wang, Beidi Chen, Simon S. Du]
          year: 2023
          statements: [lemma, theorem, corollary]
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger.pages import OTHER_KINDS, Page, Paper, page_of, paper_of

TABLE_OF_CONTENTS = "_toc.yml"


def book_folder(inside: Path) -> Path:
    """Return the book in which a folder lies: the nearest folder from there up that holds a table of contents.

    Raises
    ------
    BadInput
        If there is none.
    """
    for folder in (here := inside.resolve(), *here.parents):
        if (folder / TABLE_OF_CONTENTS).is_file():
            return folder
    raise BadInput(
        f"{inside.resolve()}",
        f"a page is found by the book around it, and no folder from here up holds {TABLE_OF_CONTENTS}",
        "run this in the book's folder or below it",
    )


def chapter_paths(chapters_dir: Path) -> list[Path]:
    """Return every notebook below a folder, sorted.

    Raises
    ------
    BadInput
        If there is no such folder.
    """
    if not chapters_dir.is_dir():
        raise BadInput(f"{chapters_dir}", "there is no such folder", "run this in the book's folder, or name it")
    return sorted(p for p in chapters_dir.rglob("*.ipynb") if p.parent.name != ".ipynb_checkpoints")


def read_contents(book: Path) -> dict[str, Any]:
    """Read the table of contents as it is written.

    Raises
    ------
    BadInput
        If it is missing or unreadable, or names a key twice.
    """
    from scansnap_core import files

    path = book / TABLE_OF_CONTENTS
    contents = files.read(path, example="restore it") if path.is_file() else None
    if not isinstance(contents, dict):
        rule = "the book needs a readable table of contents, which is a mapping"
        raise BadInput(f"{path}", rule, "run this in the book's folder, or name it with --book")
    return contents


def entries(contents: Any) -> Iterator[str]:
    """Return the files that a table of contents lists, without suffix or with, in its order."""
    if isinstance(contents, dict):
        for key, value in contents.items():
            if key in ("root", "file"):
                yield str(value)
            elif key != "meta":
                yield from entries(value)
    elif isinstance(contents, list):
        for value in contents:
            yield from entries(value)


def papers_of(contents: Mapping[str, Any]) -> dict[str, Paper]:
    """Return the papers that a table of contents names, the one that the book is about first.

    Raises
    ------
    BadInput
        If it names none, or one of them badly.
    """
    try:
        named = dict(contents["meta"]["papers"])
        first = next(iter(named))
    except (KeyError, TypeError, ValueError, StopIteration):
        rule = "the table of contents names the papers that the book checks"
        raise BadInput(f"{TABLE_OF_CONTENTS}: meta.papers", rule, "add the paper that the book is about") from None
    return {key: paper_of(key, entry, TABLE_OF_CONTENTS, own=key == first) for key, entry in named.items()}


def read_page(path: Path, papers: Mapping[str, Paper]) -> Page:
    """Read the page that a notebook registers.

    Raises
    ------
    BadInput
        If the file is no readable notebook, or its heading or its metadata are wrong.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        head = next((cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"), "")
        heading, metadata = "".join(head).partition("\n")[0], notebook["metadata"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{path}", f"it is no readable notebook ({type(error).__name__})", "restore the file") from None
    return page_of(path.stem, heading, metadata, papers, str(path))


def page(page_id: str, inside: Path | None = None) -> Page:
    """Look a page of a book up.

    Parameters
    ----------
    page_id : str
        The stem of its notebook's file name.
    inside : Path, optional
        The book's folder or one below it, by default the working one, which for a notebook is the notebook's own.

    Raises
    ------
    BadInput
        If there is no book or no such page, whereupon the nearest ids are suggested; or the page's metadata are wrong.
    """
    book = book_folder(inside or Path())
    return read_page(notebook_of(page_id, book), papers_of(read_contents(book)))


def notebook_of(page_id: str, inside: Path | None = None) -> Path:
    """Return the notebook of a page; arguments and errors are those of `page`."""
    paths = {path.stem: path for path in chapter_paths(book_folder(inside or Path()) / "chapters")}
    check_id(page_id, paths)
    return paths[page_id]


def check_id(page_id: str, known: Iterable[str]) -> None:
    """Raise :class:`BadInput` with the nearest ids unless an id is known."""
    known = list(known)
    if page_id not in known:
        same = [other for other in known if _bare(other) == _bare(page_id)]
        nearest = same or difflib.get_close_matches(page_id.lower(), known, n=3, cutoff=0.5)
        remedy = f"did you mean {' or '.join(nearest)}?" if nearest else f"the ids are {', '.join(known)}"
        raise BadInput(f"id = {page_id!r}", "it names no statement, figure or page", remedy)


def _bare(page_id: str) -> str:
    """Strip an id of what people forget or add: ``"Lemma 6"`` and ``"lemma_06"`` are the same."""
    return re.sub(r"[^a-z0-9]|(?<![0-9])0", "", page_id.lower())


def read_pages(book: Path) -> dict[str, Page]:
    """Read all pages of a book: paper by paper, statements, figures and the rest, by number or in the book's order.

    Raises
    ------
    BadInput
        If the table of contents or a notebook is unreadable, or what they say of papers and pages is wrong.
    """
    contents = read_contents(book)
    papers = papers_of(contents)
    pages = [read_page(path, papers) for path in chapter_paths(book / "chapters")]
    if faults := page_faults(pages):
        raise BadInput(*faults[0])
    listed = [Path(entry).with_suffix("").name for entry in entries(contents)]

    def place(page: Page) -> tuple[int, int, int, int]:
        kinds = (*page.paper.statements, *OTHER_KINDS)
        at = listed.index(page.id) if page.id in listed else len(listed)
        return list(papers).index(page.paper.id), kinds.index(page.kind), page.number, at

    return {page.id: page for page in sorted(pages, key=place)}


def page_faults(pages: Iterable[Page]) -> list[tuple[str, str, str]]:
    """Find where pages that are right by themselves don't go together, as the arguments of :class:`BadInput`.

    Two have one id or one name, one rests on what is no statement of the book, or in the end on itself.
    """
    pages = list(pages)
    faults = []
    for number, page in enumerate(pages):
        for other in pages[:number]:
            if other.id == page.id:
                faults.append((f"{page.id}", "two notebooks have this file name", "rename one of them"))
            elif other.name == page.name:
                faults.append((f"{page.id}", f"{other.id} is {page.name} too", "correct the number of one of them"))
    statements = {page.id: page for page in pages if page.is_statement}
    for page in pages:
        for key in ("uses", "proof_uses"):
            for ground in getattr(page, key):
                if ground not in statements:
                    value = f"{page.id}: metadata.scansnap.{key} has {ground!r}"
                    faults.append((value, "it is no statement of the book", "correct it, or add its notebook first"))
    try:
        TopologicalSorter({page.id: {*page.uses, *page.proof_uses} for page in pages}).prepare()
    except CycleError as error:
        rule = "nothing rests on itself"
        faults.append((" rests on ".join(reversed(error.args[1])), rule, "correct uses or proof_uses of one of them"))
    return faults


def statements(pages: Mapping[str, Page]) -> dict[str, Page]:
    """Return those of the pages that are statements of a paper."""
    return {page.id: page for page in pages.values() if page.is_statement}
