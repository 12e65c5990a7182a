"""Time the law for classes that are all unlike: in turns, as ``predict`` takes it of many, against
the same law taken whole; and of few, against all of Y and Z.

Run ``python -m tools.benchmarks.predict``. Seconds depend on the machine; their ratio, measured in
one process, less. With ``--against FOLDER``, another checkout of this repository, the law there is
timed too, in a process of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.law.exact import Exact
from scansnap_core.law.memory import Law, State
from scansnap_core.law.types import types_of

VOCAB_SIZE = 50_272
COMMON = 20
QUERIES = 5
DISTINCT = 3
TAUS = np.array([1.0, 100.0, 1e4])


def unlike(num_classes: int, seed: int = 0) -> SequenceClasses:
    """Draw classes with three distinct tokens each, and some of twenty common ones that make 2 to
    60 % of |f_n|².
    """
    rng = np.random.default_rng(seed)
    probs = np.zeros((num_classes, COMMON + DISTINCT * num_classes))
    for n in range(num_classes):
        own = rng.uniform(0.2, 1.0, DISTINCT)
        common = rng.uniform(0.2, 1.0, COMMON)
        common[(rng.random(COMMON) < 0.7) & (np.arange(COMMON) != n % COMMON)] = 0
        share = math.exp(rng.uniform(math.log(0.02), math.log(0.6)))
        common *= math.sqrt(share / (1 - share)) * np.linalg.norm(own) / np.linalg.norm(common)
        first = COMMON + DISTINCT * n
        total = own.sum() + common.sum()
        probs[n, :COMMON] = common / total
        probs[n, first : first + DISTINCT] = own / total
    columns = sparse.csr_array(probs)
    columns.resize((num_classes, VOCAB_SIZE))
    return SequenceClasses(
        columns, query_of=VOCAB_SIZE - 1 - rng.integers(QUERIES, size=num_classes)
    )


def timed(path: Iterable[State]) -> tuple[float, list[np.ndarray]]:
    """Measure the CPU seconds of a path, and return z of common tokens at each time too."""
    start = time.process_time()
    found = [state.z_common for state in path]
    return time.process_time() - start, found


def whole(num_classes: int, ratio: float) -> tuple[float, list[np.ndarray]]:
    """Time our law as one system of differential equations."""
    law = Law(types_of(unlike(num_classes)), ratio)
    start = time.process_time()
    found = law.path(TAUS)
    return time.process_time() - start, [state.z_common for state in found]


def elsewhere(folder: Path, num_classes: int, ratio: float) -> float:
    """Run :func:`whole` in another checkout, and return its CPU seconds."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import runpy; module = "
        "runpy.run_path(sys.argv[2]); print(module['whole'](int(sys.argv[3]), "
        "float(sys.argv[4]))[0])"
    )
    command = [sys.executable, "-c", program, str(folder), __file__, str(num_classes), str(ratio)]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    found = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=folder, env=environment
    )
    return float(found.stdout)


def exactly(num_classes: int, ratio: float) -> tuple[float, int]:
    """Time all of Y and Z, and count their numbers."""
    classes = unlike(num_classes)
    exact = Exact(classes, types_of(classes), ratio)
    start = time.process_time()
    exact.path(TAUS)
    return time.process_time() - start, exact.num_values


def main() -> None:
    """Print CPU seconds, their ratio and how far z is apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--few", type=int, nargs="+", default=[5, 10, 20, 30])
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="another checkout, its law taken whole"
    )
    parser.add_argument(
        "--turns-only", action="store_true", help="leave out what takes minutes at 1,000 classes"
    )
    options = parser.parse_args()
    from scansnap_core.law import many_classes  # another checkout may lack this module

    for num_classes in options.few:
        for ratio in options.ratios:
            taken, numbers = exactly(num_classes, ratio)
            law, _ = whole(num_classes, ratio)
            print(
                f"K = {num_classes}, lr_z/lr_y = {ratio:g}: all {numbers:,} of Y and Z "
                f"{taken:.2f} s, law {law:.2f} s, {law / taken:.1f} times as long",
                flush=True,
            )
    for num_classes in options.classes:
        for ratio in options.ratios:
            seconds, found = timed(
                many_classes.path(Law(types_of(unlike(num_classes)), ratio), TAUS)
            )
            line = f"K = {num_classes}, lr_z/lr_y = {ratio:g}: in turns {seconds:.2f} s"
            if not options.turns_only:
                taken, exact = whole(num_classes, ratio)
                apart = max(
                    np.abs(one - other).max() / np.abs(other).max()
                    for one, other in zip(found, exact, strict=True)
                )
                line += (
                    f", whole {taken:.2f} s, {taken / seconds:.1f} times as long; z apart "
                    f"{apart:.1e}"
                )
            if options.against:
                there = elsewhere(options.against.resolve(), num_classes, ratio)
                line += f"; there {there:.2f} s, {there / seconds:.1f} times"
            print(line, flush=True)
    print(
        f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB, torch "
        "included"
    )


if __name__ == "__main__":
    main()
