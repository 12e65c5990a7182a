"""What a training is asked to do, checked before any work starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from scansnap_core.bad_input import BadInput
from scansnap_core.engine.optimizers import NAMES as OPTIMIZERS
from scansnap_core.rules import check_rate, check_seq_len

Initial = str | tuple[Any, Any]


@dataclass(frozen=True)
class Options:
    """Checked arguments of :func:`scansnap_core.engine.training.train`, which documents them."""

    rates: list[tuple[float, float]]
    steps: int
    seeds: list[int]
    batch_size: int | None
    seq_len: float
    optimizer: str
    momentum: float
    initial: Initial
    recorded: list[int]
    rng: str
    device: torch.device
    dtype: str

    @classmethod
    def checked(
        cls,
        *,
        lr_y: float | Sequence[float],
        lr_z: float | Sequence[float],
        steps: int,
        seeds: Iterable[int],
        batch_size: int | None,
        seq_len: float,
        optimizer: str,
        momentum: float,
        initial: Initial,
        record: int | Iterable[int] | None,
        rng: str,
        device: str,
        dtype: str,
    ) -> Options:
        """Check every argument; raise :class:`~scansnap_core.BadInput` for the first that breaks its rule."""
        _check_choice("optimizer", optimizer, OPTIMIZERS)
        _check_choice("rng", rng, ("fresh", "replay"))
        _check_choice("dtype", dtype, ("float64", "float32"))
        if not 0 <= momentum < 1:
            raise BadInput(value=f"momentum = {momentum}", rule="momentum lies in [0, 1)", remedy="pass e.g. 0.9")
        if isinstance(initial, str):
            _check_choice("initial", initial, ("zero", "random"))
        return cls(
            rates=_checked_rates(lr_y, lr_z),
            steps=_checked_count("steps", steps),
            seeds=_checked_seeds(seeds),
            batch_size=None if batch_size is None else _checked_count("batch_size", batch_size),
            seq_len=_checked_length(seq_len, batch_size, rng),
            optimizer=optimizer,
            momentum=momentum if optimizer == "momentum" else 0.0,
            initial=initial,
            recorded=_checked_record(record, steps),
            rng=rng,
            device=checked_device(device),
            dtype=dtype,
        )

    def check_initial(self, vocab_size: int) -> None:
        """Given Y and Z must be finite M x M arrays."""
        if isinstance(self.initial, str):
            return
        if len(self.initial) != 2:
            raise BadInput(
                value=f"initial of {len(self.initial)} parts",
                rule="initial values are (Y, Z)",
                remedy="pass a pair of M x M arrays",
            )
        for name, array in zip("YZ", self.initial, strict=True):
            values = np.asarray(array)
            if values.shape != (vocab_size, vocab_size) or not np.isfinite(values).all():
                raise BadInput(
                    value=f"initial {name} of shape {values.shape}",
                    rule=f"Y and Z are finite M x M arrays, M = {vocab_size}",
                    remedy="pass both in full, rows first",
                )


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise BadInput(
            value=f"{name} = {value!r}", rule=f"the choices are {', '.join(known)}", remedy="use one of them"
        )


def _checked_length(seq_len: float, batch_size: int | None, rng: str) -> float:
    check_seq_len(seq_len)
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


def _checked_rates(lr_y: float | Sequence[float], lr_z: float | Sequence[float]) -> list[tuple[float, float]]:
    lists = {"lr_y": np.atleast_1d(lr_y).tolist(), "lr_z": np.atleast_1d(lr_z).tolist()}
    for name, rates in lists.items():
        for rate in rates:
            check_rate(name, rate)
    count = max(1, *map(len, lists.values()))
    if any(len(rates) not in (1, count) for rates in lists.values()):
        raise BadInput(
            value=f"{len(lists['lr_y'])} values of lr_y and {len(lists['lr_z'])} of lr_z",
            rule="rates are paired",
            remedy="pass lists of one length, or one number for either",
        )
    lr_ys, lr_zs = ([float(rate) for rate in rates] * (count // len(rates)) for rates in lists.values())
    return list(zip(lr_ys, lr_zs, strict=True))


def _checked_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise BadInput(value=f"{name} = {value!r}", rule="a positive integer", remedy="pass e.g. 100")
    return int(value)


def _checked_seeds(seeds: Iterable[int]) -> list[int]:
    checked = list(seeds) if isinstance(seeds, Iterable) else []
    if not checked or any(isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0 for s in checked):
        raise BadInput(
            value=f"seeds = {checked or seeds}",
            rule="a list of integers that are not negative",
            remedy="pass e.g. [0, 1, 2]",
        )
    return [int(seed) for seed in checked]


def _checked_record(record: int | Iterable[int] | None, steps: int) -> list[int]:
    if record is None:
        return [0, steps]
    if isinstance(record, int | np.integer):
        every = _checked_count("record", record)
        return sorted({*range(0, steps + 1, every), steps})
    checked = sorted(set(record))
    if not checked or checked[0] < 0 or checked[-1] > steps or any(step != int(step) for step in checked):
        raise BadInput(
            value=f"record = {checked}",
            rule=f"recorded steps are integers in 0..{steps}",
            remedy="change the list or steps",
        )
    return [int(step) for step in checked]


def checked_device(device: str) -> torch.device:
    """The device of that name, "auto" being a GPU where there is one.

    Raises
    ------
    BadInput
        There is no such device.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise BadInput(value=f"device = {device!r}", rule="a device is auto, cpu or cuda", remedy="use auto")
    if device == "cuda" and not torch.cuda.is_available():
        raise BadInput(value="device = 'cuda'", rule="a CUDA GPU is present", remedy="use auto or cpu")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)
