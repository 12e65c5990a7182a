"""Lets a build look for garbage rarely: its documents stay to the end, and going through them takes a tenth of it."""

import gc
from typing import Any

from sphinx.application import Sphinx

NEW_OBJECTS = 100_000


def setup(app: Sphinx) -> dict[str, Any]:
    gc.set_threshold(NEW_OBJECTS)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
