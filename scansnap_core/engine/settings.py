"""A training's arguments are checked before any work starts. Torch is imported only where it is
needed.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import (
    FLAG,
    RATE,
    SEQ_LEN,
    Rule,
    check,
    check_differ,
    check_memory,
    check_not_masked,
    checked_list,
    is_whole,
    number,
    one_of,
    optional,
    whole,
)
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.names import (
    MODELS,
    MOMENTUM,
    OPTIMIZERS,
    PLAIN,
    check_takes,
    heads_of,
    name_of,
    resolved,
)

if TYPE_CHECKING:
    from scansnap_core.engine.variants import Variant

RNGS = ("fresh", "replay", "counter")
LARGEST_SEED = 2**63 - 3
"""The authors' order of random numbers adds 2, and that is stored in 64 bits."""
RANDOM = "rng_state"
"""The variable with the state of each seed's random numbers, as text."""
CHECKSUM = "checksum"
"""The variable that tells which classes a run was trained on."""

DEVICE = replace(
    one_of(("auto", "cpu", "cuda")), says="a device is auto, cpu or cuda", remedy="use auto"
)
SEEDS = Rule(
    lambda seeds: (
        isinstance(seeds, list)
        and bool(seeds)
        and all(is_whole(s) and 0 <= s <= LARGEST_SEED for s in seeds)
    ),
    "a list of integers that are not negative, and at most 2^63 - 3",
    "pass e.g. [0, 1, 2]",
)
BETWEEN_0_AND_1 = number(least=0, below=1, says="momentum lies in [0, 1)", remedy="pass e.g. 0.9")
STARTS = one_of(("zero", "random"))

Extension = str | Callable[..., Any]


@dataclass(kw_only=True)
class Settings:
    """Validated and normalised arguments of :func:`scansnap_core.engine.training.train`.

    Numbers are Python's. ``seeds``, ``lr_y`` and ``lr_z`` are lists, the last two of one length.
    ``record`` lists the recorded steps. ``device`` is available. ``model`` and ``optimizer`` are
    known names, or functions.
    """

    lr_y: Any
    lr_z: Any
    steps: int
    seeds: Any
    batch_size: int | None
    seq_len: float
    optimizer: Extension
    momentum: Any = None
    model: Extension = PLAIN
    initial: str | tuple[Any, Any] | xr.Dataset
    record: Any
    rng: str
    device: str
    dtype: str
    keep_state: bool = False

    def __post_init__(self) -> None:
        """Check all arguments, each by itself and then together, and bring them into one form.

        Raises :class:`BadInput`. What is cheap to check comes before what loads PyTorch.
        """
        check(
            vars(self),
            rng=one_of(RNGS),
            dtype=one_of(("float64", "float32")),
            keep_state=FLAG,
            seq_len=SEQ_LEN,
        )
        check(vars(self), steps=whole(), batch_size=optional(whole()))
        if isinstance(self.initial, str):
            STARTS("initial", self.initial)
        self.lr_y, self.lr_z = checked_rates(self.lr_y, self.lr_z)
        self.seeds = checked_seeds(self.seeds)
        self.steps = int(self.steps)
        self.seq_len = float(self.seq_len)
        self.batch_size = None if self.batch_size is None else int(self.batch_size)
        # The losses' memory is checked first, because the list of recorded steps alone can be too
        # long. Y and Z are checked later.
        runs = len(self.rates) * len(self.seeds)
        check_memory(
            f"the losses of {runs:,} runs at {self.steps:,} steps", 8.0 * self.steps * runs
        )
        self.record = _checked_record(self.record, self.start, self.end)
        self.optimizer = _checked_optimizer(self.optimizer, self.rates)
        self.momentum = checked_momentum(self.momentum, self.optimizer)
        self.model = _checked_model(self.model)
        self.device = checked_device(self.device)
        if refusal := self._refusal():
            raise BadInput(*refusal)

    def _refusal(self) -> tuple[str, str, str] | None:
        """Find arguments that don't go together.

        Returns the value, the rule and the remedy of the first ones found, which are
        :class:`BadInput`'s arguments, or None.
        """
        model = f"model = {name_of(self.model)!r} with"
        optimizer = name_of(self.optimizer)
        heads = heads_of(self.variant)
        finite = not math.isinf(self.seq_len)
        # float32 rounds a rate below 1e-45 to 0, and one above 3e38 to infinity.
        with np.errstate(over="ignore"):
            as_held = np.array(self.rates, self.dtype)
        lost = np.array(self.rates)[(as_held == 0) | np.isinf(as_held)]
        if lost.size:
            return (
                f"a rate of {lost[0]:g} with dtype = {self.dtype!r}",
                "this type can't hold it",
                "use float64",
            )
        if self.batch_size is None and finite:
            rule = "the expectation over classes is defined at T = infinity"
            return (
                f"batch_size = None with seq_len = {self.seq_len:g}",
                rule,
                "pass seq_len=math.inf or a batch size",
            )
        if self.rng == "replay" and not finite:
            rule = "the authors' runs draw batches of finite sequences"
            remedy = "pass batch_size=128, seq_len=128"
            return (
                "rng = 'replay' without a finite batch and T",
                rule,
                f"{remedy} or use rng='fresh'",
            )
        if self.keep_state and optimizer not in OPTIMIZERS:
            rule = f"the state of {', '.join(OPTIMIZERS)} is kept, that of other optimisers isn't"
            return (
                f"keep_state with {optimizer}",
                rule,
                "use one of these, or make all steps in one training",
            )
        if self.keep_state and self.record[-1] != self.end:
            value = f"keep_state with the last recorded step {self.record[-1]}"
            rule = "a training goes on from its end"
            return value, rule, f"record step {self.end} too"
        if heads and self.rng == "replay" and self.begins == "random":
            rule = "the authors' runs draw initial values for one head"
            return (
                f"{model} rng = 'replay' and initial = 'random'",
                rule,
                "use rng='fresh', or pass initial values",
            )
        if heads and (self.keep_state or isinstance(self.initial, xr.Dataset)):
            rule = "a training of several heads doesn't go on later"
            return (
                f"{model} keep_state, or an initial data set",
                rule,
                "make all steps in one training",
            )
        if getattr(self.variant, "windows", 0) and optimizer not in ("sgd", "momentum"):
            rule = (
                "its Z holds sums of a token's and a window's logit, which only sgd and momentum "
                "move part by part"
            )
            return f"{model} {optimizer}", rule, "use one of these"
        return None

    @property
    def rates(self) -> list[tuple[float, float]]:
        """Return the pairs (eta_Y, eta_Z)."""
        return list(zip(self.lr_y, self.lr_z, strict=True))

    @cached_property
    def start(self) -> int:
        """Count the updates that led to the initial values."""
        return _start_of(self.initial)

    @property
    def end(self) -> int:
        """Count the updates that lead to the last values."""
        return self.start + self.steps

    @cached_property
    def variant(self) -> Variant | None:
        """Return the variant that is trained; None for the paper's model, and for functions that
        are no variant.
        """
        return known_variant(self.model)

    @property
    def begins(self) -> str:
        """Say where the run began, or the one that it goes on from: "zero", "random" or "given"."""
        if isinstance(self.initial, xr.Dataset):
            return str(self.initial.attrs["initial"])
        return self.initial if isinstance(self.initial, str) else "given"

    def attributes(self, classes: SequenceClasses) -> dict[str, Any]:
        """Return the attributes of the data set that a training on the classes returns."""
        attributes = {
            "optimizer": name_of(self.optimizer),
            "momentum": self.momentum,
            "batch_size": str(self.batch_size or "expectation"),
            "seq_len": self.seq_len,
            "initial": self.begins,
            "rng": self.rng,
            "device": self.device,
            "dtype": self.dtype,
            "vocab_size": classes.vocab_size,
            "num_classes": classes.num_classes,
        }
        if self.model != PLAIN:
            attributes["model"] = name_of(self.model)
        if self.keep_state:
            attributes["end"] = self.end
        return attributes


def known_variant(model: Any) -> Variant | None:
    """Ask :func:`scansnap_core.engine.variants.variant_of`, but without PyTorch for the paper's
    own model.
    """
    if isinstance(model, str) and model == PLAIN:
        return None
    from scansnap_core.engine.variants import variant_of

    return variant_of(model)


def checked_device(device: Any) -> str:
    """Return the device's name; "auto" becomes "cuda" where there is a GPU, and "cpu" elsewhere.

    PyTorch is loaded only where a GPU is asked for, or has a driver.
    """
    DEVICE("device", device)
    if device == "cpu" or (device == "auto" and not has_driver()):
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "cuda":
        raise BadInput(
            "device = 'cuda'", "it needs a CUDA GPU, and PyTorch finds none here", "use auto or cpu"
        )
    return "cpu"


def has_driver() -> bool:
    """Tell whether a GPU has a driver here: NVIDIA's library, or AMD's device.

    Without one PyTorch finds no GPU, so it needn't be imported to ask, which takes a second.
    """
    for library in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError):
            ctypes.CDLL(library)
            return True
    return Path("/dev/kfd").exists()


def checked_rates(lr_y: Any, lr_z: Any) -> tuple[list[float], list[float]]:
    """Return eta_Y and eta_Z of every pair, from two numbers or lists, of which one may hold one
    number for all.
    """
    lists = [_numbers("lr_y", lr_y), _numbers("lr_z", lr_z)]
    count = max(1, *map(len, lists))
    if any(len(rates) not in (1, count) for rates in lists):
        value = "{} values of lr_y and {} of lr_z"
        remedy = "pass lists of one length, or one number for either"
        raise BadInput(value.format(*map(len, lists)), "rates are paired", remedy)
    # A single number serves for all pairs.
    lr_ys = lists[0] * (count // len(lists[0]))
    lr_zs = lists[1] * (count // len(lists[1]))
    return lr_ys, lr_zs


def _numbers(name: str, given: Any) -> list[float]:
    """Return rates as a list of floats, from one number or any list or array of them; raise
    :class:`BadInput` that names ``name`` unless each is a rate.
    """
    check_not_masked(name, given)
    try:
        values = np.asarray(given).tolist() if hasattr(given, "__array__") else given
    except (TypeError, RuntimeError):  # such as a data set's, or those of a tensor with gradients
        values = given
    several = isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    rates = checked_list(name, values) if several else [values]
    for rate in rates:
        RATE(name, rate)
    return list(map(float, rates))


def checked_seeds(seeds: Any) -> list[int]:
    """Return the seeds: one or more different integers that are not negative."""
    seeds = (
        checked_list("seeds", seeds)
        if isinstance(seeds, Iterable) and not isinstance(seeds, str)
        else seeds
    )
    SEEDS("seeds", seeds)
    check_differ("seeds", seeds)
    return list(map(int, seeds))


def checked_momentum(momentum: Any, optimizer: Any) -> float:
    """Return the momentum mu, in [0, 1): MOMENTUM if "momentum" was given none.

    The other optimisers have 0, and any other number is :class:`BadInput` with them.
    """
    if momentum is None:
        return MOMENTUM if optimizer == "momentum" else 0.0
    BETWEEN_0_AND_1("momentum", momentum)
    if momentum and optimizer != "momentum":
        raise BadInput(
            f"momentum = {momentum} with the optimizer {name_of(optimizer)}",
            "only the optimizer momentum has it",
            "leave it out, or use optimizer='momentum'",
        )
    return float(momentum)


def _checked_record(record: Any, start: int, end: int) -> list[int]:
    """Return the recorded steps, ascending, from ``start`` to ``end``.

    They are every ``record`` steps and the last one, those of a list, or by default the first and
    the last.
    """
    if record is None:
        return [start, end]
    if not isinstance(record, Iterable):
        whole()("record", record)
        return [*checked_list("record", range(start, end, int(record))), end]
    record = checked_list("record", record)
    Rule(
        lambda steps: (
            bool(steps) and all(is_whole(step) and start <= step <= end for step in steps)
        ),
        f"recorded steps are integers in {start}..{end}",
        "change the list or steps",
    )("record", record)
    return sorted(set(map(int, record)))


def _start_of(initial: Any) -> int:
    """Count the updates that led to the initial values: 0, unless a training goes on.

    Raises :class:`BadInput` if the data set isn't that of a training's end, with all that it kept.
    """
    if not isinstance(initial, xr.Dataset):
        return 0
    held = {name: set(array.dims) for name, array in initial.variables.items()}
    needed = {name: {"seed", "rate", "recorded"} for name in "YZ"} | {
        RANDOM: {"seed"},
        CHECKSUM: set(),
    }
    if any(name not in held or not held[name] >= dims for name, dims in needed.items()):
        value = f"initial with the variables {', '.join(map(str, initial.data_vars)) or 'none'}"
        remedy = "train with keep_state=True, and take all of its variables, seeds and rates"
        raise BadInput(
            value, "a training goes on from the data set of one that kept its state", remedy
        )
    end = int(initial["recorded"][-1])
    if end != initial.attrs.get("end"):
        remedy = "take all of its recorded steps, or pass (Y, Z) to start anew from there"
        value = f"initial that ends at step {end} of {initial.attrs.get('end')}"
        raise BadInput(value, "a training goes on from the end of another", remedy)
    return end


def _checked_model(model: Extension) -> Extension:
    """Return a variant's name in its one spelling, or the function that was given, or that a name
    such as ``"package.module:function"`` leads to.

    A name stays a name, because a run's settings are stored, and to find the function would import
    PyTorch. Raises :class:`BadInput` unless a function can be called with a batch, Y and Z.
    """
    # The paper's model counts as a variant without a name; it is called PLAIN.
    if (variant := known_variant(model)) is not None and variant.name:
        return variant.name
    if isinstance(model, str) and model == PLAIN:
        return PLAIN
    mine = resolved("model", model, MODELS)
    rule = "a model is called with a batch, Y and Z"
    remedy = "see scansnap_core.engine.variants"
    check_takes(f"model {name_of(mine)}", mine, "batch", "Y", "Z", rule=rule, remedy=remedy)
    return mine


def _checked_optimizer(optimizer: Extension, rates: list[tuple[float, float]]) -> Extension:
    """Return the name of a built-in optimiser, or the function that makes the user's own, which was
    given or named.

    Raises :class:`BadInput` unless what it makes at these rates can step.
    """
    if isinstance(optimizer, str) and optimizer in OPTIMIZERS:
        return optimizer
    make = resolved("optimizer", optimizer, OPTIMIZERS, such_as="torch.optim:AdamW")
    from scansnap_core.engine.optimizers import check_optimizer

    check_optimizer(name_of(optimizer), make, rates)
    return make
