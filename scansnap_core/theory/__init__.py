"""What the paper says: closed forms, the linear algebra of overlaps, flows, and what is read off a training."""

from scansnap_core.theory import formulas

__all__ = ["formulas"]
