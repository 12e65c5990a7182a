"""Training dynamics of a one-layer Transformer, and the ledger of what was checked about them.

Importing this package stays light: torch is imported by the modules that train, never from here.
"""

from scansnap_core.bad_input import BadInput

__all__ = ["BadInput", "__version__"]

__version__ = "0.1.0"
