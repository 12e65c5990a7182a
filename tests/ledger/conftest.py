"""A chapter of a small book, and what its ledger displays."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.ledger import WITNESSES, Chapter, display
from scansnap_core.ledger.verdicts import VERDICT_MIME
from tests.book.books import QUIET, REFUTATION, REPAIRED, write_book

Outputs = list[dict[str, Any]]
Opened = Callable[..., Chapter]


def without_styles(markup: str) -> str:
    """The markup without its own styles, which JupyterLab and GitHub need and no test is about."""
    return re.sub(r' style="[^"]*"', "", markup)


LACKING = REFUTATION | {"condition": "h is small"}
UPHELD: dict[str, Any] = {
    "printed": {"by": "numeric_error", "says": "It holds."},
    "gradient": QUIET,
    "sgd": QUIET,
    "figure": "",
}
BROKEN = UPHELD | {
    "printed": {"by": "printed_error", "says": "It fails."},
    "repaired": {"formula": "$e^{2Mh}$", "where": "For all h.", "by": "printed_error"},
}


def check(says: str, **changes: str) -> dict[str, str]:
    return {"says": says, "must": "≤ 0.5", "control": "another exponent"} | changes


def is_reading(output: dict[str, Any]) -> bool:
    """Tell whether an output says how the first of its kind is read."""
    return "ss-reading" in output.get("text/markdown", "")


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> Outputs:
    """Collect what the ledger displays, in place of a notebook, but for how it is read."""
    shown: Outputs = []
    monkeypatch.setattr(display, "show", lambda output: None if is_reading(output) else shown.append(output))
    return shown


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: Outputs) -> Opened:
    """Open a chapter: its page, its card, and claims by witness beside one check of each."""

    def open_chapter(page_id: str = "lemma_06", card: Any = UPHELD, **claims: dict[str, Any]) -> Chapter:
        file = {name: {f"{name}_error": check(f"{name} error")} | claims.pop(name, {}) for name in WITNESSES}
        kind = {"kind": page_id} if page_id == "notation" else {}
        notebook = Path("chapters", f"{page_id}.ipynb")
        write_book(tmp_path, (notebook, ()), claims=file | claims | ({"card": card} if card else {}), **kind)
        monkeypatch.chdir(tmp_path)
        return Chapter(page_id)

    return open_chapter


def all_three(chapter: Chapter) -> None:
    """Record the check of every witness."""
    for number, name in enumerate(WITNESSES):
        chapter.witness(name).holds(f"{name}_error", 0.1 + number / 100, control=0.7)


def concluded(chapter: Chapter, outputs: Outputs) -> Any:
    """The verdict of a chapter whose other claims are recorded."""
    all_three(chapter)
    chapter.conclude()
    return outputs[-1][VERDICT_MIME]


def refuting(opened: Opened, card: Any = BROKEN, page_id: Any = "lemma_06", **refutations: Any) -> Chapter:
    """A chapter that has recorded a refutation, of the claim itself unless others are given."""
    chapter = opened(page_id, card, numeric=refutations or {"printed_error": REPAIRED})
    for claim_id in refutations or ["printed_error"]:
        chapter.witness("numeric").refutes(claim_id, 0.7, control=0.2)
    return chapter
