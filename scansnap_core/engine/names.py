"""Users name things: known models by a word, and functions and classes of their own as ``module:function``.

Nothing here imports PyTorch.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import shown

PLAIN = "plain"
"""The paper's model, with Lemma 1's gradients in closed form."""
UNNUMBERED = ("residual", "layernorm")
HEADS, WINDOWS = ("heads", "summed heads"), ("positions",)
NUMBERED = (*HEADS, *WINDOWS)
MODELS = (PLAIN, *UNNUMBERED, *(f"{kind} H" for kind in HEADS), *(f"{kind} W" for kind in WINDOWS))
"""Models with a name; H is a number of heads, W of windows. :mod:`scansnap_core.engine.architectures` says what they
are.
"""
MOST = 1024

Function = Callable[..., Any]


def checked_model_name(model: Any) -> str | None:
    """Return a known model's name as results write it; None for anything else.

    Raises
    ------
    BadInput
        Heads or windows without a number, or too few or too many of them.

    Examples
    --------
    >>> from scansnap_core.engine.names import checked_model_name
    >>> checked_model_name("heads  04"), checked_model_name("my_module:mine")
    ('heads 4', None)
    """
    if not isinstance(model, str):
        return None
    words = " ".join(model.split())
    kind, number = re.fullmatch(r"(.*?)\s*([0-9]*)", words).groups()  # type: ignore[union-attr]
    if kind not in NUMBERED:
        return words if words in (PLAIN, *UNNUMBERED) else None
    if not number or not 1 <= int(number[:9]) <= MOST:
        raise BadInput(
            value=f"model = {shown(model)}",
            rule=f"there are 1 to {MOST} {'heads' if kind in HEADS else 'windows'}, and the name says how many",
            remedy=f"write e.g. '{kind} 4'",
        )
    return f"{kind} {int(number)}"


def heads_of(model: Any) -> int:
    """Count a model's heads, each with its own rows of Z; 0 if it has no such axis.

    Examples
    --------
    >>> from scansnap_core.engine.names import heads_of
    >>> heads_of("summed heads 2"), heads_of("residual")
    (2, 0)
    """
    if not isinstance(model, str):
        return int(getattr(model, "heads", 0))
    return _number(model, HEADS)


def windows_of(model: Any) -> int:
    """Count the windows of positions that a model tells apart; 0 if it has none.

    Examples
    --------
    >>> from scansnap_core.engine.names import windows_of
    >>> windows_of("positions 2"), windows_of("heads 2")
    (2, 0)
    """
    return _number(model, WINDOWS)


def check_windows(model: Any, vocab_size: int) -> None:
    """Raise unless the vocabulary has one block of tokens for each window of the model, of equal size.

    Raises
    ------
    BadInput
        M is no multiple of W.
    """
    windows = windows_of(model)
    if windows and vocab_size % windows:
        raise BadInput(
            value=f"model = {shown(model)} with M = {vocab_size}",
            rule="its vocabulary is one block of tokens for each window, of equal size",
            remedy=f"use an M that is a multiple of {windows}; token l in window w is w M/W + l",
        )


def _number(model: Any, kinds: tuple[str, ...]) -> int:
    name = checked_model_name(model)
    kind, _, number = name.rpartition(" ") if name else ("", "", "")
    return int(number) if kind in kinds else 0


def resolved(kind: str, given: str | Function, known: Mapping[str, Function], *, such_as: str = "") -> Function:
    """Find a function by a known name or by ``module:function``; a function itself is returned as it is.

    Parameters
    ----------
    kind
        What it is, for messages, such as ``"optimizer"``.
    given
        A name or a function. Modules are looked for where Python finds them; importing one runs it.
    known
        Those with a name of their own.
    such_as
        A name as ``module:function`` for the message to a reader who gave one without its module.

    Raises
    ------
    BadInput
        There is no such name, module or function, the module fails as it's imported, or it can't be called.

    Examples
    --------
    >>> from scansnap_core.engine.names import resolved
    >>> resolved("measure", "math:sqrt", {})(9.0)
    3.0
    """
    if callable(given):
        return given
    names = ", ".join(known)
    rule = f"the choices are {names}; of your own, a function or its name as module:function"
    rule += f", such as {such_as}" if such_as else ""
    if not isinstance(given, str):
        raise BadInput(value=f"{kind} = {shown(given)}", rule=rule, remedy="use one of them")
    if given in known:
        return known[given]
    module, _, path = given.partition(":")
    if not path:
        raise BadInput(value=f"{kind} = {given!r}", rule=rule, remedy="use one of them")
    try:
        found = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        named = isinstance(error, ImportError | AttributeError | ValueError)
        raise BadInput(
            value=f"{kind} = {given!r}: {error if named else f'{type(error).__name__}: {error}'}",
            rule="its module can be imported and holds it",
            remedy="correct the name, or start in the folder of the module" if named else "correct the module",
        ) from (None if named else error)
    if not callable(found):
        raise BadInput(value=f"{kind} = {given!r}: {shown(found)}", rule="it can be called", remedy="name a function")
    return found


def check_takes(
    what: str, function: Function, *arguments: Any, rule: str, remedy: str, named: Mapping[str, Any] | None = None
) -> None:
    """Raise :class:`BadInput` unless a function can be called with these arguments, as far as it tells."""
    try:
        inspect.signature(function).bind(*arguments, **(named or {}))
    except ValueError:  # some compiled functions don't tell
        pass
    except TypeError as error:
        raise BadInput(value=f"{what}: {error}", rule=rule, remedy=remedy) from None


def name_of(given: str | Function) -> str:
    """Return the name that stands for a function in results: as it was given, or ``module:function``.

    Examples
    --------
    >>> import functools, torch
    >>> from scansnap_core.engine.names import name_of
    >>> name_of(functools.partial(torch.optim.SGD, nesterov=True, momentum=0.9))
    'torch.optim.sgd:SGD(nesterov=True, momentum=0.9)'
    """
    if isinstance(given, str):
        return given
    if isinstance(given, functools.partial):
        parts = [*map(repr, given.args), *(f"{key}={value!r}" for key, value in given.keywords.items())]
        return f"{name_of(given.func)}({', '.join(parts)})"
    if not callable(given):
        return shown(given)  # to be refused by that name
    return f"{given.__module__}:{getattr(given, '__qualname__', type(given).__qualname__)}"


def source_digest(function: Function) -> str:
    """Digest the file that defines a function; the digest is empty where there is no file."""
    whole = function.func if isinstance(function, functools.partial) else function
    try:
        file = inspect.getsourcefile(whole)
        return hashlib.sha256(Path(file or "").read_bytes()).hexdigest()[:16]
    except (TypeError, OSError):
        return ""
