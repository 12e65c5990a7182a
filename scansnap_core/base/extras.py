"""Optional dependencies: an import that lacks one names the extra by which pip installs it."""

from collections.abc import Iterator
from contextlib import contextmanager

from scansnap_core.base.bad_input import BadInput


class MissingExtra(BadInput, ImportError):
    """An extra of this package isn't installed."""


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Raise `MissingExtra`, with one of ``pyproject.toml``'s extras, if an import in the block
    isn't installed.

    Examples
    --------
    >>> try:
    ...     with needs("sweeps"):
    ...         import maps
    ... except MissingExtra as error:
    ...     print(error)
    maps: it isn't installed; pip install 'scansnap_core[sweeps]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{error.name}", "it isn't installed", f"pip install 'scansnap_core[{extra}]'"
        ) from None
