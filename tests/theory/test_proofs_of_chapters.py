"""The proofs that chapters show, without the rest of the chapters: each claim is certified, each control refused."""

from __future__ import annotations

import re
import runpy
import time
from pathlib import Path

import pytest

from scansnap_core.book.notebooks import code_cells, read_notebook
from scansnap_core.ledger import display

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20
PROOF_CELLS = [f"cell-proved-{number:02d}" for number in range(1, 10)]
SNIPPETS = sorted(Path(__file__).with_name("proofs").glob("*.py"))


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_every_claim_is_proved_and_every_control_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(display, "show", lambda output: shown.append(repr(output)))
    started = time.process_time()
    runpy.run_path(str(path))
    assert shown
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_the_chapter_shows_the_same_code(path: Path) -> None:
    (chapter,) = (ROOT / "chapters").rglob(f"{path.stem}.ipynb")
    shown = [cell.source for cell in code_cells(read_notebook(chapter)) if cell.id in PROOF_CELLS]
    _, *cells = re.split(r"^# %%.*\n", path.read_text(encoding="utf8"), flags=re.MULTILINE)
    assert shown == [cell.strip() for cell in cells]
