"""``scansnap verify``: execute chapters and compare them with what they store."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import whole
from scansnap_core.commands import command

VERIFIED = 0
NOT_VERIFIED = 1


@command(
    "verify",
    "execute chapters and compare them with what they store",
    ("ID...", str, "a chapter, such as lemma_06 (default: all)"),
    ("--jobs N", int, "how many chapters at a time", 1),
    ("--json FILE", Path, "write what was found to this file too"),
    ("--store", bool, "store the fresh outputs, if a second execution gives them too"),
    ("--book DIR", Path, "the folder with chapters/ and _toc.yml", Path()),
    when_stopped="no verdict was found; a chapter that isn't stored yet is unchanged, and the same "
    "command begins anew",
)
def verify(options: argparse.Namespace) -> int:
    """Execute chapters, compare their outputs with the stored ones, and print the verdicts."""
    # Jupyter's client takes longest to import; the other commands don't need it.
    from scansnap_core.base import files
    from scansnap_core.base.progress import progress_bar
    from scansnap_core.book.verify import cell_count, find_chapters
    from scansnap_core.book.verify import verify as verify_chapters

    whole(says="at least one chapter is executed at a time", remedy="pass e.g. --jobs 2")(
        "jobs", options.jobs
    )
    if options.json is not None and not options.json.absolute().parent.is_dir():
        raise BadInput(
            f"--json {options.json}", "its folder doesn't exist", "create it or name another file"
        )
    paths = find_chapters(options.book, options.id)
    # This is the largest number; what is stored already isn't executed again.
    cells = cell_count(paths) * (2 if options.store else 1)
    with progress_bar(None, True, total=cells, unit="cell") as bar:
        how = {"jobs": options.jobs, "rewrite": options.store, "on_cell": bar.update}
        reports, failures = verify_chapters(options.book, paths, **how)

    rows: list[tuple[str, ...]] = [("chapter", "title", "verdict", "checks", "seconds")]
    for report in reports:
        shown = report.verdict if report.stored or not report.failures else None
        verdict = shown.verdict if shown else "NOT VERIFIED"
        rows.append((report.id, report.title, verdict, report.counts(), f"{report.seconds:.1f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, tuple("─" * width for width in widths))
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    print("checks: of the symbolic, the numeric and the empirical witness, refutations among them")

    named = [
        f"{report.id}: {failure}" for report in reports for failure in report.failures
    ] + failures
    for line in named:
        print(f"scansnap: {line}", file=sys.stderr)
    if options.json is not None:
        found = {"chapters": [report.as_json() for report in reports], "failures": failures}
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
        # A file's name need not be text; JSON escapes half a character just as Python does.
        files.save(options.json, text.encode(errors="backslashreplace"))
    return NOT_VERIFIED if named else VERIFIED
