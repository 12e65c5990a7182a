"""The judges: what they kill, what they spare, and that they judge the copy and nothing else."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
from pathlib import Path

import nbformat
import psutil
import pytest

from mutants import judges, pytest_in_copy
from mutants.copies import ROOT, copies, planted
from mutants.judges import CoreTests, Outcome, Verdict, chapters_about, imports, judge_by_chapters, panels
from tests.ledger.books import CHAPTER, GOOD_CELLS, write_book
from tests.mutants.trees import MODULE, TEST, mutant, write_tree

FILE = "tests/core/test_flows.py"
COPY_SAYS = 'raise RuntimeError("this is the copy")\n'


@pytest.fixture(scope="module")
def tests() -> CoreTests:
    return CoreTests()


def test_a_wrong_module_dies_and_a_right_one_lives(tests: CoreTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path)
    assert tests.judge(copy, "flows") == Verdict(Outcome.ALIVE)
    with planted(mutant("return 2 + x"), copy):
        assert tests.judge(copy, "flows") == Verdict(Outcome.TESTS, f"{FILE}::test_double")
    assert (copy / "scansnap_core/flows.py").read_text() == MODULE
    # at once again, with a file of the same size and age
    with planted(mutant("return 2 / x"), copy):
        assert tests.judge(copy, "flows").outcome is Outcome.TESTS


def test_a_module_that_fails_to_import_dies(tests: CoreTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path)
    (copy / "scansnap_core/flows.py").write_text("1 / 0\n")
    assert tests.judge(copy, "flows") == Verdict(Outcome.TESTS, FILE)


def test_what_is_imported_must_be_the_copy(tests: CoreTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path, test="from scansnap_core import BadInput\n\n\ndef test_it() -> None:\n    pass\n")
    shutil.rmtree(copy / "scansnap_core")  # so that the installed package is found
    with pytest.raises(RuntimeError, match="instead of the copy"):
        tests.judge(copy, "flows")


def test_pytest_that_runs_nothing_is_no_judge(tests: CoreTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path, test="")
    with pytest.raises(RuntimeError, match="status 5 and names no failure"):
        tests.ask(copy, [FILE])


def test_a_test_without_end_is_ended(tests: CoreTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_crash_kills(tests: CoreTests, tmp_path: Path) -> None:
    copy = write_tree(tmp_path, test="import os\n\n\ndef test_it() -> None:\n    os._exit(0)\n")
    assert tests.ask(copy, [FILE]) == Verdict(Outcome.TESTS, f"{FILE} (crash)")


def test_the_cheapest_judges_come_first(tmp_path: Path) -> None:
    copy, nothing, about = write_tree(tmp_path), "tests/core/test_nothing.py", "tests/core/test_a_flow.py"
    (copy / about).write_text(TEST)
    assert panels(copy, "flows") == [[FILE], [about], [nothing]]
    assert panels(copy, "flows", first=nothing) == [[nothing], [FILE], [about]]
    assert panels(copy, "model", first="tests/core/test_gone.py") == [[about, FILE, nothing]]


def test_imports_are_found_in_all_their_forms() -> None:
    assert imports("from scansnap_core import flows as f, model") == {"flows", "model"}
    assert imports("def f():\n    from scansnap_core.ledger.checks import x") == {"ledger"}
    assert imports("import scansnap_core.spectrum, numpy.linalg") == {"spectrum"}
    assert imports(TEST.replace("scansnap_core", "another")) == set()


def test_chapters_are_those_that_reach_the_module(tmp_path: Path) -> None:
    write_book(tmp_path, (CHAPTER, ("from scansnap_core.dynamics import compare",)))
    (tmp_path / "scansnap_core/dynamics").mkdir(parents=True)
    (tmp_path / "scansnap_core/dynamics/all.py").write_text("from scansnap_core import flows\n")
    (tmp_path / "scansnap_core/flows.py").write_text("from scansnap_core import dynamics, formulas\n")
    assert [chapters_about(tmp_path, name) for name in ("flows", "formulas", "model")] == [["lemma_08"]] * 2 + [[]]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with one chapter, which says whose package its kernel imports; its outputs are stored."""
    root = tmp_path_factory.mktemp("book")
    shutil.copytree(ROOT / "scansnap_core", root / "scansnap_core", ignore=shutil.ignore_patterns("__pycache__"))
    said = "from pathlib import Path\n\nimport scansnap_core\n\n"
    said += "Path(scansnap_core.__file__).parents[1] == Path.cwd().parents[1]"
    write_book(root, (CHAPTER, (*GOOD_CELLS, said)))
    assert judges.verify(root, "--store") == 0
    return root


def test_a_chapter_judges_the_copy(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = nbformat.read(book / CHAPTER, as_version=4).cells
    assert cells[-1].outputs[0].data["text/plain"] == "True"
    with copies(book, 1) as (copy,):
        assert judge_by_chapters(copy, ["lemma_08"]) == Verdict(Outcome.SURVIVED)
        package = copy / "scansnap_core/__init__.py"
        # only in the kernel, so that it isn't the command that fails
        package.write_text(f'import sys\n\nif "ipykernel" in sys.modules:\n    {COPY_SAYS}' + package.read_text())
        assert judge_by_chapters(copy, ["lemma_08"]) == Verdict(Outcome.CHAPTERS, "lemma_08")
        monkeypatch.setattr(judges, "SECONDS", 0.5)
        assert judge_by_chapters(copy, ["lemma_08"]) == Verdict(Outcome.TIMEOUT, "lemma_08")


def test_a_chapter_that_judges_nothing_is_no_judge(book: Path) -> None:
    with pytest.raises(RuntimeError, match="scansnap verify lemma_09 ends with status 2"):
        judge_by_chapters(book, ["lemma_09"])
