"""The code pages: what a researcher imports, by task, which models it takes, a sweep's defaults,
every module, and the cells of the notebook with which a book about one's own paper begins.
"""

import inspect
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import scansnap_core
from scansnap_core.sweeps.defaults import as_a_table

OWN_BOOK = Path(__file__).parents[2] / "examples" / "own_book" / "chapters" / "lemma_1.ipynb"
TASK = "# -- "
IMPORTED = re.compile(r"^from \.[\w.]* import \w+ as (\w+)$")
ENTRY = """```{{eval-rst}}
.. auto{kind}:: {name}
{options}```
"""
OF_A_CLASS = "   :members:\n   :inherited-members: object, BaseException, tuple\n"
MODULE = """## `{name}`

```{{eval-rst}}
.. automodule:: {name}
{options}```
"""


def tasks() -> dict[str, list[str]]:
    """List the names that the front door gives, under the headings of its stub."""
    found: dict[str, list[str]] = {}
    for line in (
        Path(str(scansnap_core.__file__))
        .with_suffix(".pyi")
        .read_text(encoding="utf8")
        .splitlines()
    ):
        if line.startswith(TASK):
            names = found[line.removeprefix(TASK)] = []
        elif match := IMPORTED.match(line):
            names.append(match[1])
    return found


def front_door() -> str:
    """Write a section for every task."""
    return "\n".join(
        f"## {task}\n\n" + "\n".join(map(_entry, names)) for task, names in tasks().items()
    )


def _entry(name: str) -> str:
    value = getattr(scansnap_core, name)
    full = f"{scansnap_core.__name__}.{name}"
    if inspect.ismodule(value):
        summary = str(value.__doc__).partition("\n\n")[0]
        return f"`ss.{name}`\n: {summary} See {{py:mod}}`{value.__name__}`.\n"
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, Exception | Warning) else "class"
        return ENTRY.format(kind=kind, name=full, options=OF_A_CLASS if kind == "class" else "")
    return ENTRY.format(kind="function", name=full, options="")


def modules() -> str:
    """Write a section for every module; the package's own has no names, since these are the front
    door's.
    """
    package = scansnap_core.__name__
    inside = (
        module.name for module in pkgutil.walk_packages(scansnap_core.__path__, f"{package}.")
    )
    members = "   :members:\n   :no-value:\n"
    return "\n".join(
        MODULE.format(name=n, options=members if n != package else "") for n in (package, *inside)
    )


def own_book_cells() -> str:
    """Write the cells of the example's notebook one after the other, as they are typed."""
    notebook = json.loads(OWN_BOOK.read_text(encoding="utf8"))
    shown = {"markdown": "markdown", "code": "python"}
    blocks = [
        f"```{shown[cell['cell_type']]}\n{''.join(cell['source'])}\n```"
        for cell in notebook["cells"]
    ]
    return "\n\n".join(blocks)


PLACEHOLDERS = {
    "{front_door}": front_door,
    "{modules}": modules,
    "{sweep_defaults}": as_a_table,
    "{own_book}": own_book_cells,
}
"""What stands in a page's source, and what makes the text that it becomes."""


def fill(app: Sphinx, document: str, source: list[str]) -> None:
    for placeholder, made in PLACEHOLDERS.items():
        if placeholder in source[0]:
            source[0] = source[0].replace(placeholder, made())


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
