"""``scansnap claims``: how what the chapters claim differs from what was reviewed, and writing it as reviewed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "claims",
        help="compare what the chapters claim with what was reviewed",
        description="Print where the claims that chapters store differ from the reviewed ones in chapters/claims.yaml.",
    )
    parser.add_argument("--write", action="store_true", help="write the file anew: these claims are reviewed")
    parser.add_argument("--book", type=Path, default=Path(), metavar="DIR", help="the book's folder (default: here)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Print the differences; the exit status is 1 if there are any and they weren't written."""
    from scansnap_core.book.claims import book_faults, write_claims

    faults = book_faults(options.book)
    for line in faults:
        print(line)
    if options.write:
        write_claims(options.book)
        return 0
    return 1 if faults else 0
