"""The code page's closed forms, each with all that is known of it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import docstrings
import pytest
import sympy

from scansnap_core.theory.formulas import FORMULAS


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
