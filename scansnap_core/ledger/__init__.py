"""The ledger: what was claimed, what was measured, and the verdicts that follow. It knows no mathematics."""

from scansnap_core.ledger.checks import Chapter, CheckFailed, ControlPassed, Witness
from scansnap_core.ledger.entries import VERDICT_MIME, VERDICTS, WITNESSES
from scansnap_core.ledger.statements import PAGES, STATEMENTS, Page, page
from scansnap_core.ledger.values import NoEvidence

__all__ = [
    "PAGES",
    "STATEMENTS",
    "VERDICTS",
    "VERDICT_MIME",
    "WITNESSES",
    "Chapter",
    "CheckFailed",
    "ControlPassed",
    "NoEvidence",
    "Page",
    "Witness",
    "page",
]
