"""The errata of each equation, on the book itself."""

import re
from pathlib import Path

import pytest

from scansnap_core.book.equations import REFUTED, Equation, read_equations
from scansnap_core.book.errata import Erratum, read_errata
from scansnap_core.book.errata_index import by_equation, equations_named, errata_index_html

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def equations() -> list[Equation]:
    return read_equations(ROOT)


@pytest.fixture(scope="module")
def errata() -> list[Erratum]:
    return read_errata(ROOT)


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


def test_every_refuted_equation_leads_to_an_erratum(equations: list[Equation], errata: list[Erratum]) -> None:
    found = by_equation(errata, equations)
    assert {equation.number for equation in equations if equation.status == REFUTED} <= set(found)
    assert [erratum.number for erratum in found[88]] == ["E10"]
    assert [erratum.number for erratum in found[118]] == ["E6"]  # tried by its refutation, not named in its place
    assert [erratum.number for erratum in found[133]] == ["E7"]  # only named in its place


def test_every_erratum_that_names_an_equation_is_in_the_index(errata: list[Erratum]) -> None:
    naming = {e.number for e in errata if any("Eqn" in place.refutation["place"] for place in e.places)}
    drawn = errata_index_html(ROOT, lambda page_id: f"{page_id}.html")
    assert naming <= set(re.findall(r">(E\d+)</a>", drawn))
    assert '<a href="equations.html#eq-88">(88)</a> <a class="ss-number" href="errata.html#e10">E10</a>' in drawn


def test_an_erratum_that_hangs_on_a_reading_is_marked(errata: list[Erratum]) -> None:
    drawn = errata_index_html(ROOT, lambda page_id: f"{page_id}.html")
    marked = dict(re.findall(r">(E\d+)</a>( \(as we read it\))?", drawn))
    judged = {e.number: {place.refutation["judges"] for place in e.places} for e in errata}
    assert {number for number, mark in marked.items() if mark} == {n for n in marked if judged[n] == {"reading"}}
    assert marked["E17"]
