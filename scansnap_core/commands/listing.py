"""A row of numbers, cut in the middle where it is long."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN_AT_EACH_END = 4


def listed(values: Iterable[float]) -> str:
    """The numbers in 4 significant digits; of a long row, the first and the last ones."""
    texts = [f"{value:.4g}" for value in values]
    if len(texts) > 2 * SHOWN_AT_EACH_END:
        texts[SHOWN_AT_EACH_END:-SHOWN_AT_EACH_END] = ["…"]
    return " ".join(texts)
