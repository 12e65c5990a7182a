"""The run as a whole, on a small tree: what is judged, what is judged again, what is recorded, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scansnap_core import BadInput
from tests.mutants.trees import TEST, mutants, name_equivalent, write_tree
from tools.mutants import command
from tools.mutants.judges import Outcome, UnitTests, Verdict
from tools.mutants.record import RECORD

WEAK = TEST.replace("flows.double(3) == 6", "flows.double(2) == 4")  # 2 + 2 = 2 ** 2 = 2 * 2
ENTRY: dict[str, object] = {
    "module": "theory.flows",
    "line": "return 2 * x",
    "becomes": "return 2 + x",
    "reason": "Because.",
}
OTHER = ENTRY | {"becomes": "return 2 ** x"}
SOURCE = "scansnap_core/theory/flows.py"
FILE = "tests/theory/test_flows.py"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the judges were shown, and whom they asked first."""
    shown: list[tuple[str, str]] = []

    def judge(self: UnitTests, copy: Path, module: str, first: str = "") -> Verdict:
        shown.append(((copy / SOURCE).read_text().split("    ")[-1].strip(), first))
        return original(self, copy, module, first)

    original = UnitTests.judge
    monkeypatch.setattr(UnitTests, "judge", judge)
    return shown


def part(tree: Path) -> dict[str, Any]:
    return json.loads((tree / RECORD).read_text("utf8"))["theory.flows"]


def test_all_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = write_tree(tmp_path)
    assert command.run(tree, 2) == 0
    assert part(tree)["counts"]["killed"] == part(tree)["counts"]["mutants"] == len(mutants())
    assert f"killed {len(mutants())} of {len(mutants())}, besides" in capsys.readouterr().out


def test_what_survives_is_named_and_can_be_named_as_equivalent(
    tmp_path: Path, asked: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    tree = write_tree(tmp_path, test=WEAK)
    assert command.run(tree, 1) == 1
    assert "survived  theory.flows.py: return 2 * x -> return 2 + x" in capsys.readouterr().out
    assert (part(tree)["counts"]["equivalent"], part(tree)["counts"]["survived"]) == (0, 2)
    assert sorted(line for line, _ in asked) == sorted(["return 2 * x", *(m.becomes for m in mutants())])
    # nobody is asked again
    asked.clear()
    name_equivalent(tree, ENTRY)
    assert command.run(tree, 1) == 1
    assert (part(tree)["counts"]["equivalent"], part(tree)["counts"]["survived"]) == (1, 1)
    name_equivalent(tree, ENTRY, OTHER)
    assert command.run(tree, 1) == 0
    assert f"killed {len(mutants()) - 2} of {len(mutants()) - 2}, besides" in capsys.readouterr().out
    assert asked == []


def test_other_judges_judge_anew_and_the_last_killer_is_asked_first(
    tmp_path: Path, asked: list[tuple[str, str]]
) -> None:
    tree = write_tree(tmp_path, test=WEAK)
    command.run(tree, 1)
    before = part(tree)
    asked.clear()
    file = tree / "tests/theory/test_flows.py"
    file.write_text(TEST)
    assert command.run(tree, 1, ["engine.model"]) == 0  # the control: flows isn't wanted
    assert (asked, part(tree)) == ([], before)
    assert command.run(tree, 1) == 0
    first = {becomes: first for becomes, first in asked if becomes != "return 2 * x"}
    assert first == {m.becomes: "" if m.becomes in {"return 2 + x", "return 2 ** x"} else FILE for m in mutants()}
    assert part(tree)["judges_sha256"] != before["judges_sha256"]
    assert part(tree)["sha256"] == before["sha256"]


def test_a_mutant_that_the_record_lacks_is_judged(tmp_path: Path, asked: list[tuple[str, str]]) -> None:
    tree = write_tree(tmp_path)
    command.run(tree, 1)
    record = json.loads((tree / RECORD).read_text("utf8"))
    del record["theory.flows"]["mutants"][0]
    (tree / RECORD).write_text(json.dumps(record))
    shutil.rmtree(tree / "_build")
    asked.clear()
    assert command.run(tree, 1) == 0
    assert len(part(tree)["mutants"]) == len(mutants())
    assert len(asked) == 1 + len(mutants())


def test_tests_without_end_kill_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = write_tree(tmp_path)

    def judge(self: UnitTests, copy: Path, module: str, first: str = "") -> Verdict:
        source = (copy / SOURCE).read_text()
        if "**" in source:
            return Verdict(Outcome.TIMEOUT, FILE)
        return Verdict(Outcome.SURVIVED) if "2 * x" in source else Verdict(Outcome.KILLED, FILE)

    monkeypatch.setattr(UnitTests, "judge", judge)
    assert command.run(tree, 1) == 1
    assert part(tree)["counts"]["timeouts"] == 1
    out = capsys.readouterr().out
    assert "timeout   theory.flows.py: return 2 * x -> return 2 ** x" in out
    assert f"killed {len(mutants()) - 1} of {len(mutants())}" in out


def test_an_equivalent_mutant_that_dies_is_refused(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    name_equivalent(tree, ENTRY)
    with pytest.raises(BadInput, match=r"named as equivalent, but tests/theory/test_flows.py::test_double kills it"):
        command.run(tree, 1)
    assert not (tree / RECORD).exists()


def test_tests_that_fail_anyway_judge_nothing(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, test=TEST.replace("6", "7"))
    with pytest.raises(BadInput, match="test_double: a judge of mutants has nothing against the sources as they are"):
        command.run(tree, 1)


def test_a_module_without_mutants_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"kernel: no mutants are made of it; choose from book\.compare, "):
        command.run(write_tree(tmp_path), 1, ["kernel", "theory.flows"])
