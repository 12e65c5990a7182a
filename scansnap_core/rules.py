"""Rules that several modules hold their arguments to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scansnap_core.bad_input import BadInput

_REAL = (int, float, np.integer, np.floating)


def check_rate(name: str, rate: Any) -> None:
    """Raise :class:`BadInput` unless a learning rate is positive and finite."""
    if isinstance(rate, bool) or not isinstance(rate, _REAL) or not (math.isfinite(rate) and rate > 0):
        raise BadInput(value=f"{name} = {rate}", rule="a learning rate is positive and finite", remedy="pass e.g. 1.0")


def check_seq_len(seq_len: Any) -> None:
    """Raise :class:`BadInput` unless T is a whole number of at least 2, or inf."""
    # NaN and -inf are not >= 2
    if not isinstance(seq_len, _REAL) or not seq_len >= 2 or (math.isfinite(seq_len) and seq_len % 1):
        raise BadInput(
            value=f"seq_len = {seq_len}",
            rule="T is a whole number of at least 2 (one contextual token and the query), or inf",
            remedy="pass e.g. 128",
        )
