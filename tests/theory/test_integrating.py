"""Runge-Kutta against a closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scansnap_core.theory.errors import order_of
from scansnap_core.theory.solving import runge_kutta


def test_a_rotation_of_two_parts_is_followed_to_fourth_order() -> None:
    start = [torch.tensor([1.0, 2.0]).double(), torch.tensor([0.5, 0.0]).double()]
    exact = np.cos(2.0) * start[0] - np.sin(2.0) * start[1]
    steps = (10, 20, 40)
    ends = [runge_kutta(lambda parts: [-parts[1], parts[0]], start, 2.0, count)[0] for count in steps]
    errors = [float((end - exact).abs().max()) for end in ends]
    assert order_of([1 / count for count in steps], errors) == pytest.approx(4, abs=0.1)
