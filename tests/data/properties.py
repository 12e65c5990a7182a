"""What property tests share: one profile, and values of the wrong kind."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

FEW = settings(
    derandomize=True,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

WRONG = st.sampled_from(
    [
        None, True, "3", "", b"x", 2.5, math.nan, math.inf, -math.inf, -1, 0, 10**30, -(10**30), 1 + 2j, [], {}, (),
        set(), [[]], [None], ["a", "b"], [[1.0], [0.5, 0.5]], {"a": 1}, Path("x.yaml"), object(), np.array(3.5),
        np.zeros((2, 0)), np.array(["x"]), np.array([math.nan]), np.array([1j]), np.float32(0.5), np.int64(-7),
        lambda x: x, type, range(0),
    ]
)  # fmt: skip
"""Values of other types, and numbers outside most ranges."""
