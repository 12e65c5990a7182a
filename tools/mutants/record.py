"""What runs found, module by module, as it is stored: ``results/mutants.json``."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from scansnap_core import files
from scansnap_core.storage.provenance import provenance
from tools.mutants.catalogue import MODULES, Mutant, module_path
from tools.mutants.judges import Outcome, Verdict, digest_of_judges

RECORD = Path("results", "mutants.json")
EQUIVALENT = "equivalent"
COUNTED = {
    "killed": Outcome.KILLED,
    "timeouts": Outcome.TIMEOUT,
    "equivalent": EQUIVALENT,
    "survived": Outcome.SURVIVED,
}

Stored = dict[str, dict[str, Any]]
"""A module's part of the record, by its name.

It holds the provenance of the run that judged the module; a hash of its source, and of all sources that decide the
verdicts; the counts; the survivors; and the mutants in rows: line, what it becomes, number (see
:class:`tools.mutants.catalogue.Mutant`), outcome, and the test file that killed it.
"""


def read(root: Path) -> Stored:
    """What is stored; empty if nothing is."""
    path = root / RECORD
    return json.loads(path.read_text("utf8")) if path.is_file() else {}


def hashes(root: Path, module: str) -> dict[str, str]:
    """The hashes that a module's part begins with."""
    source = hashlib.sha256((root / module_path(module)).read_bytes())
    return {"sha256": source.hexdigest(), "judges_sha256": digest_of_judges(root, module)}


def part(head: dict[str, Any], verdicts: Mapping[Mutant, Verdict], equivalent: Collection[Mutant]) -> dict[str, Any]:
    """The part of one module: its head (provenance and hashes), and what these verdicts on its mutants come to."""
    rows = [
        [*m.key[1:], EQUIVALENT if m in equivalent else v.outcome, v.by.partition("::")[0]]
        for m, v in sorted(verdicts.items(), key=lambda item: item[0])
    ]
    tally = Counter(row[3] for row in rows)
    return {
        **head,
        "counts": {"mutants": len(rows), **{name: tally[outcome] for name, outcome in COUNTED.items()}},
        "survivors": [
            str(m) for m in sorted(verdicts) if verdicts[m].outcome is Outcome.SURVIVED and m not in equivalent
        ],
        "mutants": rows,
    }


def verdicts(stored: dict[str, Any] | None, mutants: Collection[Mutant]) -> dict[Mutant, Verdict]:
    """The verdicts that a module's part holds on these mutants. An equivalent one was judged too: it survived."""
    rows = {tuple(key): (outcome, by) for *key, outcome, by in (stored or {"mutants": []})["mutants"]}
    found = {mutant: rows[mutant.key[1:]] for mutant in mutants if mutant.key[1:] in rows}
    return {
        mutant: Verdict(Outcome.SURVIVED if outcome == EQUIVALENT else Outcome(outcome), by)
        for mutant, (outcome, by) in found.items()
    }


def origin() -> dict[str, str]:
    """The provenance of a run that begins now."""
    return {**provenance("make mutants"), "cosmic_ray_version": metadata.version("cosmic-ray")}


def write(root: Path, stored: Stored) -> None:
    """Store all parts, a line for each mutant."""
    parts = []
    for module in MODULES:
        if module in stored:
            head = json.dumps({**stored[module], "mutants": []}, indent=1, ensure_ascii=False).removesuffix("[]\n}")
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in stored[module]["mutants"])
            parts.append(f'"{module}": {head}[\n  {rows}\n ]}}')
    path = root / RECORD
    path.parent.mkdir(exist_ok=True)
    files.save(path, "{\n" + ",\n".join(parts) + "\n}\n")
