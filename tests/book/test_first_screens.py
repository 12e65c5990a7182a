"""Each page begins with a few plain words: what stands beside "In short" is read before any symbol is known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

CHAPTERS = Path(__file__).parents[2] / "chapters"
PAGES = sorted(path.relative_to(CHAPTERS).as_posix() for path in CHAPTERS.rglob("*.ipynb") if "." not in path.stem)
MOST_SENTENCES, MOST_WORDS, MOST_FORMULAS = 3, 60, 1


def in_short(page: str) -> str:
    """The paragraph, in which a formula is one word."""
    cells = json.loads((CHAPTERS / page).read_text(encoding="utf8"))["cells"]
    paragraphs = "".join(cells[0]["source"]).split("\n\n")
    (found,) = [text for text in paragraphs if text.startswith("**In short.**")]
    without_tags = re.sub(r"<[^>]+>|\]\([^)]*\)", "", found.removeprefix("**In short.**"))
    return re.sub(r"\$[^$]*\$", "FORMULA", without_tags)


def too_long(text: str) -> list[str]:
    """What a paragraph has too much of."""
    abbreviations = re.sub(r"\b(Sec|App|Fig|Eqn)\.", r"\1", text)
    counts = {
        "sentences": (len(re.findall(r"[.!?](?=\s|$)", abbreviations)), MOST_SENTENCES),
        "words": (len(text.split()), MOST_WORDS),
        "formulas": (text.count("FORMULA"), MOST_FORMULAS),
    }
    return [f"{number} {what}, {most} at most" for what, (number, most) in counts.items() if number > most]


@pytest.mark.parametrize("page", PAGES)
def test_in_short_is_short(page: str) -> None:
    assert too_long(in_short(page)) == []


def test_what_is_too_long_is_found() -> None:
    """Control: a paragraph of each kind that is one too long."""
    assert too_long("One. Two. Three. Four.") == ["4 sentences, 3 at most"]
    assert too_long("word " * 61) == ["61 words, 60 at most"]
    assert too_long("FORMULA and FORMULA") == ["2 formulas, 1 at most"]
