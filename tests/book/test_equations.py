"""The index of equations: the book's own, complete and true to the code, and files that are refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
import yaml

from scansnap_core.base.files import COUNT, LIST, MAPPING, TEXT
from scansnap_core.book import equations
from scansnap_core.book.equations import (
    EQUATIONS_FILE,
    REFUTED,
    by_equation,
    equations_named,
    errata_index_html,
    formula_faults,
    read_equations,
)
from scansnap_core.book.errata import read_errata
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.ledger import read_pages
from scansnap_core.ledger.verdicts import FAILS_AS_PRINTED, HOLDS, Verdict
from scansnap_core.theory.formulas import FORMULAS, SYMBOLS
from tests.book.latex import sides, value
from tests.findings import a_check, a_refutation
from tests.refusing import refuses
from tests.theory.test_formulas import POINT

ROOT = Path(__file__).parents[2]
INDEX = read_equations(ROOT)
BY_NUMBER = {equation.number: equation for equation in INDEX}


def test_all_138_are_there_in_the_papers_order_and_none_is_untouched() -> None:
    assert [equation.number for equation in INDEX if equation.status != "untouched"] == list(range(1, 139))
    assert formula_faults(ROOT) == []


def test_a_definition_has_its_unit_test_where_the_code_has_it() -> None:
    definitions = [equation for equation in INDEX if equation.kind == "definition"]
    assert {equation.number for equation in definitions if not equation.test} == {46}  # the code has no broken line
    assert {equation.number for equation in INDEX if equation.test} <= {e.number for e in definitions}


def test_a_statements_own_equations_are_at_it() -> None:
    own = {number: page.id for page in read_pages(ROOT).values() for number in page.equations}
    assert {number: BY_NUMBER[number].at.id for number in own} == own


def test_what_a_refutation_hits_is_refuted_in_the_index() -> None:
    stored = read_stored(ROOT)
    refutations = [each for verdict in stored.verdicts.values() for each in verdict.refutations]
    hit = {n for each in refutations if each.judges != "reading" for n in equations_named(each.place)}
    refuted = {equation.number for equation in INDEX if equation.status == "refuted"}
    assert hit - refuted == {133}  # an order as t grows, which the constant that (124) drops doesn't change
    assert {14, 48, 64, 88, 94, 95, 132} <= hit


PRINTED_SIDES = """
    B B_early B_late E_prime_gap E_prime_size Gamma alpha_target beta_printed chi_lower chi_upper count_bound
    count_bound_wide gamma gamma_early gamma_late h_early h_late h_rate h_spread h_step iota lambda_prime r_grown
    t_balanced theta_bound w xi_of_z xi_snap z_force_symmetric z_rate_distinct z_rate_snap
"""
"""The closed forms of the code that are one whole side of a printed equation."""

AT = {name: float(given) for name, given in POINT.items()}
AT |= {"nu": AT["eta_Y"] / AT["eta_Z"], "zeta": AT["M"] / (AT["M"] - 1) * (AT["e_"] - 1 / AT["M"])}


def values(number: int) -> list[float]:
    """The values at POINT of those sides of a printed equation that `latex` understands."""
    understood = []
    for side in sides(BY_NUMBER[number].formula):
        try:
            understood.append(value(side, AT))
        except (ValueError, KeyError, IndexError):
            continue
    return understood


@pytest.mark.parametrize("name", PRINTED_SIDES.split())
def test_a_printed_formula_has_the_value_of_the_codes(name: str) -> None:
    formula = FORMULAS[name]
    exact = {SYMBOLS[symbol].expression: sp.Rational(POINT[symbol]) for symbol in formula.symbols}
    wanted = pytest.approx(float(sp.N(formula.expression.subs(exact))), rel=1e-9, abs=0)
    assert any(wanted in values(number) for number in formula.equations)


PAGES = {page_id: read_pages(ROOT)[page_id] for page_id in ("lemma_06", "theorem_4")}
STORED = Stored(
    PAGES,
    {
        "lemma_06": Verdict(
            "lemma_06", HOLDS, checks=(a_check("other"), a_check("size"), a_check("shape", "symbolic"))
        ),
        "theorem_4": Verdict(
            "theorem_4",
            FAILS_AS_PRINTED,
            checks=(a_check("size"),),
            refutations=(
                a_refutation("a", place="Eqn 2", repair="b"),
                a_refutation("b", place="Eqn 2", condition="c"),
            ),
        ),
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


def test_a_trial_knows_its_place_and_cannot_be_changed(read: Any) -> None:
    (equation,) = read(ONE | {"tries": {"lemma_06": ["size"], "theorem_4": ["b"]}})
    places = [("lemma_06", "claim-size", False), ("theorem_4", "claim-b", True)]
    assert [(t.page.id, t.anchor, t.refutes) for t in equation.trials] == places
    for read_object in (equation, equation.trials[0]):
        assert vars(type(read_object))["__dataclass_params__"].frozen


@pytest.mark.parametrize(
    ("change", "value", "rule"),
    [
        ({"tries": {"lemma_06": ["a"]}}, ", (1): lemma_06:a", "lemma_06 stores no such claim"),
        *(
            ({"tries": {"lemma_06": ids}}, ", (1): lemma_06", "it lists ids of the page's claims, each once")
            for ids in (["size", "size"], "size", None)
        ),
        ({"tries": {"lemma_60": []}}, ", (1).tries = 'lemma_60'", "the book has no such page"),
        ({"at": "lemma_60"}, ", (1).at = 'lemma_60'", "the book has no such page"),
        *(
            ({"test": f"tests/{name}"}, f", (1).test = 'tests/{name}'", "there is no such unit test")
            for name in ("test_a.py::test_b", "test_b.py::test_a")
        ),
        ({"kind": "theorem"}, ", (1).kind = 'theorem'", "the choices are definition, claim, step, premise"),
        ({"formula": 3}, ", (1).formula = 3", TEXT.says),
        ({"formulae": "x"}, ", (1): key 'formulae'", "there is no such key"),
        ({"number": "1"}, ": Sec. 1.number = '1'", COUNT.says),
    ],
)
def test_a_wrong_row_is_refused(read: Any, change: dict[str, Any], value: str, rule: str) -> None:
    with refuses(f"{EQUATIONS_FILE}{value}", rule):
        read(ONE | change)


@pytest.mark.parametrize(
    ("numbers", "count", "value", "rule"),
    [
        ((1, 3), 3, "(2)", "the paper has the equations 1 to 3, each once, and it is there 0 times"),
        ((1, 2, 2), 2, "(2)", "the paper has the equations 1 to 2, each once, and it is there 2 times"),
        ((1,), 2, "(2)", "the paper has the equations 1 to 2, each once, and it is there 0 times"),
        ((1, 2), 1, "(2)", "the paper has the equations 1 to 1, each once, and it is there 1 times"),
        ((), 1, "(1)", "the paper has the equations 1 to 1, each once, and it is there 0 times"),
    ],
)
def test_each_number_is_there_once(read: Any, numbers: tuple[int, ...], count: int, value: str, rule: str) -> None:
    with refuses(value, rule):
        read(*(ONE | {"number": number} for number in numbers), count=count)


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("[", "file …/chapters/equations.yaml: while parsing …", "the file is valid YAML or JSON"),
        ("count: 1", "chapters/equations.yaml.sections", LIST.says),
        ("- 1", "chapters/equations.yaml = [1]", MAPPING.says),
    ],
)
def test_an_unreadable_file_is_refused(text: str, value: str, rule: str, tmp_path: Path) -> None:
    (tmp_path / "chapters").mkdir()
    (tmp_path / EQUATIONS_FILE).write_text(text)
    with refuses(value, rule):
        read_equations(tmp_path)


@pytest.mark.parametrize(
    ("place", "numbers"),
    [
        ("Lemma 4, Eqns 10 and 94", [10, 94]),
        ("Theorem 4, Eqn 14, 124, 129-131", [14, 124, 129, 130, 131]),
        ("Sec. 6 and Eqn 133", [133]),
        ("Remark 1, Eqn 43, right side", [43]),
        ("Theorem 1 (b), Figure 12", []),
    ],
)
def test_a_place_names_its_equations(place: str, numbers: list[int]) -> None:
    assert equations_named(place) == numbers


ERRATA = read_errata(ROOT)
DRAWN = errata_index_html(ROOT, lambda page_id: f"{page_id}.html")


def test_every_refuted_equation_leads_to_an_erratum() -> None:
    found = by_equation(ERRATA, INDEX)
    assert {equation.number for equation in INDEX if equation.status == REFUTED} <= set(found)
    assert [erratum.number for erratum in found[88]] == ["E10"]
    assert [erratum.number for erratum in found[118]] == ["E8"]  # tried by its refutation, not named in its place
    assert [erratum.number for erratum in found[133]] == ["E7"]  # only named in its place


def test_every_erratum_that_names_an_equation_is_in_the_index() -> None:
    naming = {e.number for e in ERRATA if any("Eqn" in place.refutation.place for place in e.places)}
    assert naming <= set(re.findall(r">(E\d+)</a>", DRAWN))
    assert '<a href="equations.html#eq-88">(88)</a> <a class="ss-number" href="errata.html#e10">E10</a>' in DRAWN


def test_an_erratum_that_hangs_on_a_reading_is_marked() -> None:
    marked = dict(re.findall(r">(E\d+)</a>( \(as we read it\))?", DRAWN))
    readings = {e.number for e in ERRATA if {place.refutation.judges for place in e.places} == {"reading"}}
    assert {number for number, mark in marked.items() if mark} == readings & set(marked)
    assert marked["E17"]


def test_a_formula_in_a_quotation_has_its_number_or_is_one_of_those_without(tmp_path: Path) -> None:
    book = Path(shutil.copytree(ROOT / "chapters", tmp_path / "chapters")).parent
    shutil.copy(ROOT / "_toc.yml", book)
    (book / "tests").symlink_to(ROOT / "tests")
    page = book / "chapters" / "statements" / "lemma_13.ipynb"
    text = page.read_text(encoding="utf8")
    assert text.count(r"\\le |\\lambda_1|$$") == 1
    page.write_text(text.replace(r"\\le |\\lambda_1|$$", r"\\ge |\\lambda_1|$$"), encoding="utf8")
    (fault,) = formula_faults(book)
    assert fault.startswith("chapters/statements/lemma_13.ipynb: ")
    assert r"has no such formula without a number: \max_{ij} |E_{ij}| \ge |\lambda_1|" in fault
