"""Compare two checkouts of this repository by turns, so that other work on the machine slows both.

Run ``python -m tools.benchmarks.turns FOLDER -- python -m scansnap_core.cli predict ...``. The
command is run here and in FOLDER, each time in a process of its own that takes its modules from
there. ``{new}`` in it becomes a path at which nothing is. What is compared are CPU seconds, user
and system, of the process and of all that it waited for.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).parents[2]


def ratios_by_turns(
    here: Callable[[], float], there: Callable[[], float], repeats: int
) -> list[float]:
    """Divide what one call measures by what another does, in pairs; they go first by turns."""
    ratios = []
    for turn in range(repeats):
        if turn % 2 == 0:
            mine = here()
            other = there()
        else:
            other = there()
            mine = here()
        ratios.append(mine / other)
    return ratios


def summary(ratios: Sequence[float]) -> str:
    """Write the median and the quartiles, or all where there are few."""
    if len(ratios) < 4:
        return ", ".join(f"{ratio:.2f}" for ratio in ratios)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"median {middle:.2f}, quartiles {low:.2f} and {high:.2f}"


def cpu_seconds(command: Sequence[str], folder: Path) -> float:
    """Run a command in a checkout, with its modules, and measure its CPU seconds."""
    with tempfile.TemporaryDirectory() as room:
        words = [word.replace("{new}", f"{room}/new") for word in command]
        if words[0] == "python":
            words[0] = sys.executable
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode} in {folder}")
    return used.ru_utime + used.ru_stime


class Worker:
    """A Python program in a checkout that answers each line it reads by the CPU seconds it took."""

    def __init__(self, program: str, arguments: Sequence[str], folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: str) -> float:
        """Send a line, and return the seconds that come back."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        """Let the program come to its end."""
        self._process.communicate()


def main(given: list[str] | None = None) -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="another checkout")
    parser.add_argument("--repeats", type=int, default=4, help="pairs of runs")
    parser.add_argument("command", nargs="+", help="what to run, after --")
    options = parser.parse_args(given)
    folder = options.folder.resolve()
    for place in (HERE, folder):
        cpu_seconds(options.command, place)  # the first run compiles
    ratios = ratios_by_turns(
        lambda: cpu_seconds(options.command, HERE),
        lambda: cpu_seconds(options.command, folder),
        options.repeats,
    )
    print(f"{' '.join(options.command)}: CPU seconds here over those in {folder}, by turns")
    print(summary(ratios))


if __name__ == "__main__":
    main()
