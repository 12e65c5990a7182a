"""Which model is taken where, and refused where not: what the page "The code" shows in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from models_table import CLASSES, FEATURES, LABELS, OWN, is_taken, model_of, models_table

from scansnap_core.cli import main
from scansnap_core.storage.store import read
from scansnap_core.sweeps.grids import load_grid
from scansnap_core.sweeps.running import run as sweep

USUAL = {"`theory_of`", "the lab"}
"""What takes no model but those that say so."""
REFUSED = {
    "`plain`": set[str](),
    "`residual`": {"`theory_of`"},
    "`layernorm`": {"`theory_of`"},
    "`heads H`": {*USUAL, "goes on", "replay, random start"},
    "`summed heads H`": {*USUAL, "goes on", "replay, random start"},
    "`positions W`": {*USUAL, "Adam"},
    "a function of your own": {*USUAL, "three flows"},
}
OWN_NAMES = dict(zip(OWN, ("models_table:OWN_VARIANT", "models_table:own_function"), strict=True))


@pytest.mark.parametrize("label", LABELS)
def test_a_model_is_taken_or_refused(label: str) -> None:
    assert {where for where in FEATURES if not is_taken(label, where)} == REFUSED.get(label, USUAL)


def test_the_table_has_a_row_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models_table.is_taken", lambda label, where: (label, where) != (LABELS[0], "Adam"))
    head, _, first, *rest = models_table().splitlines()
    assert head.startswith("| model | Adam | ")
    assert first.startswith("| `plain` | – | ✓ | ")
    assert [row.split(" | ")[0].strip("| ") for row in rest] == list(LABELS[1:])


@pytest.mark.parametrize("label", LABELS)
def test_every_model_is_swept_and_trained_by_the_command(label: str, tmp_path: Path) -> None:
    name = OWN_NAMES.get(label) or model_of(label)
    content: dict[str, Any] = {
        "data": "syn_small", "rates": {"lr_y": 1, "lr_z": 1}, "steps": 2, "seeds": 1, "batch_size": 4, "seq_len": 8,
        "model": name, "measures": ["entropy", "final_loss", "Z", {"name": "recall", "threshold": 0.1}],
    }  # fmt: skip
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(content))
    sweep(load_grid(str(tmp_path / "grid.yaml")), tmp_path / "a.zarr", device="cpu")
    stored = read(tmp_path / "a.zarr")
    assert all(np.isfinite(stored[measure].values).all() for measure in ("final_loss", "entropy", "recall"))
    CLASSES.save(tmp_path / "classes.yaml")
    rates = ["--lr-y", "1", "--lr-z", "1", "--steps", "2", "--out", str(tmp_path / "run.nc")]
    assert main(["train", str(tmp_path / "classes.yaml"), *rates, "--model", name]) == 0
