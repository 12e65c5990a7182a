"""What can be used without waiting for Torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROOM = "scansnap_core.theory"


@pytest.mark.parametrize(
    ("module", "waits"), [("flows", True), ("measures, spectrum, decoder, clocks, formulas, gallery", False)]
)
def test_torch_is_imported_where_gradients_are_taken_only(module: str, waits: bool) -> None:
    program = f"import sys; from {ROOM} import {module}; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == str(waits)
