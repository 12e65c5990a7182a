"""Rules that several modules hold their arguments to."""

from __future__ import annotations

import itertools
import math
import os
import reprlib
import sys
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scansnap_core.bad_input import BadInput

LONGEST_SEQUENCE = 2**53
"""A sequence length is a floating-point number, so that it may be infinite; these count exactly up to here."""
MOST_VALUES = 1_000_000
"""In a list of seeds, rates or recorded steps: a million of them take a second to check."""
LONGEST_SHOWN = 60


def is_real(value: Any) -> bool:
    """Whether a value is one real number that a float can hold; True and False aren't."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def is_whole(value: Any) -> bool:
    """Whether a value is one integer, of Python's or NumPy's; True and False aren't."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """A value in one line of a message, its end cut off where it is long."""
    value = value.item() if isinstance(value, np.generic) else value
    text = " ".join((reprlib.repr(value) if _has_many_parts(value) else repr(value)).split())
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def _has_many_parts(value: Any) -> bool:
    """Whether containers in it, counted as often as they are met, make a text too long to be written and then cut."""
    waiting = [value]
    for _ in range(10_000):
        if not waiting:
            return False
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
    return True


def check_rate(name: str, rate: Any) -> None:
    """Raise :class:`BadInput` unless a learning rate is positive and finite."""
    if not is_real(rate) or not (math.isfinite(rate) and rate > 0):
        remedy = "pass e.g. 1.0" + ", a number without quotes" * isinstance(rate, str)
        raise BadInput(f"{name} = {shown(rate)}", "a learning rate is positive and finite", remedy)


def check_flow_rate(name: str, rate: Any) -> None:
    """Raise :class:`BadInput` unless a flow's rate is finite and not negative; 0 holds its weights at rest."""
    if not is_real(rate) or not (math.isfinite(rate) and rate >= 0):
        raise BadInput(
            value=f"{name} = {shown(rate)}", rule="a flow's rate is finite and not negative", remedy="pass e.g. 1.0"
        )


def check_seq_len(seq_len: Any) -> None:
    """Raise :class:`BadInput` unless T is a whole number of at least 2, or inf."""
    # NaN and -inf are not >= 2
    if not is_real(seq_len) or not seq_len >= 2 or (math.isfinite(seq_len) and seq_len % 1):
        text = isinstance(seq_len, str)
        raise BadInput(
            value=f"seq_len = {seq_len if text else shown(seq_len)}",
            rule="T is a whole number of at least 2 (one contextual token and the query), or inf",
            remedy="write a number; infinity is .inf in YAML, math.inf in Python" if text else "pass e.g. 128",
        )
    if math.isfinite(seq_len) and seq_len > LONGEST_SEQUENCE:
        raise BadInput(
            value=f"seq_len = {seq_len:g}",
            rule=f"token counts are exact up to T = 2^53 = {LONGEST_SEQUENCE:,}",
            remedy="pass inf for the limit of long sequences",
        )


def check_flag(name: str, value: Any) -> None:
    """Raise :class:`BadInput` unless a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise BadInput(value=f"{name} = {shown(value)}", rule="it is True or False", remedy="pass one of them")


def check_choice(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise :class:`BadInput` unless a value is one of some names."""
    if not isinstance(value, str) or value not in known:
        raise BadInput(
            value=f"{name} = {shown(value)}", rule=f"the choices are {', '.join(known)}", remedy="use one of them"
        )


def listed(name: str, values: Any) -> list[Any]:
    """The values of something that can be gone through, as a list.

    Raises
    ------
    BadInput
        It can't be gone through, or it is text, or it holds more than :data:`MOST_VALUES`.
    """
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        found = list(itertools.islice(iter(values), MOST_VALUES + 1))
    except TypeError:
        raise BadInput(value=f"{name} = {shown(values)}", rule="a list of values", remedy="put it into [ ]") from None
    if len(found) > MOST_VALUES:
        raise BadInput(
            value=f"{name} of more than {MOST_VALUES:,} values",
            rule=f"a list holds at most {MOST_VALUES:,}",
            remedy="split the work into parts",
        )
    return found


def check_differ(name: str, values: Iterable[Any]) -> None:
    """Raise :class:`BadInput` if a value occurs twice."""
    seen: set[Any] = set()
    for value in values:
        if not isinstance(value, Hashable):
            raise BadInput(f"{name} holds {shown(value)}", "each value is a number, a name or a pair", "correct it")
        if value in seen:
            raise BadInput(
                value=f"{name} holds {value!r} twice", rule="the values of an axis differ", remedy="remove one"
            )
        seen.add(value)


def memory() -> float:
    """The bytes of memory that this machine has; infinite on Windows, which doesn't tell."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else math.inf


def check_memory(what: str, num_bytes: float) -> None:
    """Raise :class:`BadInput` if something takes more bytes than this machine has memory."""
    there = memory()
    if num_bytes > there:
        raise BadInput(
            value=f"{what}, which take {num_bytes:,.0f} bytes",
            rule=f"all is held in memory, here {there:,} bytes",
            remedy="take fewer runs or steps, record fewer of them, or use several trainings",
        )


def as_path(name: str, path: Any) -> Path:
    """A path given as text or as a path; anything else raises :class:`BadInput`."""
    if not isinstance(path, str | os.PathLike):
        raise BadInput(value=f"{name} = {shown(path)}", rule="a path is text or a Path", remedy="pass e.g. 'a.zarr'")
    return Path(path)


def check_count(name: str, count: Any, least: int = 1) -> None:
    """Raise :class:`BadInput` unless a number of things is an integer and not too small."""
    if not is_whole(count) or count < least:
        rule = "a positive integer" if least == 1 else f"an integer, at least {least}"
        raise BadInput(value=f"{name} = {shown(count)}", rule=rule, remedy=f"pass e.g. {max(least, 100)}")


def check_within(name: str, value: Any, *, least: float, below: float = math.inf, remedy: str) -> None:
    """Raise :class:`BadInput` unless a value is one real number, at least ``least`` and less than ``below``."""
    if not is_real(value) or not least <= value < below:
        rule = f"a number in [{least:g}, {below:g})" if math.isfinite(below) else f"a finite number, at least {least:g}"
        raise BadInput(value=f"{name} = {shown(value)}", rule=rule, remedy=remedy)


def checked_times(name: str, times: Any, remedy: str) -> NDArray[np.float64]:
    """Ascending times from 0 on, shape (times,), of a list or one number; or :class:`BadInput`."""
    rule = "times are finite, not negative and ascending"
    array = np.atleast_1d(check_numbers(name, times, least=0, rule=rule, remedy=remedy))
    if array.ndim != 1 or not array.size:
        raise BadInput(value=f"{name} of shape {array.shape}", rule=rule, remedy=remedy)
    if (falls := np.flatnonzero(np.diff(array) <= 0)).size:
        before, after = array[falls[0] : falls[0] + 2]
        raise BadInput(value=f"{name} with {after:g} after {before:g}", rule=rule, remedy=remedy)
    return array


def not_finite(array: NDArray[Any]) -> str:
    """Where a message names the first number that isn't finite, such as " with nan at (0, 2)"; empty without any."""
    at = np.argwhere(~np.isfinite(array))
    return f" with {array[tuple(at[0])]} at {tuple(at[0].tolist())}" if at.size else ""


def check_numbers(
    name: str, values: Any, *, least: float, rule: str, remedy: str, dims: int | None = None
) -> NDArray[np.float64]:
    """The values as an array of float64; :class:`BadInput` unless all are finite numbers and at least ``least``.

    With ``dims`` the array has so many dimensions and isn't empty.
    """
    try:
        if np.asarray(values).dtype.kind in "cSU":  # NumPy would drop imaginary parts, and read text
            raise TypeError
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(value=f"{name} = {shown(values)}", rule=rule, remedy=remedy) from None
    bad = array[~(np.isfinite(array) & (array >= least))]
    if bad.size:
        raise BadInput(value=f"{name} = {bad[0]:g}", rule=rule, remedy=remedy)
    if dims is not None and (array.ndim != dims or not array.size):
        raise BadInput(value=f"{name} of shape {array.shape}", rule=rule, remedy=remedy)
    return array
