"""What a witness says: a check with its control, a refutation with its repair, and the verdict that follows from them.

All of their values are written text, so that they mean and look the same on every machine.
"""

from dataclasses import asdict, dataclass
from typing import Any

from scansnap_core.ledger.statements import Page

WITNESSES = ("symbolic", "numeric", "empirical")
HOLDS = "holds"
HOLDS_UNDER_A_CONDITION = "holds under a condition"
FAILS_AS_PRINTED = "fails as printed"
REPRODUCED = "reproduced"
DIFFERS = "differs from the paper"
OPEN = "open"
VERDICTS = (HOLDS, HOLDS_UNDER_A_CONDITION, FAILS_AS_PRINTED, REPRODUCED, DIFFERS)

VERDICT_MIME = "application/vnd.scansnap.verdict+json"


@dataclass(frozen=True)
class Check:
    """A claim that held, beside a control on which it failed."""

    witness: str
    what: str
    measured: str
    required: str
    control: str
    control_is: str


@dataclass(frozen=True)
class Refutation:
    """A counterexample to what is printed, beside the repair that holds on the same instance.

    Exactly one of `repair` (what should be printed) and `condition` (what is missing) isn't empty.
    """

    witness: str
    what: str
    measured: str
    required: str
    control: str
    control_is: str
    place: str
    printed: str
    repair: str
    condition: str
    consequence: str


@dataclass(frozen=True)
class Conclusion:
    """A page's verdict, computed from what its witnesses said."""

    page: Page
    checks: tuple[Check, ...]
    refutations: tuple[Refutation, ...]

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if self.page.kind == "figure":
            return DIFFERS if self.refutations else REPRODUCED
        if not self.refutations:
            return HOLDS
        return HOLDS_UNDER_A_CONDITION if all(r.condition for r in self.refutations) else FAILS_AS_PRINTED

    def counts(self, witness: str) -> dict[str, int]:
        """How many checks and refutations a witness gave."""
        return {
            "checks": sum(check.witness == witness for check in self.checks),
            "refutations": sum(refutation.witness == witness for refutation in self.refutations),
        }

    def as_json(self) -> dict[str, Any]:
        """The verdict as it stands in a notebook's output."""
        return {
            "id": self.page.id,
            "name": self.page.name,
            "title": self.page.title,
            "verdict": self.verdict,
            "witnesses": {witness: self.counts(witness) for witness in WITNESSES},
            "checks": [asdict(check) for check in self.checks],
            "refutations": [asdict(refutation) for refutation in self.refutations],
        }
