"""Training dynamics of a one-layer Transformer, and the ledger of what was checked about them.

``import scansnap_core as ss`` is the front door: ``__init__.pyi`` lists by task what it gives. Each
name is loaded at its first use, so the import stays light; torch comes with the first training or
flow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
