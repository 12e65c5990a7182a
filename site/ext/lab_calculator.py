"""``{calculator}``: a reader's own numbers, and in sentences what attention will do.

Its script holds the lab's numeric core and fields, and the formulas, sentences and conditions of
:mod:`scansnap_core.theory.law.sentences`, printed as JavaScript.
"""

import json
from pathlib import Path
from typing import Any

import sympy as sp
from docutils import nodes
from lab_script import FUNCTIONS, core_script, function_script, parts
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from scansnap_core.theory.formulas import K, M, rho
from scansnap_core.theory.functions import stable_form
from scansnap_core.theory.law import answer, closed, phases, sentences, validity

HTML = '<div class="ss-lab ss-calculator"></div><noscript><p>This calculator needs JavaScript. The command \
<code>scansnap predict</code> gives the same sentences.</p></noscript>'
LIMITS = {name: getattr(answer, name) for name in ("HORIZON", "END", "GRID", "POINTS", "LOOKS")}
TABLES = {name: getattr(validity, name) for name in ("SHORTNESS", "STEPS", "PACES", "LEAST")}


def derived_script() -> str:
    """A JavaScript object ``derived`` with a function of the numbers for each formula."""
    functions = []
    for name, expression in sentences.DERIVED.items():
        symbols, stable = stable_form(expression, sorted(expression.free_symbols, key=str))
        body = sp.jscode(stable, user_functions=FUNCTIONS)
        functions.append(f"  {name}: ({{ {', '.join(map(str, symbols))} }}) => {body},")
    return "const derived = {\n" + "\n".join(functions) + "\n};\n"


def sentences_script() -> str:
    """A JavaScript array ``SENTENCES``, each with its condition as a function of the numbers."""
    rows = []
    for topic, when, text in sentences.SENTENCES:
        names = ", ".join(sorted(map(str, when.free_symbols)))
        condition = "true" if when == sp.true else sp.jscode(when)
        rows.append(
            f"  {{ topic: {json.dumps(topic)}, when: ({{ {names} }}) => {condition}, text: {json.dumps(text)} }},"
        )
    return "const SENTENCES = [\n" + "\n".join(rows) + "\n];\n"


def calculator_script(root: Path) -> str:
    """The whole script, a classic one."""
    folder = root / "site/lab/calculator"
    fields = (folder / "fields.json").read_text(encoding="utf8").strip()
    numbers = "\n".join((folder / f"{name}.js").read_text(encoding="utf8") for name in ("numbers", "table"))
    balance = function_script(phases.balance, (closed.a_, closed.b_, closed.c_, K, M, rho))
    own = f"formulas.balance = {balance};\n{derived_script()}const limits = {json.dumps(LIMITS | TABLES)};\n{numbers}"
    return (
        '"use strict";\n(function () {\n'
        f"{core_script(root, own, 'limits', 'serveAnswers', 'answerNumbers', 'alikeClasses', 'tableClasses')}"
        f"const core = labCore();\nconst FIELDS = {fields};\n{sentences_script()}"
        f"{parts(root, 'page', 'charts', 'controls', 'elements', 'state')}\n"
        f"{(folder / 'page.js').read_text(encoding='utf8')}\n"
        'document.querySelectorAll(".ss-calculator").forEach(makeCalculator);\n})();\n'
    )


class Calculator(SphinxDirective):
    """Puts the calculator into the page."""

    def run(self) -> list[nodes.Node]:
        """Give its element, and a paragraph for readers without scripts."""
        root = Path(self.env.srcdir)
        for source in (*root.glob("site/lab/**/*"), *root.glob("site/ext/lab*.py")):
            self.env.note_dependency(str(source))
        return [nodes.raw("", HTML, format="html")]


def build_calculator(app: Sphinx) -> None:
    if app.builder.format == "html":
        target = Path(app.outdir, "_static", "lab")
        target.mkdir(parents=True, exist_ok=True)
        (target / "calculator.js").write_text(calculator_script(Path(app.srcdir)), encoding="utf8")


def load_calculator(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if doctree and any("ss-calculator" in node.astext() for node in doctree.findall(nodes.raw)):
        for sheet in ("uPlot.min.css", "lab.css"):
            app.add_css_file(f"lab/{sheet}")
        for script in ("uPlot.iife.min.js", "calculator.js"):
            app.add_js_file(f"lab/{script}", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("calculator", Calculator)
    app.connect("builder-inited", build_calculator)
    app.connect("html-page-context", load_calculator)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
