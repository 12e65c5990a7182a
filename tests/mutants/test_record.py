"""What is stored of a run, and what is read back."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.trees import mutants, write_tree
from tools.mutants.judges import Outcome, Verdict, digest_of_judges
from tools.mutants.record import RECORD, hashes, origin, part, read, verdicts, write

FILE = "tests/theory/test_flows.py"


def test_counts_survivors_and_what_is_read_back(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    equivalent, *others = sorted(mutants())
    said = [
        Verdict(Outcome.KILLED, f"{FILE}::test_double"),
        Verdict(Outcome.TIMEOUT, FILE),
        Verdict(Outcome.SURVIVED),
        *[Verdict(Outcome.KILLED, FILE)] * (len(others) - 3),
    ]
    judged = {equivalent: Verdict(Outcome.SURVIVED), **dict(zip(others, said, strict=True))}
    head = {"provenance": origin(), **hashes(tree, "theory.flows")}
    write(tree, {"theory.flows": part(head, judged, [equivalent])})
    stored = read(tree)["theory.flows"]
    assert stored["counts"] == {
        "mutants": len(mutants()),
        "killed": len(others) - 2,
        "timeouts": 1,
        "equivalent": 1,
        "survived": 1,
    }
    assert stored["survivors"] == [str(others[2])]
    assert stored["judges_sha256"] == digest_of_judges(tree, "theory.flows")
    assert {"command", "python_version", "cosmic_ray_version"} <= set(stored["provenance"])
    assert verdicts(stored, mutants()) == judged | {others[0]: Verdict(Outcome.KILLED, FILE)}


def test_a_part_stays_as_it_is_when_another_is_written(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    killed = {mutant: Verdict(Outcome.KILLED, FILE) for mutant in mutants()}
    write(tree, {"theory.flows": part({}, killed, [])})
    first = read(tree)
    write(tree, {**first, "data.sequences": part({}, {}, [])})
    assert list(read(tree)) == ["data.sequences", "theory.flows"]
    assert read(tree)["theory.flows"] == first["theory.flows"]
    lines = (tree / RECORD).read_text("utf8").splitlines()
    assert sum(line.startswith('  ["return 2 * x"') for line in lines) == len(mutants())


def test_nothing_is_known_before_the_first_run(tmp_path: Path) -> None:
    assert read(tmp_path) == {}
    assert verdicts(None, mutants()) == {}
