"""The judges: what they kill, what they spare, and that they judge the copy and nothing else."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from tests.mutants.trees import MODULE, TEST, mutant, write_tree
from tools.mutants import judges, pytest_in_copy
from tools.mutants.copies import planted
from tools.mutants.judges import Outcome, UnitTests, Verdict, digest_of_judges, imports, panels

FILE = "tests/theory/test_flows.py"


@pytest.fixture(scope="module")
def tests() -> UnitTests:
    return UnitTests()


def test_a_wrong_module_dies_and_a_right_one_lives(tests: UnitTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path)
    assert tests.judge(copy, "theory.flows") == Verdict(Outcome.SURVIVED)
    with planted(mutant("return 2 + x"), copy):
        assert tests.judge(copy, "theory.flows") == Verdict(Outcome.KILLED, f"{FILE}::test_double")
    assert (copy / "scansnap_core/theory/flows.py").read_text() == MODULE
    # at once again, with a file of the same size and age
    with planted(mutant("return 2 / x"), copy):
        assert tests.judge(copy, "theory.flows").outcome is Outcome.KILLED


def test_a_module_that_fails_to_import_dies(tests: UnitTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path)
    (copy / "scansnap_core/theory/flows.py").write_text("1 / 0\n")
    assert tests.judge(copy, "theory.flows") == Verdict(Outcome.KILLED, FILE)


def test_what_is_imported_must_be_the_copy(tests: UnitTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path, test="from scansnap_core import BadInput\n\n\ndef test_it() -> None:\n    pass\n")
    shutil.rmtree(copy / "scansnap_core")  # so that the installed package is found
    with pytest.raises(RuntimeError, match="instead of the copy"):
        tests.judge(copy, "theory.flows")


def test_pytest_that_runs_nothing_is_no_judge(tests: UnitTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path, test="")
    with pytest.raises(RuntimeError, match="status 5 and names no failure"):
        tests.ask(copy, [FILE])


def test_a_test_without_end_is_ended(tests: UnitTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping = "import subprocess\n\n\ndef test_it() -> None:\n    subprocess.run(['sleep', '1234.5'])\n"
    copy = write_tree(tmp_path, test=sleeping)
    monkeypatch.setattr(judges, "SECONDS", 5)
    assert tests.ask(copy, [FILE]) == Verdict(Outcome.TIMEOUT, FILE)
    assert [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "1234.5"]] == []


def test_a_process_that_nobody_waits_for_ends(tmp_path: Path) -> None:
    copy = write_tree(tmp_path, test="def test_it() -> None:\n    while True:\n        pass\n")
    process = multiprocessing.get_context("forkserver").Process(
        target=pytest_in_copy.run, args=(copy, [FILE], 3, multiprocessing.Pipe(duplex=False)[1])
    )
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGALRM


def test_a_crash_kills(tests: UnitTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path, test="import os\n\n\ndef test_it() -> None:\n    os._exit(0)\n")
    assert tests.ask(copy, [FILE]) == Verdict(Outcome.KILLED, f"{FILE} (crash)")


def test_computing_without_end_is_a_timeout_not_a_kill(tests: UnitTests, tmp_path: Path) -> None:
    # the child's limit is the parent's, so that this needn't take two minutes
    limit = "import resource\n\nresource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))\n\n\n"
    copy = write_tree(tmp_path, test=limit + "def test_it() -> None:\n    while True:\n        pass\n")
    assert tests.ask(copy, [FILE]) == Verdict(Outcome.TIMEOUT, FILE)


def test_computing_and_memory_are_limited(tests: UnitTests, tmp_path: Path) -> None:
    copy = write_tree(
        tmp_path,
        test="import resource\n\n\ndef test_it() -> None:\n"
        f"    assert resource.getrlimit(resource.RLIMIT_CPU)[0] == {pytest_in_copy.CPU_SECONDS}\n"
        f"    assert resource.getrlimit(resource.RLIMIT_AS)[0] == {pytest_in_copy.MEMORY}\n",
    )
    assert tests.ask(copy, [FILE]) == Verdict(Outcome.SURVIVED)


def test_the_likeliest_judges_come_first(tmp_path: Path) -> None:
    copy, about = write_tree(tmp_path), "tests/theory/test_a_flow.py"
    (copy / about).write_text(TEST)
    assert panels(copy, "theory.flows") == [[FILE], [about]]  # and not test_nothing
    assert panels(copy, "theory.flows", first=about) == [[about], [FILE]]
    assert panels(copy, "theory.flows", first=FILE) == [[FILE], [about]]
    assert panels(copy, "theory.flows", first="tests/theory/test_gone.py") == [[FILE], [about]]
    assert panels(copy, "engine.model") == []


def test_the_judges_of_the_same_room_come_first(tmp_path: Path) -> None:
    copy = write_tree(tmp_path)
    importing = "from scansnap_core.ledger.values import holds\n"
    for file, text in {
        "tests/ledger/test_values.py": "",
        "tests/ledger/test_checks.py": importing,
        "tests/book/test_values.py": importing,
    }.items():
        (copy / file).parent.mkdir(exist_ok=True)
        (copy / file).write_text(text)
    assert panels(copy, "ledger.values") == [
        ["tests/ledger/test_values.py"],
        ["tests/ledger/test_checks.py", "tests/book/test_values.py"],
    ]


def test_a_room_within_a_room_has_its_own_judges(tmp_path: Path) -> None:
    copy = write_tree(tmp_path)
    for file, text in {
        "tests/theory/law/test_closed.py": "",
        "tests/theory/test_law.py": "from scansnap_core.theory.law import drift\n",
        "tests/site/test_lab.py": "from scansnap_core.theory.law import closed, types\n",  # waits for a browser
    }.items():
        (copy / file).parent.mkdir(exist_ok=True)
        (copy / file).write_text(text)
    assert panels(copy, "theory.law.closed") == [["tests/theory/law/test_closed.py"]]
    assert panels(copy, "theory.law.types") == [["tests/theory/test_law.py"]]  # no file names it


@pytest.mark.parametrize("line", ["import subprocess", "from tests.sweeps.processes import wait_for"])
def test_what_waits_for_processes_is_no_judge(tmp_path: Path, line: str) -> None:
    copy = write_tree(tmp_path, test=f"{line}\n{TEST}")
    assert panels(copy, "theory.flows") == []


def test_imports_are_found_in_all_their_forms() -> None:
    assert {"a.flows", "a.model"} <= imports("from a import flows as f, model")
    assert {"a.ledger.checks", "a.ledger.checks.x"} <= imports("def f():\n    from a.ledger.checks import x")
    assert imports("import a.spectrum, numpy.linalg") == {"a.spectrum", "numpy.linalg"}
    assert imports("from . import flows\nflows.x") == set()


@pytest.mark.parametrize(
    ("changed", "matters"),
    [
        ("scansnap_core/theory/flows.py", True),
        ("tests/theory/test_flows.py", True),
        ("tests/theory/conftest.py", True),
        ("scansnap_core/omega/__init__.py", True),
        ("scansnap_core/omega/newton.py", True),
        ("scansnap_core/theory/spectrum.py", False),
        ("tests/theory/test_nothing.py", False),
    ],
)
def test_the_hash_is_of_all_that_decides(tmp_path: Path, changed: str, matters: bool) -> None:
    tree = write_tree(tmp_path)
    (tree / "scansnap_core/omega").mkdir()
    (tree / "scansnap_core/omega/__init__.py").write_text("")
    (tree / "scansnap_core/omega/newton.py").write_text("")
    (tree / "tests/theory/conftest.py").write_text("")
    (tree / "scansnap_core/engine/model.py").write_text("from scansnap_core.omega.newton import root\n")
    (tree / "scansnap_core/theory/flows.py").write_text("from scansnap_core.engine import model\n" + MODULE)
    before = digest_of_judges(tree, "theory.flows")
    (tree / changed).write_text((tree / changed).read_text() + "# changed\n")
    assert (digest_of_judges(tree, "theory.flows") != before) is matters
