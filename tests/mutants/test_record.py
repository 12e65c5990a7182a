"""What is stored of a run, and what is read back."""

from __future__ import annotations

import json
from pathlib import Path

from mutants.judges import Outcome, Verdict
from mutants.record import RECORD, digest, killers, write
from tests.mutants.trees import mutants, write_tree

FILE = "tests/core/test_flows.py"


def test_counts_survivors_and_killers(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    equivalent, *others = sorted(mutants())
    said = [
        Verdict(Outcome.TESTS, f"{FILE}::test_double"),
        Verdict(Outcome.CHAPTERS, "lemma_08"),
        Verdict(Outcome.TIMEOUT, FILE),
        Verdict(Outcome.SURVIVED),
        *[Verdict(Outcome.TESTS, FILE)] * (len(others) - 4),
    ]
    write(tree, {equivalent: Verdict(Outcome.ALIVE), **dict(zip(others, said, strict=True))}, [equivalent])
    record = json.loads((tree / RECORD).read_text("utf8"))
    assert record["counts"]["flows"] == {
        "mutants": len(mutants()),
        "killed_by_tests": len(others) - 3,
        "killed_by_chapters": 1,
        "timeouts": 1,
        "equivalent": 1,
        "survived": 1,
    }
    assert set(record["counts"]["model"].values()) == {0}
    assert record["survivors"] == [str(others[3])]
    assert record["sha256"]["flows"] == digest(tree / "scansnap_core/flows.py")
    assert {"command", "python_version", "cosmic_ray_version"} <= set(record["provenance"])
    assert killers(tree) == {
        mutant.key: verdict.by.removesuffix("::test_double")
        for mutant, verdict in zip(others, said, strict=True)
        if verdict.by
    }


def test_nothing_is_known_before_the_first_run(tmp_path: Path) -> None:
    assert killers(tmp_path) == {}
