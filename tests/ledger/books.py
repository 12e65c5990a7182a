"""Small books to verify: one good chapter, which each test spoils in its own way."""

import json
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from PIL import Image

GOOD_CELLS = (
    "from PIL import Image\n\nfrom scansnap_core.ledger import Chapter\n\nlemma = Chapter('lemma_08')",
    "for name in ('symbolic', 'numeric', 'empirical'):\n"
    "    lemma.witness(name).check(f'{name} half', 0.5, '<=', 0.6, control=0.7, control_is='another half')",
    "Image.new('RGBA', (64, 64), 'navy')",
    "print('a number:', 1 + 1)",
    "lemma.conclude()",
)
CHAPTER = Path("chapters", "statements", "lemma_08.ipynb")


def write_book(book: Path, *chapters: tuple[Path, tuple[str, ...]]) -> None:
    """A book whose chapters aren't executed yet."""
    for path, sources in chapters:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
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
    """Change the good chapter's stored cells."""
    path = book / CHAPTER
    notebook = json.loads(path.read_text())
    change(notebook["cells"])
    path.write_text(json.dumps(notebook))
