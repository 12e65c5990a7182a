"""The code page's list of closed forms: each from the registry, with all that is known of it."""

from __future__ import annotations

import re
from html import unescape
from importlib import import_module
from pathlib import Path
from types import ModuleType

import docstrings
import pytest
import sympy

from scansnap_core.theory.formulas import FORMULAS, SYMBOLS, attention, decoder, symbols


def listed(module: ModuleType) -> dict[str, str]:
    parts = re.split(r"^\.\. py:data:: (\w+)$", "\n".join(docstrings.formulas_of(module)), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_formula_and_each_letter_is_listed_once() -> None:
    pages = [listed(topic) for topic in (attention, decoder)]
    assert sorted(name for page in pages for name in page) == sorted(FORMULAS)
    assert list(listed(symbols)) == list(SYMBOLS)
    assert listed(import_module("scansnap_core.theory.flows")) == {}


@pytest.mark.parametrize("name", ["gamma", "beta", "B_late", "E_prime"])
def test_an_entry_says_what_is_known(name: str) -> None:
    formula = FORMULAS[name]
    meaning, form, known = docstrings.describe(formula)
    assert meaning == formula.meaning
    assert sympy.latex(formula.expression) in form
    wanted = {formula.place, docstrings.ORIGINS[formula.origin], formula.conditions, formula.clock}
    assert [part for part in wanted if part not in known] == []
    assert ("Where" in known) == (formula.region != sympy.true)


def test_a_colon_in_prose_makes_no_type(site: Path) -> None:
    page = unescape(re.sub("<.*?>", "", (site / "chapters/api.html").read_text(encoding="utf8")))
    assert "tokens that some class holds: only these rows of Y" in page
    assert re.findall("^Type:", page, flags=re.MULTILINE) == []
