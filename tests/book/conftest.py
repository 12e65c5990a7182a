"""A book of one good chapter, and the command that verifies it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scansnap_core.cli import main
from tests.book.books import CHAPTER, GOOD_CELLS, write_book

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def stored_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    book = tmp_path_factory.mktemp("stored")
    write_book(book, (CHAPTER, GOOD_CELLS))
    assert main(["verify", "--book", str(book), "--store"]) == 0
    return book


@pytest.fixture
def book(stored_book: Path, tmp_path: Path) -> Path:
    """A copy to be spoilt."""
    return Path(shutil.copytree(stored_book, tmp_path / "book"))


@pytest.fixture
def scansnap(book: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the book: its exit status, its output and its errors."""

    def run(command: str, *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([command, "--book", str(book), *arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def verify(scansnap: Run) -> Run:
    return lambda *arguments: scansnap("verify", *arguments)
