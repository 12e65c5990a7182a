import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.book import execute
from tests.book.books import CHAPTER, change_code, claim_another, claim_falsely, png, put, spoil, to_stderr
from tests.book.conftest import Run


def test_storing_refreshes_what_is_stale_and_cleans_it(book: Path, verify: Run) -> None:
    def leave_traces(cells: list[Any]) -> None:
        change_code(cells)
        cells[3]["metadata"]["execution"] = {"iopub.status.busy": "2024-01-01T00:00:00Z"}

    spoil(book, leave_traces)
    assert verify("--store")[0] == 0
    stored = json.loads((book / CHAPTER).read_text())
    assert stored["cells"][4]["outputs"][0]["text"] == ["a number: 3\n"]
    assert stored["cells"][4]["metadata"] == {}
    assert {key: stored["metadata"][key] for key in execute._METADATA} == execute._METADATA


def test_a_full_disk_leaves_the_notebook_as_it_was(book: Path, verify: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    spoil(book, change_code)
    before = (book / CHAPTER).read_text()
    monkeypatch.setattr(os, "fsync", full)
    code, table, errors = verify("--store")
    assert (code, "lemma_08" in table) == (1, True)
    assert re.search(r"lemma_08: not stored: file .*: No space left on device", errors)
    assert (book / CHAPTER).read_text() == before


ANOTHER = r"executed again, cell 4 stores another stdout than it gives: stored '\d+\\n', fresh '\d+\\n'\n"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (claim_falsely, "cell 2 raised CheckFailed"),
        (to_stderr, "cell 4 gives on stderr 'careful'"),
        (claim_another, "its verdict is that of lemma_09"),
        (put(2, id="another"), "its card shows the figure of 'picture'"),
        (put(4, source="lemma"), "its outputs hold no verdicts"),
        (put(3, source="import time\nprint(time.time_ns())"), ANOTHER),
        (put(3, source="from os import mkdir\nmkdir('a')"), "executed again, cell 4 raised FileExistsError: .*: 'a'\n"),
    ],
)
def test_storing_leaves_a_faulty_chapter_as_it_was(book: Path, verify: Run, change: Any, fault: str) -> None:
    spoil(book, change)
    before = (book / CHAPTER).read_text()
    code, _, errors = verify("--store")
    assert code == 1
    assert re.match(f"scansnap: lemma_08: {fault}", errors)
    assert (book / CHAPTER).read_text() == before


@pytest.mark.parametrize(
    "source",
    [
        "print(set('abcdefgh'))",
        "import time\nprint(time.localtime(0).tm_hour)",
        "import os\nprint(os.environ.get('LC_ALL'))",
    ],
)
def test_what_depends_on_the_surroundings_is_not_stored(
    book: Path, verify: Run, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for name, value in {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    spoil(book, put(3, source=source))
    before = (book / CHAPTER).read_text()
    code, _, errors = verify("--store")
    assert code == 1
    assert "lemma_08: executed again, cell 4 stores another stdout than it gives" in errors
    assert (book / CHAPTER).read_text() == before


def test_a_chapter_that_gives_what_it_stores_is_executed_once(book: Path, verify: Run) -> None:
    counted = book / "executions"
    source = f"with open({str(counted)!r}, 'a') as file:\n    print('a number:', 1 + file.write('x'))"
    spoil(book, put(3, source=source))
    assert verify("--store")[0] == 0
    assert counted.read_text() == "x"


def test_a_picture_that_compares_as_equal_is_not_written_anew(book: Path, verify: Run) -> None:
    other = png("#000081")  # a fresh one is navy, #000080

    def change(cells: list[Any]) -> None:
        change_code(cells)
        cells[2]["outputs"][0]["data"]["image/png"] = other

    spoil(book, change)
    assert verify("--store")[0] == 0
    stored = json.loads((book / CHAPTER).read_text())["cells"]
    assert stored[3]["outputs"][0]["data"]["image/png"] == other
    assert stored[4]["outputs"][0]["text"] == ["a number: 3\n"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (put(2, metadata={}), "cell 3 shows a picture without alternative text in its metadata"),
        (put(3, source="print(2)  # NBVAL_IGNORE_OUTPUT"), "cell 4 has the marker NBVAL_IGNORE_OUTPUT"),
    ],
)
def test_storing_names_what_outputs_cannot_show(book: Path, verify: Run, change: Any, fault: str) -> None:
    spoil(book, change)
    code, table, errors = verify("--store")
    assert (code, "NOT VERIFIED" in table) == (1, False)
    assert errors == f"scansnap: lemma_08: {fault}\n"
