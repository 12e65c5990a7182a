"""A run of many mutants: in copies, several at a time, and going on where it was interrupted."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.mutants.trees import MODULE, mutants, write_tree
from tools.mutants.catalogue import Mutant
from tools.mutants.copies import copies
from tools.mutants.judges import Outcome, Verdict
from tools.mutants.session import judge_all, session

SOURCE = "scansnap_core/theory/flows.py"


def by_what_it_becomes(copy: Path, mutant: Mutant) -> Verdict:
    return Verdict(Outcome.KILLED, (copy / SOURCE).read_text())


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_mutant_is_planted_alone_in_a_copy(tmp_path: Path, jobs: int) -> None:
    tree, seen = write_tree(tmp_path), set()

    def judge(copy: Path, mutant: Mutant) -> Verdict:
        seen.add(copy)
        return by_what_it_becomes(copy, mutant)

    with copies(tree, jobs) as folders:
        verdicts = dict(judge_all(folders, mutants(), judge))
    assert {mutant: verdict.by for mutant, verdict in verdicts.items()} == {m: m.source for m in mutants()}
    assert (tree / SOURCE).read_text() == MODULE
    assert tree not in seen
    assert len(seen) <= jobs
    assert not any(copy.exists() for copy in seen)


def test_a_copy_lacks_what_is_hidden_built_or_installed(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    before = {path for path in tree.rglob("*") if path.is_file()}
    for name in (".git/HEAD", "_build/page", "environment/pyvenv.cfg", "scansnap_core/__pycache__/flows.pyc"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).touch()
    with copies(tree, 1) as (copy,):
        files = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
    assert len(files) == len(before)
    assert SOURCE in files


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)

    def go_on(stop_after: int) -> dict[Mutant, Verdict]:
        with session(tree, "theory.flows", mutants()) as kept, copies(tree, 2) as folders:
            waiting = [m for m in mutants() if m not in kept.verdicts()]
            for mutant, verdict in islice(judge_all(folders, waiting, by_what_it_becomes), stop_after):
                assert mutant in waiting
                kept.keep(mutant, verdict)
            return kept.verdicts()

    assert len(go_on(stop_after=2)) == 2
    assert len(go_on(stop_after=1)) == 3
    assert go_on(stop_after=len(mutants())) == {m: Verdict(Outcome.KILLED, m.source) for m in mutants()}


def test_a_later_verdict_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    mutant, *_ = mutants()
    with session(write_tree(tmp_path), "theory.flows", mutants()) as kept:
        for verdict in (Verdict(Outcome.SURVIVED), Verdict(Outcome.KILLED, SOURCE)):
            kept.keep(mutant, verdict)
            assert kept.verdicts() == {mutant: verdict}


def test_other_mutants_begin_a_new_session(tmp_path: Path) -> None:
    tree, (first, *others) = write_tree(tmp_path), mutants()
    with session(tree, "theory.flows", others) as kept:
        kept.keep(others[0], Verdict(Outcome.SURVIVED))
    with session(tree, "theory.flows", [first, *others]) as kept:
        assert kept.verdicts() == {}


@pytest.mark.parametrize("changed", [SOURCE, "tests/theory/test_flows.py"])
def test_other_sources_or_judges_begin_a_new_session(tmp_path: Path, changed: str) -> None:
    tree, (mutant, *_) = write_tree(tmp_path), mutants()
    with session(tree, "theory.flows", mutants()) as kept, session(tree, "engine.model", []):
        kept.keep(mutant, Verdict(Outcome.SURVIVED))
    (tree / changed).write_text((tree / changed).read_text() + "# changed\n")
    with session(tree, "theory.flows", mutants()) as kept:
        assert kept.verdicts() == {}
    assert len(list((tree / "_build").iterdir())) == 2  # the other module's is there still
