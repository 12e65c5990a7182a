"""Tolerances mean what they say: pytest's ``approx`` adds an absolute 1e-12 unless it's told not to."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def unbounded(source: str) -> list[int]:
    """The lines on which ``approx`` is called without ``abs``."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] == "approx"
        and "abs" not in {keyword.arg for keyword in node.keywords}
    ]


def test_every_approx_names_its_absolute_tolerance() -> None:
    found = {path.name: unbounded(path.read_text(encoding="utf8")) for path in TESTS.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_why_a_relative_tolerance_alone_is_no_test() -> None:
    assert pytest.approx(7e-24, rel=1e-12, abs=0) != 0
    assert unbounded("from pytest import approx\napprox(0.5)\npytest.approx(\n  7e-24, rel=1e-12)") == [2, 3]
    assert unbounded("assert 0 == pytest.approx(7e-24, rel=1e-12, abs=0) == approx(1, abs=1e-9)") == []
