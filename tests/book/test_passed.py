"""What a run of the tests has verified isn't executed again; what changed since, or didn't pass, is."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scansnap_core import BadInput
from scansnap_core.book.execute import Execution, execute_all
from scansnap_core.book.passed import passed
from tests.book.books import CHAPTER, PAPERS
from tests.book.conftest import Run

REPORT = Path("reports", "tests.xml")
OTHERS = ("scansnap_core/room/module.py", "results/record.nc", "requirements.txt")


@pytest.fixture(scope="module")
def tested(stored_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored book and what its chapter may rest on, whose tests have run since."""
    book = Path(shutil.copytree(stored_book, tmp_path_factory.mktemp("tested") / "book"))
    for name in OTHERS:
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).touch()
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", f"--junitxml={REPORT}"]
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", *options, str(CHAPTER)]
    subprocess.run(command, cwd=book, check=True, capture_output=True)
    return book


@pytest.fixture
def book(tested: Path, tmp_path: Path) -> Path:
    """A copy, as old as it is."""
    return Path(shutil.copytree(tested, tmp_path / "book"))


def change(name: str) -> Callable[[Path], object]:
    return lambda book: os.utime(book / name)


def fail_a_cell(book: Path) -> None:
    report = (book / REPORT).read_text()
    assert report.count('name="Cell 3"') == 1
    begin, _, rest = report.partition('name="Cell 3"')
    tag, _, rest = rest.partition(" />")
    (book / REPORT).write_text(f'{begin}name="Cell 3"{tag}><failure message="differs" /></testcase>{rest}')


def leave_a_cell_out(book: Path) -> None:
    report = (book / REPORT).read_text()
    cells = report.split("<testcase ")
    (book / REPORT).write_text("<testcase ".join([*cells[:2], *cells[3:-1], cells[-1]]))


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The notebooks that are executed from now on."""
    seen: list[Path] = []

    def noted(paths: list[Path], jobs: int, on_cell: Callable[[], object]) -> dict[Path, Execution]:
        seen.extend(paths)
        return execute_all(paths, jobs, on_cell)

    monkeypatch.setattr("scansnap_core.book.verify.execute_all", noted)
    return seen


def test_a_chapter_that_passed_is_judged_by_what_it_stores(book: Path, verify: Run, executed: list[Path]) -> None:
    code, out, err = verify("--passed", str(book / REPORT))
    assert (code, err) == (0, "")
    assert "holds" in out
    assert executed == []
    (book / "_toc.yml").write_text(f"root: chapters/index\n{PAPERS}")  # the book's rules hold all the same
    code, _, err = verify("--passed", str(book / REPORT))
    assert code == 1
    assert "it is missing from _toc.yml" in err
    assert executed == []


@pytest.mark.parametrize(
    "spoiling",
    [*map(change, [str(CHAPTER), str(CHAPTER.with_suffix(".yaml")), *OTHERS]), fail_a_cell, leave_a_cell_out],
)
def test_it_is_executed_again(
    book: Path, verify: Run, executed: list[Path], spoiling: Callable[[Path], object]
) -> None:
    assert passed(book / REPORT, book, [book / CHAPTER]) == {book / CHAPTER}
    spoiling(book)
    assert passed(book / REPORT, book, [book / CHAPTER]) == set()
    assert verify("--passed", str(book / REPORT))[0] == 0
    assert executed == [book / CHAPTER]


@pytest.mark.parametrize("text", [None, "not XML", "<testsuites />", "<testsuites><testsuite /></testsuites>"])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "tests.xml").write_text(text)
    with pytest.raises(BadInput, match=r"--passed .*no JUnit report"):
        passed(tmp_path / "tests.xml", tmp_path, [])


def test_storing_asks_for_fresh_outputs(verify: Run) -> None:
    code, _, err = verify("--store", "--passed", str(REPORT))
    assert code == 2
    assert "leave one of them out" in err
