"""Tolerances mean what they say: ``approx`` and its like add an absolute one unless they are told not to."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
ABSOLUTE = {"approx": "abs", "allclose": "atol", "isclose": "atol", "xr.testing.assert_allclose": "atol"}
"""These add an absolute tolerance of 1e-12 or 1e-8 by default; the argument sets it."""


def unbounded(source: str) -> list[int]:
    """Find the lines on which one of them is called without that argument."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    needed = [ABSOLUTE.get(name) or ABSOLUTE.get(name.rpartition(".")[2]) for name in names]
    return [
        call.lineno
        for call, argument in zip(calls, needed, strict=True)
        if argument and argument not in {keyword.arg for keyword in call.keywords}
    ]


def test_every_absolute_tolerance_is_named() -> None:
    assert unbounded("np.allclose(a, b, atol=0)\napprox(0.5)") == [2]
    found = {path.name: unbounded(path.read_text(encoding="utf8")) for path in TESTS.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}
