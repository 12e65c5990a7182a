"""The run behind ``make mutants``: first the tests judge, then the chapters what the tests let live."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tqdm import tqdm

from mutants.catalogue import MODULES, Mutant, catalogue
from mutants.copies import ROOT, copies
from mutants.equivalent import equivalent
from mutants.judges import CoreTests, Outcome, Verdict, chapters_about, judge_by_chapters, verify
from mutants.record import RECORD, killers, write
from mutants.session import Session, judge_all, session
from scansnap_core import BadInput


def main() -> int:
    """Judge every mutant, store what was found, and name the survivors.

    Returns
    -------
    int
        The exit status: 0; 1 if a mutant survived; 2 on bad input; 130 if interrupted.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # else a terminated run leaves its copies behind
    parser = argparse.ArgumentParser(prog="python -m mutants", description=sys.modules["mutants"].__doc__)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many mutants at a time (default: 1)")
    jobs = parser.parse_args().jobs
    try:
        return run(ROOT, jobs)
    except BadInput as error:
        print(f"mutants: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutants: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


def run(root: Path, jobs: int) -> int:
    """Judge the mutants of the tree at ``root``; the exit status as in :func:`main`.

    Raises
    ------
    BadInput
        The tests or the chapters fail on the sources as they are, or a mutant named as equivalent is killed.
    """
    mutants = catalogue(root)
    harmless = equivalent(root, mutants)
    with session(root, mutants) as kept:
        _ask_tests(root, kept, mutants, jobs)
        _ask_chapters(root, kept, [m for m in mutants if m not in harmless], jobs)
        verdicts = kept.verdicts()
    for mutant in harmless:
        if by := verdicts[mutant].by:
            raise BadInput(str(mutant), f"it is named as equivalent, but {by} kills it", "remove the entry")
    write(root, verdicts, harmless)
    survivors = [m for m in mutants if verdicts[m].outcome is Outcome.SURVIVED and m not in harmless]
    for mutant in survivors:
        print(f"survived  {mutant}")
    real = len(mutants) - len(harmless)
    print(f"killed {real - len(survivors)} of {real}, besides {len(harmless)} equivalent ones; see {RECORD}")
    return 1 if survivors else 0


def _ask_tests(root: Path, kept: Session, mutants: Iterable[Mutant], jobs: int) -> None:
    known = kept.verdicts()
    waiting = [mutant for mutant in mutants if mutant not in known]
    if not waiting:
        return
    tests, before = CoreTests(), killers(root)
    with copies(root, 1) as (copy,):
        verdict = tests.judge(copy, MODULES[0])
        if verdict.outcome is not Outcome.ALIVE:
            raise BadInput(verdict.by, "a judge of mutants has nothing against the sources as they are", "mend it")

    def judge(copy: Path, mutant: Mutant) -> Verdict:
        return tests.judge(copy, mutant.module, before.get(mutant.key, ""))

    _judge_and_keep("tests", root, kept, waiting, judge, jobs)


def _ask_chapters(root: Path, kept: Session, mutants: Iterable[Mutant], jobs: int) -> None:
    known = kept.verdicts()
    waiting = [mutant for mutant in mutants if known[mutant].outcome is Outcome.ALIVE]
    if not waiting:
        return
    before = killers(root)
    about = {module: chapters_about(root, module) for module in MODULES}
    seconds = _seconds(root, sorted({chapter for mutant in waiting for chapter in about[mutant.module]}), jobs)

    def judge(copy: Path, mutant: Mutant) -> Verdict:
        first = before.get(mutant.key)
        return judge_by_chapters(copy, sorted(about[mutant.module], key=lambda name: (name != first, seconds[name])))

    _judge_and_keep("chapters", root, kept, waiting, judge, jobs)


def _seconds(root: Path, chapters: list[str], jobs: int) -> dict[str, float]:
    """How long each chapter takes in an unchanged copy, where it must verify."""
    with copies(root, 1) as (copy,):
        report = copy / "verified.json"
        if verify(copy, *chapters, "--jobs", str(jobs), "--json", str(report)):
            raise BadInput("chapters", "a judge of mutants has nothing against the sources as they are", "mend them")
        return {said["id"]: said["seconds"] for said in json.loads(report.read_text("utf8"))["chapters"]}


def _judge_and_keep(
    name: str,
    root: Path,
    kept: Session,
    mutants: list[Mutant],
    judge: Callable[[Path, Mutant], Verdict],
    jobs: int,
) -> None:
    with tqdm(total=len(mutants), desc=name, unit="mutant", disable=None) as bar:
        for mutant, verdict in judge_all(root, mutants, judge, jobs):
            kept.keep(mutant, verdict)
            bar.update()
