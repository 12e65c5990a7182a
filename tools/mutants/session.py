"""Judging many mutants, several at a time, and keeping the verdicts, so that an interrupted run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult

from tools.mutants.catalogue import Mutant
from tools.mutants.copies import planted
from tools.mutants.judges import Outcome, Verdict, digest_of_judges


def judge_all(
    folders: Sequence[Path], mutants: Iterable[Mutant], judge: Callable[[Path, Mutant], Verdict]
) -> Iterator[tuple[Mutant, Verdict]]:
    """Judge mutants, each planted in one of these copies of the tree; in the order in which they are done."""
    free: SimpleQueue[Path] = SimpleQueue()

    def one(mutant: Mutant) -> tuple[Mutant, Verdict]:
        copy = free.get()
        try:
            with planted(mutant, copy):
                return mutant, judge(copy, mutant)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(folders)) as pool:
        for folder in folders:
            free.put(folder)
        runs = [pool.submit(one, mutant) for mutant in mutants]
        try:
            for run in as_completed(runs):
                yield run.result()
        finally:
            pool.shutdown(cancel_futures=True)


class Session:
    """The verdicts so far, in Cosmic Ray's database (its own reports can read it too)."""

    def __init__(self, database: WorkDB, mutants: Iterable[Mutant]) -> None:
        self._database = database
        self._mutants = {_id(mutant): mutant for mutant in mutants}
        if database.num_work_items == 0:
            database.add_work_items(WorkItem(mutations=(_spec(m),), job_id=i) for i, m in self._mutants.items())

    def verdicts(self) -> dict[Mutant, Verdict]:
        """What has been judged."""
        kept = {self._mutants[job]: json.loads(result.output) for job, result in self._database.results}
        return {mutant: Verdict(Outcome(said["outcome"]), said["by"]) for mutant, said in kept.items()}

    def keep(self, mutant: Mutant, verdict: Verdict) -> None:
        """Keep a verdict, in place of an earlier one on the same mutant."""
        result = WorkResult(
            worker_outcome=WorkerOutcome.NORMAL,
            output=json.dumps({"outcome": verdict.outcome, "by": verdict.by}),
            test_outcome=TestOutcome.SURVIVED if verdict.outcome is Outcome.SURVIVED else TestOutcome.KILLED,
        )
        self._database.set_result(_id(mutant), result)


@contextmanager
def session(root: Path, module: str, mutants: Collection[Mutant]) -> Iterator[Session]:
    """A module's session with these sources and mutants, begun or gone on with. One with others is removed."""
    digest = hashlib.sha256(f"{digest_of_judges(root, module)} {' '.join(map(_id, mutants))}".encode()).hexdigest()
    path = root / "_build" / f"mutants-{module}-{digest[:12]}.sqlite"
    path.parent.mkdir(exist_ok=True)
    for old in set(path.parent.glob(f"mutants-{module}-*.sqlite")) - {path}:
        old.unlink()
    with use_db(str(path), WorkDB.Mode.create) as database:
        yield Session(database, mutants)


def _id(mutant: Mutant) -> str:
    return hashlib.sha256(mutant.source.encode()).hexdigest()[:16]


def _spec(mutant: Mutant) -> MutationSpec:
    start, end = mutant.position
    return MutationSpec(mutant.path, f"core/{mutant.operator}", mutant.occurrence, start, end)
