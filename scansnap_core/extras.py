"""What the package needs beyond its numerics, in the extras by which pip installs it; and what it can do without."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import cast

from scansnap_core.bad_input import BadInput

GRAMMAR = "rfc3987_syntax"
"""Of addresses, which no notebook has. nbformat's jsonschema makes it anew at each import, most of a second."""

COVERAGE = "coverage"
"""Numba imports it, to say which lines it compiled: 4 MB and 20 ms."""


class MissingExtra(BadInput, ImportError):
    """An extra of this package isn't installed."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Name the extra that a failing import needs.

    Parameters
    ----------
    extra : str
        One of ``pyproject.toml``'s, such as ``"sweeps"``.

    Raises
    ------
    MissingExtra
        If a module that is imported in the block isn't installed.

    Examples
    --------
    >>> with needs("sweeps"):
    ...     import nowhere
    Traceback (most recent call last):
    scansnap_core.extras.MissingExtra: nowhere: it isn't installed; pip install 'scansnap_core[sweeps]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{error.name}", "it isn't installed", f"pip install 'scansnap_core[{extra}]'") from None


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Import what stands in the block as if some modules weren't installed, except those that are imported already.

    For modules that another one imports if they're there, at a cost, and that aren't used here.

    Examples
    --------
    >>> with without("this"):
    ...     import this
    Traceback (most recent call last):
    ModuleNotFoundError: import of this halted; None in sys.modules
    """
    hidden = [module for module in modules if module not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden, cast(ModuleType, None)))
    try:
        yield
    finally:
        for module in hidden:
            del sys.modules[module]
