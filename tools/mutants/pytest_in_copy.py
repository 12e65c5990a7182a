"""Pytest on a copy of the tree, in a process that was forked with the libraries already imported."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

CPU_SECONDS = 120
"""The tests of a module take at most a quarter of it. Load doesn't count."""
MEMORY = 16 * 2**30
"""Bytes of address space: a mutated size of an array must not take all that the machine has."""


class FirstFailure:
    """A pytest plugin that keeps the name of the first test, or file of tests, that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a test that fails, in its own code or around it."""
        self._keep(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a file that can't be imported."""
        self._keep(report)

    def _keep(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def run(copy: Path, files: list[str], seconds: int, answer: Connection) -> None:
    """Run the copy's tests up to the first failure, and send what it is: "" for none, or a complaint (an Exception).

    Parameters
    ----------
    copy
        The root of the copy. Everything of ours that the tests import comes from it.
    files
        Test files, from the root.
    seconds
        When this process ends, even if nobody is left who waits for it.
    answer
        Where the answer goes to. The output of pytest goes nowhere.
    """
    signal.alarm(seconds)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, most))  # then comes SIGXCPU
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    gc.freeze()  # pytest collects garbage twice, and the imported libraries are a lot to search
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]  # of a pytest that this one runs in
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed, and they take longer than the tests
    os.environ["PYTHONPATH"] = str(copy)
    # A module is mutated many times a second, so a stale bytecode file would look fresh.
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(copy))
    os.chdir(copy)
    if early := sorted(name for name in sys.modules if name.partition(".")[0] in {"scansnap_core", "tests"}):
        answer.send(RuntimeError(f"imported before the copy: {', '.join(early)}"))
        return

    first = FirstFailure()
    options = ["-x", "-q", "--rootdir", str(copy), "-c", str(copy / "pyproject.toml"), "-p", "no:cacheprovider"]
    status = pytest.main([*options, *files], plugins=[first])
    package = sys.modules.get("scansnap_core")
    origin = Path(str(package.__file__)) if package else copy
    if not origin.is_relative_to(copy):
        answer.send(RuntimeError(f"the tests import {origin} instead of the copy in {copy}"))
    elif status != pytest.ExitCode.OK and not first.name:
        answer.send(RuntimeError(f"pytest ends with status {int(status)} and names no failure"))
    else:
        answer.send(first.name)
