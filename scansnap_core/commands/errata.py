"""``scansnap errata``: the errata that the chapters store, by rank, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "errata",
        help="list the errata, ranked by what follows from them",
        description="List what the chapters refuted, ranked by what follows from it, with its numbers.",
    )
    parser.add_argument("--json", action="store_true", help="print all of it as JSON, as the site has it")
    parser.add_argument("--book", type=Path, default=Path(), metavar="DIR", help="the book's folder (default: here)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Print the errata."""
    from scansnap_core.book.errata import RANKS, errata_json, read_errata

    if options.json:
        print(json.dumps(errata_json(options.book), indent=2, ensure_ascii=False))
        return 0
    errata = read_errata(options.book)
    for rank, meaning in RANKS.items():
        print(f"{rank}: {meaning}")
        for erratum in errata:
            if erratum.rank == rank:
                print(f"  {erratum.number:<4} {erratum.places[0].name}")
    return 0
