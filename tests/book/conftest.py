"""A book of one good chapter, and the command that verifies it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from scansnap_core.book import execute, forking, zygote
from scansnap_core.cli import main
from tests.book.books import CHAPTER, GOOD_CELLS, write_book

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def light_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What forks kernels, with no more imported than the kernels of small books need."""
    long = re.compile('    "(dask|h5netcdf|scipy|sympy|torch|xarray|z3).*\n')
    program = tmp_path_factory.mktemp("light") / "zygote.py"
    program.write_text(long.sub("", Path(zygote.__file__).read_text()))
    return program


@pytest.fixture(scope="session")
def forks(light_program: Path) -> Iterator[forking.Zygote]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forking, "_PROGRAM", light_program)
        started = forking.Zygote(execute.kernel_environment())
    with started:
        yield started


@pytest.fixture
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process forks the kernels of all books: what a test spoils isn't how a kernel starts."""
    if forking.pays(forking.FEW + 1):
        forks = request.getfixturevalue("forks")
        monkeypatch.setattr(execute, "pays", lambda kernels: True)
        monkeypatch.setattr(execute, "Zygote", lambda environment: nullcontext(forks))


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
def scansnap(book: Path, quick: None, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the book: its exit status, its output and its errors."""

    def run(command: str, *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([command, "--book", str(book), *arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def verify(scansnap: Run) -> Run:
    return lambda *arguments: scansnap("verify", *arguments)
