"""What the book's test run compares: by nbval, and by the conftest of the chapters."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.cli import main
from scansnap_core.ledger import VERDICT_MIME
from tests.book.books import CHAPTER, GOOD_CELLS, replace_verdict, spoil, write_book

CONFTEST = Path(__file__).parents[2] / "chapters" / "conftest.py"
PLOTS = (
    "import matplotlib.pyplot as plt\n\nfrom scansnap_core.plots import show, use_style\n\nuse_style()\n\n\n"
    "def draw(end):\n    figure, axes = plt.subplots()\n    axes.plot([0, 1, end])\n    axes.set_ylim(0, 4)\n"
    "    show(figure, 'A line.')\n\n\nprint(1)\nprint(2)",
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


@pytest.fixture
def illustrated(stored_illustrated: Path, tmp_path: Path) -> Path:
    """A book with two plots that have the same caption, run by pytest as the book is."""
    return Path(shutil.copytree(stored_illustrated, tmp_path / "illustrated"))


def swap_pictures(cells: list[Any]) -> None:
    pictures = [cell["outputs"][0]["data"] for cell in (cells[3], cells[5])]
    pictures[0]["image/png"], pictures[1]["image/png"] = pictures[1]["image/png"], pictures[0]["image/png"]


def move_a_curve(cells: list[Any]) -> None:
    cells[3]["source"] = "draw(2.05)"


def drop_a_picture(cells: list[Any]) -> None:
    del cells[3]["outputs"][0]["data"]["image/png"]


def split_a_stream(cells: list[Any]) -> None:
    cells[2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [text]} for text in ("1\n", "2\n")]


def run(book: Path) -> str:
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q", "--color=no"]
    # the summary would repeat a reason, in full where CI is set
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "-rN", str(CHAPTER)]
    return subprocess.run([*command, *options], cwd=book, capture_output=True, text=True, check=False).stdout


def test_a_book_as_it_was_stored_passes_however_its_streams_came(illustrated: Path) -> None:
    spoil(illustrated, split_a_stream)
    assert "6 passed" in run(illustrated)


@pytest.mark.parametrize(
    ("change", "failed", "reason"),
    [
        (replace_verdict, 1, f"mismatch '{VERDICT_MIME}'"),
        (swap_pictures, 2, "stores another image/png than it gives: they differ by"),
        (move_a_curve, 1, "stores another image/png than it gives: they differ by"),
        (drop_a_picture, 1, "stores text/plain, but gives image/png text/plain"),
    ],
)
def test_a_stale_output_fails(illustrated: Path, change: Callable[[list[Any]], None], failed: int, reason: str) -> None:
    spoil(illustrated, change)
    found = run(illustrated)
    assert f"{failed} failed, {6 - failed} passed" in found
    assert found.count(reason) == failed
