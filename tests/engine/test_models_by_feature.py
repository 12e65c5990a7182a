"""The table of the page "The code" on which model is taken where: every cell is tried."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import scansnap_core as ss
from scansnap_core.cli import main
from scansnap_core.data.class_files import save_classes
from scansnap_core.engine.variants import Variant, plain_inputs
from scansnap_core.storage.store import read
from scansnap_core.sweeps.grid_files import load_grid
from scansnap_core.sweeps.running import run as sweep
from scansnap_core.theory import measures
from tests.engine.variants import residual as own_function

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "chapters/api.md"
CLASSES = ss.syn_small()
OWN = {"a `Variant` of your own": Variant(plain_inputs), "a function of your own": own_function}
OWN_NAMES = {
    "a `Variant` of your own": "tests.engine.test_models_by_feature:OWN_VARIANT",
    "a function of your own": "tests.engine.variants:residual",
}
OWN_VARIANT = OWN["a `Variant` of your own"]


def table() -> dict[tuple[str, str], bool]:
    """Of the page: (model, where) -> whether it's taken."""
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text(encoding="utf8").splitlines() if line[:1] == "|"]
    head, _, *body = rows
    assert {cell for row in body for cell in row[1:]} <= {"✓", "–"}
    return {(row[0], where): cell == "✓" for row in body for where, cell in zip(head[1:], row[1:], strict=True)}


def model_of(label: str) -> Any:
    """What a row's first cell stands for; of numbered models, one with 2."""
    return OWN.get(label) or label.strip("`").replace(" H", " 2").replace(" W", " 2")


def name_of(label: str) -> str:
    return OWN_NAMES.get(label) or model_of(label)


def trained(label: str, **options: Any) -> Any:
    settings = {"lr_y": 1, "lr_z": 1, "steps": 3, "batch_size": 4, "seq_len": 8}
    return ss.train(CLASSES, model=model_of(label), **settings | options)


def flows(label: str, _: Path) -> None:
    for make in (ss.IdealisedFlow, ss.ModifiedFlow, ss.TrueFlow):
        assert np.isfinite(ss.solve(make(CLASSES, 1, 1, model=model_of(label)), [2]).Z.values).all()


def goes_on(label: str, _: Path) -> None:
    whole = trained(label, steps=4, keep_state=True)
    again = trained(label, steps=2, keep_state=True, initial=trained(label, steps=2, keep_state=True))
    assert (again.Z.isel(recorded=-1).values == whole.Z.isel(recorded=-1).values).all()


def swept(label: str, folder: Path) -> None:
    content = {
        "data": "syn_small", "rates": {"lr_y": 1, "lr_z": 1}, "steps": 2, "seeds": 1, "batch_size": 4, "seq_len": 8,
        "model": name_of(label), "measures": ["entropy", "final_loss", "Z", {"name": "recall", "threshold": 0.1}],
    }  # fmt: skip
    (folder / "grid.yaml").write_text(yaml.safe_dump(content))
    sweep(load_grid(str(folder / "grid.yaml")), folder / "a.zarr", device="cpu")
    assert np.isfinite(read(folder / "a.zarr").final_loss.values).all()


def command(label: str, folder: Path) -> None:
    rates = ["--lr-y", "1", "--lr-z", "1", "--steps", "2", "--out", str(folder / "run.nc")]
    save_classes(CLASSES, folder / "classes.yaml")
    if main(["train", str(folder / "classes.yaml"), *rates, "--model", name_of(label)]):
        raise ss.BadInput("the command", "it says no", "see above")


def measured(label: str, _: Path) -> None:
    run = trained(label)
    c = measures.attention(run.Z, CLASSES)
    assert np.allclose(c.sum("token"), 1, atol=0)
    assert np.isfinite(measures.entropy(c, CLASSES).values).all()
    assert np.isfinite(measures.recall(run.Z, CLASSES, [0.1]).values).all()


def in_the_lab(label: str, _: Path) -> None:
    choices = json.loads((ROOT / "_lab/fields.json").read_text(encoding="utf8"))["model"]["choices"]
    if name_of(label) not in choices:
        raise ss.BadInput(label, "no choice of the lab", "choose another")


FEATURES: dict[str, Callable[[str, Path], object]] = {
    "training": lambda label, _: trained(label, optimizer="momentum"),
    "Adam": lambda label, _: trained(label, optimizer="adam"),
    "goes on": goes_on,
    "replay, random start": lambda label, _: trained(label, rng="replay", initial="random", seq_len=8),
    "three flows": flows,
    "sweeps": swept,
    "`scansnap train`": command,
    "measures": measured,
    "`theory_of`": lambda label, _: ss.theory_of(CLASSES, trained(label)),
    "the lab": in_the_lab,
}


@pytest.mark.parametrize(("label", "where"), table())
def test_a_cell_says_what_happens(label: str, where: str, tmp_path: Path) -> None:
    if table()[label, where]:
        FEATURES[where](label, tmp_path)
    else:
        with pytest.raises(ss.BadInput):
            FEATURES[where](label, tmp_path)


def test_the_table_has_all_models_and_all_that_takes_them() -> None:
    from scansnap_core.engine.model_names import MODELS

    assert {label for label, _ in table()} == {f"`{name}`" for name in MODELS} | set(OWN)
    assert {where for _, where in table()} == set(FEATURES)
