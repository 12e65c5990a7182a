"""The numbers in the book's prose: each stands in the text, where every reader sees it, and is compared.

In the text of a notebook or a page, ``<data value="drop">1.2</data>`` is the number ``drop`` that the chapter gives by
`Chapter.numbers`, or what its claim ``drop`` measured. ``<data value="lemma_03:drop">`` is another chapter's, and
``<data value="lemma_03:drop.control">`` what a claim's control gave.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.book.notebooks import code_cells, read_notebook, verdicts_in
from scansnap_core.extras import needs
from scansnap_core.ledger.entries import NUMBERS_MIME
from scansnap_core.ledger.registry import chapter_paths

with needs("book"):
    import nbformat

_NUMBER = re.compile(r'(<data value="([^"]*)">)((?:(?!</?data).)*)(</data>)', re.DOTALL)
_TAG = re.compile(r"<data\b[^>]*>?")

Notebooks = Mapping[Path, nbformat.NotebookNode]
Sources = Mapping[str, Mapping[str, str]]
"""A mapping from a chapter's id to its numbers by name."""


def numbers_in(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return the numbers that a notebook stores: its own by name, and those of its claims by id."""
    found: dict[str, str] = {}
    for verdict in verdicts_in(notebook):
        for entry in (*verdict.get("checks", []), *verdict.get("refutations", [])):
            found |= {entry["id"]: entry["measured"], f"{entry['id']}.control": entry["control"]}
    for cell in code_cells(notebook):
        for output in cell.outputs:
            found |= output.get("data", {}).get(NUMBERS_MIME, {})
    return found


def number_faults(book: Path) -> list[str]:
    """List numbers in the book's text that aren't the stored ones, have no source, or have a form that nobody compares.

    Raises
    ------
    BadInput
        If there are no chapters.
    """
    notebooks = _notebooks(book)
    sources = _sources(notebooks)
    faults = []
    for path, text in _texts(book, notebooks):
        place = path.relative_to(book)
        for _, name, said, _ in _NUMBER.findall(text):
            computed = _computed(name, path.stem, sources)
            if computed is None:
                faults.append(f"{place}: the text says {said!r} for {name}, and the chapter gives no such number")
            elif computed != said:
                remedy = "run scansnap verify --store"
                faults.append(
                    f"{place}: the text says {said!r} for {name}, and the chapter computes {computed!r}: {remedy}"
                )
        faults += [
            f'{place}: {tag} is no number that is compared: write <data value="name">…</data>'
            for tag in _TAG.findall(_NUMBER.sub("", text))
        ]
    return faults


def write_numbers(book: Path) -> None:
    """Write the stored numbers into the book's text; a number without a source stays.

    Raises
    ------
    BadInput
        If there are no chapters, or a file can't be written.
    """
    notebooks = _notebooks(book)
    sources = _sources(notebooks)
    for path, text in _texts(book, notebooks):
        if _filled(text, path.stem, sources) == text:
            continue
        if path in notebooks:
            for cell in _prose(notebooks[path]):
                cell.source = _filled(cell.source, path.stem, sources)
            files.save(path, nbformat.writes(notebooks[path]).rstrip("\n") + "\n")
        else:
            files.save(path, _filled(text, path.stem, sources))


def texts(book: Path) -> Iterator[tuple[Path, str]]:
    """Read the prose of every page of a book, with its file; none of a notebook that can't be read."""
    yield from _texts(book, _notebooks(book))


def _notebooks(book: Path) -> Notebooks:
    """Read the notebooks that can be read; verifying another one says that it can't be."""
    found = {}
    for path in chapter_paths(book / "chapters"):
        try:
            found[path] = read_notebook(path)
        except BadInput:
            continue
    return found


def _sources(notebooks: Notebooks) -> Sources:
    return {path.stem: numbers_in(notebook) for path, notebook in notebooks.items()}


def _prose(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


def _texts(book: Path, notebooks: Notebooks) -> Iterator[tuple[Path, str]]:
    for path, notebook in notebooks.items():
        yield path, "\n\n".join(cell.source for cell in _prose(notebook))
    for path in sorted((book / "chapters").rglob("*.md")):
        yield path, path.read_text(encoding="utf-8")


def _computed(name: str, page_id: str, sources: Sources) -> str | None:
    page, _, key = name.rpartition(":")
    return sources.get(page or page_id, {}).get(key)


def _filled(text: str, page_id: str, sources: Sources) -> str:
    def number(match: re.Match[str]) -> str:
        computed = _computed(match[2], page_id, sources)
        return match[1] + (match[3] if computed is None else computed) + match[4]

    return _NUMBER.sub(number, text)
