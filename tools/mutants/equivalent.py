"""Mutants that no check can kill, because they change nothing: each with its reason, in ``equivalent.yaml``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scansnap_core import BadInput, files
from tools.mutants.catalogue import MODULES, Mutant

EQUIVALENT = Path("tools", "mutants", "equivalent.yaml")
KEYS = {"module", "line", "becomes", "reason"}


def equivalent(root: Path, mutants: Iterable[Mutant]) -> dict[Mutant, str]:
    """Those of the mutants that the file in the tree at ``root`` names as equivalent, with the reasons.

    Entries for a module of which there are no mutants at all are passed over.

    Raises
    ------
    BadInput
        An entry without a reason, or one that fits no mutant: the line is gone, and so is what the reason was about.
    """
    known = {mutant.key: mutant for mutant in mutants}
    found: dict[Mutant, str] = {}
    for entry in files.read(root / EQUIVALENT, example="correct it") or []:
        if not KEYS <= set(entry) <= {*KEYS, "number"} or not str(entry["reason"] or "").strip():
            raise BadInput(
                value=f"{EQUIVALENT}: {entry}",
                rule="an entry has module, line, becomes and reason; and number, if the module has more of these lines",
                remedy="complete it",
            )
        if entry["module"] in set(MODULES) - {mutant.module for mutant in known.values()}:
            continue
        named = known.get((entry["module"], entry["line"], entry["becomes"], entry.get("number", 1)))
        if named is None or named in found:
            raise BadInput(
                value=f"{EQUIVALENT}: {entry['module']}.py: {entry['line']} -> {entry['becomes']}",
                rule="an entry names one mutant of the sources as they are, and no other entry names it",
                remedy="remove the entry, or look again whether the new line's mutant is equivalent",
            )
        found[named] = entry["reason"]
    return found
