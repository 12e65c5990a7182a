"""What the book's test run compares: by nbval, and by the conftest of the chapters; whatever the user's settings."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scansnap_core.cli import main
from scansnap_core.ledger import VERDICT_MIME
from tests.book.books import (
    CHAPTER,
    GOOD_CELLS,
    PRINTED,
    SETTINGS,
    put,
    replace_verdict,
    spoil,
    users_settings,
    write_book,
)

CONFTEST = Path(__file__).parents[2] / "chapters" / "conftest.py"
PLOTS = (
    "import matplotlib.pyplot as plt\n\nfrom scansnap_core.plots import show, use_style\n\nuse_style()\n\n\n"
    "def draw(end):\n    figure, axes = plt.subplots()\n    axes.plot([0, 1, end])\n    axes.set_ylim(0, 4)\n"
    "    show(figure, 'A line.')\n\n\nprint(1)\nprint(2)\n" + SETTINGS,
    "draw(2.0)",
    "draw(3.0)",
)


@pytest.fixture(scope="module")
def stored_illustrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    book = tmp_path_factory.mktemp("illustrated")
    write_book(book, (CHAPTER, (*GOOD_CELLS[:2], *PLOTS[:2], GOOD_CELLS[4], PLOTS[2])))
    shutil.copy(CONFTEST, book / "chapters")
    main(["verify", "--book", str(book), "--store"])
    return book


def swap_pictures(cells: list[Any]) -> None:
    pictures = [cell["outputs"][0]["data"] for cell in (cells[3], cells[5])]
    pictures[0]["image/png"], pictures[1]["image/png"] = pictures[1]["image/png"], pictures[0]["image/png"]


def drop_a_picture(cells: list[Any]) -> None:
    del cells[3]["outputs"][0]["data"]["image/png"]


PIECES = ("1\n", "2\n", f"{PRINTED}\n")
STREAM = [{"output_type": "stream", "name": "stdout", "text": [text]} for text in PIECES]
CASES: dict[str, tuple[Callable[[list[Any]], None], int, str]] = {
    "streams that came in pieces": (put(2, outputs=STREAM), 0, ""),
    "another verdict": (replace_verdict, 1, f"mismatch '{VERDICT_MIME}'"),
    "pictures of one caption, swapped": (swap_pictures, 2, "stores another image/png than it gives: they differ by"),
    "a curve that moved": (put(3, source="draw(2.05)"), 1, "stores another image/png than it gives: they differ by"),
    "no picture": (drop_a_picture, 1, "stores text/plain, but gives image/png text/plain"),
}


@pytest.fixture(scope="module")
def cells(stored_illustrated: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """For each case what was said of each of its cells, from one run of pytest; nothing of those that passed."""
    folder = tmp_path_factory.mktemp("cases")
    for number, (change, *_) in enumerate(CASES.values()):
        shutil.copytree(stored_illustrated, folder / str(number))
        spoil(folder / str(number), change)
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q", "--junitxml=said.xml"]
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "."]
    environment = os.environ | users_settings(folder / "settings")
    subprocess.run([*command, *options], cwd=folder, env=environment, capture_output=True, check=False)
    said: dict[str, list[str]] = {name: [] for name in CASES}
    for cell in ElementTree.parse(folder / "said.xml").iter("testcase"):
        said[list(CASES)[int(cell.attrib["classname"].partition(".")[0])]].append("".join(cell.itertext()))
    return said


@pytest.mark.parametrize("case", CASES)
def test_a_book_fails_where_its_outputs_are_stale_and_nowhere_else(case: str, cells: dict[str, list[str]]) -> None:
    _, failed, reason = CASES[case]
    said = [text for text in cells[case] if text]
    assert (len(cells[case]), len(said)) == (6, failed)
    assert [text.count(reason) for text in said] == [1] * failed
