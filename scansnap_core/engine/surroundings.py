"""What a program has set in PyTorch for itself changes no number of this package.

Tensors are made here with their type and device by name, because PyTorch's defaults for both can be
set. The other settings are put aside by `undisturbed` while something is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def undisturbed(device: str = "cpu") -> Iterator[None]:
    """Compute on a device without inference mode and autocast, with gradients and with float32
    products in full.

    It is a context, and a decorator of functions that aren't generators. The settings are as before
    at its end.

    Examples
    --------
    >>> with torch.no_grad(), undisturbed():
    ...     torch.is_grad_enabled()
    True
    """
    precision = torch.get_float32_matmul_precision()
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast(device, enabled=False):
        if precision == "highest":
            yield
            return
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)
