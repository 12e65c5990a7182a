"""The run behind ``make mutants``: judge what wasn't judged with these sources, and store what came out."""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tqdm import tqdm

from scansnap_core import BadInput, files
from scansnap_core.storage.provenance import provenance
from tools.mutants.catalogue import EXEMPTION, MODULES, Mutant, module_path, mutants_of
from tools.mutants.judges import Outcome, UnitTests, copies, digest_of_judges, planted

ROOT = Path(__file__).parents[2]
RECORD = Path("results", "mutants.json")
"""From a module to the provenance of its run, a hash of its source and of all that decides, counts and survivors."""


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
        print("mutants: interrupted; the modules that were finished are stored", file=sys.stderr)
        return 130


def run(root: Path, jobs: int, modules: Collection[str] = MODULES) -> int:
    """Judge the mutants of these modules of the tree at ``root``; the exit status as in :func:`main`.

    A module that was judged with all sources as they are isn't judged again. Each one is stored as soon as it's done.

    Raises
    ------
    BadInput
        If a module is unknown, or its tests fail on the sources as they are.
    """
    if unknown := sorted(set(modules) - set(MODULES)):
        raise BadInput(", ".join(unknown), "no mutants are made of it", f"choose from {', '.join(MODULES)}")
    path = root / RECORD
    stored: dict[str, Any] = json.loads(path.read_text("utf8")) if path.is_file() else {}
    digests = {module: digest_of_judges(root, module) for module in modules}
    new = [module for module in modules if stored.get(module, {}).get("judges_sha256") != digests[module]]
    tests = UnitTests()
    with ExitStack() as stack:
        folders = stack.enter_context(copies(root, jobs)) if new else []
        for module in new:
            if tests.judge(folders[0], module) is not Outcome.SURVIVED:
                raise BadInput(f"the tests of {module}", "they pass on the sources as they are", "mend them")
            part = _judged(tests, folders, mutants_of(root, module))
            hashes = {
                "sha256": hashlib.sha256((root / module_path(module)).read_bytes()).hexdigest(),
                "judges_sha256": digests[module],
            }
            origin = {**provenance("make mutants"), "cosmic_ray_version": metadata.version("cosmic-ray")}
            stored[module] = {"provenance": origin, **hashes, **part}
            ordered = {module: stored[module] for module in MODULES if module in stored}
            path.parent.mkdir(exist_ok=True)
            files.save(path, json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    return _report([stored[module] for module in modules])


def _judged(tests: UnitTests, folders: Sequence[Path], mutants: list[Mutant]) -> dict[str, Any]:
    """Count what became of these mutants, and name those that the tests don't see."""
    outcomes = dict(_outcomes(tests, folders, mutants))
    timeouts = [mutant for mutant in mutants if outcomes[mutant] is Outcome.TIMEOUT]
    living = [mutant for mutant in mutants if outcomes[mutant] is Outcome.SURVIVED]
    survivors = [mutant for mutant in living if not mutant.exempt]
    counts = {
        "mutants": len(mutants),
        "killed": len(mutants) - len(timeouts) - len(living),
        "timeouts": len(timeouts),
        "equivalent": len(living) - len(survivors),
        "survived": len(survivors),
    }
    return {"counts": counts, "survivors": [str(mutant) for mutant in survivors]}


def _outcomes(tests: UnitTests, folders: Sequence[Path], mutants: list[Mutant]) -> Iterator[tuple[Mutant, Outcome]]:
    """Judge mutants, each planted in one of these copies of the tree."""
    free: SimpleQueue[Path] = SimpleQueue()
    for folder in folders:
        free.put(folder)

    def judge(mutant: Mutant) -> Outcome:
        copy = free.get()
        try:
            with planted(mutant, copy):
                return tests.judge(copy, mutant.module)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(folders)) as pool:
        try:
            results = tqdm(pool.map(judge, mutants), total=len(mutants), unit="mutant", disable=None)
            yield from zip(mutants, results, strict=True)
        finally:
            pool.shutdown(cancel_futures=True)


def _report(parts: list[dict[str, Any]]) -> int:
    total = {name: sum(part["counts"][name] for part in parts) for name in parts[0]["counts"]}
    for part in parts:
        for survivor in part["survivors"]:
            print(f"survived  {survivor}")
    print(
        f"killed {total['killed']} of {total['mutants'] - total['equivalent']}, {total['timeouts']} timeouts, besides "
        f"{total['equivalent']} that survived on lines with '{EXEMPTION.strip()}'; see {RECORD}"
    )
    return 1 if total["survived"] or total["timeouts"] else 0
