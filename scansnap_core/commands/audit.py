"""``scansnap audit FILE``: what a class system holds, and whether it satisfies Assumptions 1 and
2.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable

from scansnap_core.commands import CLASS_FILE, command

SHOWN_AT_EACH_END = 4


@command(
    "audit",
    "show what a class system holds, and whether it satisfies Assumptions 1 and 2",
    CLASS_FILE,
    ("--seq-len T", float, "sequence length", math.inf),
    ("--lr-y RATE", float, "eta_Y, for condition 1(c)"),
    ("--lr-z RATE", float, "eta_Z, for condition 1(c)"),
)
def run(options: argparse.Namespace) -> int:
    """Show the tokens and overlaps of a class system, and audit Assumptions 1 and 2 at Z = 0."""
    import numpy as np

    from scansnap_core.data.audit import audit
    from scansnap_core.data.sequences import SequenceClasses

    classes = SequenceClasses.load(options.file)
    conditions = audit(classes, seq_len=options.seq_len, lr_y=options.lr_y, lr_z=options.lr_z)
    distinct = [len(classes.distinct_tokens(n)) for n in range(classes.num_classes)]
    print(f"M = {classes.vocab_size} tokens, K = {classes.num_classes} classes")
    print(f"query tokens      {len(np.unique(classes.query_of))}")
    print(f"common tokens     {len(classes.common_tokens)}")
    print(f"distinct tokens   {listed(distinct)} (by class)")
    print(f"eigenvalues of E  {listed(classes.eigenvalues)}\n")
    print(conditions)
    return 0


def listed(values: Iterable[float]) -> str:
    """Write numbers in 4 significant digits; of a long row, the first and the last ones."""
    texts = [f"{value:.4g}" for value in values]
    if len(texts) > 2 * SHOWN_AT_EACH_END:
        texts[SHOWN_AT_EACH_END:-SHOWN_AT_EACH_END] = ["…"]
    return " ".join(texts)
