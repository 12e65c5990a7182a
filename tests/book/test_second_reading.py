"""Each equation as printed was read twice: a sign, digit or relation that differs is an error of one reader."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
import yaml

from scansnap_core.book.equations import read_equations

ROOT = Path(__file__).parents[2]
SECOND = yaml.safe_load(Path(__file__).with_name("second_reading.yaml").read_text(encoding="utf8"))
READ_AGAIN: dict[int, str] = SECOND["printed"] | SECOND["from_the_lines_around"]
FORMULAS = {equation.number: equation.formula for equation in read_equations(ROOT)}

CHARACTERS = {
    "le": "≤", "ge": "≥", "ne": "≠", "lesssim": "≲", "gtrsim": "≳", "asymp": "≍", "ll": "≪", "gg": "≫", "to": "→",
    "approx": "≈", "in": "∈", "sum": "Σ", "int": "∫", "infty": "∞", "circ": "∘", "top": "T", "perp": "⊥",
    "dagger": "†", "sqrt": "√", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋",
}  # fmt: skip
"""What a command of LaTeX is in plain characters, beside Greek letters and the names of functions."""

SPELT = {"lambda": "lamda", "Lambda": "Lamda", "varepsilon": "epsilon", "varphi": "phi"}
"""Greek letters that Unicode calls otherwise."""

FUNCTIONS = {"exp", "ln", "log", "max", "min"}
LAYOUT = re.compile(
    r"\\(?:begin|end)\{\w+\}"
    r"|\\(?:text|textstyle|mathrm|mathbb|mathcal|mathbf|hat|tilde|bar|dot|big|Big|[td]?frac|cdot|ldots|dots|quad|forall|cr)"
    r"(?![a-zA-Z])"
    r"|\\[,;!|{}\\]|&"
)
"""Commands that set a formula and say nothing that plain characters without accents can say."""

SAME = str.maketrans({"−": "-", "°": "∘", "²": "2", "½": "12", "¼": "14", "·": None})
"""Characters for which LaTeX has others."""


def character(command: re.Match[str]) -> str:
    """The plain characters of a command, such as α of \\alpha."""
    name = command[1]
    if name in FUNCTIONS or name in CHARACTERS:
        return CHARACTERS.get(name, name)
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    return unicodedata.lookup(f"GREEK {case} LETTER {SPELT.get(name, name)}")


def without_layout(text: str) -> str:
    """The letters, digits, signs and relations in their order, without accents, brackets, fractions and spaces."""
    letters = "".join(text.translate(SAME).split())
    parts = [part if part == "≠" else unicodedata.normalize("NFD", part) for part in letters]
    plain = "".join(character for character in "".join(parts) if not unicodedata.combining(character))
    return re.sub(r"[{}()\[\]_^,;./|‖:]", "", plain)


def of_latex(formula: str) -> str:
    """`without_layout` of a formula in LaTeX."""
    return without_layout(re.sub(r"\\([a-zA-Z]+)", character, LAYOUT.sub(" ", formula)))


def test_both_readers_have_all_equations() -> None:
    assert sorted(READ_AGAIN) == sorted(FORMULAS) == list(range(1, 139))


@pytest.mark.parametrize("number", sorted(FORMULAS))
def test_both_readers_saw_the_same(number: int) -> None:
    assert of_latex(FORMULAS[number]) == without_layout(READ_AGAIN[number])


def changed(formula: str) -> list[str]:
    """A formula with one sign, one digit or one relation exchanged, in each place in which it can be."""
    others = {"+": "-", "-": "+", "=": "<", "<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", r"\lesssim": r"\asymp"}
    places = re.finditer(r"\\(?:le|ge|lesssim)(?![a-z])|[-+=<>]|\d", formula)
    return [
        formula[: place.start()]
        + others.get(place[0], str((int(place[0]) + 1) % 10) if place[0].isdigit() else "")
        + formula[place.end() :]
        for place in places
    ]


def test_each_change_to_a_sign_a_digit_or_a_relation_is_seen() -> None:
    """Control."""
    tried = [(number, wrong) for number, formula in FORMULAS.items() for wrong in changed(formula)]
    assert len(tried) > 500
    assert [(number, wrong) for number, wrong in tried if of_latex(wrong) == without_layout(READ_AGAIN[number])] == []
