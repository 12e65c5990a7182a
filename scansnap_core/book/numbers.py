"""The numbers in the book's prose: each stands in the text, where every reader sees it, and is compared.

In the text of a notebook or a page, ``<data value="drop">1.2</data>`` is the number ``drop`` that the chapter gives by
`Chapter.numbers`, or what its claim ``drop`` measured. ``<data value="lemma_03:drop">`` is another chapter's, and
``<data value="lemma_03:drop.control">`` what a claim's control gave.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.book.notebooks import code_cells, read_notebook, verdicts_in
from scansnap_core.ledger.entries import NUMBERS_MIME
from scansnap_core.ledger.registry import chapter_paths

_NUMBER = re.compile(r'(<data value="([^"]*)">)(.*?)(</data>)', re.DOTALL)


def numbers_in(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The numbers that a notebook stores: its own by name, and those of its claims by id."""
    found: dict[str, str] = {}
    for verdict in verdicts_in(notebook):
        for entry in (*verdict.get("checks", []), *verdict.get("refutations", [])):
            found |= {entry.get("id", ""): entry["measured"], f"{entry.get('id')}.control": entry["control"]}
    for cell in code_cells(notebook):
        for output in cell.outputs:
            found |= output.get("data", {}).get(NUMBERS_MIME, {})
    return found


def number_faults(book: Path) -> list[str]:
    """Where a number in the book's text isn't the stored one, or has no source.

    Raises
    ------
    BadInput
        If a notebook can't be read.
    """
    sources = _sources(book)
    return [
        f"{path.relative_to(book)}: the text says {said!r} for {name}, and the chapter "
        + (f"computes {computed!r}: run scansnap verify --store" if computed is not None else "gives no such number")
        for path, name, said, computed in _quoted(book, sources)
        if said != computed
    ]


def write_numbers(book: Path) -> None:
    """Write the stored numbers into the book's text; a number without a source stays.

    Raises
    ------
    BadInput
        If a notebook can't be read, or a file can't be written.
    """
    sources = _sources(book)
    for path in sorted({path for path, _, said, computed in _quoted(book, sources) if computed not in (None, said)}):
        if path.suffix == ".ipynb":
            notebook = read_notebook(path)
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = _filled(cell.source, path.stem, sources)
            files.save(path, nbformat.writes(notebook).rstrip("\n") + "\n")
        else:
            files.save(path, _filled(path.read_text(encoding="utf-8"), path.stem, sources))


Sources = Mapping[str, Mapping[str, str]]
"""From a chapter's id to its numbers by name."""


def _sources(book: Path) -> Sources:
    return {path.stem: numbers_in(read_notebook(path)) for path in _readable(book)}


def _readable(book: Path) -> Iterator[Path]:
    for path in chapter_paths(book / "chapters"):
        try:
            read_notebook(path)
        except BadInput:  # verifying the chapter itself says so
            continue
        yield path


def _texts(book: Path) -> Iterator[tuple[Path, str]]:
    for path in _readable(book):
        cells = read_notebook(path).cells
        yield path, "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for path in sorted((book / "chapters").rglob("*.md")):
        yield path, path.read_text(encoding="utf-8")


def _quoted(book: Path, sources: Sources) -> Iterator[tuple[Path, str, str, str | None]]:
    """Every number in the text: its file, its name, what stands there, and what its chapter computes."""
    for path, text in _texts(book):
        for _, name, said, _ in _NUMBER.findall(text):
            yield path, name, said, _computed(name, path.stem, sources)


def _computed(name: str, page_id: str, sources: Sources) -> str | None:
    page, _, key = name.rpartition(":")
    return sources.get(page or page_id, {}).get(key)


def _filled(text: str, page_id: str, sources: Sources) -> str:
    def number(match: re.Match[str]) -> str:
        computed = _computed(match[2], page_id, sources)
        return match[1] + (match[3] if computed is None else computed) + match[4]

    return _NUMBER.sub(number, text)
