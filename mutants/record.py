"""What a run found, as it is stored: ``results/mutants.json``."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from mutants.catalogue import MODULES, Mutant, module_path
from mutants.judges import Outcome, Verdict
from scansnap_core.provenance import provenance

RECORD = Path("results", "mutants.json")
EQUIVALENT = "equivalent"
COUNTED = {
    "killed_by_tests": Outcome.TESTS,
    "killed_by_chapters": Outcome.CHAPTERS,
    "timeouts": Outcome.TIMEOUT,
    "equivalent": EQUIVALENT,
    "survived": Outcome.SURVIVED,
}


def write(root: Path, verdicts: Mapping[Mutant, Verdict], equivalent: Iterable[Mutant]) -> None:
    """Store verdicts.

    The file holds the provenance, a hash of each module's source, the counts of each module, the survivors, and all
    the mutants in rows: module, line, what it becomes, number (see :class:`mutants.catalogue.Mutant`), outcome, and
    the test file or chapter that killed it.
    """
    rows = [
        [*m.key, EQUIVALENT if m in equivalent else said.outcome, said.by.partition("::")[0]]
        for m, said in sorted(verdicts.items(), key=lambda item: item[0])
    ]
    counts = {}
    for module in MODULES:
        tally = Counter(row[4] for row in rows if row[0] == module)
        counts[module] = {"mutants": tally.total(), **{name: tally[outcome] for name, outcome in COUNTED.items()}}
    head = {
        "provenance": {**provenance("make mutants"), "cosmic_ray_version": metadata.version("cosmic-ray")},
        "sha256": {module: digest(root / module_path(module)) for module in MODULES},
        "counts": counts,
        "survivors": [
            str(m) for m, said in verdicts.items() if said.outcome == Outcome.SURVIVED and m not in equivalent
        ],
    }
    path = root / RECORD
    path.parent.mkdir(exist_ok=True)
    listed = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    body = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    path.write_text(f'{body},\n "mutants": [\n  {listed}\n ]\n}}\n', encoding="utf8")


def killers(root: Path) -> dict[tuple[str, str, str, int], str]:
    """The test file or chapter that killed each mutant last time, by :attr:`Mutant.key`; empty if nothing is stored."""
    path = root / RECORD
    rows = json.loads(path.read_text("utf8"))["mutants"] if path.is_file() else []
    return {(module, line, becomes, number): by for module, line, becomes, number, _, by in rows if by}


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
