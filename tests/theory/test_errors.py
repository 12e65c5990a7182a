"""Intervals of means."""

import numpy as np
import pytest
from scipy import stats

from scansnap_core.theory.errors import half_interval


def test_half_an_interval_is_half_of_students() -> None:
    values = np.random.default_rng(0).normal(size=(5, 3))
    low, high = stats.t.interval(0.95, 4, values.mean(axis=0), stats.sem(values, axis=0))
    assert half_interval(values) == pytest.approx((high - low) / 2, rel=1e-12, abs=0)
    assert half_interval(values.T, axis=1) == pytest.approx((high - low) / 2, rel=1e-12, abs=0)
