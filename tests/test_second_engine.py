"""The second engine knows what is true, says nothing where it can't tell, and a contradiction is seen."""

from __future__ import annotations

import csv
import io
import os
import time
from typing import Any

import pytest
import sympy as sp
from mpmath import iv
from sympy import LambertW, Rational, Symbol, exp, log, sqrt

from scansnap_core.ledger import Certificate
from scansnap_core.theory.certify.language import read
from tests.site.book import ROOT
from tools import second_engine
from tools.interval_claims import FALSE, NO_ANSWER, PROVED, at_point, from_zero, on_intervals, over_box
from tools.second_engine import NOT_TRIED, in_time, watched

u, v = Symbol("u", real=True), Symbol("v", real=True)


@pytest.mark.parametrize(
    ("expression", "box", "said"),
    [
        (exp(u) - 1 - u, {u: (1, 2)}, PROVED),
        (exp(u) - 3 - u, {u: (1, 2)}, FALSE),
        (sqrt(u) + log(v) - 1, {u: (1, 2), v: (Rational(11, 10), 100)}, PROVED),
        (u**2 - 2 * u * v + v**2 + Rational(1, 10), {u: (-1, 1), v: (-1, 1)}, PROVED),
        (LambertW(u) - u / 2, {u: (Rational(1, 2), 1)}, PROVED),
        (-1 - LambertW(u, -1), {u: (Rational(-1, 3), Rational(-1, 9))}, PROVED),
        (LambertW(u, -1) + 2, {u: (Rational(-1, 3), Rational(-1, 9))}, FALSE),
        (1 / u + 5, {u: (-1, 1)}, FALSE),
        ((u - Rational(1, 3)) ** 2, {u: (0, 1)}, NO_ANSWER),
    ],
)
def test_intervals(expression: Any, box: Any, said: str) -> None:
    assert over_box(expression, box, time.monotonic() + (1 if said == NO_ANSWER else 60)) == said


@pytest.mark.parametrize(
    "expression",
    [u + v - 2, u * v, u**3 * v, (u + v) ** -2, exp(u * v), log(u + v), sqrt(u * v), LambertW(u), LambertW(-u * v, -1)],
    ids=str,
)
def test_slopes_are_sympys_derivatives(expression: Any) -> None:
    """A wrong slope would prove what is false: the mean value is taken by it."""
    at = {u: Rational(1, 3), v: Rational(2, 5)}
    point = [iv.mpf(number.p) / number.q for number in at.values()]
    found = on_intervals(read(expression, [u, v]))(point)
    for value, exact in zip((found.value, *found.slopes), (expression, *(expression.diff(x) for x in at)), strict=True):
        assert float(value.mid) == pytest.approx(float(exact.subs(at).evalf(30)), rel=1e-12)
        assert float(value.delta) < 1e-15


def test_points_and_zeros() -> None:
    assert at_point(log(u) - 1, {u: 3}) == PROVED
    assert at_point(log(u) - 1, {u: 2}) == FALSE
    assert at_point(LambertW(Rational(1, 2)) - Rational(1, 3), {}) == PROVED
    assert from_zero(exp(u) - 1 - u, u, 3, 2, time.monotonic() + 60) == PROVED
    assert from_zero(exp(u) - 1 - u - u**2, u, 3, 2, time.monotonic() + 60) == FALSE


def test_relations() -> None:
    pytest.importorskip("cvc5")
    assert second_engine.decide(u**2 + v**2 >= 2 * u * v) == PROVED
    assert second_engine.decide(u**2 >= u, u >= 0) == FALSE
    assert second_engine.decide(1 / u > 0, u >= 0) == FALSE
    assert second_engine.decide(sp.Or(u * v <= 0, 1 / (u * v) > 0)) == FALSE  # not defined at 0
    assert second_engine.on_ray(u**2 - 2, u, Rational(3, 2)) == PROVED
    assert second_engine.on_ray(u**2 - 2, u, 1) == FALSE
    assert second_engine.between([1, -4, 4], 0, 1) == PROVED
    assert second_engine.between([1, -4, 3], 0, 1) == FALSE
    assert [second_engine.between([constant], 0, 1) for constant in (0, 1, -1)] == [PROVED, PROVED, FALSE]
    assert second_engine.between([0, 0, 1], 0, 1) == PROVED
    assert second_engine.between([0, 0, -1], 0, 1) == FALSE


def test_a_contradiction_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, str, str, float]] = []

    def wrong(*given: Any, **more: Any) -> Certificate:
        return Certificate("interval", True, "a guess")

    assert watched("positive", wrong, told)(u - 1, {u: (0, 2)}).proved
    assert told[0][:3] == ("positive", PROVED, FALSE)
    assert "positive says proved, mpmath says false" in capsys.readouterr().err


def test_what_does_not_end_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_engine, "SECONDS", 0.5)

    def endless() -> str:
        while True:
            pass

    before = time.monotonic()
    assert in_time(endless) == NO_ANSWER
    assert time.monotonic() - before < 5
    assert in_time(lambda: PROVED) == PROVED


def test_what_breaks_has_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    def wrong() -> str:
        raise ArithmeticError("no such number")

    assert in_time(wrong) == NO_ANSWER
    assert in_time(lambda: os._exit(3)) == NO_ANSWER
    said = capfd.readouterr().err
    assert "ArithmeticError: no such number" in said
    assert "its process ended" in said


def test_the_table_counts_answers_by_procedure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_engine, "version", lambda name: "1.2")
    answers = [
        ("decide", PROVED, PROVED, 0.1),
        ("decide", FALSE, FALSE, 0.1),
        ("decide", PROVED, NO_ANSWER, 0.1),
        ("at", PROVED, FALSE, 0.1),
        ("vanishes", PROVED, NOT_TRIED, 0.1),
    ]
    rows = {row["what is claimed"]: row for row in csv.DictReader(io.StringIO(second_engine.table(answers)))}
    numbers = {what: [*row.values()][1:6] for what, row in rows.items()}
    assert numbers["relations of polynomials"] == ["cvc5 1.2", "3", "2", "0", "1"]
    assert numbers["positive at a point"] == ["mpmath 1.2", "1", "0", "1", "0"]
    assert numbers["words of matrices"] == [NOT_TRIED, "1", "", "", ""]


def test_trust_says_what_was_recorded() -> None:
    with (ROOT / "results/second_engine.csv").open(encoding="utf8") as file:
        rows = list(csv.DictReader(file))
    tried = [row for row in rows if row["tried by"] != NOT_TRIED]
    (untried,) = (row for row in rows if row["tried by"] == NOT_TRIED)
    columns = ("claims", "same", "opposite", "no answer")
    claims, same, contradictions, silent = (sum(int(row[name]) for row in tried) for name in columns)
    assert (contradictions, same + silent) == (0, claims)
    said = (
        f"the second engine agreed with the first on {same:,} of the {claims:,} claims and controls that it "
        f"tried, contradicted none, and had no answer to the other {silent} after half a minute each. "
        f"It doesn't try products of matrices, {untried['claims']} claims and controls"
    )
    assert said in " ".join((ROOT / "chapters/trust.md").read_text(encoding="utf8").split())
