"""What chapters find of their claims, for tests that need some: only what they ask about differs."""

from __future__ import annotations

from typing import Any

from scansnap_core.ledger.entries import Check, Refutation

_NUMBERS = {"measured": "0.1", "required": "≤ 0.5", "control": "0.7", "control_is": "another exponent"}
_PLACE = {"place": "Lemma 3", "printed": "1", "repair": "", "condition": "", "consequence": "none"}


def a_check(claim_id: str, witness: str = "numeric", **changed: Any) -> Check:
    return Check(claim_id, witness, **{"what": "it is small", **_NUMBERS, **changed})


def a_refutation(claim_id: str, witness: str = "numeric", **changed: Any) -> Refutation:
    return Refutation(claim_id, witness, **{"what": "it is small", **_NUMBERS, **_PLACE, **changed})
