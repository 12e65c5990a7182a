"""The verdict that a page's checks and refutations decide, and what a notebook stores of it.

:class:`Conclusion` is what a chapter draws while it runs. :class:`Verdict` is what its notebook
keeps, as JSON, and what every computed page reads back.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from scansnap_core.ledger.entries import (
    DECISIVE,
    JUDGES,
    VOICES,
    WITNESSES,
    Check,
    Compared,
    Finding,
    Proof,
    Refutation,
    Row,
    Sampled,
)
from scansnap_core.ledger.registry import Page

HOLDS = "holds"
HOLDS_UNDER_A_CONDITION = "holds under a condition"
FAILS_AS_PRINTED = "fails as printed"
REPRODUCED = "reproduced"
REPRODUCED_SMALLER = "reproduced in smaller runs"
PARTLY_SMALLER = "reproduced in part, in smaller runs"
DIFFERS = "differs from the paper"
OPEN = "open"

VERDICT_MIME = "application/vnd.scansnap.verdict+json"
"""The type of the output in which a notebook stores its verdict."""


@dataclass(frozen=True)
class Conclusion:
    """A page's verdict, computed from its checks and refutations, and the card at its head.

    The card has the cell of its figure.
    """

    page: Page
    checks: tuple[Check, ...]
    refutations: tuple[Refutation, ...]
    card: tuple[Row, ...] = ()
    figure: str = ""
    proofs: tuple[Proof, ...] = ()
    sampled: tuple[Sampled, ...] = ()
    smaller: str = ""
    """In what a figure's runs are smaller than the paper's; empty where the paper's own were
    repeated.
    """

    @property
    def verdict(self) -> str:
        """Return the verdict: only what was refuted of the page's own claim, or of its scope,
        decides.

        A figure is reproduced or differs; one of smaller runs is reproduced in part. A statement
        holds, or holds under a condition where each refutation names one; else it fails.
        """
        decisive = [refutation for refutation in self.refutations if refutation.judges in DECISIVE]
        if self.page.kind == "figure" and self.smaller:
            return PARTLY_SMALLER if decisive else REPRODUCED_SMALLER
        if self.page.kind == "figure":
            return DIFFERS if decisive else REPRODUCED
        if not decisive:
            return HOLDS
        return HOLDS_UNDER_A_CONDITION if all(r.condition for r in decisive) else FAILS_AS_PRINTED

    @property
    def other_refutations(self) -> dict[str, int]:
        """Count the refutations that don't decide the verdict, by what each of them judges.

        They judge something beside the page's own claim, such as a remark or one way to read it.
        """
        judged = [refutation.judges for refutation in self.refutations]
        return {
            what: judged.count(what) for what in JUDGES if what not in DECISIVE and what in judged
        }

    def counts(self, witness: str) -> dict[str, int]:
        """Count the checks and refutations that a witness gave; proofs count as checks."""
        held: list[Check | Proof] = [*self.checks, *self.proofs]
        return {
            "checks": sum(entry.witness == witness for entry in held),
            "refutations": sum(entry.witness == witness for entry in self.refutations),
        }

    @property
    def stored(self) -> "Verdict":
        """Return what a notebook stores of it; the fourth witness only where it spoke."""
        voices = VOICES if self.proofs else WITNESSES
        return Verdict(
            self.page.id,
            self.verdict,
            {witness: self.counts(witness) for witness in voices},
            self.checks,
            self.refutations,
            self.proofs,
            self.sampled,
            self.card,
            self.figure,
        )


_LISTS: dict[str, Any] = {
    "checks": Check,
    "refutations": Refutation,
    "proofs": Proof,
    "sampled": Sampled,
    "card": Row,
}
"""The lists of a stored verdict, each with the kind of its entries."""
_ALWAYS = ("checks", "refutations")
"""The lists that are stored even where they are empty."""
_FORMULAS = ("formula", "control_formula")
"""The texts of a check or a refutation that are stored only where there are some: most are given
numbers.
"""
_CITED = ("cited",)
"""The same of a card's row: most rest on their own page's claims alone."""
_VERDICTS = (
    HOLDS,
    HOLDS_UNDER_A_CONDITION,
    FAILS_AS_PRINTED,
    REPRODUCED,
    REPRODUCED_SMALLER,
    PARTLY_SMALLER,
    DIFFERS,
)


@dataclass(frozen=True)
class Verdict:
    """What a chapter's notebook stores of its conclusion, and every computed page reads back.

    A chapter that stores none, for example because it was cleared, has an open one without entries.
    """

    id: str
    """The page's."""
    verdict: str = OPEN
    witnesses: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each witness how many "checks" and "refutations" it gave."""
    checks: tuple[Check, ...] = ()
    refutations: tuple[Refutation, ...] = ()
    proofs: tuple[Proof, ...] = ()
    sampled: tuple[Sampled, ...] = ()
    card: tuple[Row, ...] = ()
    """Empty where the page has none."""
    figure: str = ""
    """The cell that draws the card's figure, if it has one."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the entries that each answer a claim of the chapter's file."""
        return (*self.checks, *self.refutations, *self.proofs)

    @property
    def tried(self) -> list[Finding]:
        """List the entries that say which formula was tried: proofs first, in the file's order."""
        entries: tuple[Finding, ...] = (*self.proofs, *self.checks, *self.refutations)
        return [entry for entry in entries if entry.formula]

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as it stands in a notebook's output; lists that are empty, but those
        of checks and refutations, are left out.
        """
        lists = {key: [_written(entry) for entry in getattr(self, key)] for key in _LISTS}
        return {
            "id": self.id,
            "verdict": self.verdict,
            "witnesses": self.witnesses,
            **{key: entries for key, entries in lists.items() if entries or key in _ALWAYS},
            **({"figure": self.figure} if self.card else {}),
        }

    @classmethod
    def of_json(cls, value: Any) -> "Verdict | None":
        """Read what `as_json` gave; None for anything else, as notebooks are edited, merged and cut
        short.
        """
        if not _is_stored(value):
            return None
        lists: dict[str, Any] = {
            key: tuple(kind(**entry) for entry in value.get(key, ()))
            for key, kind in _LISTS.items()
        }
        figure = value.get("figure", "")
        return cls(value["id"], value["verdict"], value["witnesses"], **lists, figure=figure)


def _written(entry: Finding | Sampled | Row) -> dict[str, str]:
    """Return an entry as it is stored: its texts by name, without optional ones that it hasn't."""
    optional = _optional(type(entry))
    return {name: text for name, text in asdict(entry).items() if text or name not in optional}


def _optional(kind: type) -> tuple[str, ...]:
    """Return the names of the texts that an entry of this kind stores only where there are some."""
    return _FORMULAS if issubclass(kind, Compared) else _CITED if kind is Row else ()


def _is_stored(value: Any) -> bool:
    """Tell whether a value, read from JSON, has the form that `Verdict.as_json` gives."""

    def is_entry(entry: Any, kind: Any) -> bool:
        """Tell whether it has the texts of a dataclass, but for those that `_optional` names."""
        names = {each.name for each in fields(kind)}
        needed = names - {*_optional(kind)}
        return (
            isinstance(entry, dict)
            and needed <= entry.keys() <= names
            and all(isinstance(text, str) for text in entry.values())
        )

    def are_counts(counts: Any) -> bool:
        """Tell whether it is what `Conclusion.counts` gives."""
        return (
            isinstance(counts, dict)
            and counts.keys() == {"checks", "refutations"}
            and all(isinstance(count, int) for count in counts.values())
        )

    match value:
        case {
            "id": str(),
            "verdict": verdict,
            "witnesses": dict() as by_voice,
            "checks": list(),
            "refutations": list(),
        }:
            # Every statement needs three of the witnesses. A card and its figure are stored
            # together or not at all.
            lists = [(value.get(key, []), kind) for key, kind in _LISTS.items()]
            return (
                verdict in _VERDICTS
                and {*WITNESSES} <= by_voice.keys() <= {*VOICES}
                and all(map(are_counts, by_voice.values()))
                and all(
                    isinstance(each, list) and all(is_entry(one, kind) for one in each)
                    for each, kind in lists
                )
                and isinstance(value.get("figure", ""), str)
                and ("card" in value) == ("figure" in value)
            )
    return False
