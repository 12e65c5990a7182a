"""The judges of a mutant: test files, in a forked process, and chapters, which ``scansnap verify`` executes."""

from __future__ import annotations

import ast
import multiprocessing
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from subprocess import DEVNULL

import nbformat
import psutil

from mutants import pytest_in_copy
from scansnap_core.cli import NOT_VERIFIED, VERIFIED

SECONDS = 300
"""For a run of the tests, which take some 15 s, or of a chapter, which takes a minute at most. A copy has no compiled
kernels in store, and a busy machine must not look like a verdict."""

# Imported once, before the forks: they take longer than the tests. Nothing of ours may be among them.
LIBRARIES = [
    "matplotlib.pyplot",
    "mpmath",
    "numba",
    "pytest",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.stats",
    "sympy",
    "torch",
    "xarray",
]


class Outcome(StrEnum):
    """What became of a mutant."""

    TESTS = "killed by tests"
    CHAPTERS = "killed by chapters"
    TIMEOUT = "timeout"
    ALIVE = "alive after the tests"
    SURVIVED = "survived"


@dataclass(frozen=True)
class Verdict:
    """An outcome, and the test or the chapter that killed; empty where none did."""

    outcome: Outcome
    by: str = ""


class CoreTests:
    """The tests of the core as judges of what is planted in a copy."""

    def __init__(self) -> None:
        # Before anything reads it: threads of their own would only make the forked processes wait for one another.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(LIBRARIES)

    def judge(self, copy: Path, module: str, first: str = "") -> Verdict:
        """Ask the module's own test file, then the files that import it, then the others.

        Parameters
        ----------
        first
            A test file to ask before all others, if it exists.
        """
        for files in panels(copy, module, first):
            verdict = self.ask(copy, files)
            if verdict.outcome is not Outcome.ALIVE:
                return verdict
        return Verdict(Outcome.ALIVE)

    def ask(self, copy: Path, files: list[str]) -> Verdict:
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
                return Verdict(Outcome.TIMEOUT, files[0])
            answer = receiver.recv()
        except EOFError:
            return Verdict(Outcome.TESTS, f"{files[0]} (crash)")
        finally:
            process.join()
        if isinstance(answer, Exception):
            raise answer
        return Verdict(Outcome.TESTS, answer) if answer else Verdict(Outcome.ALIVE)


def panels(root: Path, module: str, first: str = "") -> list[list[str]]:
    """The test files of the core in the order in which they are asked, a list for each time pytest is started."""
    names = {str(p.relative_to(root)): p for p in sorted((root / "tests" / "core").glob("test_*.py"))}
    own = f"tests/core/test_{module}.py"
    about = [name for name, path in names.items() if module in imports(path.read_text("utf8"))]
    order: list[list[str]] = []
    for panel in ([first], [own], about, names):
        asked = {name for earlier in order for name in earlier}
        order.append([name for name in panel if name in names and name not in asked])
    return [panel for panel in order if panel]


def judge_by_chapters(copy: Path, chapters: Iterable[str]) -> Verdict:
    """Execute chapters of the copy, one by one; the first that fails, or differs from its stored outputs, kills.

    Raises
    ------
    RuntimeError
        A chapter was neither verified nor refuted: it doesn't exist, or its execution was interrupted.
    """
    for chapter in chapters:
        try:
            status = verify(copy, chapter, seconds=SECONDS)
        except subprocess.TimeoutExpired:
            return Verdict(Outcome.TIMEOUT, chapter)
        if status not in (VERIFIED, NOT_VERIFIED):
            raise RuntimeError(f"scansnap verify {chapter} ends with status {status}")
        if status == NOT_VERIFIED:
            return Verdict(Outcome.CHAPTERS, chapter)
    return Verdict(Outcome.SURVIVED)


def verify(copy: Path, *arguments: str, seconds: float | None = None) -> int:
    """The exit status of ``scansnap verify`` in the copy. The chapters' kernels import the copy too."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "scansnap_core.cli", "verify", *arguments]
    process = subprocess.Popen(command, cwd=copy, env=environment, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        _end(process.pid)
        raise


def chapters_about(root: Path, module: str) -> list[str]:
    """The chapters that import the module, themselves or through another of the package's modules."""
    package: dict[str, set[str]] = defaultdict(set)
    for path in (root / "scansnap_core").rglob("*.py"):
        package[path.relative_to(root / "scansnap_core").with_suffix("").parts[0]] |= imports(path.read_text("utf8"))
    found = []
    for path in sorted((root / "chapters").rglob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        source = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
        reached: set[str] = set()
        new = imports(source)
        while new:
            reached |= new
            new = {other for name in new for other in package[name]} - reached
        if module in reached:
            found.append(path.stem)
    return found


def imports(source: str) -> set[str]:
    """The modules of the package that a source imports by name: "flows" for ``from scansnap_core import flows``."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="scansnap_core"):
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)) if module.startswith("scansnap_core."):
                found.add(module.split(".")[1])
            case ast.Import():
                found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("scansnap_core.")}
    return found


def _end(pid: int | None) -> None:
    """End a process and everything that it started."""
    family = psutil.Process(pid)
    for process in [*family.children(recursive=True), family]:
        with suppress(psutil.NoSuchProcess):  # it has ended by itself
            process.kill()
