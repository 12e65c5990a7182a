"""The index of equations: the book's own, complete and true to the code, and files that are refused."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
import yaml

from scansnap_core import BadInput
from scansnap_core.book import equations
from scansnap_core.book.equations import EQUATIONS_FILE, read_equations
from scansnap_core.book.stored import Stored, read_stored
from scansnap_core.ledger import read_pages
from scansnap_core.theory.formulas import FORMULAS, SYMBOLS
from tests.book.latex import sides, value
from tests.theory.test_formulas import POINT

ROOT = Path(__file__).parents[2]
INDEX = read_equations(ROOT)
BY_NUMBER = {equation.number: equation for equation in INDEX}
NUMBERS = range(1, 139)


def test_all_138_are_there_in_the_papers_order() -> None:
    assert [equation.number for equation in INDEX] == list(NUMBERS)


def test_none_is_untouched() -> None:
    assert [equation.number for equation in INDEX if equation.status == "untouched"] == []


def test_a_definition_has_its_unit_test_where_the_code_has_it() -> None:
    definitions = [equation for equation in INDEX if equation.kind == "definition"]
    assert {equation.number for equation in definitions if not equation.test} == {46}  # the code has no broken line
    assert {equation.number for equation in INDEX if equation.test} <= {e.number for e in definitions}


def test_a_statements_own_equations_are_at_it() -> None:
    own = {number: page.id for page in read_pages(ROOT).values() for number in page.equations}
    assert {number: BY_NUMBER[number].at.id for number in own} == own


def test_what_a_refutation_hits_is_refuted_in_the_index() -> None:
    stored = read_stored(ROOT)
    hit = set()
    for verdict in stored.verdicts.values():
        for refutation in verdict.get("refutations", []):
            named = re.search(r"Eqns? ([\d, and-]+)", refutation["place"])
            if refutation["judges"] not in ("reading",) and named:
                spans = re.findall(r"(\d+)(?:-(\d+))?", named[1])
                hit |= {n for first, last in spans for n in range(int(first), int(last or first) + 1)}
    refuted = {equation.number for equation in INDEX if equation.status == "refuted"}
    assert hit - refuted == {133}  # an order as t grows, which the constant that (124) drops doesn't change
    assert {14, 48, 64, 88, 94, 95, 132} <= hit


def test_code_names_are_the_packages() -> None:
    for equation in INDEX:
        for name in equation.code:
            place = name.replace("formulas.", "theory.formulas.") if name.startswith("formulas.") else name
            assert pkgutil.resolve_name(f"scansnap_core.{place}") is not None


def test_the_registry_and_the_index_agree_on_numbers() -> None:
    in_index = {(name, e.number) for e in INDEX for name in e.code if name.startswith("formulas.")}
    in_registry = {(f"formulas.{f.name}", number) for f in FORMULAS.values() for number in f.equations}
    assert in_index == in_registry


NOT_COMPARED = {
    "sums and matrices": {"c", "f", "E_prime", "Y"},
    "part of a printed side": {
        "C_0_of_rho", "chi", "error_factor", "error_slope", "q_0", "q_1", "share_bound", "sigma_bound",
        "steps_to_learn", "t_0", "t_0_prime", "z_force", "z_rate_common", "zeta",
    },
    "printed as an equation for it": {"h_implicit", "omega_0", "omega_1", "z_snap"},
    "named, not printed": {"Delta"},
}  # fmt: skip
"""Closed forms that aren't one printed side of an equation, so that they can't be compared with it as a whole."""


AT = {name: float(given) for name, given in POINT.items()}
AT |= {"nu": AT["eta_Y"] / AT["eta_Z"], "zeta": AT["M"] / (AT["M"] - 1) * (AT["e_"] - 1 / AT["M"])}


@cache
def codes_values() -> dict[str, float]:
    """The values at POINT of the registry's closed forms that the paper prints."""
    found = {}
    for name, formula in FORMULAS.items():
        if formula.origin == "printed" and formula.equations and name not in NOT_COMPARED["sums and matrices"]:
            exact = {SYMBOLS[symbol].expression: sp.Rational(POINT[symbol]) for symbol in formula.symbols}
            found[name] = float(sp.N(formula.expression.subs(exact)))
    return found


def compared() -> dict[str, list[int]]:
    """Each of these closed forms with the equations of which one side has its value."""
    return {
        name: [n for n in FORMULAS[name].equations if pytest.approx(wanted, rel=1e-9, abs=0) in values(n)]
        for name, wanted in codes_values().items()
    }


def values(number: int) -> list[float]:
    """Of each side of a printed equation that is understood."""
    understood = []
    for side in sides(BY_NUMBER[number].formula):
        try:
            understood.append(value(side, AT))
        except (ValueError, KeyError, IndexError):
            continue
    return understood


def test_printed_formulas_are_the_codes() -> None:
    missed = {name for name, numbers in compared().items() if not numbers}
    assert missed == set().union(*NOT_COMPARED.values()) - NOT_COMPARED["sums and matrices"]
    assert len(compared()) - len(missed) > 30


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (44, ("M-1", "M+1")),
        (85, (r"\exp(M", r"\exp(2 M")),
        (88, ("q_0", "q_1")),
        (131, ("2K", "3K")),
        (58, ("+ 1", "")),
    ],
)
def test_a_changed_formula_is_seen(number: int, change: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = compared()
    changed = equations.Equation(**vars(BY_NUMBER[number]) | {"formula": BY_NUMBER[number].formula.replace(*change)})
    monkeypatch.setitem(BY_NUMBER, number, changed)
    assert [name for name, numbers in before.items() if compared()[name] != numbers]


CHECK = {"id": "size", "witness": "numeric", "condition": "", "repair": ""}
REFUTATION = CHECK | {"place": "Eqn 2"}
PAGES = {page_id: read_pages(ROOT)[page_id] for page_id in ("lemma_06", "theorem_4")}
STORED = Stored(
    PAGES,
    {
        "lemma_06": {"checks": [CHECK | {"id": "other"}, CHECK, CHECK | {"id": "shape", "witness": "symbolic"}]},
        "theorem_4": {
            "checks": [CHECK],
            "refutations": [REFUTATION | {"id": "a", "repair": "b"}, REFUTATION | {"id": "b", "condition": "c"}],
        },
    },
)
ONE = {"number": 1, "kind": "step", "at": "lemma_06", "formula": "x", "tries": {"lemma_06": ["size"]}}
TEST = "tests/test_a.py::test_a"


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[equations.Equation]]:
    """The equations of a file with the given rows, in a book with one unit test."""
    monkeypatch.setattr(equations, "read_stored", lambda book: STORED)
    for path, text in ((EQUATIONS_FILE, ""), (Path(TEST.partition("::")[0]), "def test_a() -> None: ...\n")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)

    def of(*rows: dict[str, Any], count: int | None = None) -> list[equations.Equation]:
        contents = {"count": count or len(rows), "sections": [{"section": "Sec. 1", "equations": list(rows)}]}
        (tmp_path / EQUATIONS_FILE).write_text(yaml.safe_dump(contents))
        return read_equations(tmp_path)

    return of


@pytest.mark.parametrize(
    ("change", "status", "verdict"),
    [
        ({}, "checked", "holds"),
        ({"kind": "claim"}, "checked", "holds"),
        ({"kind": "premise"}, "checked", "holds"),
        ({"tries": {"lemma_06": ["size", "shape"]}}, "derived", "holds"),
        ({"tries": {}}, "untouched", "untouched"),
        ({"tries": {}, "kind": "definition"}, "untouched", "untouched"),
        ({"tries": {}, "kind": "definition", "test": TEST}, "definition", "definition"),
        ({"tries": {"lemma_06": ["shape"], "theorem_4": ["a"]}}, "refuted", "fails as printed"),
        ({"tries": {"theorem_4": ["b"]}, "kind": "definition"}, "refuted", "holds under a condition"),
        ({"tries": {"theorem_4": ["a", "b"]}}, "refuted", "fails as printed"),
    ],
)
def test_the_verdict_is_that_of_its_trials(read: Any, change: dict[str, Any], status: str, verdict: str) -> None:
    (equation,) = read(ONE | change)
    assert (equation.status, equation.verdict) == (status, verdict)


@pytest.mark.parametrize("kind", [equations.Equation, equations.Trial])
def test_what_was_read_cannot_be_changed(kind: type) -> None:
    assert vars(kind)["__dataclass_params__"].frozen


def test_a_trial_knows_its_place(read: Any) -> None:
    (equation,) = read(ONE | {"tries": {"lemma_06": ["size"], "theorem_4": ["b"]}})
    assert [(t.page.id, t.anchor, t.refutes) for t in equation.trials] == [
        ("lemma_06", "claim-size", False),
        ("theorem_4", "claim-b", True),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tries": {"lemma_06": ["a"]}}, "yaml, (1): lemma_06:a: lemma_06 stores no such claim"),
        ({"tries": {"lemma_06": ["size", "size"]}}, "yaml, (1): lemma_06: it lists ids of the page's claims"),
        ({"tries": {"lemma_06": "size"}}, "yaml, (1): lemma_06: it lists ids of the page's claims"),
        ({"tries": {"lemma_06": None}}, "yaml, (1): lemma_06: it lists ids of the page's claims"),
        ({"tries": {"lemma_60": ["size"]}}, "'lemma_60': the book has no such page"),
        ({"at": "lemma_60"}, "'lemma_60': the book has no such page"),
        ({"test": "tests/test_a.py::test_b"}, "there is no such unit test"),
        ({"test": "tests/test_b.py::test_a"}, "there is no such unit test"),
        ({"kind": "theorem"}, "kind = 'theorem': it is no kind of equation"),
        ({"formula": 3}, "formula = 3: it is a str"),
        ({"formulae": "x"}, "['formulae']: there is no such key"),
        ({"number": "1"}, "number = '1': it is a int"),
    ],
)
def test_a_wrong_row_is_refused(read: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        read(ONE | change)


@pytest.mark.parametrize(
    ("numbers", "count", "fault"),
    [((1, 3), 3, "(2): "), ((1, 2, 2), 2, "(2): "), ((1,), 2, "(2): "), ((1, 2), 1, "(2): "), ((), 1, "(1): ")],
)
def test_each_number_is_there_once(read: Any, numbers: tuple[int, ...], count: int, fault: str) -> None:
    with pytest.raises(BadInput, match=re.escape(fault) + "the paper has the equations 1 to"):
        read(*(ONE | {"number": number} for number in numbers), count=count)


@pytest.mark.parametrize("text", ["[", "count: 1", "- 1", ""])
def test_an_unreadable_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "chapters").mkdir()
    (tmp_path / EQUATIONS_FILE).write_text(text)
    with pytest.raises(BadInput, match=r"no readable list of equations|is valid YAML"):
        read_equations(tmp_path)
