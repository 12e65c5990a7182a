"""The cells of a stored notebook, as other programs find them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("chapters", "examples")
    for path in (ROOT / folder).rglob("*.ipynb")
    if ".ipynb_checkpoints" not in path.parts
)


def repeated(cells: list[dict[str, Any]]) -> list[str]:
    """The ids that several cells have: nbformat gives the later ones new ids, others at each reading."""
    return [name for name, times in Counter(cell["id"] for cell in cells).items() if times > 1]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_each_cell_has_an_id_of_its_own(notebook: str) -> None:
    assert repeated(json.loads((ROOT / notebook).read_text(encoding="utf8"))["cells"]) == []


def test_a_repeated_id_is_found() -> None:
    """Control."""
    assert repeated([{"id": "runs"}, {"id": "picture"}, {"id": "runs"}]) == ["runs"]
