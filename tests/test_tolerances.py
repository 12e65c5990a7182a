"""Tolerances mean what they say: ``approx`` and its like add an absolute one unless they are told not to."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
ABSOLUTE = {"approx": "abs", "allclose": "atol", "isclose": "atol", "xr.testing.assert_allclose": "atol"}
"""These add an absolute tolerance of 1e-12 or 1e-8 by default; the argument sets it."""


def test_every_absolute_tolerance_is_named() -> None:
    found = []
    for path in TESTS.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(call, ast.Call):
                name = ast.unparse(call.func)
                needed = ABSOLUTE.get(name) or ABSOLUTE.get(name.rpartition(".")[2])
                if needed and needed not in {keyword.arg for keyword in call.keywords}:
                    found.append(f"{path}:{call.lineno}")
    assert found == []
