"""Functions and classes of a user's own, given as such or by name: ``module:function``."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.rules import shown

Function = Callable[..., Any]


def resolved(kind: str, given: str | Function, known: Mapping[str, Function], *, such_as: str = "") -> Function:
    """The function that is meant by a known name, by ``module:function``, or that is given itself.

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
    >>> from scansnap_core.engine.extensions import resolved
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
    """The name that stands for a function in results: as it was given, or ``module:function``.

    Examples
    --------
    >>> import functools, torch
    >>> from scansnap_core.engine.extensions import name_of
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
    """What two functions share only if the files that define them are equal; empty where there is no file."""
    whole = function.func if isinstance(function, functools.partial) else function
    try:
        file = inspect.getsourcefile(whole)
        return hashlib.sha256(Path(file or "").read_bytes()).hexdigest()[:16]
    except (TypeError, OSError):
        return ""
