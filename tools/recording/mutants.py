"""Record how many small changes of the package the unit tests notice.

Run ``make mutants``, and then ``python -m tools.recording.mutants mutants results/mutants.csv``.
The numbers are read from what mutmut wrote into the folder ``mutants``; a run that isn't finished
is refused.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput

NOTICED = 1
SURVIVED = 0
TIMED_OUT = {-24, 24, 36, 152, 255}
"""Exit codes of the tests, as mutmut stores them for each change."""


def counts(path: Path) -> tuple[int, int, int, int]:
    """Count the changes of one module: all, noticed, not noticed, and timed out.

    Raises
    ------
    BadInput
        If a change wasn't tried, or ended in another way.
    """
    codes = Counter(json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"].values())
    others = {code for code in codes if code not in {NOTICED, SURVIVED} | TIMED_OUT}
    if others:
        rule = "each change was tried, and noticed, not noticed or timed out"
        raise BadInput(f"{path}: exit codes {others}", rule, "run make mutants again, to its end")
    timed_out = sum(codes[code] for code in TIMED_OUT)
    return sum(codes.values()), codes[NOTICED], codes[SURVIVED], timed_out


def main(given: list[str] | None = None) -> None:
    """Write one row for each module."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where mutmut worked")
    parser.add_argument("target", type=Path, help="the table to write")
    asked = parser.parse_args(given)

    text = io.StringIO()
    # mutmut works inside of the checkout that it changes.
    head = ["git", "-C", str(asked.folder), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", "changes", "noticed", "not noticed", "timed out", "mutmut", "commit"])
    for path in sorted(asked.folder.rglob("*.meta")):
        file = path.relative_to(asked.folder).with_suffix("")
        table.writerow([file.as_posix(), *counts(path), version("mutmut"), commit])
    files.save(asked.target, text.getvalue())


if __name__ == "__main__":
    main(sys.argv[1:])
