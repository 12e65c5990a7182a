"""What the paper says: closed forms, the linear algebra of overlaps, flows, and what is read off a training."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["formulas", "law"])
