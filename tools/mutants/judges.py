"""The judges of a mutant: the unit tests of its module, in a forked process."""

from __future__ import annotations

import ast
import hashlib
import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import psutil

from tools.mutants import pytest_in_copy
from tools.mutants.catalogue import Mutant, module_path

SECONDS = 900
"""By the clock, for tests that wait for something. They are given `pytest_in_copy.CPU_SECONDS` of computing, however
long that takes on a busy machine."""

# Imported once, before the forks: they take longer than the tests. Nothing of ours may be among them.
LIBRARIES = [
    "PIL.Image",
    "dask.array",
    "matplotlib.pyplot",
    "mpmath",
    "nbformat",
    "numba",
    "pytest",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.stats",
    "sympy",
    "torch",
    "xarray",
    "zarr",
]

PROCESSES = {"subprocess", "tests.sweeps.processes"}
BROWSER = Path("tests", "site")
NOT_COPIED = {"_build", "reports", "__pycache__"}
_PARSING = Lock()
"""Python 3.11 mixes up syntax trees that threads build at once: "AST constructor recursion depth mismatch"."""


class Outcome(StrEnum):
    """The unit tests give a mutant one of these outcomes."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"


@contextmanager
def copies(root: Path, count: int) -> Iterator[list[Path]]:
    """Copy the tree at ``root``, without what is hidden, built or installed; the copies are removed in the end."""
    with TemporaryDirectory(prefix="mutants-") as folder:
        yield [Path(shutil.copytree(root, Path(folder, str(i)), ignore=_ignored)) for i in range(count)]


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {
        name
        for name in names
        if name.startswith(".") or name in NOT_COPIED or Path(folder, name, "pyvenv.cfg").is_file()
    }


@contextmanager
def planted(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Plant a mutant in a copy; the original module is put back in the end."""
    path = copy / mutant.path
    original = path.read_bytes()
    path.write_text(mutant.source, encoding="utf8")
    try:
        yield
    finally:
        path.write_bytes(original)


class UnitTests:
    """The unit tests as judges of what is planted in a copy."""

    def __init__(self) -> None:
        # Before anything reads it: threads of their own would only make the forked processes wait for one another.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(LIBRARIES)

    def judge(self, copy: Path, module: str) -> Outcome:
        """Ask the module's own test file, then the others that import it."""
        outcomes = (self.ask(copy, files) for files in panels(copy, module))
        return next((outcome for outcome in outcomes if outcome is not Outcome.SURVIVED), Outcome.SURVIVED)

    def ask(self, copy: Path, files: list[str]) -> Outcome:
        """Run these test files up to the first failure.

        Raises
        ------
        RuntimeError
            The tests don't import the copy, or pytest fails without a failed test.
        """
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=pytest_in_copy.run, args=(copy, files, 2 * SECONDS, sender))
        process.start()
        sender.close()
        try:
            if not receiver.poll(SECONDS):
                _end(process.pid)
                return Outcome.TIMEOUT
            answer = receiver.recv()
        except EOFError:  # it ended without an answer: it crashed, or computed for too long
            process.join()
            return Outcome.TIMEOUT if process.exitcode == -signal.SIGXCPU else Outcome.KILLED
        finally:
            process.join()
        if isinstance(answer, Exception):
            raise answer
        return Outcome.KILLED if answer else Outcome.SURVIVED


def panels(root: Path, module: str) -> list[list[str]]:
    """List the test files that judge a module, in the order in which they are asked; a list for each start of pytest.

    The module's own file comes first, then those of its room, then those of the rooms above. Where no file names the
    module, the files that import its room are the judges. A file that starts processes and waits for them, or for a
    browser, is no judge: on a busy machine it may fail by itself.
    """
    room, _, name = module.rpartition(".")
    home = root.joinpath("tests", *room.split("."))
    own = str((home / f"test_{name}.py").relative_to(root))
    imported = {
        str(path.relative_to(root)): imports(path.read_text("utf8"))
        for path in sorted((root / "tests").rglob("test_*.py"), key=lambda path: (path.parent != home, path))
        if not path.is_relative_to(root / BROWSER)
    }
    able = {file: names for file, names in imported.items() if not names & PROCESSES}
    judges = [file for file, names in able.items() if file == own or f"scansnap_core.{module}" in names]
    judges = judges or [file for file, names in able.items() if f"scansnap_core.{room}" in names]
    return [panel for panel in ([own] if own in judges else [], [file for file in judges if file != own]) if panel]


def digest_of_judges(root: Path, module: str) -> str:
    """Hash all sources that decide the outcomes of a module's mutants: its own, its judges', and what these import."""
    judges = [root / file for panel in panels(root, module) for file in panel]
    around = [path for judge in judges for path in (judge.with_name("conftest.py"), root / "tests" / "conftest.py")]
    hashed = hashlib.sha256()
    for path in sorted(_reached(root, [root / module_path(module), *judges, *around])):
        hashed.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return hashed.hexdigest()


@cache
def imports(source: str) -> set[str]:
    """Say what a source imports: "a.b" and "a.b.c" for ``from a.b import c``, whose c may be a module."""
    found = set()
    with _PARSING:
        tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)):
                found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case ast.Import():
                found |= {alias.name for alias in node.names}
    return found


def _reached(root: Path, start: Iterable[Path]) -> set[Path]:
    """Return these files of the tree, as far as they exist, and all that they import from it."""
    found: set[Path] = set()
    new = {path for path in start if path.is_file()}
    while new:
        found |= new
        names = {name for path in new for name in imports(path.read_text("utf8"))}
        new = {path for name in names for path in _files(root, name) if path.is_file()} - found
    return found


def _files(root: Path, name: str) -> Iterable[Path]:
    """Find where a module of the tree would lie, with the packages that it is in."""
    path = root.joinpath(*name.split("."))
    yield path.with_suffix(".py")
    for package in (path, *path.parents):
        if package.is_relative_to(root) and package != root:
            yield package / "__init__.py"


def _end(pid: int | None) -> None:
    """End a process and everything that it started."""
    family = psutil.Process(pid)
    for process in [*family.children(recursive=True), family]:
        with suppress(psutil.NoSuchProcess):  # it has ended by itself
            process.kill()
