"""The book's notebooks: where they are, and what their stored outputs hold."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansnap_core.bad_input import BadInput
from scansnap_core.book.controls import constant_controls
from scansnap_core.extras import needs
from scansnap_core.ledger.entries import VERDICT_MIME
from scansnap_core.ledger.pages import Page
from scansnap_core.ledger.registry import TABLE_OF_CONTENTS, entries, read_contents

if TYPE_CHECKING:
    from nbformat import NotebookNode

_AS_PRINTED = re.compile(r"^> \*\*(.+), as printed", re.MULTILINE)
_PAGE_SUFFIXES = ("", ".ipynb", ".md", ".rst", ".txt")


def read_notebook(path: Path) -> "NotebookNode":
    """A stored notebook.

    Raises
    ------
    BadInput
        If the file is no readable notebook.
    """
    # Every chapter imports the ledger, and only what reads chapters needs nbformat.
    with needs("book"):
        import nbformat

    try:
        faults: dict[str, nbformat.ValidationError] = {}
        notebook = nbformat.read(path, as_version=4, capture_validation_error=faults)
        for fault in faults.values():
            raise fault
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        nbformat.ValidationError,
    ) as error:
        raise BadInput(f"{path}", f"it is no readable notebook ({type(error).__name__})", "restore the file") from None
    return notebook


def code_cells(notebook: "NotebookNode") -> "list[NotebookNode]":
    """A notebook's code cells that hold code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def verdicts_in(notebook: "NotebookNode") -> list[dict[str, Any]]:
    """Every verdict in a notebook's outputs."""
    outputs = (output for cell in code_cells(notebook) for output in cell.outputs)
    return [output.data[VERDICT_MIME] for output in outputs if VERDICT_MIME in output.get("data", {})]


def contents(book: Path) -> tuple[set[Path], list[str]]:
    """What the table of contents lists.

    Parameters
    ----------
    book : Path
        The folder that holds ``_toc.yml``.

    Returns
    -------
    pages : set of Path
        The files of its entries.
    faults : list of str
        Entries that have no file, or whose file another entry has.

    Raises
    ------
    BadInput
        If it is missing or unreadable.
    """
    pages: set[Path] = set()
    faults = []
    for entry in entries(read_contents(book)):
        found = {p.resolve() for suffix in _PAGE_SUFFIXES if (p := book / f"{entry}{suffix}").is_file()}
        if not found:
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, which has no file")
        if found & pages:
            faults.append(f"{TABLE_OF_CONTENTS} lists {entry}, whose file it lists already")
        pages |= found
    return pages, faults


def stored_faults(notebook: "NotebookNode") -> list[str]:
    """What makes a stored notebook unfit, whatever it would show when executed.

    A notebook that was cleared or executed in part passes any comparison of outputs, and so does what an ignore marker
    covers; hence these are faults of their own.
    """
    cells = code_cells(notebook)
    if cells and not any(cell.execution_count for cell in cells):
        return [*source_faults(notebook), "its outputs were cleared: no code cell is stored as executed"]
    faults = source_faults(notebook)
    for number, cell in enumerate(cells, 1):
        if not cell.execution_count:
            faults.append(f"cell {number} is stored as never executed")
        elif cell.execution_count != number:
            count = cell.execution_count
            faults.append(f"cell {number} is stored as execution {count}: it wasn't executed once, from top to bottom")
        faults += [f"cell {number} stores {fault}" for fault in output_faults(cell.outputs)]
    return faults + picture_faults(notebook)


def source_faults(notebook: "NotebookNode") -> list[str]:
    """What in the code switches comparisons off, or makes a check that nothing could fail."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        marker = re.search(r"#.*\b(NBVAL_\w+|PYTEST_VALIDATE_\w+)", cell.source)
        tags = [tag for tag in cell.metadata.get("tags", []) if re.match(r"nbval-|raises-exception|skip-exec", tag)]
        faults += [f"cell {number} has the marker {name}" for name in [*([marker[1]] if marker else []), *tags]]
        if re.search(r";[ \t]*$", cell.source, re.MULTILINE):
            faults.append(f"cell {number} has a line that ends in ';', which a comparison doesn't honour")
    controls = constant_controls(cell.source for cell in code_cells(notebook))
    return faults + [f"cell {number} has a control that nothing computes: {source}" for number, source in controls]


def picture_faults(notebook: "NotebookNode") -> list[str]:
    """Pictures that some readers can't see, that nobody explains, or that need the network."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        kinds: list[set[str]] = [set(output.get("data", {})) for output in cell.outputs]
        alternative = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        for kind, after in zip(kinds, [*kinds[1:], set()], strict=False):
            if "application/vnd.jupyter.widget-view+json" in kind:
                faults.append(f"cell {number} shows a widget, which loads scripts from the network")
            if "image/png" in kind and not alternative.strip():
                faults.append(f"cell {number} shows a picture without alternative text in its metadata")
            if "image/png" in kind and "text/markdown" not in after:
                faults.append(f"cell {number} shows a picture without a caption")
    return faults


def naming_faults(notebook: "NotebookNode", page: Page) -> list[str]:
    """Where a notebook shows another page's statement as its own."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    named = [name for name in _AS_PRINTED.findall(text) if name != page.name and not name.startswith("Remark")]
    return [f"it shows {name} as its own statement" for name in named] if page.is_statement else []


def output_faults(outputs: "Iterable[NotebookNode]") -> list[str]:
    """Outputs that no page may show: an error, or anything on stderr."""
    faults = []
    for output in outputs:
        if output.output_type == "error":
            faults.append(f"the error {output.ename}: {output.evalue}")
        elif output.get("name") == "stderr":
            faults.append(f"on stderr {output.text.strip()[:200]!r}")
    return faults
