"""Rules that several modules hold their arguments to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scansnap_core.bad_input import BadInput

_REAL = (int, float, np.integer, np.floating)


def check_rate(name: str, rate: Any) -> None:
    """Raise :class:`BadInput` unless a learning rate is positive and finite."""
    if isinstance(rate, bool) or not isinstance(rate, _REAL) or not (math.isfinite(rate) and rate > 0):
        raise BadInput(value=f"{name} = {rate}", rule="a learning rate is positive and finite", remedy="pass e.g. 1.0")


def check_flow_rate(name: str, rate: Any) -> None:
    """Raise :class:`BadInput` unless a flow's rate is finite and not negative; 0 holds its weights at rest."""
    if isinstance(rate, bool) or not isinstance(rate, _REAL) or not (math.isfinite(rate) and rate >= 0):
        raise BadInput(
            value=f"{name} = {rate}", rule="a flow's rate is finite and not negative", remedy="pass e.g. 1.0"
        )


def check_seq_len(seq_len: Any) -> None:
    """Raise :class:`BadInput` unless T is a whole number of at least 2, or inf."""
    # NaN and -inf are not >= 2
    if not isinstance(seq_len, _REAL) or not seq_len >= 2 or (math.isfinite(seq_len) and seq_len % 1):
        raise BadInput(
            value=f"seq_len = {seq_len}",
            rule="T is a whole number of at least 2 (one contextual token and the query), or inf",
            remedy="pass e.g. 128",
        )


def check_count(name: str, count: Any, least: int = 1) -> None:
    """Raise :class:`BadInput` unless a number of things is an integer and not too small."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < least:
        raise BadInput(
            value=f"{name} = {count!r}", rule=f"an integer, at least {least}", remedy=f"pass e.g. {max(least, 100)}"
        )


def check_numbers(name: str, values: Any, *, least: float, rule: str, remedy: str) -> NDArray[np.float64]:
    """The values as an array of float64; :class:`BadInput` unless all are finite numbers and at least ``least``."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(value=f"{name} = {values!r}", rule=rule, remedy=remedy) from None
    bad = array[~(np.isfinite(array) & (array >= least))]
    if bad.size:
        raise BadInput(value=f"{name} = {bad[0]:g}", rule=rule, remedy=remedy)
    return array
