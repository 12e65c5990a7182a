"""Faults of a stored notebook: what comparing outputs can't see, and what a reader couldn't use.

A notebook that was cleared, or executed only in part, passes any comparison of outputs. So does a
cell with an ignore marker. Hence both are faults in themselves. So is a control that nothing
computes: a number written down as ``control=`` would fail whatever the claim. A control is computed
if what it is made of, followed back through the notebook's own names and functions, reaches the
mathematics: the package, SciPy, SymPy, Torch, or NumPy's random numbers, linear algebra and grids.
A proof's control is another thing: a false claim, given to the same procedure, which has to refute
it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scansnap_core.base.extras import needs
from scansnap_core.book.notebooks import code_cells
from scansnap_core.ledger.entries import PROVED
from scansnap_core.ledger.registry import Page
from scansnap_core.ledger.verdicts import VERDICT_MIME, Verdict

with needs("book"):
    from bs4 import BeautifulSoup
    from IPython.core.inputtransformer2 import TransformerManager
    from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from nbformat import NotebookNode

_AS_PRINTED = re.compile(r"^> \*\*(.+), as printed", re.MULTILINE)
_MATHEMATICS = ("scansnap_core", "scipy", "sympy", "torch", "xarray")
_WITHIN_NUMPY = ("arange", "geomspace", "linalg", "linspace", "logspace", "random")
_NO_MATHEMATICS = ("scansnap_core.ledger", "scansnap_core.plots")
_NETWORK = re.compile(r"(https?:)?//", re.IGNORECASE)
_LITERALS = {
    "E",
    "Float",
    "I",
    "Integer",
    "Matrix",
    "Number",
    "One",
    "Rational",
    "S",
    "Zero",
    "oo",
    "pi",
    "sympify",
}
_MAGICS = ("run_line_magic", "run_cell_magic")
_CLAIM = 'id="claim-'
"""It stands in what shows a claim."""
_HARMLESS = ("hide-input", "source_hidden", "image", "figure")
"""Settings of a cell that hide no output: its code may be folded, and its picture has alternative
text.
"""
_Made = dict[str, list[ast.AST]]
"""A mapping from a name to all that the notebook makes it of."""


def stored_faults(notebook: NotebookNode) -> list[str]:
    """List, in a line each, what makes a stored notebook unfit, whatever it would show when
    executed.
    """
    cells = code_cells(notebook)
    faults = source_faults(notebook)
    if cells and not any(cell.execution_count for cell in cells):
        return [*faults, "its outputs were cleared: no code cell is stored as executed"]
    for number, cell in enumerate(cells, 1):
        if not cell.execution_count:
            faults.append(f"cell {number} is stored as never executed")
        elif (count := cell.execution_count) != number:
            faults.append(
                f"cell {number} is stored as execution {count}: it wasn't executed once, from "
                "top to bottom"
            )
        faults += [f"cell {number} stores {fault}" for fault in output_faults(cell.outputs)]
    return faults + picture_faults(notebook) + hidden_claims(notebook)


def hidden_claims(notebook: NotebookNode) -> list[str]:
    """List executed cells that show a claim, and have a setting by which a site may leave out a
    cell or its outputs.
    """
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        shown = [output.get("data", {}) for output in cell.outputs]
        claims = any(
            VERDICT_MIME in data or _CLAIM in str(data.get("text/html", "")) for data in shown
        )
        settings = [
            f"the tag {tag}" for tag in cell.metadata.get("tags", []) if tag not in _HARMLESS
        ]
        settings += [
            f"mystnb's {name}" for name in cell.metadata.get("mystnb", {}) if name not in _HARMLESS
        ]
        settings += [
            f"JupyterLab's {name}"
            for name in cell.metadata.get("jupyter", {})
            if name not in _HARMLESS
        ]
        faults += [
            f"cell {number} makes a claim and has {each}, which may hide it"
            for each in settings
            if claims
        ]
    return faults


def source_faults(notebook: NotebookNode) -> list[str]:
    """List what in the code switches comparisons off, or makes a check that nothing could fail."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        marker = re.search(r"#.*\b(NBVAL_\w+|PYTEST_VALIDATE_\w+)", cell.source)
        tags = [
            tag
            for tag in cell.metadata.get("tags", [])
            if re.match(r"nbval-|raises-exception|skip-exec", tag)
        ]
        faults += [
            f"cell {number} has the marker {name}"
            for name in [*([marker[1]] if marker else []), *tags]
        ]
        if re.search(r";[ \t]*$", cell.source, re.MULTILINE):
            faults.append(
                f"cell {number} has a line that ends in ';', which a comparison doesn't honour"
            )
    trees = []
    for number, cell in enumerate(code_cells(notebook), 1):
        try:
            trees.append(code_of(cell.source))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            rule = (
                "can't be read as Python, so nobody sees what it claims: write it without "
                "magics, or correct it"
            )
            faults.append(f"cell {number} {rule} ({error})")
            trees.append(ast.Module([], []))
    controls = constant_controls(trees)
    return faults + [
        f"cell {number} has a control that nothing computes: {source}"
        for number, source in controls
    ]


def picture_faults(notebook: NotebookNode) -> list[str]:
    """List pictures that some readers can't see, that nobody explains, or that need the network."""
    faults = []
    for number, cell in enumerate(code_cells(notebook), 1):
        shown: list[dict[str, Any]] = [output.get("data", {}) for output in cell.outputs]
        for data, after in zip(shown, [*shown[1:], {}], strict=False):
            if "application/vnd.jupyter.widget-view+json" in data:
                faults.append(f"cell {number} shows a widget, which loads scripts from the network")
            pictures = _pictures(data, cell)
            for picture in pictures:
                if not picture.alternative.strip():
                    faults.append(
                        f"cell {number} shows a picture without alternative text in its "
                        f"{picture.place}"
                    )
                if _NETWORK.match(picture.address):
                    faults.append(
                        f"cell {number} shows a picture that is loaded from {picture.address}"
                    )
            if pictures and "text/markdown" not in after:
                faults.append(f"cell {number} shows a picture without a caption")
    return faults


class _Picture(NamedTuple):
    alternative: str
    place: str
    """Where the alternative text belongs."""
    address: str = ""


def _alternative(cell: NotebookNode) -> str:
    """Return the alternative text in a cell's metadata, which its outputs of image types have on
    the site.
    """
    match cell.metadata:
        case {"mystnb": {"image": {"alt": str(text)}}}:
            return text
    return ""


def _pictures(data: Mapping[str, Any], cell: NotebookNode) -> list[_Picture]:
    """Return the pictures in one of a cell's outputs, whatever its type: images, and what stands in
    its HTML or Markdown.
    """
    found = [_Picture(_alternative(cell), "metadata") for kind in data if kind.startswith("image/")]
    markup = str(data.get("text/html", "")) + MarkdownIt().render(
        str(data.get("text/markdown", ""))
    )
    for tag in BeautifulSoup(markup, "html.parser").find_all(
        ["img", "svg", "canvas", "object", "embed"]
    ):
        title = tag.title.get_text() if tag.title else ""
        alternative = tag.get("alt") or tag.get("aria-label") or title
        found.append(_Picture(str(alternative), f"<{tag.name}>", str(tag.get("src", ""))))
    return found


def naming_faults(notebook: NotebookNode, page: Page) -> list[str]:
    """Find where a notebook shows another page's statement as its own."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    named = [
        name
        for name in _AS_PRINTED.findall(text)
        if name != page.name and not name.startswith("Remark")
    ]
    return [f"it shows {name} as its own statement" for name in named] if page.is_statement else []


def output_faults(outputs: Iterable[NotebookNode]) -> list[str]:
    """List outputs that no page may show: an error, or anything on stderr."""
    faults = []
    for output in outputs:
        if output.output_type == "error":
            faults.append(f"the error {output.ename}: {output.evalue}")
        elif output.get("name") == "stderr":
            faults.append(f"on stderr {output.text.strip()[:200]!r}")
    return faults


def card_faults(notebook: NotebookNode, verdict: Verdict) -> list[str]:
    """Find where the figure that a card names isn't one of its notebook's.

    A card in a notebook with a picture names one of the cells that show one.
    """

    def shows(cell: NotebookNode) -> bool:
        """Tell whether a cell's outputs hold a picture."""
        return any(
            kind.startswith("image/") for output in cell.outputs for kind in output.get("data", {})
        )

    pictures = [cell.id for cell in code_cells(notebook) if shows(cell)]
    if not verdict.card or verdict.figure in (pictures or [""]):
        return []
    return [f"its card shows the figure of {verdict.figure!r}; the cells with one are {pictures}"]


def code_of(source: str) -> ast.Module:
    r"""Parse a cell as IPython reads it; the code that a magic is given is part of it.

    What isn't Python raises what `ast.parse` raises.

    Examples
    --------
    >>> ast.unparse(code_of("%%capture\nx = 1").body[-1])
    'x = 1'
    """
    tree = ast.parse(TransformerManager().transform_cell(source))
    given: list[ast.stmt] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr=name), args=[_, *_, ast.Constant(value=str(code))]
            ) if name in _MAGICS:
                given += code_of(code).body
    return ast.Module([*tree.body, *given], [])


def constant_controls(trees: Sequence[ast.Module]) -> list[tuple[int, str]]:
    """Find the controls that nothing computes, or that are the measured value with a number added
    or multiplied.

    Given the code of a notebook's cells, it returns each such cell's number, from 1, and the
    control's source; ``**{...}`` if it hides there.
    """
    made = _made_of(trees)
    mathematical = _mathematical(trees)
    found = []
    for number, tree in enumerate(trees, 1):
        for call in _claims_in(tree):
            control = next(
                (keyword.value for keyword in call.keywords if keyword.arg == "control"), None
            )
            if control is None:
                found.append((number, "**{...}"))
            elif not _reaches(mathematical, control, made) or _is_the_measured(
                control, call.args[1:2]
            ):
                found.append((number, ast.unparse(control)))
    return found


def _claims_in(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls in which a witness records a claim, but those of the witness "proved"."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=witness, attr="holds" | "refutes")) if (
                ast.unparse(witness) != PROVED
            ):
                yield node


def _mathematical(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names under which the notebook imports mathematics: packages of `_MATHEMATICS`,
    without what only shows or records.
    """
    found = set()
    for node in (
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ):
        for alias in node.names:
            full = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            if full.startswith(_MATHEMATICS) and not full.startswith(_NO_MATHEMATICS):
                found.add((alias.asname or alias.name).partition(".")[0])
    return found


def _made_of(trees: Iterable[ast.Module]) -> _Made:
    """Collect for each name of a notebook all that is assigned to it, put into it, or run by it.

    Cells aren't told apart, and neither are scopes: it is enough that a name may be made of
    something.
    """
    made: _Made = {}

    def add(target: ast.AST, *parts: ast.AST) -> None:
        """Note that the names in a target are made of these parts."""
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                made.setdefault(node.id, []).extend(parts)

    for node in (node for tree in trees for node in ast.walk(tree)):
        # Assignments of all kinds, loops, comprehensions and contexts differ in what they call
        # these two.
        targets = getattr(
            node, "targets", [getattr(node, "target", None) or getattr(node, "optional_vars", None)]
        )
        source = next(
            (vars(node)[name] for name in ("value", "iter", "context_expr") if name in vars(node)),
            None,
        )
        for target in filter(None, targets):
            if source is not None:
                add(target, source)
            if isinstance(source, ast.Tuple | ast.List):  # lists that a loop fills by another name
                add(source, target)
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                made.setdefault(name, []).extend(node.body)
            case ast.Call(
                func=ast.Attribute(value=target, attr="append" | "add" | "extend" | "update")
            ):
                add(target, *node.args)
    return made


def _reaches(mathematical: set[str], start: ast.AST, made: _Made) -> bool:
    """Tell whether what an expression is made of reaches one of the mathematical names, or a part
    of NumPy that computes.

    Names are followed back through ``made``, each once. A number that SymPy writes, such as sp.pi,
    is no computation.
    """
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        match node := waiting.pop():
            case ast.Attribute(attr=name) if name in _LITERALS:
                continue  # sp.pi, and the function in sp.Integer(2), are numbers written down
            case ast.Attribute() if ast.unparse(node).partition(".")[2].startswith(_WITHIN_NUMPY):
                return True
            case ast.Name(id=name) if name in mathematical:
                return True
            case ast.Name(id=name) if name not in seen:
                seen.add(name)
                waiting += made.get(name, [])
        waiting.extend(ast.iter_child_nodes(node))
    return False


def _is_the_measured(control: ast.expr, measured: list[ast.expr]) -> bool:
    """Tell whether a control is the measured expression, with numbers added, subtracted, multiplied
    or divided: it would fail whatever the claim.
    """
    while isinstance(control, ast.BinOp) and isinstance(control.right, ast.Constant):
        control = control.left
    while isinstance(control, ast.BinOp) and isinstance(control.left, ast.Constant):
        control = control.right
    return bool(measured) and ast.dump(control) == ast.dump(measured[0])
