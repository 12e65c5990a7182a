"""The book's prose, and the numbers that it quotes from notebooks.

The numbers stand in the text, where every reader sees them, and are compared. In the text of a
notebook, a page or a card, ``<data value="drop">1.2</data>`` is the number ``drop`` that the
chapter gives by `Chapter.numbers`, or what its claim ``drop`` measured. ``<data
value="lemma_03:drop">`` is another chapter's, and ``<data value="lemma_03:drop.control">`` what a
claim's control gave.

What can't be read raises `BadInput`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.book.notebooks import (
    contents,
    read_notebook,
    stored_as,
    text_cells,
    verdicts_in,
    write_notebook,
)
from scansnap_core.ledger.claims import read_claims
from scansnap_core.ledger.contents import chapter_paths, files_below
from scansnap_core.ledger.prose import NUMBER, NUMBERS_MIME

if TYPE_CHECKING:
    from nbformat import NotebookNode

_TAG = re.compile(r"<data\b[^>]*>?")
_SENTENCE_ENDS = re.compile(r"[.!?]\s+|\n\s*(?:[-*|]\s|\n)")


def _is_numbers(value: Any) -> bool:
    """Tell whether a value, read from a notebook, maps names to written numbers."""
    return isinstance(value, dict) and all(isinstance(number, str) for number in value.values())


class Prose:
    """The prose of a book, and the numbers that its notebooks give; none of a file that can't be
    read.
    """

    def __init__(self, book: Path) -> None:
        """Read all texts of a book, and the numbers that its notebooks store, by chapter and name.

        A chapter's numbers are what its checks and refutations measured, by their ids, and those
        that it gives its prose. Texts are those of notebooks, of listed Markdown pages, and of
        files of claims.
        """
        self.unreadable: list[str] = []
        self.notebooks: dict[Path, NotebookNode] = {}
        self.numbers: dict[str, dict[str, str]] = {}
        for path in chapter_paths(book / "chapters"):
            try:
                self.notebooks[path] = notebook = read_notebook(path)
            except BadInput:  # verifying it says so
                continue
            given = self.numbers[path.stem] = {}
            for verdict in verdicts_in(notebook):
                for entry in (*verdict.checks, *verdict.refutations):
                    given |= {entry.id: entry.measured, f"{entry.id}.control": entry.control}
            for numbers in filter(_is_numbers, stored_as(NUMBERS_MIME, notebook)):
                given |= numbers
        self.texts = {
            path: "\n\n".join(cell.source for cell in text_cells(nb))
            for path, nb in self.notebooks.items()
        }
        pages = [path for path in contents(book)[0].values() if path.suffix == ".md"]
        for path in [*pages, *files_below(book / "chapters", ".yaml")]:
            try:
                self.texts[path] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                self.unreadable.append(
                    f"{path.relative_to(book)}: it isn't UTF-8 text; save it as such"
                )
            except OSError as error:
                self.unreadable.append(
                    f"{path.relative_to(book)}: it can't be read ({error.strerror})"
                )

    def computed(self, name: str, path: Path) -> str | None:
        """Return the number of this name that a file quotes; None if its chapter gives none."""
        page, _, key = name.rpartition(":")
        return self.numbers.get(page or path.stem, {}).get(key)

    def quotes(self, text: str) -> Iterator[tuple[str, list[str], str]]:
        """Find the numbers of other chapters in a text.

        Yields each one's name, the words of which one has to stand beside it, and the words that
        do: those of its sentence, up to the numbers before and after it.
        """
        found = list(NUMBER.finditer(text))
        ends = [0, *(end for match in found for end in match.span()), len(text)]
        for place, match in enumerate(found):
            page, _, key = match[2].rpartition(":")
            if page in self.beside:
                before = _SENTENCE_ENDS.split(text[ends[2 * place] : match.start()])[-1]
                after = _SENTENCE_ENDS.split(text[match.end() : ends[2 * place + 3]])[0]
                yield (
                    match[2],
                    self.beside[page].get(key, "").split(" | "),
                    " ".join(f"{before} {after}".split()),
                )

    @cached_property
    def beside(self) -> dict[str, dict[str, str]]:
        """Return for each chapter, by a number's name, the words of which one has to stand beside
        the number wherever the prose quotes it, such as ``at least | at most``.

        A chapter whose file of claims can't be read is left out. Who reads its claims says so.
        """
        found: dict[str, dict[str, str]] = {}
        for path in self.notebooks:
            with suppress(BadInput):
                numbers = read_claims(path.with_suffix(".yaml")).numbers
                found[path.stem] = {name: scope.beside for name, scope in numbers.items()}
        return found

    def filled(self, text: str, path: Path) -> str:
        """Return a file's text with the numbers that its chapters give; one without a source
        stays.
        """

        def number(match: re.Match[str]) -> str:
            """Write a number's tag with the chapter's number in it."""
            computed = self.computed(match[2], path)
            return match[1] + (match[3] if computed is None else computed) + match[4]

        return NUMBER.sub(number, text)


def texts(book: Path) -> Iterator[tuple[Path, str]]:
    """Return the prose of every page of a book, with its file; none of a notebook that can't be
    read.
    """
    yield from Prose(book).texts.items()


def number_faults(book: Path) -> list[str]:
    """List numbers in the book's text that aren't the stored ones, have no source, or escape the
    comparison.

    A text that can't be read is a fault too.
    """
    prose = Prose(book)
    faults = prose.unreadable
    for path, text in prose.texts.items():
        place = path.relative_to(book)
        for _, name, printed, _ in NUMBER.findall(text):
            fault = f"{place}: the text says {printed!r} for {name}, and the chapter"
            if (computed := prose.computed(name, path)) is None:
                faults.append(f"{fault} gives no such number")
            elif computed != printed:
                faults.append(f"{fault} computes {computed!r}: run scansnap verify --store")
        faults += [
            f"{place}: {name} isn't beside {' or '.join(map(repr, words))}, as its chapter's file "
            "of claims asks"
            for name, words, around in prose.quotes(text)
            if not any(each in around for each in words)
        ]
        faults += [
            f'{place}: {tag} is no number that is compared: write <data value="name">…</data>'
            for tag in _TAG.findall(NUMBER.sub("", text))
        ]
    return faults


def write_numbers(book: Path) -> None:
    """Write the stored numbers into the book's text; a number without a source stays."""
    prose = Prose(book)
    for path, text in prose.texts.items():
        filled = prose.filled(text, path)
        if filled == text:
            continue
        if path in prose.notebooks:
            for cell in text_cells(prose.notebooks[path]):
                cell.source = prose.filled(cell.source, path)
            write_notebook(prose.notebooks[path], path)
        else:
            files.save(path, filled)
