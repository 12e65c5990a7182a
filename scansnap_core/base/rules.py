"""The rules of arguments: what a value must be, in words and as a test, with what to pass instead.

A public function declares its rules in one table, which is checked before its first line::

    @takes(lr_y=RATE, seq_len=SEQ_LEN, batch_size=optional(whole()), optimizer=one_of(OPTIMIZERS))
    def train(classes, *, lr_y, seq_len, batch_size, optimizer): ...

A dataclass calls :func:`check` in ``__post_init__``, and a single value is checked by calling its
rule: ``whole(2)("num_topics", value)``. A rule of your own is one line::

    MOMENTUM = number(least=0, below=1, says="momentum lies in [0, 1)", remedy="pass e.g. 0.9")
    EVEN = Rule(lambda value: is_whole(value) and value % 2 == 0, "an even number", "pass e.g. 2")

Rules about several arguments at once, or about what is inside of an array, raise
:class:`~scansnap_core.base.bad_input.BadInput` by hand, because their message names what was found.
There are two verbs. A rule, and a function whose name begins with ``check_``, refuses a value and
returns nothing. A function whose name begins with ``checked_``, such as :func:`checked_numbers`,
refuses a value or returns what it made of it. (scikit-learn has its ``_param_validation`` for
itself alone, and its messages say no remedy.)
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import os
import reprlib
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from scansnap_core.base.bad_input import BadInput

MOST_VALUES = 1_000_000
"""A list of seeds, rates or recorded steps holds at most a million of them, which take a second
to check.
"""
LONGEST_SHOWN = 60
# Limits keep the work small for lists that hold themselves many times over, as YAML's aliases can
# make them.
_REPR = reprlib.Repr()
_REPR.maxlevel = 4
_REPR.maxstring = 200
_REPR.maxlong = 200
_REPR.maxother = 200
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = _REPR.maxfrozenset = 20

P = ParamSpec("P")
R = TypeVar("R")


def is_real(value: Any) -> bool:
    """Tell whether a value is one real number that a float can hold; True and False aren't."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def is_whole(value: Any) -> bool:
    """Tell whether a value is one integer, of Python's or NumPy's; True and False aren't."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """Write a value in one line of a message, and cut off its end where it is long."""
    value = value.item() if isinstance(value, np.generic) else value
    text = " ".join(_REPR.repr(value).split())
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


@dataclass(frozen=True)
class Rule:
    """A rule that one value must keep.

    Parameters
    ----------
    holds
        Whether a value keeps the rule; it must answer for a value of any type.
    says
        The rule in words, such as ``"a learning rate is positive and finite"``.
    remedy
        What to do instead, such as ``"pass e.g. 1.0"``.
    of_text
        What to do instead of passing text, where that differs.

    Examples
    --------
    >>> def is_even(value): return is_whole(value) and value % 2 == 0
    >>> even = Rule(is_even, "an even number", "pass e.g. 2")
    >>> even("width", 2)
    >>> even("width", 3)
    Traceback (most recent call last):
    scansnap_core.base.bad_input.BadInput: width = 3: an even number; pass e.g. 2
    """

    holds: Callable[[Any], bool]
    says: str
    remedy: str
    of_text: str = ""

    def __call__(self, name: str, value: Any) -> None:
        """Raise :class:`BadInput` unless the value of this name keeps the rule."""
        if not self.holds(value):
            remedy = self.of_text or self.remedy if isinstance(value, str) else self.remedy
            raise BadInput(f"{name} = {shown(value)}", self.says, remedy)


def number(
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
    says: str = "",
    remedy: str,
) -> Rule:
    """Ask for one finite real number; ``least`` and ``most`` are allowed, ``above`` and ``below``
    are not.

    Examples
    --------
    >>> number(least=0, below=1, remedy="pass e.g. 0.1").says
    'a number in [0, 1)'
    """
    if not says and min(below, most) < math.inf:
        low = f"({above:g}" if above > least else f"[{least:g}"
        high = f"{below:g})" if below <= most else f"{most:g}]"
        says = f"a number in {low}, {high}"
    elif not says:
        says = "a positive finite number" if above == 0 else f"a finite number, at least {least:g}"
    return Rule(
        lambda value: (
            is_real(value)
            and math.isfinite(value)
            and least <= value <= most
            and above < value < below
        ),
        says,
        remedy,
        f"{remedy}, a number without quotes",
    )


def whole(
    least: int = 1, most: float = math.inf, *, says: str = "", remedy: str = "", example: int = 100
) -> Rule:
    """Ask for one integer from ``least`` to ``most``, both included; the remedy names the example
    if none is given.

    Examples
    --------
    >>> whole().says, whole(2).says, whole(2, 9).says
    ('a positive integer', 'an integer, at least 2', 'an integer in 2..9')
    """
    if not says and most < math.inf:
        says = f"an integer in {least}..{most}"
    elif not says:
        says = "a positive integer" if least == 1 else f"an integer, at least {least}"
    example = example if least <= example <= most else least
    return Rule(
        lambda value: is_whole(value) and least <= value <= most,
        says,
        remedy or f"pass e.g. {example}",
    )


def one_of(known: Iterable[str]) -> Rule:
    """Ask for one of some names."""
    names = tuple(known)
    says = f"the choices are {', '.join(names)}"
    return Rule(lambda value: isinstance(value, str) and value in names, says, "use one of them")


RATE = number(above=0, says="a learning rate is positive and finite", remedy="pass e.g. 1.0")
FLOW_RATE = number(least=0, says="a flow's rate is finite and not negative", remedy="pass e.g. 1.0")
"""0 holds the weights at rest."""
FLAG = Rule(
    lambda value: isinstance(value, bool | np.bool_), "it is True or False", "pass one of them"
)
PATH = Rule(
    lambda value: isinstance(value, str | os.PathLike) and "\0" not in os.fsdecode(value),
    "a path is text or a Path, without the character NUL",
    "pass e.g. 'a.zarr'",
)
SEQ_LEN = Rule(
    lambda T: is_real(T) and T >= 2 and (math.isinf(T) or (T % 1 == 0 and T <= 2**53)),
    "T is a whole number of at least 2 (one contextual token and the query) and at most 2^53, or "
    "inf",
    "pass e.g. 128, or inf",
    "write a number; infinity is .inf in YAML, math.inf in Python",
)
"""T is a floating-point number, so that it may be infinite; these count exactly up to 2^53."""


def optional(rule: Rule) -> Rule:
    """Let None pass, and hold any other value to a rule."""
    return replace(rule, holds=lambda value: value is None or rule.holds(value))


def check(values: Mapping[str, Any], **rules: Rule) -> None:
    """Hold values to the rules of their names, in the order of the rules.

    Examples
    --------
    >>> check({"lr": 1.0, "layers": 0}, lr=RATE, layers=whole())
    Traceback (most recent call last):
    scansnap_core.base.bad_input.BadInput: layers = 0: a positive integer; pass e.g. 100
    """
    for name, rule in rules.items():
        rule(name, values[name])


def takes(**rules: Rule) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare the rules of a function's arguments: they are checked before its first line, in the
    order given here.

    Arguments that a call leaves out aren't checked, so a default needs no :func:`optional`. The
    function's docstring says under Raises what the rules are.

    Examples
    --------
    >>> @takes(lr=RATE, steps=whole())
    ... def train(lr, steps=100):
    ...     "Train."
    ...     return lr * steps
    >>> train(0.5)
    50.0
    >>> print(train.__doc__.splitlines()[-1].split("; ")[1])
    ``steps``: a positive integer.
    >>> try:
    ...     train(-1)
    ... except BadInput as error:
    ...     print(error)
    lr = -1: a learning rate is positive and finite; pass e.g. 1.0
    """

    def declared(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        if unknown := rules.keys() - signature.parameters.keys():
            raise TypeError(f"{function.__name__}() has no argument {', '.join(sorted(unknown))}")

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            given = signature.bind(*args, **kwargs).arguments
            check(given, **{name: rule for name, rule in rules.items() if name in given})
            return function(*args, **kwargs)

        checked.__doc__ = _with_rules(function.__doc__, rules)
        return checked

    return declared


def _with_rules(docstring: str | None, rules: Mapping[str, Rule]) -> str | None:
    """Say in a docstring's section Raises, which is made if there is none, what each argument's
    rule is.
    """
    if not docstring:
        return docstring
    text = inspect.cleandoc(docstring)
    header = "Raises\n------\n"
    broken = "; ".join(f"``{name}``: {rule.says}" for name, rule in rules.items())
    entry = f"BadInput\n    An argument breaks its rule. {broken}.\n"
    if header in text:
        return text.replace(header, header + entry).replace(f"{entry}BadInput\n", entry)
    head, examples, rest = text.partition("Examples\n--------\n")
    return f"{head.rstrip()}\n\n{header}{entry}\n{examples}{rest}".rstrip()


def checked_list(name: str, values: Any) -> list[Any]:
    """Make a list of something that can be gone through, of no text and of at most
    :data:`MOST_VALUES` values.
    """
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        found = list(itertools.islice(iter(values), MOST_VALUES + 1))
    except TypeError:
        raise BadInput(f"{name} = {shown(values)}", "a list of values", "put it into [ ]") from None
    if len(found) > MOST_VALUES:
        more = f"{name} of more than {MOST_VALUES:,} values"
        raise BadInput(more, f"a list holds at most {MOST_VALUES:,}", "split the work into parts")
    return found


def check_differ(name: str, values: Iterable[Any]) -> None:
    """Raise :class:`BadInput` if a value occurs twice."""
    seen: set[Any] = set()
    for value in values:
        if not isinstance(value, Hashable):
            raise BadInput(
                f"{name} holds {shown(value)}",
                "each value is a number, a name or a pair",
                "correct it",
            )
        if value in seen:
            raise BadInput(
                f"{name} holds {value!r} twice", "the values of an axis differ", "remove one"
            )
        seen.add(value)


def memory() -> float:
    """Count the bytes of memory that this machine has; infinite on Windows, which doesn't tell."""
    return (
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if hasattr(os, "sysconf")
        else math.inf
    )


def check_memory(what: str, num_bytes: float) -> None:
    """Raise :class:`BadInput` if something takes more bytes than this machine has memory."""
    there = memory()
    if num_bytes > there:
        raise BadInput(
            f"{what}, which take {num_bytes:,.0f} bytes",
            f"all is held in memory, here {there:,} bytes",
            "take fewer runs or steps, record fewer of them, or use several trainings",
        )


def checked_times(name: str, times: Any, remedy: str) -> NDArray[np.float64]:
    """Make an array, shape (times,), of a list or one number; :class:`BadInput` unless times
    ascend from 0 on.
    """
    rule = "times are finite, not negative and ascending"
    array = np.atleast_1d(checked_numbers(name, times, least=0, rule=rule, remedy=remedy))
    if array.ndim != 1 or not array.size:
        raise BadInput(f"{name} of shape {array.shape}", rule, remedy)
    if (falls := np.flatnonzero(np.diff(array) <= 0)).size:
        before, after = array[falls[0] : falls[0] + 2]
        raise BadInput(f"{name} with {after:g} after {before:g}", rule, remedy)
    return array


def not_finite(array: NDArray[Any]) -> str:
    """Say where the first number is that isn't finite, such as " with nan at (0, 2)"; empty if
    all are.
    """
    at = np.argwhere(~np.isfinite(array))
    return f" with {array[tuple(at[0])]} at {tuple(at[0].tolist())}" if at.size else ""


def check_not_masked(name: str, values: Any) -> None:
    """Raise :class:`BadInput` for an array with masked places: NumPy would take what lies under the
    mask for a number.

    Examples
    --------
    >>> try:
    ...     check_not_masked("counts", np.ma.masked_equal([3, 96], 96))
    ... except BadInput as error:
    ...     print(error.value)
    counts with a masked place at (1,)
    """
    if (
        isinstance(values, np.ma.MaskedArray)
        and (masked := np.argwhere(np.ma.getmaskarray(values))).size
    ):
        place = f"{name} with a masked place at {tuple(masked[0].tolist())}"
        raise BadInput(
            place, "what is masked is no number", "leave it out, or say its value with .filled(...)"
        )


def checked_numbers(
    name: str,
    values: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    rule: str,
    remedy: str,
    dims: int | None = None,
) -> NDArray[np.float64]:
    """Make an array of float64; :class:`BadInput` unless all are finite numbers, at least
    ``least``, over ``above``.

    With ``dims`` the array must have this number of dimensions, and not be empty. True and False
    are no numbers.
    """
    check_not_masked(name, values)
    try:
        # NumPy would drop imaginary parts, read text, and make a nan of None
        if values is None or np.asarray(values).dtype.kind in "bcSU":
            raise TypeError
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise BadInput(f"{name} = {shown(values)}", rule, remedy) from None
    bad = array[~(np.isfinite(array) & (array >= least) & (array > above))]
    if bad.size:
        raise BadInput(f"{name} = {bad[0]:g}", rule, remedy)
    if dims is not None and (array.ndim != dims or not array.size):
        raise BadInput(f"{name} of shape {array.shape}", rule, remedy)
    return array
