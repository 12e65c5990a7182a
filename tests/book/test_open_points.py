"""The page of what isn't known: what chapters mark as a conjecture or as open, and what nobody has tried."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from scansnap_core.book.notebooks import read_stored
from scansnap_core.book.open_points import LABELS, marked, untried_html
from scansnap_core.ledger.registry import notebook_of
from tests.book.books import CHAPTER

ROOT = Path(__file__).parents[2]
TEXT = """Some text on a conjecture.

> **Conjecture (one).** It is $x$, by
> [Lemma 3](lemma_03.ipynb) and <data value="drop">1.2</data>.

- **Other.** Not listed.
- **Open:** is it [so](../beyond/page.ipynb)? See <data value="lemma_03:way">7</data>
  and [there](https://example.org).

**Openly** said."""


@pytest.fixture
def marked_book(stored_book: Path, tmp_path: Path) -> Path:
    """A book whose chapter has a conjecture and an open point."""
    book = Path(shutil.copytree(stored_book, tmp_path / "book"))
    notebook = json.loads((book / CHAPTER).read_text(encoding="utf8"))
    notebook["cells"][0]["source"] += f"\n\n{TEXT}"
    (book / CHAPTER).write_text(json.dumps(notebook), encoding="utf8")
    return book


def test_a_chapters_marked_paragraphs_are_listed_in_its_own_words(marked_book: Path) -> None:
    ((conjecture,), (point,)) = (marked(marked_book, label) for label in LABELS)
    folder = CHAPTER.parent.relative_to("chapters").as_posix()
    lemma = "lemma_03.ipynb" if folder == "." else f"{folder}/lemma_03.ipynb"
    assert conjecture.page.id == point.page.id == CHAPTER.stem
    assert conjecture.text == (
        f'**Conjecture (one).** It is $x$, by [Lemma 3]({lemma}) and <data value="{CHAPTER.stem}:drop">1.2</data>.'
    )
    assert point.text.startswith("**Open:** is it [so](")
    assert point.text.endswith('<data value="lemma_03:way">7</data> and [there](https://example.org).')


def test_the_books_own_points_are_all_listed() -> None:
    """Every chapter that says Conjecture or Open in bold at the beginning of a line is found."""
    for label, word in LABELS.items():
        found = [point.page.id for point in marked(ROOT, label)]
        said = [
            page_id
            for page_id in read_stored(ROOT).pages
            for line in json.loads(notebook_of(page_id, ROOT).read_text(encoding="utf8"))["cells"]
            if line["cell_type"] == "markdown"
            for text in "".join(line["source"]).splitlines()
            if text.lstrip("> -").startswith((f"**{word}:", f"**{word} ", f"**{word}.", f"**{word}**"))
        ]
        assert found == said
        assert len(found) >= 3


def test_what_a_card_calls_not_measured_is_listed() -> None:
    drawn = untried_html(ROOT, lambda page_id: f"{page_id}.html")
    untried = [
        page_id
        for page_id, verdict in read_stored(ROOT).verdicts.items()
        for row in verdict.card
        if row.word == "not measured"
    ]
    assert drawn.count("<a ") == len(untried) > 0
    assert all(f'href="{page_id}.html"' in drawn for page_id in untried)
