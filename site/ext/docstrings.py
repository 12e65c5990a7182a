"""The code's docstrings as pages: plain-text formulas stay plain, and modules of closed forms list
them.
"""

import re
import sys
from types import ModuleType
from typing import Any

import sympy
from sphinx.application import Sphinx

from scansnap_core.theory.formulas import FORMULAS, SYMBOLS, Formula, symbols

# In prose, P(l|n), h_ and h*(s) are formulas, not markup. Literals, roles and emphasised words are
# left alone.
_LITERAL = re.compile(r"(``.+?``|:[a-z:]+:`[^`]+`|`[^`]+`|(?<!\w)\*\w+\*(?!\w))")
_MARKUP = re.compile(r"[|*]|_(?!\w)")


COVER = ["..", ""]
"""An empty comment."""

ORIGINS = {"printed": "as printed", "repaired": "repaired", "ours": "ours"}
"""The page says with these words where a closed form comes from."""


def _escape(line: str) -> str:
    parts = _LITERAL.split(line)
    parts[::2] = [_MARKUP.sub(r"\\\g<0>", prose) for prose in parts[::2]]
    return "".join(parts)


def escape_formulas(
    app: Sphinx, what: str, name: str, obj: object, options: dict[str, Any], lines: list[str]
) -> None:
    in_block = False
    for number, line in enumerate(lines):
        indented = line[:1].isspace()
        in_block = in_block and (indented or not line.strip())
        if not in_block:
            lines[number] = _escape(line)
        in_block = in_block or line.rstrip().endswith("::")
    if what in ("attribute", "data", "property"):
        # Without this napoleon would take what stands before a colon, as in "h(t): ...", for a
        # type.
        lines[:0] = COVER


def uncover(
    app: Sphinx, what: str, name: str, obj: object, options: dict[str, Any], lines: list[str]
) -> None:
    if lines[: len(COVER)] == COVER:
        del lines[: len(COVER)]


def list_formulas(
    app: Sphinx, what: str, name: str, obj: object, options: dict[str, Any], lines: list[str]
) -> None:
    if isinstance(obj, ModuleType):
        lines += formulas_of(obj)


def formulas_of(module: ModuleType) -> list[str]:
    """List the closed forms that the registry has from a module, and the letters of their
    formulas.
    """
    lines = []
    if module is symbols:
        for symbol in SYMBOLS.values():
            lines += _entry(
                symbol.name, f":math:`{sympy.latex(symbol.expression)}`. {symbol.meaning}"
            )
    for formula in FORMULAS.values():
        if vars(module).get(formula.name) is formula.expression:
            lines += _entry(formula.name, *describe(formula))
    return lines


def describe(formula: Formula) -> tuple[str, ...]:
    """Write paragraphs: what a closed form means, the form itself, and what is known of it."""
    known = [f"{formula.place}; {ORIGINS[formula.origin]}."]
    if formula.equations:
        known.append(
            "In the index: " + ", ".join(f":ref:`({n}) <eq-{n}>`" for n in formula.equations) + "."
        )
    if formula.region != sympy.true:
        known.append(f"Where :math:`{sympy.latex(formula.region)}`.")
    if formula.conditions:
        known.append(f"Conditions: {formula.conditions}.")
    if formula.clock:
        known.append(f"Clock: {formula.clock}.")
    return formula.meaning, f".. math:: {sympy.latex(formula.expression)}", " ".join(known)


def _entry(name: str, *paragraphs: str) -> list[str]:
    texts = (text if text.startswith(".. math::") else _escape(text) for text in paragraphs)
    return [
        "",
        f".. py:data:: {name}",
        "",
        *(line for text in texts for line in (f"   {text}", "")),
    ]


def skip_exported(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: dict[str, Any]
) -> bool | None:
    """Describe a package's exports there alone, under the name that a reader imports.

    For exceptions the front door counts, too: docstrings name what they raise without a module, so
    each exception has to have one description.
    """
    module = str(app.env.temp_data.get("autodoc:module"))
    packages = [module.rpartition(".")[0]]
    if isinstance(obj, type) and issubclass(obj, Exception):
        packages.append(module.partition(".")[0])
    exported = any(name in getattr(sys.modules.get(path), "__all__", ()) for path in packages)
    return True if what == "module" and exported else None


def setup(app: Sphinx) -> dict[str, Any]:
    # This runs before napoleon adds markup of its own.
    app.connect("autodoc-process-docstring", escape_formulas, priority=100)
    app.connect("autodoc-process-docstring", uncover, priority=800)
    # This runs after all others, because it writes markup.
    app.connect("autodoc-process-docstring", list_formulas, priority=900)
    app.connect("autodoc-skip-member", skip_exported)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
