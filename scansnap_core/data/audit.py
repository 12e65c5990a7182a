"""Audit Assumptions 1 and 2 for a class system: what each condition requires, and what it finds."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from scansnap_core.base.rules import RATE, SEQ_LEN, optional, takes
from scansnap_core.data.sequences import CLASSES, SequenceClasses

MUCH_GREATER = 10.0
"""The paper writes a >> b without a constant; the audit reads it as a >= 10 b and prints the ratio.
"""


class Condition(NamedTuple):
    """One condition of an assumption."""

    name: str
    required: str
    actual: str
    holds: bool


class Audit(tuple[Condition, ...]):
    """The conditions of an audit, in order. As text and in a notebook it is a table; a slice of it
    is an audit.
    """

    __slots__ = ()

    @property
    def holds(self) -> bool:
        """Tell whether all conditions hold."""
        return all(condition.holds for condition in self)

    def __getitem__(self, index: Any) -> Any:
        return (
            Audit(super().__getitem__(index))
            if isinstance(index, slice)
            else super().__getitem__(index)
        )

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the table's rows as texts, the head first."""
        rows = [(c.name, c.required, c.actual, "yes" if c.holds else "NO") for c in self]
        return [("condition", "required", "actual", "holds"), *rows]

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"Audit({', '.join(c.name if c.holds else f'NOT {c.name}' for c in self)})"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""

        def row_of(texts: Iterable[str], cell: str) -> str:
            """Write a row of ``th`` or ``td`` cells."""
            return f"<tr>{''.join(f'<{cell}>{html.escape(text)}</{cell}>' for text in texts)}</tr>"

        names, *rows = self._rows()
        header = row_of(names, "th")
        body = "".join(row_of(row, "td") for row in rows)
        return f"<table><thead>{header}</thead><tbody>{body}</tbody></table>"


@takes(classes=CLASSES, seq_len=SEQ_LEN, lr_y=optional(RATE), lr_z=optional(RATE))
def audit(
    classes: SequenceClasses,
    *,
    seq_len: float = math.inf,
    lr_y: float | None = None,
    lr_z: float | None = None,
) -> Audit:
    """Audit Assumption 1 (architecture, T, rates) and Assumption 2 (weak correlations, at Z = 0).

    Classes that aren't equally frequent break a further assumption, which the audit then shows:
    Theorem 1, Lemma 12, Theorem 5 and Corollary 1 are for classes sampled uniformly, P(n) = 1/K.

    Parameters
    ----------
    seq_len
        T, the sequence length with the query; ``inf`` is the paper's limit.
    lr_y, lr_z
        eta_Y and eta_Z. Condition 1(c) is left out unless both are given.

    Examples
    --------
    >>> from scansnap_core.data.datasets import with_overlap
    >>> print(audit(with_overlap(3, 10_000, 0.1))[2:])
    condition              required                                     actual        holds
    2 vocabulary           M >> K^2 (at least 10 times)                 M/K^2 = 1111  yes
    2 largest eigenvalue   |lambda_1(E)| < 1/K = 0.3333                 0.2           yes
    2 smallest eigenvalue  |lambda_i(E)| >= 6/sqrt(M) = 0.06 for all i  0.1           yes
    """
    M = classes.vocab_size
    K = classes.num_classes
    magnitudes = np.abs(classes.eigenvalues)
    largest = float(magnitudes[0])
    smallest = float(magnitudes[-1])
    floor = 6 / math.sqrt(M)
    ten = f"(at least {MUCH_GREATER:g} times)"
    conditions: list[tuple[str, str, str, bool]] = [
        ("1(a) positions", "no positional encoding", "none: a sequence is its token counts", True),
        ("1(b) length", "T -> infinity", f"T = {seq_len:g}", math.isinf(seq_len)),
    ]
    if lr_y is not None and lr_z is not None:
        ratio = lr_y / lr_z
        conditions.append(
            (
                "1(c) rates",
                f"eta_Y >> eta_Z {ten}",
                f"eta_Y/eta_Z = {ratio:.4g}",
                ratio >= MUCH_GREATER,
            )
        )
    if not classes.is_uniform:
        low = classes.paces.min()
        high = classes.paces.max()
        required = f"P(n) = 1/K = {1 / K:.4g} (Theorems 1 and 5, Lemma 12, Corollary 1)"
        actual = f"{low / K:.4g} to {high / K:.4g}, {low:.3g} to {high:.3g} times 1/K"
        conditions.append(("uniform classes", required, actual, False))
    every = f"|lambda_i(E)| >= 6/sqrt(M) = {floor:.4g} for all i"
    conditions += [
        ("2 vocabulary", f"M >> K^2 {ten}", f"M/K^2 = {M / K**2:.4g}", M >= MUCH_GREATER * K**2),
        (
            "2 largest eigenvalue",
            f"|lambda_1(E)| < 1/K = {1 / K:.4g}",
            f"{largest:.4g}",
            largest < 1 / K,
        ),
        ("2 smallest eigenvalue", every, f"{smallest:.4g}", smallest >= floor),
    ]
    return Audit(Condition(*each) for each in conditions)
