"""What the book doesn't know: conjectures, what chapters leave open, and what nobody has tried.

A paragraph or an item of a list in a chapter's text is listed if it begins with a label in bold:
``**Conjecture`` or ``**Open``. Its words stand in the chapter alone; the page that lists them is
drawn from it.

Each function here raises `BadInput` if the book's folder or a notebook can't be read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scansnap_core.book.notebooks import read_notebook, read_stored
from scansnap_core.ledger.cards import SILENCE
from scansnap_core.ledger.display import render
from scansnap_core.ledger.registry import Page, notebook_of, read_pages

LABELS = {"conjecture": "Conjecture", "open": "Open"}
"""What is listed, by the label that stands in bold at its beginning."""
_TEMPLATES = Path(__file__).with_name("templates")
_UNTRIED = list(SILENCE)[1]
_ITEM = re.compile(r"\n(?=- )")
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_LABEL = re.compile(r"(?:- )?\*\*(?P<label>[A-Z][a-z]+)\b")
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")
_NUMBER = re.compile(r'<data value="(?!\w+:)')


@dataclass(frozen=True)
class OpenPoint:
    """Something that a chapter doesn't know: the chapter, and its words as Markdown in one line.

    Links in the text begin at the folder ``chapters``, and its numbers name their chapter.
    """

    page: Page
    text: str


def marked(book: Path, label: str) -> list[OpenPoint]:
    """List the paragraphs of all chapters that begin with a label of `LABELS`, in book order."""
    found = []
    for page in read_pages(book).values():
        path = notebook_of(page.id, book)
        folder = path.resolve().parent.relative_to((book / "chapters").resolve()).as_posix()
        for cell in read_notebook(path).cells:
            if cell.cell_type == "markdown":
                own = _labelled(cell.source, label)
                found += [OpenPoint(page, _moved(words, page, folder)) for words in own]
    return found


def _labelled(text: str, label: str) -> list[str]:
    """Return the paragraphs and items that begin with a label, without Markdown marks before it."""
    own = []
    for paragraph in re.split(r"\n\s*\n", text):
        for part in _ITEM.split(_QUOTED.sub("", paragraph)):
            begun = _LABEL.match(part)
            if begun and begun["label"] == LABELS[label]:
                own.append(" ".join(part.removeprefix("- ").split()))
    return own


def _moved(text: str, page: Page, folder: str) -> str:
    """Rewrite a text of a page in a folder below ``chapters`` so that it can stand in ``chapters``.

    Relative links get the folder in front, and the page's own numbers its id.
    """

    def from_chapters(link: re.Match[str]) -> str:
        """Write the end of a Markdown link from ``chapters``."""
        return f"]({posixpath.normpath(posixpath.join(folder, link[1]))})"

    linked = _LINK.sub(from_chapters, text)
    return _NUMBER.sub(f'<data value="{page.id}:', linked)


def untried_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw which pages' claims nobody has tried under each of the papers' other dynamics."""
    stored = read_stored(book)
    names = {row.row: row.named for page in stored.pages.values() for row in page.paper.dynamics}
    untried: dict[str, list[tuple[str, str]]] = {name: [] for name in names.values()}
    for page_id, page in stored.pages.items():
        for row in stored.own(page_id).card:
            if row.word == _UNTRIED and row.of in names:
                untried[names[row.of]].append((page.name, page_url(page_id)))
    return render(_TEMPLATES / "untried.html", untried=untried)


def sampled_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw a list of the claims that are made for all cases and were tried on some of them.

    A chapter marks such a claim with the reason why it wasn't proved, which stands beside it.
    """
    stored = read_stored(book)
    sampled = [
        (page.name, page_url(page_id), entry)
        for page_id, page in stored.pages.items()
        for entry in stored.own(page_id).sampled
    ]
    return render(_TEMPLATES / "sampled.html", sampled=sampled)
