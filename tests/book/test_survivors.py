"""What survives unchanged: drawn from verdicts and cards, each statement in one group."""

from pathlib import Path
from typing import Any

import pytest

from scansnap_core.book.stored import Stored, read_stored
from scansnap_core.book.survivors import GROUPS, survivors, survivors_html
from scansnap_core.ledger.cards import SCALE, SILENCE
from scansnap_core.ledger.pages import Page

ROOT = Path(__file__).parents[2]
TRUE, WHATEVER, LESS, UNTRIED = GROUPS


@pytest.fixture(scope="module")
def stored() -> Stored:
    return read_stored(ROOT)


def with_verdict(stored: Stored, **changed: Any) -> dict[str, list[Page]]:
    verdicts = {**stored.verdicts, "lemma_06": {**stored.verdicts["lemma_06"], **changed}}
    return survivors(Stored(stored.pages, verdicts))


def test_what_fails_or_needs_a_condition_is_left_out(stored: Stored) -> None:
    listed = [page.id for pages in survivors(stored).values() for page in pages]
    assert sorted(listed) == sorted(s for s in stored.statements if stored.verdict_of(s) == "holds")
    for verdict in ("fails as printed", "holds under a condition", "open"):
        left = with_verdict(stored, verdict=verdict)
        assert [page.id for pages in left.values() for page in pages] == [s for s in listed if s != "lemma_06"]


@pytest.mark.parametrize(
    ("word", "group"),
    [
        ("as stated", TRUE),
        ("not concerned", WHATEVER),
        ("in part", LESS),
        ("fails", LESS),
        ("in kind, not in size", LESS),
        ("not measured", UNTRIED),
    ],
)
def test_the_cards_word_says_which_group(stored: Stored, word: str, group: str) -> None:
    found = with_verdict(stored, card=[{"of": "under the true gradient", "word": word}])
    assert [name for name, pages in found.items() if "lemma_06" in [page.id for page in pages]] == [group]


def test_every_word_has_one_group() -> None:
    words = [word for words in GROUPS.values() for word in words if word]
    assert sorted(words) == sorted([*SCALE, *SILENCE])


def test_they_are_drawn_with_their_links_and_count(stored: Stored) -> None:
    drawn = survivors_html(ROOT, lambda page_id: f"{page_id}.html")
    count = sum(len(pages) for pages in survivors(stored).values())
    assert drawn.startswith(f"<p>{count} of 25 statements hold exactly as they are printed:</p>")
    assert '<a href="lemma_06.html">Lemma 6</a> (The clock of the decoder)' in drawn
    assert drawn.count("<a ") == count
