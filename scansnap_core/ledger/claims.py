r"""A chapter's claims stand in a file beside its notebook: words, bounds and controls, each claim
under an id.

The notebook computes, the file speaks. A reviewer reads the file alone, and every other page refers
to a claim by its id::

    numeric:                          # the witness
      dop853:                         # a check's id
        says: (45) solves (44)
        measure: Largest relative error   # may be left out
        must: ≤ 1e-9                  # or "≤ bound" where the notebook computes the bound
        control: (45) without the factor M
    empirical:
      late_clock:                     # a refutation: a measurement of the printed claim, that fails
        says: h keeps up with the printed clock
        measure: h over the clock, late
        must: ≤ 1.1
        control: h over the repaired clock
        judges: claim                 # or proof, remark, reading; or scope, which is no erratum
        erratum: E7
        place: Lemma 6, (45)
        printed: $h = t$
        repair: $h = \ln t$          # or condition: what is missing
        consequence: none of the later bounds changes
    proved:
      rises:
        says: h rises with t
        region: every $M > 1$
        assumptions: none
        control: h falls with t
    card:                             # at the chapter's head: see `scansnap_core.ledger.cards`
    numbers:                          # the chapter's numbers that other pages quote
      jump:
        of: rises                     # the claim that the number belongs to
        scope: two classes alike, by $t_0$, under the true gradient flow
        beside: jumps | turns         # words; one stands beside it wherever it's quoted

A number travels with its scope: on what it was measured, by when, under which dynamics, how many.
Where another page quotes it, a reader sees the claim and the scope. One of its words ``beside``
stands there between the numbers, or ends of a sentence, on either side: so two numbers can't change
places unseen.

A check may say under ``only_sampled`` why a claim over all of its conditions isn't proved, and a
proof under ``sampled`` which part of its region is left to a sweep.
"""

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from scansnap_core.base import files
from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.files import TEXT, Entry
from scansnap_core.base.rules import Rule
from scansnap_core.ledger.entries import JUDGES, PROVED, VOICES
from scansnap_core.ledger.values import RELATIONS

CARD = "card"
NUMBERS = "numbers"
COMPUTED = "bound"
"""This word stands in the place of a bound that the notebook computes."""

_CHECK = {"says": None, "measure": "", "must": None, "control": None, "only_sampled": ""}
"""A check's keys, each with its default, as `Entry` takes them: None for a key that it needs."""
_REFUTATION: dict[str, str | None] = {
    **dict.fromkeys(("says", "must", "control", "judges", "place", "printed", "consequence")),
    **dict.fromkeys(("measure", "repair", "condition", "erratum"), ""),
}
_PROOF = {"says": None, "control": None, "region": None, "assumptions": None, "sampled": ""}
_ID = re.compile(r"[a-z][a-z0-9_]*")


def _is_bound(must: str) -> bool:
    """Tell whether a text is a relation and a finite bound, or the word for a computed one."""
    sign, _, bound = must.partition(" ")
    try:
        return sign in RELATIONS and (bound == COMPUTED or math.isfinite(_bound(bound)))
    except (ValueError, ArithmeticError):
        return False


_MUST = Rule(
    _is_bound,
    f"it is one of {' '.join(RELATIONS)} and a finite number, or the word {COMPUTED}",
    "write e.g. ≤ 1e-9",
)


@dataclass(frozen=True)
class Claim:
    """One claim of a chapter, in the words of its file; the module says what each key means."""

    id: str
    witness: str
    says: str
    control: str
    measure: str = ""
    must: str = ""
    judges: str = ""
    erratum: str = ""
    place: str = ""
    printed: str = ""
    repair: str = ""
    condition: str = ""
    consequence: str = ""
    region: str = ""
    assumptions: str = ""
    sampled: str = ""
    only_sampled: str = ""

    @property
    def kind(self) -> str:
        """Return ``"check"``, ``"refutation"`` or ``"proof"``."""
        return "proof" if self.witness == PROVED else "refutation" if self.judges else "check"

    @property
    def relation(self) -> str:
        """Return the relation that the measured value must meet, such as ``"≤"``."""
        return self.must.partition(" ")[0]

    @property
    def bound(self) -> Any:
        """Return the bound, or None where the notebook computes it."""
        return _bound(self.must.partition(" ")[2])


@dataclass(frozen=True)
class Scope:
    """How far a chapter's number reaches: the claim that it belongs to, and on what it was
    measured.
    """

    of: str
    scope: str
    beside: str = ""
    """Words, divided by " | ". One stands in every sentence that quotes the number, because a tag
    belongs to its sentence. If there are none, any sentence may quote it.
    """


@dataclass(frozen=True)
class Claims:
    """A chapter's file: its claims by id, in its order, its card as it stands there, and the scopes
    of its numbers.

    The card is empty where the chapter has none. Only numbers that other pages quote have a scope
    here.
    """

    path: Path
    claims: Mapping[str, Claim]
    card: Mapping[str, Any]
    numbers: Mapping[str, Scope]

    def find(self, claim_id: str, witness: str, kind: str) -> Claim:
        """Return the claim with an id; refuse one that isn't there, is another witness's or is of
        another kind.
        """
        found = self.claims.get(claim_id)
        if found is None:
            nearest = difflib.get_close_matches(str(claim_id), self.claims, n=3, cutoff=0.5)
            remedy = (
                f"did you mean {' or '.join(nearest)}? Or write it there"
                if nearest
                else "write it there"
            )
            raise BadInput(f"claim {claim_id!r}", f"{self.path.name} holds no such claim", remedy)
        if (found.witness, found.kind) != (witness, kind):
            rule = f"in {self.path.name} it is a {found.kind} of the {found.witness} witness"
            raise BadInput(
                f"claim {claim_id!r} as a {kind} of the {witness} witness",
                rule,
                "correct one of them",
            )
        return found


def read_claims(path: Path) -> Claims:
    """Read a chapter's claims.

    Raises
    ------
    BadInput
        If the file is unreadable, a key is missing, unknown, empty or no text, an id is there twice
        or isn't lower-case letters, digits and _, two claims say the same, a bound is none that a
        value could fail, a refutation has both a repair and a condition, or neither, or a number
        belongs to no claim of the file.
    """
    groups = Entry(
        path.name,
        files.read(path, example=f"write it as {__name__} says"),
        (*VOICES, CARD, NUMBERS),
    ).values
    claims: dict[str, Claim] = {}
    id_by_words: dict[str, str] = {}
    for witness in VOICES:
        for claim_id, entry in Entry(f"{path.name}: {witness}", groups.get(witness)).values.items():
            place = f"{path.name}: {claim_id}"
            if claim_id in claims:
                rule = f"the {claims[claim_id].witness} witness has a claim of this id"
                raise BadInput(f"{place} of the {witness} witness", rule, "rename one of them")
            claim = _claim(place, claim_id, witness, entry)
            if claim.says in id_by_words:
                raise BadInput(
                    f"{place}.says",
                    f"{id_by_words[claim.says]} says the same",
                    "reword one of them",
                )
            claims[claim_id] = claim
            id_by_words[claim.says] = claim_id
    card = Entry(f"{path.name}: {CARD}", groups.get(CARD)).values
    return Claims(path, claims, card, _scopes(path, claims, groups.get(NUMBERS)))


def _scopes(path: Path, claims: Mapping[str, Claim], group: Any) -> dict[str, Scope]:
    """Read the group ``numbers`` of a file: the scope of each number, by its name."""
    scopes: dict[str, Scope] = {}
    for name, entry in Entry(f"{path.name}: {NUMBERS}", group).values.items():
        take = Entry(f"{path.name}: {NUMBERS}.{name}", entry, ("of", "scope", "beside"))
        scope = Scope(take("of", TEXT), take("scope", TEXT), take("beside", TEXT, ""))
        if scope.of not in claims:
            rule = f"a number belongs to a claim of {path.name}, and it holds none of this id"
            raise BadInput(
                f"{take.place}.of = {scope.of!r}", rule, f"use one of {', '.join(claims)}"
            )
        scopes[name] = scope
    return scopes


def _claim(place: str, claim_id: Any, witness: str, entry: Any) -> Claim:
    """Read one claim; messages call it ``place``.

    Which keys it needs depends on its kind. A claim that has a key of refutations alone is one; the
    other claims of the witness "proved" are proofs, and those of any other witness checks.
    """
    if not (isinstance(claim_id, str) and _ID.fullmatch(claim_id)):
        raise BadInput(
            place, "an id is lower-case letters, digits and _, a letter first", "rename it"
        )
    refutes = (_REFUTATION.keys() - _CHECK) & Entry(place, entry).values.keys()
    keys = _PROOF if witness == PROVED else _REFUTATION if refutes else _CHECK
    take = Entry(place, entry, keys)
    claim = Claim(
        claim_id, witness, **{key: take(key, TEXT, default) for key, default in keys.items()}
    )
    if claim.must:
        _MUST(f"{place}.must", claim.must)
    if refutes and bool(claim.repair) == bool(claim.condition):
        raise BadInput(
            f"{place}.repair and .condition",
            "a refutation names one remedy",
            "give exactly one of the two",
        )
    if claim.judges and claim.judges not in JUDGES:
        raise BadInput(
            f"{place}.judges = {claim.judges!r}",
            "it hits one of five things",
            f"use {', '.join(JUDGES)}",
        )
    if claim.judges == "scope" and (claim.repair or claim.erratum):
        raise BadInput(
            f"{place}.judges = 'scope'",
            "it has a condition and no erratum",
            "remove what it can't have",
        )
    return claim


def _bound(text: str) -> Any:
    """Read a bound: a truth value, an integer, a fraction or a decimal; None if it is computed."""
    if text == COMPUTED:
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    return Fraction(text) if "/" in text else float(text)
