"""Does a class system satisfy Assumptions 1 and 2? Each condition with what it requires and what it finds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.rules import check_rate, check_seq_len

MUCH_GREATER = 10.0
"""The paper writes a >> b without a constant; the audit reads it as a >= 10 b and prints the ratio."""


@dataclass(frozen=True)
class Condition:
    """One condition of an assumption."""

    name: str
    required: str
    actual: str
    holds: bool


def audit(
    classes: SequenceClasses,
    *,
    seq_len: float = math.inf,
    lr_y: float | None = None,
    lr_z: float | None = None,
) -> list[Condition]:
    """Audit Assumption 1 (architecture, T, rates) and Assumption 2 (weak correlations, at Z = 0).

    Parameters
    ----------
    seq_len
        T, the sequence length with the query; ``inf`` is the paper's limit.
    lr_y, lr_z
        eta_Y and eta_Z. Condition 1(c) is left out unless both are given.

    Raises
    ------
    BadInput
        T < 2, or a rate that is not positive and finite.
    """
    check_seq_len(seq_len)
    for name, rate in (("lr_y", lr_y), ("lr_z", lr_z)):
        if rate is not None:
            check_rate(name, rate)
    M, K = classes.vocab_size, classes.num_classes
    magnitudes = np.abs(classes.eigenvalues)
    largest, smallest = float(magnitudes[0]), float(magnitudes[-1])
    floor = 6 / math.sqrt(M)
    conditions = [
        Condition("1(a) positions", "no positional encoding", "none: a sequence is its token counts", True),
        Condition("1(b) length", "T -> infinity", f"T = {seq_len:g}", math.isinf(seq_len)),
    ]
    if lr_y is not None and lr_z is not None:
        ratio = lr_y / lr_z
        conditions.append(
            Condition(
                "1(c) rates",
                f"eta_Y >> eta_Z (at least {MUCH_GREATER:g} times)",
                f"eta_Y/eta_Z = {ratio:.4g}",
                ratio >= MUCH_GREATER,
            )
        )
    conditions += [
        Condition(
            "2 vocabulary",
            f"M >> K^2 (at least {MUCH_GREATER:g} times)",
            f"M/K^2 = {M / K**2:.4g}",
            M >= MUCH_GREATER * K**2,
        ),
        Condition(
            "2 largest eigenvalue",
            f"|lambda_1(E)| < 1/K = {1 / K:.4g}",
            f"{largest:.4g}",
            largest < 1 / K,
        ),
        Condition(
            "2 smallest eigenvalue",
            f"|lambda_i(E)| >= 6/sqrt(M) = {floor:.4g} for all i",
            f"{smallest:.4g}",
            smallest >= floor,
        ),
    ]
    return conditions


def table(conditions: list[Condition]) -> str:
    """The audit as aligned text, one condition a line."""
    rows = [("condition", "required", "actual", "holds")]
    rows += [(c.name, c.required, c.actual, "yes" if c.holds else "NO") for c in conditions]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
