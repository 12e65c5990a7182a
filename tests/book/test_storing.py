import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.book.books import CHAPTER, change_code, claim_another_statement, claim_falsely, spoil, write_to_stderr
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
    assert stored["metadata"]["language_info"].keys() == {"name", "file_extension", "pygments_lexer"}


def conclude_in_vain(cells: list[Any]) -> None:
    cells[4]["source"] = "lemma"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (claim_falsely, "cell 2 raised CheckFailed"),
        (write_to_stderr, "cell 4 gives on stderr 'careful'"),
        (claim_another_statement, "its verdict is that of lemma_09"),
        (conclude_in_vain, "its outputs hold no verdicts"),
    ],
)
def test_storing_leaves_a_faulty_chapter_as_it_was(
    book: Path, verify: Run, change: Callable[[list[Any]], None], fault: str
) -> None:
    spoil(book, change)
    before = (book / CHAPTER).read_text()
    code, _, errors = verify("--store")
    assert code == 1
    assert f"scansnap: lemma_08: {fault}" in errors
    assert (book / CHAPTER).read_text() == before


def test_storing_names_what_only_the_source_shows(book: Path, verify: Run) -> None:
    spoil(book, lambda cells: cells[3]["source"].insert(0, "# NBVAL_IGNORE_OUTPUT\n"))
    code, _, errors = verify("--store")
    assert code == 1
    assert errors == "scansnap: lemma_08: cell 4 has the marker NBVAL_IGNORE_OUTPUT\n"
