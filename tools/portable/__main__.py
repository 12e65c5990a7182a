"""``python -m tools.portable [ROW ...]``: all tests and chapters in every row's surroundings, then a table."""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any
from xml.etree import ElementTree

from scansnap_core import files

ROOT = Path(__file__).parents[2]
ROWS_FILE = Path("tools", "portable", "rows.yaml")
NOTEBOOK = ".ipynb"


def read_rows(root: Path) -> dict[str, dict[str, Any]]:
    """The rows of the file in the tree at ``root``, by name."""
    return dict(files.read(root / ROWS_FILE, example="correct it"))


ROWS = read_rows(ROOT)


@dataclass(frozen=True)
class Outcome:
    """What a row's run gave.

    Attributes
    ----------
    passed, skipped : int
        How many unit tests.
    chapters : int
        How many notebooks, each cell of which gave what is stored.
    faults : tuple of str
        The tests and cells that failed, and what wasn't run though it should have been.
    """

    passed: int = 0
    skipped: int = 0
    chapters: int = 0
    faults: tuple[str, ...] = ()


def surroundings(row: str, outside: Mapping[str, str], locales: set[str]) -> tuple[dict[str, str], list[str]]:
    """A row's environment within another, and the settings that this machine can't play.

    Parameters
    ----------
    row
        Its name.
    outside
        The environment that the row's settings are made in.
    locales
        The names of the installed locales, spelt as `locale -a` spells them.
    """
    settings = ROWS[row]["environment"]
    environment = {name: value for name, value in outside.items() if name not in settings}
    environment |= {name: str(value) for name, value in settings.items() if value is not None}
    if _spelling(environment["LC_ALL"]) in locales:
        return environment, []
    return environment | {"LC_ALL": "C"}, [f"LC_ALL={environment['LC_ALL']}: not installed, C instead"]


def installed_locales() -> set[str]:
    """The names of the installed locales, spelt as `locale -a` spells them."""
    return set(subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout.split())


def _spelling(name: str) -> str:
    return name.replace("UTF-8", "utf8")


def outcome(report: ElementTree.Element, chapters: set[str]) -> Outcome:
    """Read a JUnit report.

    Parameters
    ----------
    report
        Its root.
    chapters
        The file names of all notebooks.
    """
    passed = skipped = 0
    faults, seen, bad = [], set(), set()
    for case in report.iter("testcase"):
        module = case.get("classname", "")
        chapter = ".".join(module.split(".")[-2:]) if module.endswith(NOTEBOOK) else None
        if chapter:
            seen.add(chapter)
        if case.find("failure") is not None or case.find("error") is not None:
            faults.append(f"{module}::{case.get('name')}")
            bad.add(chapter)
        elif not chapter:
            skipped += case.find("skipped") is not None
            passed += case.find("skipped") is None
    faults += [f"{chapter} wasn't run" for chapter in sorted(chapters - seen)]
    if not passed:
        faults.append("no test passed")
    return Outcome(passed, skipped, len(seen - bad), tuple(faults))


def run(row: str, environment: Mapping[str, str], reports: Path) -> Outcome:
    """Run `make tests` on a fresh checkout of the last commit, with this interpreter's packages.

    Parameters
    ----------
    row
        Its name.
    environment
        As `surroundings` gives it.
    reports
        The folder for the run's output and its JUnit report.
    """
    log, report = reports / f"{row}.log", reports / f"{row}.xml"
    report.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="portable-") as folder:
        checkout = Path(folder, ROWS[row]["folder"])
        subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
        # The environment seems to lie in the checkout, as `make` would have it. What Numba compiles really lies there,
        # so that no row gets another processor's code.
        (checkout / ".venv").symlink_to(sys.prefix)
        inside = {**environment, "PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": str(checkout / ".numba")}
        with log.open("w") as output:
            command = ["make", "--old-file=.venv/.installed", "tests", "VENV=.venv"]
            subprocess.run(
                command, cwd=checkout, env=inside, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
            )
        fresh = checkout / "reports" / "tests.xml"
        if not fresh.exists():
            return Outcome(faults=(f"no report: see {log}",))
        shutil.copy(fresh, report)
        chapters = {path.name for path in checkout.glob(f"chapters/**/*{NOTEBOOK}")}
    return outcome(ElementTree.parse(report).getroot(), chapters)


def main() -> int:
    """Run the rows that are named, or all, and print the table. The exit status tells of any fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.portable", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"from {', '.join(ROWS)} (default: all)")
    rows = parser.parse_args().rows or list(ROWS)
    if unknown := [row for row in rows if row not in ROWS]:
        parser.error(f"unknown row {unknown[0]!r}: choose from {', '.join(ROWS)}")
    reports = ROOT / "reports" / "portable"
    reports.mkdir(parents=True, exist_ok=True)
    bad = False
    print(f"{'row':20}{'tests':>12}{'skipped':>9}{'chapters':>10}{'faults':>8}{'minutes':>9}", flush=True)
    for row in rows:
        environment, amiss = surroundings(row, os.environ, installed_locales())
        start = perf_counter()
        found = run(row, environment, reports)
        minutes = (perf_counter() - start) / 60
        print(
            f"{row:20}{found.passed:12}{found.skipped:9}{found.chapters:10}{len(found.faults):8}{minutes:9.0f}\n"
            f"    in {ROWS[row]['folder']!r}: {settings(row)}",
            *(f"    not to be had: {line}" for line in amiss),
            *(f"    FAULT {line}" for line in found.faults),
            sep="\n",
            flush=True,
        )
        bad |= bool(found.faults)
    return bad


def settings(row: str) -> str:
    """A row's settings as arguments of `env`, to play it by hand."""
    named = ROWS[row]["environment"].items()
    out = [f"-u {name}" for name, value in named if value is None]
    return " ".join(out + [shlex.quote(f"{name}={value}") for name, value in named if value is not None])


if __name__ == "__main__":
    sys.exit(main())
