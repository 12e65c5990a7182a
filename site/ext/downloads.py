"""A downloaded chapter begins with a cell that brings the book: alone it would stop at its first
import.
"""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from scansnap_core.base import files

BRING = """# This chapter runs inside of its book. Run these lines once: they bring it, some 1.7 GB.
!git clone --quiet --depth 1 {repository}
%cd {name}
%pip install --quiet '.[book]'
%cd {folder}"""
CELL_ID = "bring-the-book"


def with_book(notebook: dict[str, Any], repository: str, folder: str) -> dict[str, Any]:
    """Return a notebook with the cell in front.

    Parameters
    ----------
    notebook
        As its file holds it.
    repository
        The address of the book's repository.
    folder
        Where the notebook lies in it.
    """
    name = repository.rstrip("/").rpartition("/")[2]
    text = BRING.format(repository=repository, name=name, folder=folder)
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": CELL_ID,
        "metadata": {},
        "outputs": [],
        "source": text.splitlines(keepends=True),
    }
    return {**notebook, "cells": [cell, *notebook["cells"]]}


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    repository = app.config.html_theme_options["repository_url"]
    for document in sorted(app.env.found_docs):
        if app.env.doc2path(document).endswith(".ipynb"):
            path = Path(app.outdir, "_sources", f"{document}.ipynb")
            notebook = with_book(
                json.loads(path.read_text(encoding="utf8")), repository, document.rpartition("/")[0]
            )
            files.save(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
