"""The paper's closed forms, overlaps, flows and measures stand here.

Bad input raises :class:`~scansnap_core.BadInput` before any work starts, here as everywhere.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["formulas"])
