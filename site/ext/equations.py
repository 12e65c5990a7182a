"""The page of equations: every number of the paper, with what tries it, from the reviewed file and
the stored verdicts.

``{equations}`` in a page becomes Markdown, so that search, references (``{ref}`eq-55```) and every
builder know it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sympy import latex
from tried import fold

from scansnap_core.book.equations import (
    CHECKED,
    DEFINED,
    DERIVED,
    REFUTED,
    STATUSES,
    UNTOUCHED,
    Equation,
    Trial,
    by_equation,
    equation_anchor,
    read_equations,
)
from scansnap_core.book.errata import Erratum, read_errata
from scansnap_core.ledger.display import VERDICT_CLASS
from scansnap_core.ledger.entries import Refutation
from scansnap_core.ledger.verdicts import FAILS_AS_PRINTED, HOLDS, HOLDS_UNDER_A_CONDITION
from scansnap_core.theory import formulas

HOW = (
    "The colour of a number below says what came out. Unfold a part of the paper to see its "
    "formulas. Below each formula stand links to the cells that derive it, try it, or refute it; "
    "each check has a control that fails. *What is tried* shows the formulas that the checks were "
    "given, as SymPy prints them. What a check was given in numbers isn't there: its cell shows it."
)
PLACEHOLDER = "{equations}"
FOLD = "ss-equations-fold"
MEANING = {
    DERIVED: "hold, and SymPy derives them",
    CHECKED: "hold in numbers, inside their conditions",
    REFUTED: "fail as printed or need a condition, each with its repair",
    DEFINED: "are definitions",
    UNTOUCHED: "are tried nowhere",
}
SAID = {
    HOLDS: ("holds", "hold"),
    HOLDS_UNDER_A_CONDITION: ("holds under a condition", "hold under a condition"),
    FAILS_AS_PRINTED: ("fails as printed", "fail as printed"),
    DEFINED: ("is a definition", "are definitions"),
    UNTOUCHED: ("is tried nowhere", "are tried nowhere"),
}
"""A verdict in words, of one equation and of several."""
CSS = {DEFINED: "ss-open", UNTOUCHED: VERDICT_CLASS[FAILS_AS_PRINTED]}
KINDS = {
    "definition": "for",
    "claim": "part of",
    "step": "step of the proof of",
    "premise": "premise of",
}
TOPICS = [formulas.attention, formulas.decoder]


def page(
    equations: list[Equation], errata: Mapping[int, list[Erratum]], page_url: Callable[[str], str]
) -> str:
    """Write the page's Markdown below its heading.

    Parameters
    ----------
    equations : list of Equation
    errata : mapping
        Those of each number that has some.
    page_url : callable
        From a page's id to its address.
    """
    lines = [_line(status, equations) for status in STATUSES]
    sections = [
        _section(name, list(of_section), errata, page_url)
        for name, of_section in groupby(equations, key=lambda equation: equation.section)
    ]
    summary = f"Of the paper's {len(equations)} numbered equations, tried as they are printed,"
    return "\n\n".join([summary, "\n".join(filter(None, lines)), HOW, _map(equations), *sections])


def _line(status: str, equations: list[Equation]) -> str:
    """Count the equations of a status; list those that fail, or that nothing tries, by their
    numbers.
    """
    found = [equation.number for equation in equations if equation.status == status]
    links = " ".join(f'<a href="#{equation_anchor(number)}">({number})</a>' for number in found)
    named = f": {links}" if status in (REFUTED, UNTOUCHED) else ""
    return f"- **{len(found)}** {MEANING[status]}{named}" if found else ""


def _section(
    name: str,
    equations: list[Equation],
    errata: Mapping[int, list[Erratum]],
    page_url: Callable[[str], str],
) -> str:
    """Write the equations of a part of the paper, folded (`close_folds` ends the fold)."""
    counts = Counter(equation.verdict for equation in equations)
    numbers = [f"{count} {SAID[verdict][count > 1]}" for verdict, count in counts.items()]
    span = f"({equations[0].number}) to ({equations[-1].number})"
    fold = f'<details class="{FOLD}"><summary>{span}: {", ".join(numbers)}</summary>'
    shown = [
        _equation(equation, errata.get(equation.number, []), page_url) for equation in equations
    ]
    return "\n".join([f"## {name}\n", f"```{{raw}} html\n{fold}\n```\n", *shown])


def close_folds(app: Sphinx, doctree: nodes.document) -> None:
    """End each fold where its section ends, below the headings in it."""
    for opening in list(doctree.findall(nodes.raw)):
        if f'class="{FOLD}"' in opening.astext() and "</details>" not in opening.astext():
            opening.parent.append(nodes.raw("", "</details>", format="html"))


def _map(equations: list[Equation]) -> str:
    links = (
        f'<a class="{_css(e)}" href="#{equation_anchor(e.number)}" '
        f'title="{e.verdict}">{e.number}</a>'
        for e in equations
    )
    return f'<nav class="ss-equation-map" aria-label="All equations">{" ".join(links)}</nav>'


def _css(equation: Equation) -> str:
    return CSS.get(equation.status) or VERDICT_CLASS[equation.verdict]


def _equation(equation: Equation, errata: list[Erratum], page_url: Callable[[str], str]) -> str:
    how = f", {equation.status}" if equation.status in (DERIVED, CHECKED) else ""
    at = f'<a href="{page_url(equation.at.id)}">{equation.at.name}</a>'
    numbers = [
        f'<a class="ss-number" href="{page_url("errata")}#{e.anchor}">{e.number}</a>'
        for e in errata
    ]
    about = [
        f'<span class="ss-verdict-word {_css(equation)}">{equation.verdict}</span>{how}',
        *([f"erratum {' '.join(numbers)}"] if numbers else []),
        f"{KINDS[equation.kind]} {at}",
        *map(_code, equation.code),
        *([f"test `{equation.test}`"] if equation.test else []),
    ]
    unsure = [f"*Unclear in the source: {equation.unsure}.*", ""] if equation.unsure else []
    trials = [_trial(trial, page_url) for trial in equation.trials]
    formula = ["$$", equation.formula, "$$", ""]
    names = [
        name.removeprefix("formulas.") for name in equation.code if name.startswith("formulas.")
    ]
    code = [(f"formulas.{name}", latex(formulas.FORMULAS[name].expression)) for name in names]
    found = fold([(f"{page_url(t.page.id)}#{t.anchor}", t.entry) for t in equation.trials], code)
    tried = ["```{raw} html", found, "```", ""] if found else []
    head = [f"({equation_anchor(equation.number)})=", f"### ({equation.number})", ""]
    return "\n".join([*head, *formula, " · ".join(about), "", *unsure, *trials, "", *tried])


def _code(name: str) -> str:
    """Link a name of the package to its entry on the code page."""
    bare = name.removeprefix("formulas.")
    if bare != name:
        topic = next(
            topic for topic in TOPICS if vars(topic).get(bare) is formulas.FORMULAS[bare].expression
        )
        return f"{{py:data}}`~{topic.__name__}.{bare}`"
    return f"{{py:obj}}`~scansnap_core.{name}`"


def _trial(trial: Trial, page_url: Callable[[str], str]) -> str:
    entry = trial.entry
    mark = '<span class="ss-refuted">✗</span>' if trial.refutes else "✓"
    link = f'<a href="{page_url(trial.page.id)}#{trial.anchor}">{trial.page.name}</a>'
    text = f"- {mark} {link}, {entry.witness}: {_text(entry.what)}"
    if not isinstance(entry, Refutation):
        return text
    remedy = f"Holds if {entry.condition}" if entry.condition else f"Repair: {entry.repair}"
    return f"{text}. {_text(remedy.removesuffix('.'))}."


def _text(text: str) -> str:
    """Write a claim's words as Markdown: mathematics stays, and nothing else becomes markup."""
    parts = text.split("$")
    parts[::2] = [
        escape(prose, quote=False).replace("*", "\\*").replace("[", "\\[") for prose in parts[::2]
    ]
    return "$".join(parts)


def fill(app: Sphinx, document: str, source: list[str]) -> None:
    if PLACEHOLDER not in source[0]:
        return
    app.env.note_reread()
    documents = {other.rpartition("/")[2]: other for other in app.env.found_docs}

    def page_url(page_id: str) -> str:
        return app.builder.get_relative_uri(document, documents[page_id])

    book = Path(app.srcdir)
    equations = read_equations(book)
    source[0] = source[0].replace(
        PLACEHOLDER, page(equations, by_equation(read_errata(book), equations), page_url)
    )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", fill)
    app.connect("doctree-read", close_folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
