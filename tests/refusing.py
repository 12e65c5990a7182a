"""Hold a refusal of bad input to the value and the rule that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scansnap_core.base.bad_input import BadInput

ANY = "…"
"""Stands for any text: a temporary folder, or what the operating system says."""


def matches(wanted: str, said: str) -> bool:
    """Tell whether a text is the wanted one, in which … stands for any text."""
    return bool(re.fullmatch(".*".join(map(re.escape, wanted.split(ANY))), said))


@contextmanager
def refuses(value: str, rule: str, remedy: str = ANY) -> Iterator[pytest.ExceptionInfo[BadInput]]:
    """Fail unless the block raises BadInput, in one line, with this value, this rule and this remedy."""
    with pytest.raises(BadInput) as caught:
        yield caught
    refusal = caught.value
    for part, wanted, said in (
        ("value", value, refusal.value),
        ("rule", rule, refusal.rule),
        ("remedy", remedy, refusal.remedy),
    ):
        assert matches(wanted, said), f"the {part} of the refusal is {said!r}, not {wanted!r}"
