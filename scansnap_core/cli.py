"""The command ``scansnap``: a function for each of its commands."""

import argparse
import io
import itertools
import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from scansnap_core import __version__
from scansnap_core.bad_input import BadInput
from scansnap_core.commands import audit, errata, predict, sweep, text, train

VERIFIED, NOT_VERIFIED, REFUSED = 0, 1, 2
INTERRUPTED, NOBODY_READS = 130, 141
"""128 and the signal's number, as of a program that SIGINT or SIGPIPE ends."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without it, those of the process.

    Returns
    -------
    int
        The exit status: 0; 1 if something isn't verified; 2 on bad input; 130 if interrupted; 141 if whoever reads the
        output has gone, as ``head`` goes.
    """
    if arguments is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where Greek can't be written, question marks stand for it
    try:
        try:
            return _run(arguments)
        finally:
            print(end="", flush=True)  # a closed pipe shows here, not when Python ends
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        if isinstance(error, BrokenPipeError):
            return NOBODY_READS
        print(f"scansnap: error: {error.strerror}: {error.filename or 'output'}", file=sys.stderr)
        return REFUSED


def _run(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _Parser(prog="scansnap", description="The executable companion of the paper Scan and Snap.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(command_line=shlex.join(["scansnap", *given]))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_verify(commands)
    errata.add_to(commands)
    audit.add_to(commands)
    predict.add_to(commands)
    train.add_to(commands)
    sweep.add_to(commands)
    text.add_to(commands)
    for option, value in itertools.pairwise([*given, "-"]):
        if option.startswith("--") and (not value or option.endswith("=")):
            print(f"scansnap: error: {option.rstrip('=')} '': a value isn't empty; write one", file=sys.stderr)
            return REFUSED
    options = parser.parse_args(given)
    if not {"", str(Path.cwd())} & set(sys.path):
        sys.path.append("")  # as with python -m: modules of one's own are named from where one stands
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except BadInput as error:
        print(f"scansnap: error: {_in_options(str(error), options)}", file=sys.stderr)
        return REFUSED
    except SystemExit as error:  # no command ends like this, but a function of the user's own may
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        place = f"{frame.f_code.co_filename} ends the program in line {line}"
        print(f"scansnap: error: {place}: a function of your own returns or raises; raise an error", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("scansnap: interrupted", file=sys.stderr)
        return INTERRUPTED


def _in_options(message: str, options: argparse.Namespace) -> str:
    """A message of Python's arguments as one of the command's: "lr_y = -1.0" is "--lr-y -1.0" there."""
    if message.startswith("file "):  # which has keys of such names
        return message
    for name in set(vars(options)) - {"command", "command_line"}:
        argument = rf"(?<![\w-]){name} ?= ?'?(?:math\.)?([\w.:+-]*\w)'?"
        message = re.sub(argument, rf"--{name.replace('_', '-')} \1", message)
    return message.replace("--batch-size None", "--expectation") if "expectation" in options else message


class _Parser(argparse.ArgumentParser):
    """Refuses what it can't parse in the one line of other bad input."""

    def error(self, message: str) -> NoReturn:
        self.exit(REFUSED, f"scansnap: error: {message}; see {self.prog} --help\n")


def _add_verify(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser(
        "verify",
        help="execute chapters and compare them with what they store",
        description="Execute chapters, compare their outputs with the stored ones, and print the verdicts.",
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="a chapter, such as lemma_06 (default: all)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many chapters at a time (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found to this file too")
    parser.add_argument(
        "--store",
        action="store_true",
        help="store the fresh outputs, if a second execution gives them too",
    )
    parser.add_argument(
        "--book",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the folder with chapters/ and _toc.yml (default: here)",
    )
    parser.set_defaults(command=verify)


def verify(options: argparse.Namespace) -> int:
    """Verify chapters, print a table, and name every failure."""
    # Jupyter's client takes longest to import; the other commands don't need it.
    from scansnap_core import files
    from scansnap_core.book.verify import cell_count, find_chapters
    from scansnap_core.book.verify import verify as verify_chapters
    from scansnap_core.progress import progress_bar

    if options.jobs < 1:
        raise BadInput(f"--jobs {options.jobs}", "at least one chapter is executed at a time", "pass e.g. --jobs 2")
    if options.json is not None and not options.json.resolve().parent.is_dir():
        raise BadInput(f"--json {options.json}", "its folder doesn't exist", "create it or name another file")
    paths = find_chapters(options.book, options.ids)
    cells = cell_count(paths) * (2 if options.store else 1)  # at most: what is stored already isn't executed again
    with progress_bar(None, True, total=cells, unit="cell") as bar:
        reports, failures = verify_chapters(
            options.book, paths, jobs=options.jobs, rewrite=options.store, on_cell=bar.update
        )

    rows: list[tuple[str, ...]] = [("chapter", "title", "verdict", "checks", "seconds")]
    for report in reports:
        verdict = "NOT VERIFIED" if report.failures or report.verdict is None else report.verdict["verdict"]
        rows.append((report.id, report.title, verdict, report.counts(), f"{report.seconds:.1f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, tuple("─" * width for width in widths))
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print("checks: of the symbolic, the numeric and the empirical witness, refutations among them")

    named = [f"{report.id}: {failure}" for report in reports for failure in report.failures] + failures
    for line in named:
        print(f"scansnap: {line}", file=sys.stderr)
    if options.json is not None:
        found = {"chapters": [report.as_json() for report in reports], "failures": failures}
        files.save(options.json, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return NOT_VERIFIED if named else VERIFIED


if __name__ == "__main__":
    sys.exit(main())
