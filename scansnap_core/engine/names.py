"""Users name things: known models by a word, and functions and classes of their own as
``module:function``.

Nothing here imports PyTorch.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import shown

PLAIN = "plain"
"""The paper's model, with Lemma 1's gradients in closed form."""
MODELS = (PLAIN, "residual", "layernorm", "heads H", "summed heads H", "positions W")
"""Models with a name; H is a number of heads, W of windows. :mod:`scansnap_core.engine.variants`
says what they are.
"""
OPTIMIZERS = ("sgd", "momentum", "adam")
"""Optimisers with a name; :mod:`scansnap_core.engine.optimizers` has their steps."""
MOMENTUM = 0.9
"""The optimiser "momentum" uses it where none is given."""
ADAM_BETAS = (0.9, 0.999)
ADAM_EPS = 1e-8
"""Adam's constants, as in ``torch.optim``."""

Function = Callable[..., Any]


def heads_of(model: Any) -> int:
    """Return the number of heads, each with its own rows of Z; 0 for a model without heads."""
    return int(getattr(model, "heads", 0))


def check_windows(model: Any, vocab_size: int) -> None:
    """Raise :class:`BadInput` unless the vocabulary's M tokens are equally many for each of a
    variant's windows of positions, if it has any.
    """
    windows = getattr(model, "windows", 0)
    if windows and vocab_size % windows:
        raise BadInput(
            f"model = {model.name!r} with M = {vocab_size}",
            "its vocabulary is one block of tokens for each window, of equal size",
            f"use an M that is a multiple of {windows}; token l in window w is w M/W + l",
        )


def resolved(
    kind: str, given: str | Function, known: Iterable[str], *, such_as: str = ""
) -> Function:
    """Find a function by ``module:function``; a function itself is returned as it is.

    Modules are looked for where Python finds them; importing one runs it. For messages, ``kind``
    says what it is, such as "optimizer", ``known`` which names would do too, and ``such_as`` how
    one is written.

    Examples
    --------
    >>> resolved("measure", "math:sqrt", [])(9.0)
    3.0
    """
    if callable(given):
        return given
    module, _, path = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not path:
        rule = (
            f"the choices are {', '.join(known)}; of your own, a function or its name as "
            "module:function"
        )
        raise BadInput(
            f"{kind} = {shown(given)}",
            rule + f", such as {such_as}" * bool(such_as),
            "use one of them",
        )
    try:
        found = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        named = isinstance(error, ImportError | AttributeError | ValueError)
        raise BadInput(
            f"{kind} = {given!r}: {error if named else f'{type(error).__name__}: {error}'}",
            "its module can be imported and holds it",
            "correct the name, or start in the folder of the module"
            if named
            else "correct the module",
        ) from (None if named else error)
    if not callable(found):
        raise BadInput(f"{kind} = {given!r}: {shown(found)}", "it can be called", "name a function")
    return found


def check_takes(
    what: str,
    function: Function,
    *arguments: Any,
    rule: str,
    remedy: str,
    named: Mapping[str, Any] | None = None,
) -> None:
    """Raise :class:`BadInput` unless a function's signature takes these arguments and those
    ``named``; some compiled functions have none, and pass.

    The function isn't called. ``what`` names it in the message, and ``rule`` and ``remedy`` are the
    message's.
    """
    try:
        inspect.signature(function).bind(*arguments, **(named or {}))
    except ValueError:  # some compiled functions don't tell
        pass
    except TypeError as error:
        raise BadInput(f"{what}: {error}", rule, remedy) from None


def name_of(given: str | Function) -> str:
    """Return the name that stands for a function in results: as it was given, or
    ``module:function``.

    Examples
    --------
    >>> import functools, torch
    >>> name_of(functools.partial(torch.optim.SGD, nesterov=True, momentum=0.9))
    'torch.optim.sgd:SGD(nesterov=True, momentum=0.9)'
    """
    if isinstance(given, str):
        return given
    if isinstance(given, functools.partial):
        parts = [
            *map(repr, given.args),
            *(f"{key}={value!r}" for key, value in given.keywords.items()),
        ]
        return f"{name_of(given.func)}({', '.join(parts)})"
    if not callable(given):
        return shown(given)  # to be refused by that name
    return f"{given.__module__}:{getattr(given, '__qualname__', type(given).__qualname__)}"


def source_digest(function: Function) -> str:
    """Digest the file that defines a function, in 16 hexadecimal digits; the digest is empty where
    there is no file.

    A sweep's store has it, so that results of a changed function aren't joined to older ones.
    """
    whole = function.func if isinstance(function, functools.partial) else function
    try:
        file = inspect.getsourcefile(whole)
        return hashlib.sha256(Path(file or "").read_bytes()).hexdigest()[:16]
    except (TypeError, OSError):
        return ""
