"""Small books to verify: one good chapter, which each test spoils in its own way."""

import json
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from PIL import Image

from scansnap_core.ledger import PAGES, VERDICT_MIME

GOOD_CELLS = (
    "from PIL import Image\n\nfrom scansnap_core.ledger import Chapter\n\n"
    "another = 0.2.__add__\nlemma = Chapter('lemma_08')",
    "for name in ('symbolic', 'numeric', 'empirical'):\n"
    "    lemma.witness(name).check(f'{name} half', 0.5, '<=', 0.6, control=another(0.5), control_is='another half')",
    "Image.new('RGBA', (64, 64), 'navy')",
    "print('a number:', 1 + 1)",
    "lemma.conclude()",
)
CHAPTER = Path("chapters", "statements", "lemma_08.ipynb")


def write_book(book: Path, *chapters: tuple[Path, tuple[str, ...]]) -> None:
    """A book whose chapters aren't executed yet."""
    for path, sources in chapters:
        heading = f"# {PAGES[path.stem].name}: a heading" if path.stem in PAGES else "# A heading"
        cells = [nbformat.v4.new_markdown_cell(heading), *map(nbformat.v4.new_code_cell, sources)]
        notebook = nbformat.v4.new_notebook(cells=cells)
        (book / path).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, book / path)
    (book / "chapters" / "index.md").write_text("# Home\n")
    entries = "".join(f"- file: {path.with_suffix('')}\n" for path, _ in chapters)
    (book / "_toc.yml").write_text(f"format: jb-book\nroot: chapters/index\nchapters:\n{entries}")


def png(colour: str) -> str:
    """A picture as a notebook stores it."""
    file = BytesIO()
    Image.new("RGB", (64, 64), colour).save(file, "png")
    return b64encode(file.getvalue()).decode()


def spoil(book: Path, change: Callable[[list[Any]], None]) -> None:
    """Change the good chapter's stored code cells."""
    path = book / CHAPTER
    notebook = json.loads(path.read_text())
    heading, *cells = notebook["cells"]
    change(cells)
    notebook["cells"] = [heading, *cells]
    path.write_text(json.dumps(notebook))


def change_code(cells: list[Any]) -> None:
    cells[3]["source"] = "print('a number:', 1 + 2)"


def claim_falsely(cells: list[Any]) -> None:
    cells[1]["source"][1] = cells[1]["source"][1].replace("0.5, '<=', 0.6", "0.61, '<=', 0.6")


def write_to_stderr(cells: list[Any]) -> None:
    cells[3]["source"] = "import sys; print('careful', file=sys.stderr)"
    cells[3]["outputs"] = [{"output_type": "stream", "name": "stderr", "text": ["careful\n"]}]


def claim_another_statement(cells: list[Any]) -> None:
    cells[0]["source"][-1] = "lemma = Chapter('lemma_09')"


def replace_verdict(cells: list[Any]) -> None:
    cells[4]["outputs"][0]["data"][VERDICT_MIME]["verdict"] = "fails as printed"


def clear(cells: list[Any]) -> None:
    for cell in cells:
        cell["outputs"], cell["execution_count"] = [], None
