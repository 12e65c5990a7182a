"""The ledger: what was claimed, what was measured, and the verdicts and cards that follow. It knows
no mathematics.
"""

from scansnap_core.ledger.checks import Chapter, CheckFailed, ControlPassed, Witness
from scansnap_core.ledger.claims import Claim, Claims, read_claims
from scansnap_core.ledger.entries import WITNESSES
from scansnap_core.ledger.papers import Paper
from scansnap_core.ledger.proofs import (
    Certificate,
    FalseProved,
    NotProved,
    NotRefuted,
    ProofWitness,
    all_of,
)
from scansnap_core.ledger.registry import Page, page, read_pages, statements
from scansnap_core.ledger.values import NoEvidence
from scansnap_core.ledger.verdicts import VERDICT_MIME

__all__ = [
    "VERDICT_MIME",
    "WITNESSES",
    "Certificate",
    "Chapter",
    "CheckFailed",
    "Claim",
    "Claims",
    "ControlPassed",
    "FalseProved",
    "NoEvidence",
    "NotProved",
    "NotRefuted",
    "Page",
    "Paper",
    "ProofWitness",
    "Witness",
    "all_of",
    "page",
    "read_claims",
    "read_pages",
    "statements",
]
