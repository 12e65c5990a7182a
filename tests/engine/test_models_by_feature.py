"""Which model is taken where, and refused where not: what the page "The code" shows in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from scansnap_core.cli import main
from scansnap_core.storage.store import read
from scansnap_core.sweeps.grid_files import load_grid
from scansnap_core.sweeps.running import run as sweep
from tests.engine.models_by_feature import CLASSES, FEATURES, LABELS, OWN, is_taken, model_of, models_table

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
MODULE = "tests.engine.models_by_feature"
OWN_NAMES = dict(zip(OWN, (f"{MODULE}:OWN_VARIANT", f"{MODULE}:own_function"), strict=True))
PAGE = Path(__file__).parents[2] / "chapters" / "api.md"


@pytest.mark.parametrize("label", LABELS)
def test_a_model_is_taken_or_refused(label: str) -> None:
    assert {where for where in FEATURES if not is_taken(label, where)} == REFUSED.get(label, USUAL)


def test_the_page_shows_what_was_tried() -> None:
    table = models_table()
    assert table in PAGE.read_text(encoding="utf8"), f"put this table into {PAGE.name}:\n{table}"


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
