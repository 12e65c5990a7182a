"""What tests share: class systems, values of the wrong kind, what a refusal is, a full disk, one profile."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from scansnap_core import BadInput
from scansnap_core.data.sequences import SequenceClasses

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


def result_or_refusal(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return what a call gives, or None if it refuses in one line; any other exception fails the test."""
    try:
        return call(*arguments, **named)
    except BadInput as error:
        refusal = error
    assert refusal.value
    assert refusal.rule
    assert refusal.remedy
    assert "\n" not in str(refusal)
    return None


def refusal_of(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """Return the line in which a call refuses what it is given."""
    with pytest.raises(BadInput) as refused:
        call(*arguments, **named)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def full_disk(*_: Any, **__: Any) -> None:
    """Stand for what writes to the disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@st.composite
def class_systems(draw: st.DrawFn) -> SequenceClasses:
    """Good ones, from one class of two tokens on: rows of a Dirichlet's, even or far from it, some tokens unused."""
    K = draw(st.integers(1, 4))
    M = max(2, K + draw(st.integers(0, 6)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    probs = rng.dirichlet(np.full(M, 10.0 ** draw(st.integers(-3, 2))), K) * (rng.random((K, M)) < 0.6)
    if draw(st.booleans()):  # a rare token
        probs[:, 1] = 10.0 ** draw(st.integers(-307, -3))
    probs[:, 0] += probs.sum(axis=1) < 1e-3
    arrays = (probs / probs.sum(axis=1, keepdims=True), rng.integers(M, size=K), rng.permutation(M)[:K])
    tokens = [f"{i}e-1" if i % 2 else f"tōken {i}" for i in range(M)]
    names, seen = tokens if draw(st.booleans()) else (), draw(st.booleans())
    return SequenceClasses(*arrays, token_names=names, frequencies=rng.dirichlet(np.full(K, 2.0)) if seen else None)
