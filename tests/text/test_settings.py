"""Settings that break a rule are refused before any work."""

from __future__ import annotations

from typing import Any

import pytest

from scansnap_core import BadInput
from scansnap_core.text.settings import OPTIMIZERS, Settings


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lr": 0}, "lr = 0: a learning rate is positive and finite"),
        ({"lr": float("nan")}, "lr = nan"),
        ({"clip": -1.0}, "clip = -1.0"),
        ({"layers": 0}, "layers = 0: it is a whole number of at least 1; pass e.g. 1"),
        ({"steps": 1.5}, "steps = 1.5"),
        ({"every": 0}, "every = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": 2**64}, r"seed = 18446744073709551616: it is a whole number below 2\^64; pass e.g. 0"),
        ({"context": 1}, "context = 1"),
        ({"batch_size": True}, "batch_size = True"),
        ({"embedding": 7}, "embedding = 7: .* pass an even width"),
        ({"dropout": 1.0}, "dropout = 1.0"),
        ({"dropout": float("nan")}, "dropout = nan"),
        ({"optimizer": "lion"}, f"optimizer = 'lion': it is one of {', '.join(OPTIMIZERS)}"),
    ],
)
def test_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Settings(**changed)


def test_snapshots() -> None:
    assert Settings(steps=50, every=25).snapshots == [0, 25, 50]
    assert Settings(steps=51, every=25).snapshots == [0, 25, 50, 51]
    assert Settings(steps=3, every=25).snapshots == [0, 3]
