"""The reviewed claims: a file that says what each chapter checks and refutes.

Stored outputs are compared with fresh ones, so a check that is deleted from a chapter is missed by nobody once the
chapter is stored again. This file isn't written along with the outputs. Whoever changes a claim writes it on purpose,
and the change is there to be read.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scansnap_core.bad_input import BadInput
from scansnap_core.book.stored import read_stored
from scansnap_core.ledger.certificates import PROVED
from scansnap_core.ledger.entries import OPEN, VOICES

CLAIMS_FILE = Path("chapters", "claims.yaml")

CARD = "card"
GROUPS = (*VOICES, CARD)

Claims = Mapping[str, list[str]]
"""From a witness to its claims in their order, such as ``"✓ error of (45): ≤ 1e-09"``, and from `CARD` to its rows.

A claim stands with all that a reader relies on: its control's words, what a refutation says of the paper, what a proof
assumes.
"""

_HEADER = """\
# What each chapter checks (✓), refutes (✗, with what is judged) and proves (∎, with its region): reviewed by people,
# who then write it by `scansnap claims --write`. A chapter that claims anything else isn't verified.
"""
_ALIKE = 0.6
_OF_REFUTATIONS = ("place", "printed", "repair", "condition", "consequence", "control_is")


def claims_of(verdict: Mapping[str, Any]) -> Claims:
    """The claims of a verdict as `Conclusion.as_json` gives it; none of an open one."""
    lines: dict[str, list[str]] = {group: [] for group in GROUPS}
    for check in verdict.get("checks", []):
        lines[check["witness"]].append(f"✓ {check['what']}: {check['required']}{_with(check, 'control_is')}")
    for refutation in verdict.get("refutations", []):
        judged = f"✗ {refutation['judges']}: {refutation['what']}: {refutation['required']}"
        lines[refutation["witness"]].append(judged + _with(refutation, *_OF_REFUTATIONS))
    for proof in verdict.get("proofs", []):
        lines[PROVED].append(
            f"∎ {proof['what']}: {proof['region']}{_with(proof, 'assumptions', 'control_is', 'sampled')}"
        )
    lines[PROVED] += [f"◌ only sampled: {entry['what']}{_with(entry, 'why')}" for entry in verdict.get("sampled", [])]
    for row in verdict.get(CARD, []):
        texts = (row["word"], row["formula"], row["says"], row["what"] and f"by {row['what']}")
        lines[CARD].append(f"{row['of']}: {'; '.join(text for text in texts if text)}")
    return {group: claims for group, claims in lines.items() if claims}


def _with(entry: Mapping[str, Any], *keys: str) -> str:
    """What else is said of a claim, each under its name."""
    return "".join(f"; {key.replace('_is', '')}: {entry[key]}" for key in keys if entry.get(key))


def reviewed_claims(book: Path) -> dict[str, Claims]:
    """The claims of every page that the book's file holds; none where there is no file.

    Raises
    ------
    BadInput
        If the file is unreadable, or names a page or a witness twice.
    """
    from scansnap_core import files

    path = book / CLAIMS_FILE
    if not path.exists():
        return {}
    pages = files.read(path, example="restore it, or write it with scansnap claims --write") or {}
    try:
        lists = [claims for witnesses in pages.values() for claims in witnesses.values()]
        if not all(isinstance(claims, list) and all(isinstance(c, str) for c in claims) for claims in lists):
            raise ValueError("no list of texts")
    except (ValueError, AttributeError) as error:
        rule = f"it is no readable file of claims ({type(error).__name__})"
        raise BadInput(f"{path}", rule, "restore it, or write it with scansnap claims --write") from None
    return dict(pages)


def claim_faults(reviewed: Claims, found: Claims) -> list[str]:
    """Where a page's claims aren't the reviewed ones: what vanished, is new, was reworded, or stands elsewhere."""
    faults = []
    for group in GROUPS:
        before, after = reviewed.get(group, []), found.get(group, [])
        of = "card" if group == CARD else f"{group} witness"
        new = [claim for claim in after if claim not in before]
        for claim in before:
            if claim in after:
                continue
            if alike := difflib.get_close_matches(claim, new, n=1, cutoff=_ALIKE):
                new.remove(alike[0])
                faults.append(f"a reviewed claim of the {of} was reworded: {claim!r} is now {alike[0]!r}")
            else:
                faults.append(f"a reviewed claim of the {of} vanished: {claim!r}")
        faults += [f"a new claim of the {of} isn't reviewed: {claim!r}" for claim in new]
        if sorted(before) == sorted(after) and before != after:
            faults.append(f"the {of}'s claims stand in another order than the reviewed ones")
    return faults


def book_faults(book: Path) -> list[str]:
    """Where the claims that the chapters store aren't the reviewed ones, each with its page's id.

    Raises
    ------
    BadInput
        If the folder, a notebook or the file can't be read.
    """
    reviewed, found = reviewed_claims(book), _stored_claims(book)
    return [
        f"{page_id}: {fault}"
        for page_id in dict.fromkeys([*found, *reviewed])
        for fault in claim_faults(reviewed.get(page_id, {}), found.get(page_id, {}))
    ]


def write_claims(book: Path) -> None:
    """Write the file anew from what the chapters store.

    Raises
    ------
    BadInput
        If the folder or a notebook can't be read, or a chapter stores no verdict.
    """
    import yaml

    from scansnap_core import files

    found = {page_id: dict(claims) for page_id, claims in _stored_claims(book).items()}
    text = yaml.safe_dump(found, allow_unicode=True, sort_keys=False, width=float("inf"))
    files.save(book / CLAIMS_FILE, _HEADER + text)


def _stored_claims(book: Path) -> dict[str, Claims]:
    verdicts = read_stored(book).verdicts
    for page_id, verdict in verdicts.items():
        if verdict["verdict"] == OPEN:
            raise BadInput(page_id, "it stores no verdict, so nobody knows what it claims", "run scansnap verify on it")
    return {page_id: claims_of(verdict) for page_id, verdict in verdicts.items()}
