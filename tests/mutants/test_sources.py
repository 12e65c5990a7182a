"""The sources as they are: what is named as equivalent fits them, and ten of their mutants die."""

from __future__ import annotations

import random

import pytest
import yaml

from tools.mutants.catalogue import MODULES, Mutant, catalogue, module_path
from tools.mutants.copies import ROOT, copies
from tools.mutants.equivalent import EQUIVALENT, equivalent
from tools.mutants.judges import Outcome, UnitTests, Verdict, panels
from tools.mutants.record import read, verdicts
from tools.mutants.session import judge_all

SEED, DRAWN, JOBS = 26, 10, 2
QUICK = ("theory.tails", "ledger.values")
"""Whose unit tests take a second."""


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    """Of the modules that were judged or have an entry; all of them take half a minute."""
    entries = yaml.safe_load((ROOT / EQUIVALENT).read_text("utf8"))
    return catalogue(ROOT, sorted({*read(ROOT), *(entry["module"] for entry in entries)}))


@pytest.fixture(scope="module")
def tests() -> UnitTests:
    return UnitTests()


def test_each_mutant_is_its_module_but_for_the_one_line(mutants: list[Mutant]) -> None:
    assert len({m.key for m in mutants}) == len({m.source for m in mutants}) == len(mutants)
    modules = {m.module for m in mutants}
    assert set(read(ROOT)) <= modules <= set(MODULES)
    originals = {module: (ROOT / module_path(module)).read_text("utf8").splitlines() for module in modules}
    for number, m in enumerate(mutants):
        if number % 20 == 0:  # compiling them all takes minutes
            compile(m.source, str(m), "exec")
        before, after, row = originals[m.module], m.source.splitlines(), m.position[0][0] - 1
        assert " ".join(before[row].split()) == m.line != m.becomes
        if m.operator == "RemoveDecorator":  # which takes the blank line above it along
            assert m.line.startswith("@")
            assert m.becomes == ""
        else:
            assert " ".join(after[row].split()) == m.becomes
            assert before[:row] == after[:row]


def test_every_entry_for_an_equivalent_mutant_names_one(mutants: list[Mutant]) -> None:
    equivalent(ROOT, mutants)


def test_ten_mutants_die(mutants: list[Mutant], tests: UnitTests) -> None:
    stored = read(ROOT)
    of = {module: [m for m in mutants if m.module == module] for module in stored}
    known = {m: v for module in of for m, v in verdicts(stored[module], of[module]).items()}
    drawn = random.Random(SEED).sample(sorted(m for m, v in known.items() if v.outcome is Outcome.KILLED), DRAWN)
    with copies(ROOT, JOBS) as folders:
        results = judge_all(folders, drawn, lambda copy, m: tests.judge(copy, m.module, first=known[m].by))
        living = [str(m) for m, verdict in results if verdict.outcome is not Outcome.KILLED]
    assert living == [], "kill them by a better test, or name them in tools/mutants/equivalent.yaml with the reason"


def test_the_sources_as_they_are_live(tests: UnitTests) -> None:
    with copies(ROOT, 1) as (copy,):
        for module in QUICK:
            assert tests.judge(copy, module) == Verdict(Outcome.SURVIVED)


def test_an_equivalent_mutant_lives(mutants: list[Mutant], tests: UnitTests) -> None:
    harmless = random.Random(SEED).choice(sorted(m for m in equivalent(ROOT, mutants) if m.module in QUICK))
    with copies(ROOT, 1) as folders:
        ((_, verdict),) = judge_all(folders, [harmless], lambda copy, m: tests.ask(copy, panels(copy, m.module)[0]))
    assert verdict == Verdict(Outcome.SURVIVED)


@pytest.mark.parametrize("module", MODULES)
def test_each_module_has_judges(module: str) -> None:
    assert panels(ROOT, module)
