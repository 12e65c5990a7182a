"""Each notebook says what its symbols mean, in the words of the page Notation."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from page_symbols import OWN, assumptions_named, equations_named, explained_by, meant_by
from tex_symbols import symbols

from scansnap_core.base.bad_input import BadInput
from tests.refusing import refuses
from tools.symbols import (
    NOTATION,
    REMEDY,
    Notation,
    as_written,
    chapters,
    formulas_of,
    read_notation,
    symbols_cell,
)

ROOT = Path(__file__).parents[2]
SAID = read_notation(ROOT)
CHAPTERS = {path.relative_to(ROOT).as_posix(): path for path in chapters(ROOT)}
LEMMA = ROOT / "chapters/statements/lemma_03.ipynb"


LEMMA_TEXT = LEMMA.read_text(encoding="utf8")


def fault(stored: str, path: Path = LEMMA, notation: Notation = SAID) -> str:
    """What is wrong with a chapter's list, or nothing."""
    if stored == as_written(stored, path, ROOT, notation):
        return ""
    return f"{path.name}: its list of symbols isn't what the page Notation says of its text now: {REMEDY}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_chapter_says_what_its_symbols_mean(chapter: str) -> None:
    path = CHAPTERS[chapter]
    assert fault(path.read_text(encoding="utf8"), path) == ""


def changed(old: str, new: str) -> str:
    """Return the chapter with other words."""
    assert old in LEMMA_TEXT
    return LEMMA_TEXT.replace(old, new, 1)


def listed(stored: str) -> str:
    return symbols_cell(json.loads(stored), LEMMA, ROOT, SAID) or ""


def test_a_list_that_was_edited_by_hand_is_found() -> None:
    """Control."""
    assert fault(changed("how many tokens the vocabulary has", "the vocabulary")) == (
        "lemma_03.ipynb: its list of symbols isn't what the page Notation says of its text now: run make symbols"
    )


def test_a_list_that_is_missing_or_elsewhere_is_found() -> None:
    """Control."""
    notebook = json.loads(LEMMA_TEXT)
    cells = notebook["cells"]
    for others in (cells[:1] + cells[2:], [cells[1], cells[0], *cells[2:]]):
        stored = json.dumps({**notebook, "cells": others}, indent=1, ensure_ascii=False) + "\n"
        assert fault(stored) != ""


def test_other_words_on_the_page_notation_are_found() -> None:
    """Control."""
    other = copy.deepcopy(SAID)
    place = next(at for at, row in enumerate(other.symbols) if row[0] == "$K$")
    other.symbols[place][1] = "how many next tokens there are"
    assert fault(LEMMA_TEXT, notation=other) != ""
    other = copy.deepcopy(SAID)
    other.assumptions["Assumption 2"] = "overlaps are small"
    assert fault(LEMMA_TEXT, notation=other) != ""


@pytest.mark.parametrize(
    ("words", "item"),
    [("With $C_0$ in it.", "- $C_0$: "), ("As (10) says.", "- (10), *the paper's law (10)*: ")],
)
def test_what_is_new_on_the_page_is_found(words: str, item: str) -> None:
    """Control: a symbol and an equation that the page didn't have."""
    new = changed("**Why care.**", words)
    assert item not in listed(LEMMA_TEXT)
    assert item in listed(new)
    assert fault(new) != ""


def test_what_is_no_longer_on_the_page_is_found() -> None:
    """Control: without its Assumption 2 the page doesn't explain it."""
    assert "- *Assumption 2*: " in listed(LEMMA_TEXT)
    less = LEMMA_TEXT.replace("Assumption 2", "the assumption")
    assert "- *Assumption 2*: " not in listed(less)
    assert fault(less) != ""


def test_a_formula_of_an_output_counts_and_one_in_code_does_not() -> None:
    output = {"data": {"text/html": r"<b>\(C_0 &lt; 1\)</b>", "text/markdown": "$t_0$"}}
    cells = [
        {"cell_type": "code", "id": "a", "source": ["'$B_n$'"], "outputs": [output]},
        {"cell_type": "markdown", "id": "b", "source": ["`$H_n$` costs $\\gamma$ and\n\n$$\\xi_n$$"]},
    ]
    assert {*formulas_of({"cells": cells})} == {"t_0", "\\gamma", "\\xi_n", "C_0 < 1"}


def test_a_letter_that_the_page_does_not_use_is_refused() -> None:
    other = copy.deepcopy(SAID)
    other.own["lemma_03"] = {r"\Phi": "a letter"}
    with refuses(value=f"{OWN}: lemma_03", rule=r"the page doesn't use \Phi", remedy="remove the letter there"):
        as_written(LEMMA_TEXT, LEMMA, ROOT, other)


def test_an_equation_that_notation_does_not_define_is_refused(tmp_path: Path) -> None:
    for name in (NOTATION, OWN, Path("chapters/equations.yaml")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    settings = "sphinx: {config: {glossary_equations: [7, 98]}}"
    (tmp_path / "_config.yml").write_text(settings, encoding="utf8")
    with pytest.raises(BadInput, match="98"):
        read_notation(tmp_path)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("within Assumption 2", ["Assumption 2"]),
        ("Assumption 1(c) says", ["Assumption 1"]),
        ("Assumptions 1 and 2", ["Assumption 1", "Assumption 2"]),
        ("Assumption 12, the assumption 2", []),
    ],
)
def test_an_assumption_is_found_by_its_name(text: str, named: list[str]) -> None:
    assert assumptions_named(text, ["Assumption 1", "Assumption 2"]) == named


def test_an_equation_is_found_by_its_number() -> None:
    assert equations_named("by (26), not f(7) or (8), and (10)", [7, 10, 26]) == [10, 26]


def test_a_letter_that_stands_alone_in_a_row_is_explained_there() -> None:
    known = explained_by([[r"\gamma\iota_n"], [r"\gamma(t)"], ["f_n"]])
    (gamma,) = symbols(r"\gamma")
    assert known[r"\gamma"].row == 1
    assert known[r"\iota"].row == 0
    assert meant_by(gamma, known) == known[r"\gamma"]
    plain, indexed = symbols("f + f_n")
    assert meant_by(plain, known) is None
    assert meant_by(indexed, known) == known["f"]
