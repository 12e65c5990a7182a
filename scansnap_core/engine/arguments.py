"""A training's arguments are checked here, each for itself."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from scansnap_core.bad_input import BadInput
from scansnap_core.data.sequences import SequenceClasses, checksum
from scansnap_core.engine.names import name_of
from scansnap_core.rules import (
    MOST_VALUES,
    RATE,
    SEQ_LEN,
    check_differ,
    is_real,
    is_whole,
    listed,
    not_finite,
    shown,
    whole,
)

MOMENTUM = 0.9
"""The optimiser "momentum" uses it where none is given."""
LARGEST_SEED = 2**63 - 3
"""The authors' order of random numbers adds 2, and that is stored in 64 bits."""
RANDOM = "rng_state"
"""The variable with the state of each seed's random numbers, as text."""
CLASSES = "checksum"
"""The variable that tells which classes a run was trained on."""
RATES = ("lr_y", "lr_z")
SETTINGS = ("seeds", *RATES, "model", "optimizer", "momentum", "batch_size", "seq_len", "rng", "device", "dtype")
"""A run's numbers depend on these, the classes, the initial values and the steps, and on nothing else."""
KEEP = "train with keep_state=True, and take all of its variables, seeds and rates"


def checked_device(device: Any) -> str:
    """Return the device's name; "auto" becomes "cuda" where there is a GPU, and "cpu" elsewhere.

    Raises
    ------
    BadInput
        There is no such device.
    """
    if not isinstance(device, str) or device not in ("auto", "cpu", "cuda"):
        raise BadInput(value=f"device = {shown(device)}", rule="a device is auto, cpu or cuda", remedy="use auto")
    if device == "cpu":
        return "cpu"
    if _has_driver():
        import torch

        if torch.cuda.is_available():
            return "cuda"
    if device == "cuda":
        raise BadInput(
            value="device = 'cuda'", rule="it needs a CUDA GPU, and PyTorch finds none here", remedy="use auto or cpu"
        )
    return "cpu"


def _has_driver() -> bool:
    """Tell whether a GPU has a driver here. Without one PyTorch, which takes a second to import, finds no GPU."""
    for nvidia in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError):
            ctypes.CDLL(nvidia)
            return True
    return Path("/dev/kfd").exists()  # AMD's


def checked_rates(lr_y: Any, lr_z: Any) -> list[tuple[float, float]]:
    """Return the pairs (eta_Y, eta_Z) of two numbers, or of lists, which are paired."""
    lists = {"lr_y": _numbers("lr_y", lr_y), "lr_z": _numbers("lr_z", lr_z)}
    for name, rates in lists.items():
        for rate in rates:
            RATE(name, rate)
    count = max(1, *map(len, lists.values()))
    if any(len(rates) not in (1, count) for rates in lists.values()):
        raise BadInput(
            value=f"{len(lists['lr_y'])} values of lr_y and {len(lists['lr_z'])} of lr_z",
            rule="rates are paired",
            remedy="pass lists of one length, or one number for either",
        )
    lr_ys, lr_zs = ([float(rate) for rate in rates] * (count // len(rates)) for rates in lists.values())
    return list(zip(lr_ys, lr_zs, strict=True))


def _numbers(name: str, given: Any) -> list[Any]:
    try:
        values = np.asarray(given).tolist() if hasattr(given, "__array__") else given
    except (TypeError, RuntimeError):  # such as a data set's, or those of a tensor with gradients
        values = given
    return listed(name, values) if isinstance(values, Iterable) and not isinstance(values, str | Mapping) else [values]


def checked_seeds(seeds: Any) -> list[int]:
    """Return the seeds: one or more different integers that are not negative."""
    checked = listed("seeds", seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str) else []
    if not checked or any(not is_whole(seed) or not 0 <= seed <= LARGEST_SEED for seed in checked):
        raise BadInput(
            value=f"seeds = {shown(checked or seeds)}",
            rule="a list of integers that are not negative, and at most 2^63 - 3",
            remedy="pass e.g. [0, 1, 2]",
        )
    check_differ("seeds", checked)
    return [int(seed) for seed in checked]


def checked_record(record: Any, start: int, end: int) -> list[int]:
    """Return the recorded steps, ascending: every ``record`` steps, those of a list, or by default first and last."""
    if record is None:
        return [start, end]
    if not isinstance(record, Iterable):
        whole()("record", record)
        if (end - start) // record > MOST_VALUES:
            listed("record", range(start, end, int(record)))  # refuses it
        return sorted({*range(start, end + 1, int(record)), end})
    given = listed("record", record)
    if not given or any(not is_whole(step) or not start <= step <= end for step in given):
        raise BadInput(
            value=f"record = {shown(given)}",
            rule=f"recorded steps are integers in {start}..{end}",
            remedy="change the list or steps",
        )
    return sorted({int(step) for step in given})


def checked_length(seq_len: float, batch_size: int | None, rng: str) -> float:
    """Return T; batch size and order of random numbers must agree with it."""
    SEQ_LEN("seq_len", seq_len)
    if batch_size is None and not math.isinf(seq_len):
        raise BadInput(
            value=f"batch_size = None with seq_len = {seq_len:g}",
            rule="the expectation over classes is defined at T = infinity",
            remedy="pass seq_len=math.inf or a batch size",
        )
    if rng == "replay" and (batch_size is None or math.isinf(seq_len)):
        raise BadInput(
            value="rng = 'replay' without a finite batch and T",
            rule="the authors' runs draw batches of finite sequences",
            remedy="pass batch_size=128, seq_len=128 or use rng='fresh'",
        )
    return float(seq_len)


def checked_momentum(momentum: Any, optimizer: Any) -> float:
    """Return the momentum, in [0, 1). Only the optimiser "momentum" takes one; it is 0 for the others."""
    if momentum is None:
        return MOMENTUM if optimizer == "momentum" else 0.0
    if not is_real(momentum) or not 0 <= momentum < 1:
        raise BadInput(value=f"momentum = {shown(momentum)}", rule="momentum lies in [0, 1)", remedy="pass e.g. 0.9")
    if optimizer != "momentum":
        raise BadInput(
            value=f"momentum = {momentum} with the optimizer {name_of(optimizer)}",
            rule="only the optimizer momentum has it",
            remedy="leave it out, or use optimizer='momentum'",
        )
    return float(momentum)


def check_given(initial: Any, vocab_size: int, heads: int = 0) -> None:
    """Raise :class:`~scansnap_core.BadInput` unless initial values are finite M x M arrays Y and Z.

    With heads either may be one for all of them, or one for each: (H, M, M).
    """
    if not isinstance(initial, tuple | list) or len(initial) != 2:
        raise BadInput(
            value=f"initial of {len(initial)} parts" if hasattr(initial, "__len__") else f"initial = {shown(initial)}",
            rule="initial values are zero, random, (Y, Z), or the data set of a training to go on with",
            remedy="pass a pair of M x M arrays",
        )
    for name, array in zip("YZ", initial, strict=True):
        try:
            values = np.asarray(array)
        except (TypeError, ValueError, RuntimeError):
            values = np.array(None)
        numbers = values.dtype.kind in "iuf"
        shapes = [(vocab_size,) * 2] + [(heads, vocab_size, vocab_size)] * bool(heads)
        if not numbers or values.shape not in shapes or not np.isfinite(values).all():
            wrong = not_finite(values) if numbers else ", not of numbers"
            raise BadInput(
                value=f"initial {name} of shape {values.shape}{wrong}",
                rule=f"Y and Z are finite M x M arrays, M = {vocab_size}" + f", or {heads} of them" * bool(heads),
                remedy="pass both in full, rows first",
            )


def start_of(initial: Any) -> int:
    """Count the updates that initial values have behind them.

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


def checked_data(classes: Any) -> dict[str, SequenceClasses]:
    """Return class systems by name; a single one has the empty name."""
    data_sets = {"": classes} if isinstance(classes, SequenceClasses) else classes
    if not isinstance(data_sets, Mapping) or not data_sets:
        raise BadInput(f"classes = {shown(classes)}", "classes are SequenceClasses, or several by name", "pass these")
    for name, data_set in data_sets.items():
        if not isinstance(name, str) or not isinstance(data_set, SequenceClasses):
            raise BadInput(
                f"classes with {shown(name)}: {shown(data_set)}", "each name has its SequenceClasses", "pass these"
            )
    return dict(data_sets)
