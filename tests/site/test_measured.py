"""A number quoted from a stored verdict: the claim's own, and nothing where the claim isn't one."""

from __future__ import annotations

import pytest
from measured import quoted

from scansnap_core import BadInput
from scansnap_core.book.stored import Stored

CHECK = {"what": "Size: of the force", "measured": "353", "control": "1.07"}
STORED = Stored(
    pages={},
    verdicts={"theorem_1": {"checks": [CHECK, CHECK | {"what": "Share"}], "refutations": [CHECK | {"what": "Shape"}]}},
)


def test_the_number_is_the_claims_or_its_controls() -> None:
    assert quoted(STORED, "theorem_1: Size: of") == "353"
    assert quoted(STORED, "theorem_1: Shape|control") == "1.07"


@pytest.mark.parametrize("text", ["theorem_1: Sh", "theorem_1: Weight", "theorem_2: Size", "theorem_1: ", "theorem_1"])
def test_what_names_no_one_claim_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="quote the beginning of one"):
        quoted(STORED, text)
