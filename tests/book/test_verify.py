import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.book import execute
from scansnap_core.cli import main
from scansnap_core.ledger import VERDICT_MIME
from tests.book.books import (
    CHAPTER,
    GOOD_CELLS,
    PAPERS,
    PRINTED,
    SETTINGS,
    change_code,
    claim_another,
    claim_falsely,
    clear,
    png,
    put,
    register,
    replace_verdict,
    spoil,
    to_stderr,
    users_settings,
    write_book,
)
from tests.book.conftest import Run


def test_a_good_book_is_verified(book: Path, verify: Run) -> None:
    before = (book / CHAPTER).read_text()
    code, table, errors = verify("lemma_08", "--json", str(book / "found.json"))
    assert (code, errors) == (0, "")
    assert "lemma_08  A heading  holds    1 1 1" in table
    assert (book / CHAPTER).read_text() == before
    found = json.loads((book / "found.json").read_text())
    assert found["failures"] == []
    (chapter,) = found["chapters"]
    assert [chapter[key] for key in ("id", "verified", "verdict", "failures")] == ["lemma_08", True, "holds", []]


def replace_text(cells: list[Any]) -> None:
    cells[1]["outputs"][1]["data"]["text/plain"][0] = "✓ symbolic: symbolic half: 0.4, must be at most 0.6\n"


def swap_picture(cells: list[Any]) -> None:
    cells[2]["outputs"][0]["data"]["image/png"] = png("darkgreen")


def recompute(old: str, new: str) -> Callable[[list[Any]], None]:
    return put(1, source=GOOD_CELLS[1].replace(old, new))


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        (replace_text, ["cell 2 stores another text/plain than it gives: stored", "symbolic half: 0.5, must be"]),
        (replace_verdict, [f"cell 5 stores another {VERDICT_MIME} than it gives", "fails as printed"]),
        (swap_picture, ["cell 3 stores another image/png than it gives: they differ by"]),
        (put(2, id="another"), ["its card shows the figure of 'picture'; the cells with one are ['another']"]),
        (put(2, outputs=[]), ["cell 3 stores 0 outputs (none), but gives 2"]),
        (put(2, metadata={}), ["cell 3 shows a picture without alternative text in its metadata"]),
        (change_code, ["cell 4 stores another stdout than it gives", "fresh 'a number: 3", "verify --store lemma_08"]),
        (clear, ["its outputs were cleared"]),
        (put(3, outputs=[], execution_count=None), ["cell 4 is stored as never executed"]),
        (put(3, execution_count=9), ["cell 4 is stored as execution 9"]),
        (put(0, source=GOOD_CELLS[0] + ";"), ["cell 1 has a line that ends in ';'"]),
        (put(3, source="1  # NBVAL_IGNORE_OUTPUT"), ["cell 4 has the marker NBVAL_IGNORE_OUTPUT"]),
        (put(3, metadata={"tags": ["nbval-ignore-output"]}), ["cell 4 has the marker nbval-ignore-output"]),
        (claim_falsely, ["cell 2 raised CheckFailed: Lemma 8, symbolic witness, symbolic_half (symbolic half): meas"]),
        (recompute("r(0.5)", "r(0.35)"), ["cell 2 raised ControlPassed", "the control (another half) gives 0.55"]),
        (claim_another, ["its verdict is that of lemma_09"]),
        (lambda cells: cells.pop(4), ["its outputs hold no verdicts"]),
        (recompute("another(0.5)", "0.7"), ["cell 2 has a control that nothing computes: 0.7"]),
        (to_stderr, ["cell 4 stores on stderr 'careful'", "cell 4 gives on stderr 'careful'"]),
    ],
)
def test_a_spoilt_chapter_is_named_with_its_reason(
    book: Path, verify: Run, change: Callable[[list[Any]], None], reasons: list[str]
) -> None:
    spoil(book, change)
    code, table, errors = verify()
    assert code == 1
    assert "NOT VERIFIED" in table
    assert all(line.startswith("scansnap: lemma_08: ") for line in errors.splitlines())
    for reason in reasons:
        assert reason in errors


@pytest.mark.parametrize(
    ("named", "faults"),
    [("Lemma 8", ""), ("Remark 8", ""), ("Lemma 9", "scansnap: lemma_08: it shows Lemma 9 as its own statement\n")],
)
def test_a_chapter_names_its_own_page(book: Path, verify: Run, named: str, faults: str) -> None:
    notebook = json.loads((book / CHAPTER).read_text())
    notebook["cells"][0]["source"] = f"# Lemma 8: a\n\n> **{named}, as printed.** One is one."
    (book / CHAPTER).write_text(json.dumps(notebook))
    assert verify()[::2] == (int(bool(faults)), faults)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("chapters/lemma_11", ", which has no file"),
        ("chapters/statements/lemma_08", ", whose file it lists already"),
        ("chapters/statements/lemma_08.ipynb", ", whose file it lists already"),
    ],
)
def test_what_is_wrong_with_the_book_alone_fails_it(book: Path, verify: Run, entry: str, reason: str) -> None:
    toc = book / "_toc.yml"
    toc.write_text(f"{toc.read_text()}- file: {entry}\n")
    code, table, errors = verify()
    assert (code, errors) == (1, f"scansnap: _toc.yml lists {entry}{reason}\n")
    assert "NOT VERIFIED" not in table


def test_a_chapter_that_is_missing_from_the_contents_is_named(book: Path, verify: Run) -> None:
    (book / "_toc.yml").write_text((book / "_toc.yml").read_text().partition("chapters:\n")[0])
    assert verify()[::2] == (1, "scansnap: lemma_08: it is missing from _toc.yml\n")


def test_a_cell_that_hangs_is_named_and_leaves_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A kernel writes to the terminal by itself, past Python's own stderr."""
    monkeypatch.setattr(execute, "_CELL_TIMEOUT_SECONDS", 1)
    write_book(tmp_path, (CHAPTER, ("import time; time.sleep(60)",)))
    assert main(["verify", "--book", str(tmp_path)]) == 1
    errors = capfd.readouterr().err.splitlines()
    assert errors[0] == "scansnap: lemma_08: cell 1 ran longer than 1 s"
    assert all(line.startswith("scansnap: lemma_08: ") for line in errors)


def test_several_chapters_at_a_time(book: Path, verify: Run) -> None:
    """One stays good, one claims falsely, one is no notebook, and one has another page's number."""
    spoilt = tuple(cell.replace(", 0.5,", ", 0.9,").replace("lemma_08", "lemma_09") for cell in GOOD_CELLS)
    folder = (book / CHAPTER).parent
    write_book(book, (Path("chapters/lemma_09.ipynb"), spoilt), (Path("chapters/lemma_99.ipynb"), GOOD_CELLS))
    register(book / "chapters/lemma_99.ipynb", number=98)
    (folder / "lemma_10.ipynb").write_text("{")
    parts = "- chapters:\n  - file: chapters/lemma_09\n  - file: chapters/lemma_99.ipynb\n"
    parts += "    sections: [{file: chapters/statements/lemma_08}, {file: chapters/statements/lemma_10}]\n"
    (book / "_toc.yml").write_text(f"root: chapters/index\n{PAPERS}parts:\n{parts}")
    code, _, errors = verify("--jobs", "2", "--json", str(book / "found.json"))
    assert code == 1
    assert "lemma_09: cell 2 raised CheckFailed: Lemma 9, symbolic witness" in errors
    assert "lemma_10.ipynb: it is no readable notebook" in errors
    assert "chapters/lemma_99.ipynb: metadata.scansnap.number = 98: it is the number that the file's name" in errors
    assert "lemma_08" not in errors.replace("that of lemma_08", "")
    found = {chapter["id"]: chapter for chapter in json.loads((book / "found.json").read_text())["chapters"]}
    assert {page_id for page_id, chapter in found.items() if chapter["verified"]} == {"lemma_08"}
    assert found["lemma_09"]["verdict"] is None


def test_a_record_that_cannot_be_written_is_said_after_the_findings(verify: Run) -> None:
    code, table, errors = verify("lemma_08", "--json", "/proc/found.json")
    assert (code, "lemma_08" in table) == (2, True)
    assert "scansnap: error: file /proc/found.json" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lemma_8"], "did you mean lemma_08?"),
        (["cost"], "id = 'cost': it names no statement, figure or page; the ids are lemma_08"),
        (["--jobs", "0"], "--jobs 0"),
        (["--json", "nowhere/found.json"], "--json nowhere/found.json: its folder doesn't exist"),
        (["--book", "nowhere"], "there is no such folder"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(verify: Run, arguments: list[str], message: str) -> None:
    code, table, errors = verify(*arguments)
    assert (code, table, len(errors.splitlines())) == (2, "", 1)
    assert errors.startswith("scansnap: error: ")
    assert message in errors


def test_a_book_needs_chapters_and_readable_contents(book: Path, verify: Run) -> None:
    toc = book / "_toc.yml"
    for text, said in (
        (b"- a", "the book needs a readable table of contents"),
        (b"a: [", "the file is valid YAML"),
        (b"\xff", "it isn't UTF-8 text"),
    ):
        toc.write_bytes(text)
        code, _, errors = verify()
        assert code == 2
        assert re.search(f"_toc.yml: .*{said}", errors)
    toc.unlink()
    assert re.search("_toc.yml: the book needs a readable table of contents", verify()[2])
    (book / CHAPTER).unlink()
    code, _, errors = verify()
    assert (code, "nothing would be verified" in errors) == (2, True)


NO_OUTPUTS = """
{"cells": [{"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": 3, "source": "1"}],
"metadata": {}, "nbformat": 4, "nbformat_minor": 4}
"""


@pytest.mark.parametrize("text", ["[" * 100_000, '{"cells": 3}', NO_OUTPUTS])
def test_a_file_that_is_no_notebook_spoils_its_chapter_alone(book: Path, verify: Run, text: str) -> None:
    (book / "chapters" / "statements" / "lemma_10.ipynb").write_text(text)
    code, table, errors = verify()
    assert (code, "lemma_08" in table) == (1, True)
    assert re.search("lemma_10: .*no readable notebook", errors)


def test_nothing_of_the_users_settings_reaches_a_chapter(
    book: Path, verify: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in users_settings(tmp_path).items():
        monkeypatch.setenv(name, value)
    spoil(book, lambda cells: cells[3].update(source=SETTINGS))
    assert verify("--store")[0] == 0
    assert PRINTED in (book / CHAPTER).read_text()


def test_a_chapter_that_prints_without_end_is_stopped(book: Path, verify: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "_MOST_PRINTED", 1000)
    spoil(book, lambda cells: cells[3].update(source="while True:\n    print('and ' * 99)"))
    code, _, errors = verify()
    assert code == 1
    assert "ended its kernel: more than 1,000 characters were printed" in errors


def test_a_strict_interpreter_has_nothing_to_warn_of(book: Path) -> None:
    command = [sys.executable, "-m", "scansnap_core.cli", "verify", "--book", str(book)]
    done = subprocess.run(command, env=os.environ | {"PYTHONWARNINGS": "error"}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_home_folder_that_cant_be_written_leaves_no_words_in_a_chapter() -> None:
    """Matplotlib says on stderr where it keeps its fonts then, or that it lists them."""
    begun = "import subprocess, sys; from scansnap_core.book.execute import kernel_environment as kernels; "
    kernel = "subprocess.run([sys.executable, '-c', 'import matplotlib.pyplot'], env=kernels(), capture_output=True)"
    nowhere = {"HOME": "/dev/null/nowhere", "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", "MPLCONFIGDIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", f"{begun}done = {kernel}; print(done.stderr, done.returncode)"],
        env=os.environ | nowhere,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "b'' 0\n"
