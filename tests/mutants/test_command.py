"""The run as a whole, on a small tree: who judges what, what is recorded, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mutants import command
from mutants.judges import Outcome, Verdict
from mutants.record import RECORD
from scansnap_core import BadInput
from tests.mutants.trees import TEST, mutants, name_equivalent, write_tree

WEAK = TEST.replace("flows.double(3) == 6", "flows.double(2) == 4")  # 2 + 2 = 2 ** 2 = 2 * 2
LEFT = {"return 2 + x", "return 2 ** x"}
ENTRY: dict[str, object] = {"module": "flows", "line": "return 2 * x", "becomes": "return 2 + x", "reason": "Because."}


@pytest.fixture
def chapters(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What comes before the chapters, which kill powers."""
    asked: list[str] = []

    def judge(copy: Path, chapters: list[str]) -> Verdict:
        source = (copy / "scansnap_core/flows.py").read_text()
        asked.append(source.split("    ")[-1].strip())
        return Verdict(Outcome.CHAPTERS, "lemma_08") if "**" in source else Verdict(Outcome.SURVIVED)

    monkeypatch.setattr(command, "judge_by_chapters", judge)
    monkeypatch.setattr(command, "_seconds", lambda root, chapters, jobs: {})
    return asked


def counts(tree: Path) -> dict[str, int]:
    return json.loads((tree / RECORD).read_text("utf8"))["counts"]["flows"]


def test_tests_that_kill_all_leave_nothing_to_the_chapters(
    tmp_path: Path, chapters: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tree = write_tree(tmp_path)
    assert command.run(tree, 2) == 0
    assert chapters == []
    assert counts(tree)["killed_by_tests"] == counts(tree)["mutants"] == len(mutants())
    assert f"killed {len(mutants())} of {len(mutants())}, besides 0 equivalent ones" in capsys.readouterr().out


def test_chapters_judge_what_the_tests_let_live(
    tmp_path: Path, chapters: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tree = write_tree(tmp_path, test=WEAK)
    assert command.run(tree, 1) == 1
    assert set(chapters) == LEFT
    assert "survived  flows.py: return 2 * x -> return 2 + x" in capsys.readouterr().out
    assert (counts(tree)["killed_by_chapters"], counts(tree)["survived"]) == (1, 1)
    # what survived can be named as equivalent, and nobody is asked again
    name_equivalent(tree, ENTRY)
    assert command.run(tree, 1) == 0
    assert len(chapters) == 2
    assert (counts(tree)["equivalent"], counts(tree)["survived"]) == (1, 0)


def test_what_is_named_as_equivalent_isnt_shown_to_the_chapters(tmp_path: Path, chapters: list[str]) -> None:
    tree = write_tree(tmp_path, test=WEAK)
    name_equivalent(tree, ENTRY)
    assert command.run(tree, 1) == 0
    assert set(chapters) == LEFT - {"return 2 + x"}


def test_an_equivalent_mutant_that_dies_is_refused(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    name_equivalent(tree, ENTRY)
    with pytest.raises(BadInput, match=r"named as equivalent, but tests/core/test_flows.py::test_double kills it"):
        command.run(tree, 1)
    assert not (tree / RECORD).exists()


def test_tests_that_fail_anyway_judge_nothing(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, test=TEST.replace("6", "7"))
    with pytest.raises(BadInput, match="test_double: a judge of mutants has nothing against the sources as they are"):
        command.run(tree, 1)


def test_chapters_that_fail_anyway_judge_nothing(tmp_path: Path) -> None:
    # the small tree has no chapter, nor a scansnap to verify it with
    with pytest.raises(BadInput, match="chapters: a judge of mutants has nothing against the sources as they are"):
        command.run(write_tree(tmp_path, test=WEAK), 1)
