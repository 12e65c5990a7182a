"""The code's docstrings as pages: plain-text formulas stay plain, and a SymPy formula is set beside its docstring."""

import re
import sys
from typing import Any

import sympy
from sphinx.application import Sphinx

# In prose, P(l|n), h_ and h*(s) are formulas, not markup. Literals, roles and emphasised words are left alone.
_LITERAL = re.compile(r"(``.+?``|:[a-z:]+:`[^`]+`|`[^`]+`|(?<!\w)\*\w+\*(?!\w))")
_MARKUP = re.compile(r"[|*]|_(?!\w)")


def escape_formulas(app: Sphinx, what: str, name: str, obj: object, options: dict[str, Any], lines: list[str]) -> None:
    if what in ("attribute", "data", "property"):
        lines.insert(0, "")  # else napoleon takes what stands before a colon, as in "h(t): ...", for a type
    in_block = False
    for number, line in enumerate(lines):
        indented = line[:1].isspace()
        in_block = in_block and (indented or not line.strip())
        if not in_block:
            parts = _LITERAL.split(line)
            parts[::2] = [_MARKUP.sub(r"\\\g<0>", prose) for prose in parts[::2]]
            lines[number] = "".join(parts)
        in_block = in_block or line.rstrip().endswith("::")


def set_formula(app: Sphinx, what: str, name: str, obj: object, options: dict[str, Any], lines: list[str]) -> None:
    if isinstance(obj, sympy.Expr) and not obj.is_Atom:
        lines += ["", ".. math::", "", "   " + sympy.latex(obj), ""]


def skip_exported(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: dict[str, Any]) -> bool | None:
    """What a package exports is described there, under the name that a reader imports, and not a second time."""
    package = sys.modules.get(str(app.env.temp_data.get("autodoc:module")).rpartition(".")[0])
    return True if what == "module" and name in getattr(package, "__all__", ()) else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", escape_formulas, priority=100)  # before napoleon adds markup of its own
    app.connect("autodoc-process-docstring", set_formula)
    app.connect("autodoc-skip-member", skip_exported)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
