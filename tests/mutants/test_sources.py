"""The sources as they are: what is named as equivalent fits them, and ten of their mutants die."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mutants.catalogue import MODULES, Mutant, catalogue, module_path
from mutants.copies import ROOT, copies
from mutants.equivalent import equivalent
from mutants.judges import CoreTests, Outcome, Verdict, judge_by_chapters, panels
from mutants.record import killers
from mutants.session import judge_all

SEED, DRAWN, JOBS = 26, 10, 2


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    return catalogue(ROOT)


@pytest.fixture(scope="module")
def tests() -> CoreTests:
    return CoreTests()


def test_each_mutant_is_its_module_but_for_the_one_line(mutants: list[Mutant]) -> None:
    assert len({m.key for m in mutants}) == len({m.source for m in mutants}) == len(mutants)
    assert {m.module for m in mutants} == set(MODULES)
    originals = {module: (ROOT / module_path(module)).read_text("utf8").splitlines() for module in MODULES}
    for m in mutants:
        compile(m.source, str(m), "exec")
        before, after, row = originals[m.module], m.source.splitlines(), m.position[0][0] - 1
        assert (" ".join(before[row].split()), " ".join(after[row].split())) == (m.line, m.becomes)
        assert m.line != m.becomes
        assert before[:row] == after[:row]


def test_every_entry_for_an_equivalent_mutant_names_one(mutants: list[Mutant]) -> None:
    equivalent(ROOT, mutants)


def test_ten_mutants_die(mutants: list[Mutant], tests: CoreTests) -> None:
    harmless, before = equivalent(ROOT, mutants), killers(ROOT)

    def judge(copy: Path, mutant: Mutant) -> Verdict:
        by = before.get(mutant.key, "")
        if by and not by.startswith("tests/"):
            return judge_by_chapters(copy, [by])
        return tests.judge(copy, mutant.module, first=by)

    drawn = random.Random(SEED).sample([m for m in mutants if m not in harmless], DRAWN)
    living = [str(m) for m, verdict in judge_all(ROOT, drawn, judge, JOBS) if not verdict.by]
    assert living == [], "kill them by a better test, or name them in mutants/equivalent.yaml with the reason"


def test_the_sources_as_they_are_live(tests: CoreTests) -> None:
    with copies(ROOT, 1) as (copy,):
        assert tests.judge(copy, MODULES[0]) == Verdict(Outcome.ALIVE)


def test_an_equivalent_mutant_lives(mutants: list[Mutant], tests: CoreTests) -> None:
    harmless = random.Random(SEED).choice(sorted(equivalent(ROOT, mutants)))
    ((_, verdict),) = judge_all(ROOT, [harmless], lambda copy, m: tests.ask(copy, panels(copy, m.module)[0]), 1)
    assert verdict == Verdict(Outcome.ALIVE)
