"""Tolerances mean what they say: ``approx`` and its like add an absolute one unless they are told not to."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ABSOLUTE = {"approx": "abs", "allclose": "atol", "isclose": "atol", "xr.testing.assert_allclose": "atol"}
"""What compares with an absolute tolerance by default (1e-12 or 1e-8), and the argument that sets it."""


def unbounded(source: str) -> list[int]:
    """The lines on which one of them is called without that argument."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    needed = [ABSOLUTE.get(name) or ABSOLUTE.get(name.rpartition(".")[2]) for name in names]
    return [
        call.lineno
        for call, argument in zip(calls, needed, strict=True)
        if argument and argument not in {keyword.arg for keyword in call.keywords}
    ]


def test_every_absolute_tolerance_is_named() -> None:
    found = {path.name: unbounded(path.read_text(encoding="utf8")) for path in TESTS.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_why_a_relative_tolerance_alone_is_no_test() -> None:
    assert pytest.approx(7e-24, rel=1e-12, abs=0) != 0
    assert unbounded("from pytest import approx\napprox(0.5)\npytest.approx(\n  7e-24, rel=1e-12)") == [2, 3]
    assert unbounded("np.allclose(a, b, rtol=1e-9)\nxr.testing.assert_allclose(a, b, rtol=1e-9)") == [1, 2]
    assert unbounded("0 == approx(7e-24, rel=1e-12, abs=0) == approx(1, abs=1e-9)\nnp.allclose(a, b, atol=0)") == []
    assert unbounded("np.testing.assert_allclose(a, b, rtol=1e-9)") == []  # NumPy's assertion adds none
