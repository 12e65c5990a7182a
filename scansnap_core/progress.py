"""Progress bars, shown only in a terminal or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def progress_bar(things: Iterable[Any] | None, show: bool, **more: Any) -> tqdm[Any]:
    """Make a bar that goes through things; it is hidden unless ``show`` is set and it can be seen.

    Parameters
    ----------
    things
        The bar goes through these; if None, its ``update`` moves it.
    show
        Whether the user asked for a bar.
    more
        Other arguments of ``tqdm.tqdm``, such as ``unit`` and ``total``.
    """
    return tqdm(things, disable=not (show and can_be_seen()), leave=False, **more)


def can_be_seen() -> bool:
    """Tell whether standard error is a terminal, or a Jupyter kernel's, which shows it below the cell."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
