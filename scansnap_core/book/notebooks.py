"""The book's notebooks: where they are, the verdicts that they store, and the numbers that the
book's prose quotes.

Every computed page is drawn from the verdicts. The numbers in prose stand in the text, where every
reader sees them, and are compared. In the text of a notebook, a page or a card, ``<data
value="drop">1.2</data>`` is the number ``drop`` that the chapter gives by `Chapter.numbers`, or
what its claim ``drop`` measured. ``<data value="lemma_03:drop">`` is another chapter's, and ``<data
value="lemma_03:drop.control">`` what a claim's control gave.

What can't be read raises `BadInput`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.extras import needs
from scansnap_core.ledger.claims import read_claims
from scansnap_core.ledger.entries import Finding
from scansnap_core.ledger.papers import TABLE_OF_CONTENTS
from scansnap_core.ledger.prose import NUMBER, NUMBERS_MIME
from scansnap_core.ledger.registry import (
    PAGE_SUFFIXES,
    Page,
    chapter_paths,
    entries,
    files_below,
    read_contents,
    read_json,
    read_pages,
    statements,
    unreadable,
)
from scansnap_core.ledger.verdicts import HOLDS, HOLDS_UNDER_A_CONDITION, VERDICT_MIME, Verdict

with needs("book"):
    import nbformat
    from nbformat import NotebookNode
    from nbformat.validator import iter_validate

_TAG = re.compile(r"<data\b[^>]*>?")
_SENTENCE_ENDS = re.compile(r"[.!?]\s+|\n\s*(?:[-*|]\s|\n)")


def read_notebook(path: Path) -> NotebookNode:
    """Read a stored notebook, or raise BadInput that says where it isn't a valid one."""
    content = read_json(path)
    try:
        fault = next(iter_validate(content), None)
        notebook: NotebookNode = nbformat.v4.to_notebook(content)
    except Exception as error:  # nbformat's own, on what no schema foresaw
        raise unreadable(path, f"{type(error).__name__}: {error}") from None
    if fault is not None:
        raise unreadable(path, f"{'.'.join(map(str, fault.absolute_path))}: {fault.message}")
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return a notebook's code cells that hold code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _markdown(notebook: NotebookNode) -> list[NotebookNode]:
    """Return a notebook's cells of text, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


def _stored_as(mime: str, notebook: NotebookNode) -> list[Any]:
    """Return what a notebook's outputs hold under a MIME type, in order."""
    outputs = (output for cell in code_cells(notebook) for output in cell.outputs)
    return [output.data[mime] for output in outputs if mime in output.get("data", {})]


def verdicts_in(notebook: NotebookNode) -> list[Verdict]:
    """Return every verdict in a notebook's outputs; what only stands in the place of one is
    none.
    """
    read = map(Verdict.of_json, _stored_as(VERDICT_MIME, notebook))
    return [verdict for verdict in read if verdict is not None]


def contents(book: Path) -> tuple[dict[Path, Path], list[str]]:
    """Find the files of the entries of a book's table of contents, by their resolved paths; and
    list its faults.

    A fault is an entry that has no file, or whose file another entry has.
    """
    pages: dict[Path, Path] = {}
    faults = []
    for entry in entries(read_contents(book), book):
        files_of = (book / f"{entry}{suffix}" for suffix in ("", *PAGE_SUFFIXES))
        found = {path.resolve(): path for path in files_of if path.is_file()}
        if not found:
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, which has no file")
        if found.keys() & pages.keys():
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, whose file it lists already")
        pages |= found
    return pages, faults


@dataclass(frozen=True)
class Stored:
    """The pages of a book, and the verdicts that their notebooks store."""

    pages: Mapping[str, Page]
    """As `read_pages` orders them."""
    verdicts: Mapping[str, Verdict]
    """Each page's own, which is open where its chapter stores none, or where it is missing here."""

    @cached_property
    def statements(self) -> dict[str, Page]:
        """Return those of the pages that are statements."""
        return statements(self.pages)

    def claims(self, place: str, page_id: str, claim_ids: Any) -> list[Finding]:
        """Return the checks, refutations and proofs of a page that a file of the book lists by
        their ids, each once.

        `place` says where the list stands.
        """
        if not (
            isinstance(claim_ids, list)
            and all(claim_ids.count(claim_id) == 1 for claim_id in claim_ids)
        ):
            raise BadInput(
                f"{place}: {page_id}", "it lists ids of the page's claims, each once", "correct it"
            )
        found = {entry.id: entry for entry in self.own(page_id).findings}
        if missing := [claim_id for claim_id in claim_ids if claim_id not in list(found)]:
            rule = f"{page_id} stores no such claim"
            raise BadInput(
                f"{place}: {page_id}:{missing[0]}", rule, "correct the id, or store the chapter"
            )
        return [found[claim_id] for claim_id in claim_ids]

    def own(self, page_id: str) -> Verdict:
        """Return what one page stores; an open verdict where that is nothing."""
        return self.verdicts.get(page_id, Verdict(page_id))

    def verdict_of(self, page_id: str) -> str:
        """Return one page's verdict in words, ``"open"`` where nothing is stored."""
        return self.own(page_id).verdict

    def unverified_grounds(self, statement_id: str) -> list[str]:
        """List the statements that don't hold and on which a proof rests, directly or through other
        proofs.
        """
        grounds = self._grounds(statement_id)
        return [s for s in self.statements if s in grounds and not self._holds(s)]

    def _grounds(self, statement_id: str) -> set[str]:
        """Return the statements on which a proof rests, directly or through other proofs."""
        direct = set(self.statements[statement_id].proof_uses)
        return direct.union(*map(self._grounds, direct))

    @cached_property
    def fully_verified(self) -> frozenset[str]:
        """Return the statements that hold, and whose proofs rest only on statements that hold, all
        the way back.
        """
        return frozenset(
            s for s in self.statements if self._holds(s) and not self.unverified_grounds(s)
        )

    def _holds(self, page_id: str) -> bool:
        """Tell whether a page's statement holds, if only under a condition."""
        return self.verdict_of(page_id) in (HOLDS, HOLDS_UNDER_A_CONDITION)


def read_stored(book: Path) -> Stored:
    """Read the pages of a book's folder, and the verdicts that its notebooks store."""
    pages = read_pages(book)
    found: dict[str, Verdict] = {}
    for path in chapter_paths(book / "chapters"):
        own = [verdict for verdict in verdicts_in(read_notebook(path)) if verdict.id == path.stem]
        found[path.stem] = own[0] if own else Verdict(path.stem)
    return Stored(pages, {page_id: found[page_id] for page_id in pages})


def _is_numbers(value: Any) -> bool:
    """Tell whether a value, read from a notebook, maps names to written numbers."""
    return isinstance(value, dict) and all(isinstance(number, str) for number in value.values())


# -- prose and its numbers -------------------------------------------------------------------------


class Prose:
    """The prose of a book, and the numbers that its notebooks give; none of a file that can't be
    read.
    """

    def __init__(self, book: Path) -> None:
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
            for numbers in filter(_is_numbers, _stored_as(NUMBERS_MIME, notebook)):
                given |= numbers
        self.texts = {
            path: "\n\n".join(cell.source for cell in _markdown(nb))
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
            for cell in _markdown(prose.notebooks[path]):
                cell.source = prose.filled(cell.source, path)
            write_notebook(prose.notebooks[path], path)
        else:
            files.save(path, filled)


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook whole or not at all."""
    files.save(path, nbformat.writes(notebook).rstrip("\n") + "\n")
