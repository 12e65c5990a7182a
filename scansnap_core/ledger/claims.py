r"""A chapter's claims stand in a file beside its notebook: words, bounds and controls, each claim under an id.

The notebook computes, the file speaks. A reviewer reads the file alone, and every other page refers to a claim by its
id::

    numeric:                          # the witness
      dop853:                         # a check's id
        says: "(45) solves (44): largest relative error"
        must: ≤ 1e-9                  # or "≤ bound" where the notebook computes the bound
        control: (45) without the factor M
    empirical:
      late_clock:                     # a refutation: what is measured of the printed claim, which must fail
        says: h over the printed clock, late
        must: ≤ 1.1
        control: h over the repaired clock
        judges: claim                 # or proof, remark, reading
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
    card:                             # what stands at the chapter's head: see `scansnap_core.ledger.cards`

A check may say under ``only_sampled`` why a claim over all of its conditions isn't proved, and a proof under
``sampled`` which part of its region is left to a sweep.
"""

import difflib
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger.entries import JUDGES, PROVED, VOICES
from scansnap_core.ledger.values import RELATION_OF

CARD = "card"
COMPUTED = "bound"
"""This word stands in the place of a bound that the notebook computes."""

_CHECK = ("says", "must", "control")
_REFUTATION = (*_CHECK, "judges", "place", "printed", "consequence")
_PROOF = ("says", "control", "region", "assumptions")
_OPTIONAL = {_CHECK: ("only_sampled",), _REFUTATION: ("repair", "condition", "erratum"), _PROOF: ("sampled",)}
_ID = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Claim:
    """One claim of a chapter, in the words of its file; the module says what each key means."""

    id: str
    witness: str
    says: str
    control: str
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
        """``"check"``, ``"refutation"`` or ``"proof"``."""
        return "proof" if self.witness == PROVED else "refutation" if self.judges else "check"

    @property
    def relation(self) -> str:
        """Return the relation that the measured value must meet, such as ``"<="``."""
        return RELATION_OF[self.must.partition(" ")[0]]

    @property
    def bound(self) -> Any:
        """Return the bound, or None where the notebook computes it."""
        return _bound(self.must.partition(" ")[2])


@dataclass(frozen=True)
class Claims:
    """A chapter's file.

    Attributes
    ----------
    path : Path
    claims : mapping from str to Claim
        By id, in the file's order.
    card : mapping
        As it stands there; empty where there is none.
    """

    path: Path
    claims: Mapping[str, Claim]
    card: Mapping[str, Any]

    def find(self, claim_id: str, witness: str, kind: str) -> Claim:
        """Return the claim with an id.

        Raises
        ------
        BadInput
            If there is none, or it is another witness's or of another kind.
        """
        found = self.claims.get(claim_id)
        if found is None:
            nearest = difflib.get_close_matches(str(claim_id), self.claims, n=3, cutoff=0.5)
            remedy = f"did you mean {' or '.join(nearest)}? Or write it there" if nearest else "write it there"
            raise BadInput(f"claim {claim_id!r}", f"{self.path.name} holds no such claim", remedy)
        if (found.witness, found.kind) != (witness, kind):
            rule = f"in {self.path.name} it is a {found.kind} of the {found.witness} witness"
            raise BadInput(f"claim {claim_id!r} as a {kind} of the {witness} witness", rule, "correct one of them")
        return found


def read_claims(path: Path) -> Claims:
    """Read a chapter's claims.

    Raises
    ------
    BadInput
        If the file is unreadable, a key is missing, unknown, empty or no text, an id is there twice or isn't lower-case
        letters, digits and _, two claims say the same, a bound is none that a value could fail, or a refutation has
        both a repair and a condition, or neither.
    """
    from scansnap_core import files

    contents = files.read(path, example="write it as scansnap_core.ledger.claims says")
    groups = _mapping(path.name, contents, (*VOICES, CARD))
    claims: dict[str, Claim] = {}
    said: dict[str, str] = {}
    for witness in VOICES:
        for claim_id, entry in _mapping(f"{path.name}: {witness}", groups.get(witness)).items():
            place = f"{path.name}: {claim_id}"
            if claim_id in claims:
                rule = f"the {claims[claim_id].witness} witness has a claim of this id"
                raise BadInput(f"{place} of the {witness} witness", rule, "rename one of them")
            claim = _claim(place, claim_id, witness, entry)
            if claim.says in said:
                raise BadInput(f"{place}.says", f"{said[claim.says]} says the same", "reword one of them")
            claims[claim_id], said[claim.says] = claim, claim_id
    return Claims(path, claims, _mapping(f"{path.name}: {CARD}", groups.get(CARD)))


def text_of(place: str, value: Any) -> str:
    """Take a value of the file as text in one line; empty where there is none.

    Raises
    ------
    BadInput
        If it is something else, which YAML would print in its own way.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{place} = {value!r:.80}", "it is a text", "put it in quotes")
    return " ".join(value.split())


def _mapping(place: str, value: Any, keys: Collection[str] = ()) -> Mapping[Any, Any]:
    """Take a mapping of the file; empty where there is nothing."""
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise BadInput(f"{place} = {value!r:.80}", "it is a mapping", "write it as scansnap_core.ledger.claims says")
    if unknown := [key for key in value if keys and key not in keys]:
        raise BadInput(f"{place}: {unknown[0]}", "there is no such key", f"use {', '.join(keys)}")
    return value


def _claim(place: str, claim_id: Any, witness: str, entry: Any) -> Claim:
    if not (isinstance(claim_id, str) and _ID.fullmatch(claim_id)):
        raise BadInput(place, "an id is lower-case letters, digits and _, a letter first", "rename it")
    refutes = isinstance(entry, dict) and {*_REFUTATION, *_OPTIONAL[_REFUTATION]} - {*_CHECK} & {*entry}
    required = _PROOF if witness == PROVED else _REFUTATION if refutes else _CHECK
    entry = _mapping(place, entry, (*required, *_OPTIONAL[required]))
    texts = {key: text_of(f"{place}.{key}", value) for key, value in entry.items()}
    if missing := [key for key in required if not texts.get(key)]:
        raise BadInput(f"{place}.{missing[0]}", "a reader must learn it", "say it in a few words")
    claim = Claim(claim_id, witness, **texts)
    if required != _PROOF:
        _check_must(place, claim.must)
    if required == _REFUTATION and bool(claim.repair) == bool(claim.condition):
        raise BadInput(f"{place}.repair and .condition", "a refutation names one remedy", "give exactly one of the two")
    if claim.judges and claim.judges not in JUDGES:
        raise BadInput(f"{place}.judges = {claim.judges!r}", "it hits one of four things", f"use {', '.join(JUDGES)}")
    return claim


def _check_must(place: str, must: str) -> None:
    sign, _, bound = must.partition(" ")
    try:
        right = sign in RELATION_OF and (bound == COMPUTED or math.isfinite(_bound(bound)))
    except (ValueError, ArithmeticError):
        right = False
    if not right:
        rule = f"it is one of {' '.join(RELATION_OF)} and a finite number, or the word {COMPUTED}"
        raise BadInput(f"{place}.must = {must!r}", rule, "write e.g. ≤ 1e-9")


def _bound(text: str) -> Any:
    if text == COMPUTED:
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    return Fraction(text) if "/" in text else float(text)
