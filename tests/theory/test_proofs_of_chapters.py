"""The proofs that chapters show: each claim is certified, each control refused."""

from __future__ import annotations

import runpy
import time
from pathlib import Path

import pytest

from scansnap_core.ledger import display

SNIPPETS = sorted(Path(__file__).with_name("proofs").glob("*.py"))


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_every_claim_is_proved_and_every_control_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(display, "show", lambda output: shown.append(repr(output)))
    started = time.process_time()
    runpy.run_path(str(path))
    print("\n".join(shown), f"{time.process_time() - started:.1f} s")
    assert shown
    assert time.process_time() - started < 20
