"""``scansnap audit FILE``: what a class system holds, and whether it satisfies Assumptions 1 and 2."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SHOWN_AT_EACH_END = 4


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "audit",
        help="show what a class system holds, and whether it satisfies Assumptions 1 and 2",
        description="Show the tokens and overlaps of a class system, and audit Assumptions 1 and 2 at Z = 0.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the classes, a .yaml or .json file")
    parser.add_argument("--seq-len", type=float, default=math.inf, metavar="T", help="sequence length (default: inf)")
    parser.add_argument("--lr-y", type=float, metavar="RATE", help="eta_Y, for condition 1(c)")
    parser.add_argument("--lr-z", type=float, metavar="RATE", help="eta_Z, for condition 1(c)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Print the audit; the exit status tells only that it was made."""
    import numpy as np

    from scansnap_core.data.audit import audit
    from scansnap_core.data.class_files import load_classes

    classes = load_classes(options.file)
    conditions = audit(classes, seq_len=options.seq_len, lr_y=options.lr_y, lr_z=options.lr_z)
    distinct = [len(classes.distinct_tokens(n)) for n in range(classes.num_classes)]
    print(f"M = {classes.vocab_size} tokens, K = {classes.num_classes} classes")
    print(f"query tokens      {len(np.unique(classes.query_of))}")
    print(f"common tokens     {len(classes.common_tokens)}")
    print(f"distinct tokens   {listed(distinct)} (by class)")
    print(f"eigenvalues of E  {listed(classes.eigenvalues)}")
    print()
    print(conditions)
    return 0


def listed(values: Iterable[float]) -> str:
    """Write numbers in 4 significant digits; of a long row, the first and the last ones."""
    texts = [f"{value:.4g}" for value in values]
    if len(texts) > 2 * SHOWN_AT_EACH_END:
        texts[SHOWN_AT_EACH_END:-SHOWN_AT_EACH_END] = ["…"]
    return " ".join(texts)
