"""Which controls nobody computed."""

import pytest

from scansnap_core.book.controls import literal_controls

SETUP = """\
import math
import numpy as np
import sympy as sp
from scansnap_core.theory.formulas import gamma

M, K = 1000, 3
rho: float = 0.3
bound = 0.5
TABLE = {"a": 1.0, "b": 2.0}
ROWS = (1.0, 2.0)
moved = 1.0
moved += gamma(M, K)
worst = []
worst.append(gamma(M, K))
either = 1.0
either = gamma(M, K)
"""


LITERALS = (
    "1.0; 1 / 20; -3; not 1; 1 > 2; True; 1 if True else 2; sp.Integer(1); sp.Rational(1, 3); Fraction(1, 3); "
    "float(1); abs(-1); math.pi / 2; np.inf; sp.E; K; rho; 2 * bound; rho / M; sp.S(K)"
)
OTHERS = (
    "gamma(1000, 3); gamma(M, K); 1 / gamma(M, K); max(1, 2); sp.eye(2); sp.Matrix([1, 2]); TABLE['a']; ROWS[0]; "
    "worst[0]; moved; either; unknown; system.E; system.pi; [x for x in ROWS][0]"
)


@pytest.mark.parametrize("control", LITERALS.split("; "))
def test_literals_and_names_of_literals_are_found(control: str) -> None:
    call = f"numeric.holds('error', gamma(M, K), bound=bound, control={control})"
    assert [number for number, _ in literal_controls([SETUP, call, "1 + 1", call])] == [2, 4]


@pytest.mark.parametrize("control", OTHERS.split("; "))
def test_what_is_computed_or_measured_is_none(control: str) -> None:
    call = f"numeric.holds('error', gamma(M, K), bound=bound, control={control})"
    assert literal_controls([SETUP, call]) == []


@pytest.mark.parametrize(
    "source",
    [
        "for x in (1.0, 2.0):\n    w.holds('a', x, control=x)",
        "for name, x in [('a', 1.0), ('b', 2.0)]:\n    w.holds(name, x, control=x)",
        "x, (y, z) = 1.0, (2.0, 3.0)\nw.refutes('a', 4, control=z)",
        "one = 1.0\nx = one\nw.holds('a', 4, control=x)",
        "def ask(x):\n    return x\n\n\nx = 1.0\nw.holds('a', ask(4), control=x)",
        "x = 1.0\n\n\ndef ask(y):\n    w.holds('a', y, control=x)",
        "helper('a', 4, control=1.0)",
        "rest = dict(control=1.0)\nw.holds('a', 4, **rest)",
    ],
)
def test_literals_are_followed_to_where_they_are_used(source: str) -> None:
    assert len(literal_controls([source])) == 1


@pytest.mark.parametrize(
    "source",
    [
        "for x in measure():\n    w.holds('a', x, control=x)",
        "for x in (1.0, measure()):\n    w.holds('a', x, control=x)",
        "x, y = measure()\nw.holds('a', 4, control=x)",
        "def ask(x=1.0):\n    w.holds('a', 4, control=x)",
        "x = x + 1\nw.holds('a', 4, control=x)",
        "w.holds('a', 4, control=",
    ],
)
def test_what_cant_be_followed_is_no_literal(source: str) -> None:
    assert literal_controls([source]) == []


@pytest.mark.parametrize("claim", ["bound_of, 0.5", "bound_of, claim=0.5", "procedure=bound_of, claim=0.5"])
def test_a_proofs_control_is_a_claim_that_is_refused(claim: str) -> None:
    call = f"proved.holds('constant', {claim}, control=0.4)"
    assert literal_controls([SETUP, call, call.replace("holds(", "refutes(")]) == [(3, "0.4")]
