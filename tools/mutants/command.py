"""The run behind ``make mutants``: judge what hasn't been judged with these sources, and store what came out."""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path

from tqdm import tqdm

from scansnap_core import BadInput
from tools.mutants import record
from tools.mutants.catalogue import MODULES, Mutant, catalogue
from tools.mutants.copies import ROOT, copies
from tools.mutants.equivalent import equivalent
from tools.mutants.judges import Outcome, UnitTests, Verdict
from tools.mutants.session import judge_all, session


def main() -> int:
    """Judge every mutant, store what was found, and name the survivors.

    Returns
    -------
    int
        The exit status: 0; 1 if a mutant survived or made the tests run on without end; 2 on bad input; 130 if
        interrupted.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # else a terminated run leaves its copies behind
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=sys.modules["tools.mutants"].__doc__)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many mutants at a time (default: 1)")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)} (default: all)")
    arguments = parser.parse_args()
    try:
        return run(ROOT, arguments.jobs, arguments.modules or MODULES)
    except BadInput as error:
        print(f"mutants: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutants: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


def run(root: Path, jobs: int, modules: Collection[str] = MODULES) -> int:
    """Judge the mutants of these modules of the tree at ``root``; the exit status as in :func:`main`.

    A module all of whose mutants were judged with the sources as they are isn't judged again.

    Raises
    ------
    BadInput
        An unknown module; tests that fail on the sources as they are; or a mutant named as equivalent is killed.
    """
    if unknown := sorted(set(modules) - set(MODULES)):
        raise BadInput(", ".join(unknown), "no mutants are made of it", f"choose from {', '.join(MODULES)}")
    origin, stored = record.origin(), record.read(root)
    mutants = {module: catalogue(root, [module]) for module in modules}
    harmless = equivalent(root, itertools.chain(*mutants.values()))
    before = {m: v for module in modules for m, v in record.verdicts(stored.get(module), mutants[module]).items()}
    heads = {module: {"provenance": origin, **record.hashes(root, module)} for module in modules}
    new = {
        module
        for module, head in heads.items()
        if stored.get(module, {}).get("judges_sha256") != head["judges_sha256"] or set(mutants[module]) - set(before)
    }
    verdicts = before | _judge(root, {module: mutants[module] for module in sorted(new)}, before, jobs)
    for mutant in harmless:
        if by := verdicts[mutant].by:
            raise BadInput(str(mutant), f"it is named as equivalent, but {by} kills it", "remove the entry")
    for module in modules:
        head = heads[module] if module in new else stored[module]
        stored[module] = record.part(head, {mutant: verdicts[mutant] for mutant in mutants[module]}, harmless)
    record.write(root, stored)
    return _report({mutant: verdict for mutant, verdict in verdicts.items() if mutant not in harmless})


def _judge(
    root: Path, mutants: Mapping[str, list[Mutant]], before: Mapping[Mutant, Verdict], jobs: int
) -> dict[Mutant, Verdict]:
    """The verdicts on these modules' mutants, on each with what killed it last time as its first judge."""
    tests = UnitTests()

    def judge(copy: Path, mutant: Mutant) -> Verdict:
        return tests.judge(copy, mutant.module, before[mutant].by if mutant in before else "")

    with ExitStack() as stack:
        kept = {module: stack.enter_context(session(root, module, mutants[module])) for module in mutants}
        waiting = [m for module in mutants for m in mutants[module] if m not in kept[module].verdicts()]
        if waiting:
            folders = stack.enter_context(copies(root, jobs))
            for module in dict.fromkeys(mutant.module for mutant in waiting):
                if by := tests.judge(folders[0], module).by:
                    raise BadInput(by, "a judge of mutants has nothing against the sources as they are", "mend it")
            results = judge_all(folders, waiting, judge)
            for mutant, verdict in tqdm(results, total=len(waiting), unit="mutant", disable=None):
                kept[mutant.module].keep(mutant, verdict)
        return {mutant: verdict for module in mutants for mutant, verdict in kept[module].verdicts().items()}


def _report(verdicts: Mapping[Mutant, Verdict]) -> int:
    left = {mutant: verdict for mutant, verdict in sorted(verdicts.items()) if verdict.outcome is not Outcome.KILLED}
    for mutant, verdict in left.items():
        print(f"{verdict.outcome:<8}  {mutant}")
    print(f"killed {len(verdicts) - len(left)} of {len(verdicts)}, besides the equivalent ones; see {record.RECORD}")
    return 1 if left else 0
