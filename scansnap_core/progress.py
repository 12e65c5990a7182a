"""Progress bars, shown only in a terminal or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def progress_bar(things: Iterable[Any] | None, show: bool, **more: Any) -> tqdm[Any]:
    """Make a bar that goes through things, or without them is moved by its ``update``; ``tqdm.tqdm`` takes the rest.

    It is hidden unless the user asked to show it, and standard error is a terminal or a Jupyter kernel's.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    seen = type(shell).__name__ == "ZMQInteractiveShell" or (sys.stderr is not None and sys.stderr.isatty())
    return tqdm(things, disable=not (show and seen), leave=False, **more)
