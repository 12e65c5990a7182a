"""The ledger: what was claimed, what was measured, and the verdicts that follow. It knows no mathematics."""

from scansnap_core.ledger.certificates import Certificate, steps
from scansnap_core.ledger.checks import Chapter, CheckFailed, ControlPassed, Witness
from scansnap_core.ledger.entries import VERDICT_MIME, VERDICTS, WITNESSES
from scansnap_core.ledger.pages import Page, Paper
from scansnap_core.ledger.proofs import FalseProved, NotProved, ProofWitness
from scansnap_core.ledger.registry import page, read_pages, statements
from scansnap_core.ledger.values import NoEvidence

__all__ = [
    "VERDICTS",
    "VERDICT_MIME",
    "WITNESSES",
    "Certificate",
    "Chapter",
    "CheckFailed",
    "ControlPassed",
    "FalseProved",
    "NoEvidence",
    "NotProved",
    "Page",
    "Paper",
    "ProofWitness",
    "Witness",
    "page",
    "read_pages",
    "statements",
    "steps",
]
