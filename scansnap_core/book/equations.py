"""The index of a paper's numbered equations: what tries each of them as it is printed, its verdict
and its errata.

A reviewed file of the book, ``chapters/equations.yaml``, has the formulas and names the claims that
try them; verdicts, counts and links are drawn from what the chapters store. A number that no claim
tries is listed as untouched.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import COUNT, LIST, MAPPING, TEXT, Entry, list_of
from scansnap_core.base.rules import Rule, one_of
from scansnap_core.book.errata import Erratum, Place, read_errata
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.book.prose import texts
from scansnap_core.ledger.display import anchor_of, render
from scansnap_core.ledger.entries import PROVED, Finding, Refutation
from scansnap_core.ledger.registry import Page
from scansnap_core.ledger.verdicts import FAILS_AS_PRINTED, HOLDS, HOLDS_UNDER_A_CONDITION

EQUATIONS_FILE = Path("chapters", "equations.yaml")
KINDS = ("definition", "claim", "step", "premise")
DERIVED = "derived"
CHECKED = "checked"
REFUTED = "refuted"
DEFINED = "definition"
UNTOUCHED = "untouched"
STATUSES = (DERIVED, CHECKED, REFUTED, DEFINED, UNTOUCHED)
"""How an equation came out: by a symbolic check or a proof, other checks, a refutation, as a
definition, not at all.
"""

_NAMED = re.compile(r"Eqns? ((?:\d+(?:-\d+)?(?:, | and )?)+)")
_TAGGED = re.compile(r"\$\$((?:(?!\$\$).)+?)\\tag\{(\d+)\}\s*\$\$", re.DOTALL)
_QUOTATION = re.compile(r"^(?:>.*\n?)+", re.MULTILINE)
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_DERIVING = ("symbolic", PROVED)
_KEYS = ("number", "kind", "at", "formula", "tries", "unsure", "test", "code")
_KIND = one_of(KINDS)
_NAMES = list_of(TEXT, "it is a list of names")


@dataclass(frozen=True)
class Trial:
    """A stored claim that tries an equation: its page, and what was found of it."""

    page: Page
    entry: Finding

    @property
    def anchor(self) -> str:
        """Return the id of its place on its page."""
        return anchor_of(self.entry.id)

    @property
    def refutes(self) -> bool:
        """Tell whether the equation fails as it is printed."""
        return isinstance(self.entry, Refutation)


@dataclass(frozen=True)
class Equation:
    """A numbered equation of the paper with its trials."""

    number: int
    section: str
    """The part of the paper that prints it."""
    kind: str
    """One of `KINDS`."""
    at: Page
    """The statement that it belongs to."""
    formula: str
    """LaTeX, as printed."""
    trials: tuple[Trial, ...]
    unsure: str = ""
    """What can't be read with certainty in the source; empty if all can."""
    test: str = ""
    """For a definition: the node id of the unit test which shows that the code means the same."""
    code: tuple[str, ...] = ()
    """Its names within the package, such as ``"engine.model.attend"``."""

    @property
    def status(self) -> str:
        """Choose one of `STATUSES`: refuted, defined, untouched, derived or checked.

        One refutation decides, whatever else is checked. A definition is no claim, so a test of its
        code is enough.
        """
        if any(trial.refutes for trial in self.trials):
            return REFUTED
        if self.kind == "definition" and (self.test or self.trials):
            return DEFINED
        if not self.trials:
            return UNTOUCHED
        return (
            DERIVED if any(trial.entry.witness in _DERIVING for trial in self.trials) else CHECKED
        )

    @property
    def verdict(self) -> str:
        """Return the ledger's word for a verdict, or that it is a definition or untouched."""
        if self.status in (DERIVED, CHECKED):
            return HOLDS
        if self.status != REFUTED:
            return self.status
        refutations = [t.entry for t in self.trials if isinstance(t.entry, Refutation)]
        conditions = all(refutation.condition for refutation in refutations)
        return HOLDS_UNDER_A_CONDITION if conditions else FAILS_AS_PRINTED


def equation_anchor(number: int) -> str:
    """Return the id that an equation has on the page of equations."""
    return f"eq-{number}"


def read_equations(book: Path) -> list[Equation]:
    """Read the equations of a book's file, each with the stored claims that try it.

    Raises BadInput if a number of 1 to ``count`` is missing or there twice, or an entry is wrong.
    """
    whole = _read_file(book)
    count = whole("count", COUNT)
    sections = whole("sections", LIST)
    equations: list[Equation] = []
    stored = read_stored(book)
    for entry in sections:
        part = Entry(f"{EQUATIONS_FILE}: a section", entry, ("section", "equations"))
        equations += [
            _equation(book, stored, part("section", TEXT), row) for row in part("equations", LIST)
        ]
    numbers = [equation.number for equation in equations]
    for number in range(1, max([count, *numbers]) + 1):
        if numbers.count(number) != (number <= count):
            rule = (
                f"the paper has the equations 1 to {count}, each once, and it is there "
                f"{numbers.count(number)} times"
            )
            raise BadInput(f"({number})", rule, f"correct {EQUATIONS_FILE}")
    return equations


def _read_file(book: Path) -> Entry:
    """Read `EQUATIONS_FILE`, of which nothing but its keys is checked here."""
    content = files.read(book / EQUATIONS_FILE, example="restore it")
    return Entry(str(EQUATIONS_FILE), content, ("count", "unnumbered", "sections"))


def formula_faults(book: Path) -> list[str]:
    r"""List displayed formulas that a chapter says are the paper's though `EQUATIONS_FILE` hasn't
    got them.

    ``$$ ... \tag{9} $$`` stands for (9) of the paper, and has to be the formula of the file, white
    space aside. In the quotation of a statement as printed, a formula without a tag has to be one
    of the file's that have no number.
    """
    printed = {equation.number: _packed(equation.formula) for equation in read_equations(book)}
    unnumbered = [_packed(formula) for formula in _read_file(book)("unnumbered", _NAMES, ())]
    untagged = [
        f"{page.relative_to(book)}: {EQUATIONS_FILE} has no such formula without a number: "
        f"{formula.strip()}"
        for page, text in texts(book)
        for quotation in _QUOTATION.findall(text)
        if ", as printed" in quotation
        for formula in _DISPLAYED.findall(_QUOTE_MARK.sub("", quotation))
        if "\\tag{" not in formula and _packed(formula) not in unnumbered
    ]
    return untagged + [
        f"{page.relative_to(book)}: ({number}) isn't as {EQUATIONS_FILE} prints it: "
        f"{formula.strip()}"
        for page, text in texts(book)
        for formula, number in _TAGGED.findall(text)
        if _packed(formula) != printed.get(int(number))
    ]


def _packed(formula: str) -> str:
    """Return a formula without the white space and the full stop or comma that a sentence around it
    asks for.
    """
    return re.sub(r"\s+", "", formula).rstrip(".,")


def _equation(book: Path, stored: Stored, section: str, row: Any) -> Equation:
    """Read one equation of a section, with the stored claims that its key ``tries`` names, page by
    page.
    """
    number = Entry(f"{EQUATIONS_FILE}: {section}", row)("number", COUNT)
    take = Entry(f"{EQUATIONS_FILE}, ({number})", row, _KEYS)
    is_test = Rule(
        lambda node: _is_test(book, node),
        "there is no such unit test",
        "write tests/file.py::test_name",
    )
    is_page = Rule(
        lambda page_id: page_id in list(stored.pages), "the book has no such page", "correct its id"
    )
    trials = []
    for page_id, claim_ids in take("tries", MAPPING).items():
        is_page(f"{take.place}.tries", page_id)
        trials += [
            Trial(stored.pages[page_id], entry)
            for entry in stored.claims(take.place, page_id, claim_ids)
        ]
    return Equation(
        number,
        section,
        take("kind", _KIND),
        stored.pages[take("at", is_page)],
        take("formula", TEXT),
        tuple(trials),
        take("unsure", TEXT, ""),
        take("test", is_test, ""),
        tuple(take("code", _NAMES, ())),
    )


def _is_test(book: Path, node: str) -> bool:
    """Tell whether a book has the unit test of a node id such as tests/file.py::test_name."""
    file, _, name = str(node).partition("::")
    try:
        tree = ast.parse((book / file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return False
    return name in {
        function.name for function in tree.body if isinstance(function, ast.FunctionDef)
    }


def equations_named(place: str) -> list[int]:
    """List the numbered equations that the name of a place names.

    Examples
    --------
    >>> equations_named("Theorem 4, Eqn 14, 124, 129-131")
    [14, 124, 129, 130, 131]
    """
    spans = [
        span.split("-")
        for names in _NAMED.findall(place)
        for span in re.split(", | and ", names)
        if span
    ]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def by_equation(
    errata: Iterable[Erratum], equations: Iterable[Equation]
) -> dict[int, list[Erratum]]:
    """Find the errata of every equation that has some, by its number; equations and errata keep
    their order.
    """

    def is_about(place: Place, equation: Equation) -> bool:
        """Tell whether an erratum's place refutes the equation, or names it as its own place."""
        tried = [(trial.page.id, trial.anchor) for trial in equation.trials if trial.refutes]
        named = equations_named(place.refutation.place) if place.page.paper.own else []
        return (place.page.id, place.cell) in tried or equation.number in named

    errata = list(errata)
    found = {
        q.number: [e for e in errata if any(is_about(place, q) for place in e.places)]
        for q in equations
    }
    return {number: hit for number, hit in found.items() if hit}


def errata_index_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the list of the equations that have errata, each linked to its own place and to its
    errata.

    The function ``page_url`` gives a page's address by id. What can't be read raises `BadInput`.
    """
    return render(
        Path(__file__).with_name("templates") / "errata_index.html",
        found=by_equation(read_errata(book), read_equations(book)),
        anchor=equation_anchor,
        equations_url=page_url("equations"),
        errata_url=page_url("errata"),
    )
