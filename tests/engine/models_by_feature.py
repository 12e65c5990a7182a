"""Which model is taken where: every cell of the table on the page "The code" is tried."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scansnap_core as ss
from scansnap_core.engine.names import MODELS
from scansnap_core.engine.variants import Batch, Variant, plain, plain_inputs

LAB = Path(__file__).parents[2] / "site" / "lab" / "fields.json"
CLASSES = ss.syn_small()
OWN_VARIANT = Variant(plain_inputs)


def own_function(batch: Batch, Y: Any, Z: Any) -> Any:
    """Stand for a user's own model."""
    return plain(batch, Y, Z)


OWN: dict[str, Any] = {
    "a `Variant` of your own": OWN_VARIANT,
    "a function of your own": own_function,
}
LABELS = (*(f"`{name}`" for name in MODELS), *OWN)
"""The rows' first cells."""


def model_of(label: str) -> Any:
    """Name the model that a row's first cell stands for; a numbered model gets 2."""
    return OWN.get(label) or label.strip("`").replace(" H", " 2").replace(" W", " 2")


def trained(model: Any, **options: Any) -> Any:
    """Run a short training."""
    settings: dict[str, Any] = {"lr_y": 1, "lr_z": 1, "steps": 3, "batch_size": 4, "seq_len": 8}
    return ss.train(CLASSES, model=model, **settings | options)


def goes_on(model: Any) -> None:
    """Go on from a kept state, and end where one training ends."""
    whole = trained(model, steps=4, keep_state=True)
    again = trained(model, steps=2, keep_state=True, initial=trained(model, steps=2, keep_state=True))
    assert (again.Z.isel(recorded=-1).values == whole.Z.isel(recorded=-1).values).all()


def flows(model: Any) -> None:
    """Solve the three flows."""
    for make in (ss.IdealisedFlow, ss.ModifiedFlow, ss.TrueFlow):
        assert ss.solve(make(CLASSES, 1, 1, model=model), [2]).Z.notnull().all()


def in_the_lab(model: Any) -> None:
    """Look among the lab's choices."""
    if model not in json.loads(LAB.read_text(encoding="utf8"))["model"]["choices"]:
        raise ss.BadInput(f"{model}", "it is no choice of the lab", "choose another")


FEATURES: dict[str, Callable[[Any], object]] = {
    "Adam": lambda model: trained(model, optimizer="adam"),
    "goes on": goes_on,
    "replay, random start": lambda model: trained(model, rng="replay", initial="random"),
    "three flows": flows,
    "`theory_of`": lambda model: ss.theory_of(CLASSES, trained(model)),
    "the lab": in_the_lab,
}


@functools.cache
def is_taken(label: str, where: str) -> bool:
    """Say whether it works or is refused as bad input; anything else is a defect."""
    try:
        FEATURES[where](model_of(label))
    except ss.BadInput:
        return False
    return True


def models_table() -> str:
    """Write the table, in Markdown."""
    rows = [("model", *FEATURES), ("---",) * (1 + len(FEATURES))]
    rows += [(label, *("✓" if is_taken(label, where) else "–" for where in FEATURES)) for label in LABELS]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
