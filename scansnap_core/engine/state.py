"""What a run goes on from: the end of another one, with the states of its optimiser and of its random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, checksum
from scansnap_core.rules import shown

RANDOM = "rng_state"
"""The variable with the state of each seed's random numbers, as text."""
CLASSES = "checksum"
"""The variable that tells the classes."""
RATES = ("lr_y", "lr_z")
SETTINGS = ("seeds", *RATES, "model", "optimizer", "momentum", "batch_size", "seq_len", "rng", "device", "dtype")
"""All that a run's numbers depend on, beside the classes, the initial values and the steps."""
KEEP = "train with keep_state=True, and take all of its variables, seeds and rates"


def start_of(initial: Any) -> int:
    """How many updates initial values have behind them.

    Raises
    ------
    BadInput
        A data set that doesn't hold what a training goes on from.
    """
    if not isinstance(initial, xr.Dataset):
        return 0
    held = {name: set(array.dims) for name, array in initial.variables.items()}
    needed = {name: {"seed", "rate", "recorded"} for name in "YZ"} | {RANDOM: {"seed"}, CLASSES: set()}
    if any(name not in held or not held[name] >= dims for name, dims in needed.items()):
        raise BadInput(
            value=f"initial with the variables {', '.join(map(str, initial.data_vars)) or 'none'}",
            rule="a training goes on from the data set of one that kept its state",
            remedy=KEEP,
        )
    end = int(initial["recorded"][-1])
    if end != initial.attrs.get("end"):
        raise BadInput(
            value=f"initial that ends at step {end} of {initial.attrs.get('end')}",
            rule="a training goes on from the end of another",
            remedy="take all of its recorded steps, or pass (Y, Z) to start anew from there",
        )
    return end


def check_continues(
    run: xr.Dataset,
    classes: SequenceClasses,
    asked: Mapping[str, Any],
    seeds: Sequence[int],
    rates: Sequence[tuple[float, float]],
) -> None:
    """Raise :class:`~scansnap_core.BadInput` unless a run goes on as it began: the classes and all settings but steps.

    Parameters
    ----------
    run
        The data set of the run so far.
    classes
        Those of what follows.
    asked
        The attributes that the data set of what follows is to have.
    seeds, rates
        Of what follows.
    """
    held = {"model": "plain", **run.attrs, "seeds": run["seed"].values.tolist()}
    held |= {name: run[name].values.tolist() for name in RATES}
    lr_y, lr_z = (list(each) for each in zip(*rates, strict=True))
    wanted = {"model": "plain", **asked, "seeds": list(seeds), "lr_y": lr_y, "lr_z": lr_z}
    different = [name for name, value in wanted.items() if name in SETTINGS and held.get(name) != value]
    values = [f"{name} = {shown(wanted[name])} after {name} = {shown(held.get(name))}" for name in different]
    if str(run[CLASSES].values) != checksum(classes):
        values.insert(0, f"classes = {shown(classes)} after others")
    if values:
        raise BadInput(
            value=values[0],
            rule="a training goes on with the classes and settings that it began with",
            remedy="pass the same, or start anew from (Y, Z)",
        )


def final(run: xr.Dataset, name: str, labels: Mapping[str, np.ndarray]) -> np.ndarray:
    """A variable of the run at its end: (seed, rate, ...), with the axes and labels that are named, in their order."""
    end = run[name].isel(recorded=-1) if "recorded" in run[name].dims else run[name]
    chosen = {dim: values for dim, values in labels.items() if dim in end.dims}
    return np.asarray(end.sel(chosen).transpose("seed", "rate", *chosen).values)
