"""``{widget} calculator`` and others: pictures that a reader moves, beside the lab, and the two
scripts that fill them.

With the option ``steps`` the widget ``plane`` grows by one arrow at a time.

The calculator's script holds the lab's numeric core and the formulas, sentences and conditions of
:mod:`scansnap_core.law.sentences`, printed as JavaScript; the essay's holds the core and
what the essay shows.
"""

import itertools
import json
from pathlib import Path
from typing import Any, ClassVar

import sympy as sp
from docutils import nodes
from docutils.parsers.rst import directives
from lab_script import FUNCTIONS, core_script, function_script, parts
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from scansnap_core.law import (
    answer,
    answer_numbers,
    closed,
    expected_error,
    inertia,
    order,
    overshoot,
    phases,
    predicting,
    sentences,
    trials,
)
from scansnap_core.theory.formulas import K, M, rho
from scansnap_core.theory.functions import stable_form

WIDGETS = {
    "calculator": (
        "This needs JavaScript. The command <code>scansnap predict</code> gives the same sentences."
    ),
    "opening": (
        "With JavaScript, a text plays here, whose words have bars as long as their weight, by "
        "the gradient and by the paper's law."
    ),
    "sentence": (
        "With JavaScript, two texts stand here whose words light up with the attention that "
        "they have."
    ),
    "plane": (
        "With JavaScript, the directions of two classes stand here, and what update (26) "
        "adds to the gradient."
    ),
    "spring": (
        "With JavaScript, three words stand here, which memory catches one by one as "
        "attention gets faster."
    ),
    "pair": (
        "With JavaScript, two dynamics stand here side by side: the paper's law (10) and the "
        "true gradient flow."
    ),
}
"""By name, what readers without scripts are told."""
ESSAY = ("sentence", "plane", "pair", "spring")
BY_ESSAY = ("opening", *ESSAY)
"""The widgets that the essay's script fills."""
LIMITS = {name: getattr(answer_numbers, name) for name in ("HORIZON", "END", "GRID", "POINTS")}
TIES = {name: getattr(trials, name) for name in ("TIED", "ALIKE")}
WORDS = {name: getattr(answer, name) for name in ("MOST_NAMED", "GROUPS", "COUNTS")}
ORDER = {"ONE_BY_ONE": inertia.ONE_BY_ONE, "LOOK": predicting.LOOK}
ORDER |= {"DIFFERENCE": order.DIFFERENCE, "ORDER_RTOL": order.RTOL, "ORDER_ATOL": order.ATOL}
TABLES = {
    name: getattr(expected_error, name) for name in ("SHORTNESS", "GROWTHS", "ORDERS", "LEAST")
} | {"ROUNDS": overshoot.ROUNDS}


def derived_script(name: str, formulas: dict[str, sp.Expr]) -> str:
    """Write a JavaScript object of this name with a function of the numbers for each formula."""
    functions = []
    for number, expression in formulas.items():
        symbols, stable = stable_form(expression, sorted(expression.free_symbols, key=str))
        body = sp.jscode(stable, user_functions=FUNCTIONS)
        functions.append(f"  {number}: ({{ {', '.join(map(str, symbols))} }}) => {body},")
    return f"const {name} = {{\n" + "\n".join(functions) + "\n};\n"


def sentences_script(name: str, by_topic: dict[str, list[dict[sp.Basic, str]]]) -> str:
    """Write a JavaScript object: by topic, lists of alternatives, each with its condition as a
    function.
    """
    topics = []
    for topic, groups in by_topic.items():
        lines = ",\n".join(
            f"    [{', '.join(itertools.starmap(_alternative, group.items()))}]" for group in groups
        )
        topics.append(f"  {json.dumps(topic)}: [\n{lines},\n  ],")
    return f"const {name} = {{\n" + "\n".join(topics) + "\n};\n"


def _alternative(when: sp.Basic, text: str) -> str:
    names = ", ".join(sorted(map(str, when.free_symbols)))
    condition = "true" if when == sp.true else sp.jscode(when)
    return f"{{ when: ({{ {names} }}) => {condition}, text: {json.dumps(text)} }}"


def calculator_script(root: Path) -> str:
    """Write the whole script, a classic one."""
    folder = root / "site/lab/calculator"
    fields = (folder / "fields.json").read_text(encoding="utf8").strip()
    numbers = "\n".join(
        (folder / f"{name}.js").read_text(encoding="utf8") for name in ("numbers", "order", "table")
    )
    balance = function_script(phases.balance, (closed.a_, closed.b_, closed.c_, K, M, rho))
    derived = derived_script("derived", sentences.DERIVED) + derived_script(
        "adamDerived", sentences.ADAM_DERIVED
    )
    own = (
        f"formulas.balance = {balance};\n{derived}const limits = "
        f"{json.dumps(LIMITS | TABLES | TIES | ORDER)};\n{numbers}"
    )
    tables = sentences_script("SENTENCES", sentences.SENTENCES)
    tables += sentences_script("ADAM", sentences.ADAM)
    tables += "".join(f"const {name} = {json.dumps(value)};\n" for name, value in WORDS.items())
    tables += f"const PLACE = /{answer.PLACE}/g;\n"
    needed = ("limits", "serveAnswers", "answerNumbers", "alikeClasses", "tableClasses")
    return (
        '"use strict";\n(function () {\n'
        f"{core_script(root, own, *needed)}"
        f"const core = labCore();\nconst FIELDS = {fields};\n{tables}"
        f"{parts(root, 'page', 'charts', 'controls', 'elements', 'light', 'state')}\n"
        f"{(folder / 'page.js').read_text(encoding='utf8')}\n"
        'document.querySelectorAll(".ss-calculator").forEach(makeCalculator);\n'
        "listenForNames();\n})();\n"
    )


PAGE = (
    "bars",
    "charts",
    "controls",
    "elements",
    "lens",
    "light",
    "numbers",
    "picture",
    "state",
    "time",
)


def essay_script(root: Path) -> str:
    """Write the script of the first page's picture, and of the essay's pictures and guesses."""
    fields = json.loads((root / "site/lab/fields.json").read_text(encoding="utf8"))
    fields["M"]["max"] = 10**9  # outputs that are no class are one column
    names = ", ".join(f'["{name}", make{name.title()}]' for name in BY_ESSAY)
    return (
        f'"use strict";\n(function () {{\n{core_script(root, "", "flowOf", "integrate", "lawFlow")}'
        f"const core = labCore();\nconst FIELDS = {json.dumps(fields)};\n"
        f"{parts(root, 'page', *PAGE)}\n{parts(root, 'essay')}\n"
        f"for (const [name, fill] of [{names}])"
        ' document.querySelectorAll(`.ss-lab[data-widget="${name}"]`).forEach(fill);\n'
        'makeGuesses([...document.querySelectorAll(".ss-guess")]);\n'
        "nameWords(document.querySelector('.bd-article'), TEXTS.flatMap(({ words }) => words));\n"
        'document.querySelectorAll(".ss-drag").forEach(makeDrag);\nlistenForNames();\n})();\n'
    )


def widget_html(name: str, *, steps: bool = False) -> str:
    """Write the element that a script fills, and a paragraph for readers without scripts."""
    option = " data-steps" * steps
    element = f'<div class="ss-lab ss-{name}" data-widget="{name}"{option}></div>'
    return f"{element}<noscript><p>{WIDGETS[name]}</p></noscript>"


class Widget(SphinxDirective):
    """Puts a picture that can be moved into the page."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"steps": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Give its element."""
        name = self.arguments[0]
        if name not in WIDGETS:
            raise self.error(f"there is no widget {name}; use {', '.join(WIDGETS)}")
        root = Path(self.env.srcdir)
        for source in (*root.glob("site/lab/**/*"), *root.glob("site/ext/lab*.py")):
            self.env.note_dependency(str(source))
        html = widget_html(name, steps="steps" in self.options)
        return [nodes.raw("", html, format="html")]


SCRIPTS = {"calculator.js": calculator_script, "essay.js": essay_script}


def build_scripts(app: Sphinx) -> None:
    if app.builder.format == "html":
        target = Path(app.outdir, "_static", "lab")
        target.mkdir(parents=True, exist_ok=True)
        for name, script in SCRIPTS.items():
            (target / name).write_text(script(Path(app.srcdir)), encoding="utf8")


def load_scripts(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    raw = " ".join(node.astext() for node in doctree.findall(nodes.raw)) if doctree else ""
    needed = [name for name in WIDGETS if f'data-widget="{name}"' in raw]
    if not needed:
        return
    for sheet in ("uPlot.min.css", "lab.css"):
        app.add_css_file(f"lab/{sheet}")
    if {"calculator", "pair"} & set(needed):
        app.add_js_file("lab/uPlot.iife.min.js", loading_method="defer")
    if "calculator" in needed:
        app.add_js_file("lab/calculator.js", loading_method="defer")
    if set(needed) & set(BY_ESSAY):
        app.add_js_file("lab/essay.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("widget", Widget)
    app.connect("builder-inited", build_scripts)
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
