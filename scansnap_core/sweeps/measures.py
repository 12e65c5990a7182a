"""A sweep keeps measures of its runs: named functions of a run and its classes.

A measure takes what :func:`~scansnap_core.engine.training.train` returns for one seed, at the end
or at all recorded steps, and the classes. It returns a labelled array over ``rate``, in time over
``recorded`` too, with its ``units``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import shown
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.names import check_takes, name_of, resolved, source_digest
from scansnap_core.theory import measures

Function = Callable[..., xr.DataArray]


def _when(run: xr.Dataset) -> str:
    return "" if run.recorded.ndim else f" after {int(run.recorded)} updates"


def entropy(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Return the entropy of attention H_n (Fig. 6), (rate, class), in nats."""
    with np.errstate(invalid="ignore"):  # a diverged run has no attention
        H = measures.entropy(measures.attention(attention_logits(run, classes), classes), classes)
    return H.assign_attrs(units="nats", long_name=f"H_n{_when(run)}")


def recall(run: xr.Dataset, classes: SequenceClasses, *, threshold: ArrayLike) -> xr.DataArray:
    """Return the share of distinct tokens whose attention is above a threshold (Fig. 11), (rate,
    threshold).
    """
    found = measures.recall(attention_logits(run, classes), classes, threshold)
    return found.assign_attrs(units="share", long_name=f"recall{_when(run)}")


def final_loss(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Return -J before the last update, (rate), in nats."""
    return run.loss.isel(step=-1).assign_attrs(
        units="nats", long_name="loss before the last update"
    )


def diverged_at(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Return the first step whose loss isn't finite, or -1, (rate)."""
    return run.diverged_at.assign_attrs(
        units="steps", long_name="the first step whose loss isn't finite, or -1"
    )


def attention_logits(run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
    """Return Z on the tokens that classes hold, (rate, query, token)."""
    Z = run.Z.sel(token=classes.coords["token"]).drop_attrs(deep=False)
    return Z.assign_attrs(units="logits", long_name=f"Z{_when(run)}")


KNOWN: dict[str, Function] = {
    "entropy": entropy,
    "final_loss": final_loss,
    "diverged_at": diverged_at,
    "Z": attention_logits,
    "recall": recall,
}
"""Known measures read only the loss, Z and ``diverged_at`` of a run, which the compiled engine
gives at the end.
"""
REMEDY = "write e.g. entropy, {name: recall, threshold: 0.1} or my_module:my_function"


@dataclass(frozen=True)
class Measure:
    """A function of a run and its classes, with its name and the arguments that stay the same."""

    name: str
    function: Function
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: str | Mapping[str, Any] | Function | Measure) -> Measure:
        """Find a measure by a known name, ``module:function``, a function, or a mapping that adds
        further arguments to the ``name``, which is one of these.

        Examples
        --------
        >>> Measure.of({"name": "recall", "threshold": [0.1, 0.2]}).parameters
        {'threshold': [0.1, 0.2]}
        """
        if isinstance(given, Measure):
            return given
        if isinstance(given, Mapping):
            if "name" not in given:
                raise BadInput(f"measures hold {shown(given)}", "a measure has a name", REMEDY)
            parameters = {str(key): value for key, value in given.items() if key != "name"}
            return replace(cls.of(given["name"]), parameters=parameters)
        if isinstance(given, str) and given in KNOWN:
            return cls(given, KNOWN[given])
        function = resolved("measure", given, KNOWN)
        whole = function.func if isinstance(function, functools.partial) else function
        name = (
            given.rpartition(":")[2]
            if isinstance(given, str)
            else getattr(whole, "__name__", type(whole).__name__)
        )
        return cls(name, function)

    @property
    def is_known(self) -> bool:
        """Tell whether it's one of :data:`KNOWN`."""
        return self.function is KNOWN.get(self.name)

    def configuration(self) -> Any:
        """Say as JSON what it computes: its name and arguments, and for a user's own the function
        and a digest of its file.

        A store has it, so that a sweep goes on with the same measures alone.
        """
        own = (
            {}
            if self.is_known
            else {"function": name_of(self.function), "code": source_digest(self.function)}
        )
        return (
            {"name": self.name, **self.parameters, **own} if own or self.parameters else self.name
        )

    def __call__(self, run: xr.Dataset, classes: SequenceClasses) -> xr.DataArray:
        """Return the values, over ``rate`` first, with labels of their own dimensions alone.

        A function that doesn't take these arguments, raises an exception, which is then the cause,
        or returns something else is a :class:`BadInput`.
        """
        called = f"measure {self.name}"
        rule = "a measure is called with a run, its classes and the arguments that it's listed with"
        check_takes(
            called, self.function, run, classes, named=self.parameters, rule=rule, remedy=REMEDY
        )
        try:
            found = self.function(run, classes, **self.parameters)
        except BadInput as error:
            raise BadInput(f"{called}: {error.value}", error.rule, error.remedy) from error
        except Exception as error:
            raise BadInput(
                f"{called} raised {type(error).__name__}: {' '.join(str(error).split())}",
                "a measure takes any run of the sweep: one seed, no dimension seed, and NaN "
                "where it diverged",
                "try it on train(...).isel(seed=0), at the end also .isel(recorded=-1)",
            ) from error
        if (
            not isinstance(found, xr.DataArray)
            or "rate" not in found.dims
            or "units" not in found.attrs
        ):
            labels = getattr(found, "dims", ()), list(getattr(found, "attrs", ()))
            raise BadInput(
                f"{called} returns {type(found).__name__} of dimensions and attributes {labels}",
                "a measure is a labelled array over rate that names its units",
                "end it with .assign_attrs(units='nats') or the like",
            )
        ordered = (
            found.transpose("rate", ...).reset_coords(drop=True).drop_vars("rate", errors="ignore")
        )
        return (
            ordered.assign_coords({"class": classes.coords["class"]})
            if "class" in ordered.dims
            else ordered
        )
