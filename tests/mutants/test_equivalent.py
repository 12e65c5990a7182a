"""Entries of the file of equivalent mutants, and those that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from scansnap_core import BadInput
from tests.mutants.trees import mutant, mutants, name_equivalent, write_tree
from tools.mutants.equivalent import equivalent

ENTRY: dict[str, object] = {
    "module": "theory.flows",
    "line": "return 2 * x",
    "becomes": "return 2 / x",
    "reason": "Because.",
}


def named(root: Path, *entries: dict[str, object]) -> dict[str, str]:
    name_equivalent(write_tree(root), *entries)
    return {str(m): reason for m, reason in equivalent(root, mutants()).items()}


def test_an_entry_names_its_mutant(tmp_path: Path) -> None:
    assert named(tmp_path, ENTRY) == {str(mutant("return 2 / x")): "Because."}
    assert named(tmp_path) == {}


@pytest.mark.parametrize(
    "stale", [{"line": "return 3 * x"}, {"becomes": "return 2 // x"}, {"module": "modell"}, {"number": 2}]
)
def test_a_stale_entry_is_refused(tmp_path: Path, stale: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="one mutant of the sources as they are"):
        named(tmp_path, {**ENTRY, **stale})


def test_an_entry_for_a_module_that_isnt_looked_at_is_passed_over(tmp_path: Path) -> None:
    assert named(tmp_path, ENTRY | {"module": "engine.model"}) == {}


def test_an_entry_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no other entry names it"):
        named(tmp_path, ENTRY, ENTRY)


@pytest.mark.parametrize("spoilt", [{"reason": " "}, {"reason": None}, {"why": "Because."}])
def test_an_incomplete_entry_is_refused(tmp_path: Path, spoilt: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="an entry has module, line, becomes and reason"):
        named(tmp_path, {**ENTRY, **spoilt})
