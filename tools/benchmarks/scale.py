"""Time the true gradient flow at OPT's vocabulary, M = 50,272 with K = 1,000 classes, against the
machine's memory.

Run ``python -m tools.benchmarks.scale``. The floor is one pass over Y that multiplies it in place:
a step reads and writes all of Y, and can't be faster. Seconds depend on the machine; the ratio in
one process much less; and that of CPU seconds less on who else works on it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import time
import timeit
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from scansnap_core.base import files
from scansnap_core.data.datasets import syn_large
from scansnap_core.engine.compiled import SupportRun

VOCAB_SIZE = 50_272
NUM_CLASSES = 1_000
LR_Y = 100.0
LR_Z = 10.0
"""Per step a class is seen with probability 1/K."""


def pass_seconds(
    Y: np.ndarray,
    threads: ThreadPoolExecutor,
    num_threads: int,
    timer: Callable[[], float],
    repeats: int = 10,
) -> float:
    """Time one multiplication of Y by 1 in place, the best of some."""
    parts = np.array_split(Y, num_threads)

    def once() -> None:
        list(threads.map(lambda part: np.multiply(part, 1.0, out=part), parts))

    return min(timeit.repeat(once, number=1, repeat=repeats, timer=timer))


def measure(steps: int, num_threads: int) -> dict[str, Any]:
    """Measure seconds and CPU seconds, the floor in both, peak memory of this process in MB, and
    the losses.
    """
    timers = time.perf_counter, time.process_time
    run = SupportRun(syn_large(NUM_CLASSES, VOCAB_SIZE), LR_Y, LR_Z)
    # Compiles, or loads what was compiled before.
    SupportRun(syn_large(1, 100), LR_Y, LR_Z).advance(1)
    with ThreadPoolExecutor(num_threads) as threads:
        floors = [[pass_seconds(run.Y, threads, num_threads, timer) for timer in timers]]
        before = [timer() for timer in timers]
        loss = run.advance(steps, threads)
        wall = timers[0]() - before[0]
        cpu = timers[1]() - before[1]
        floors += [[pass_seconds(run.Y, threads, num_threads, timer) for timer in timers]]
    return {
        "seconds": wall,
        "cpu_seconds": cpu,
        "floor_seconds": steps * min(floor for floor, _ in floors),
        "floor_cpu_seconds": steps * min(floor for _, floor in floors),
        "gflop": run.operations * steps / 1e9,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "loss": loss.tolist(),
    }


def difference(num_classes: int, steps: int) -> float:
    """Find the largest difference from ``train`` in the losses and in Y, relative to the largest
    entries.
    """
    # After the memory was measured: torch takes more than the run does.
    from scansnap_core.engine.training import train

    classes = syn_large(num_classes, VOCAB_SIZE)
    run = SupportRun(classes, LR_Y, LR_Z)
    loss = run.advance(steps)
    dense = train(
        classes, lr_y=LR_Y, lr_z=LR_Z, steps=steps, batch_size=None, seq_len=math.inf, device="cpu"
    )
    dense = dense.isel(seed=0, rate=0)
    pairs = ((loss, dense.loss.values), (run.Y, dense.isel(recorded=-1).Y.values))
    return max(float(np.abs(ours - theirs).max() / np.abs(theirs).max()) for ours, theirs in pairs)


def main() -> None:
    """Print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="also write what was measured to this file")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    found = measure(options.steps, options.threads)
    if options.json:
        files.keep(options.json, json.dumps(found))
    print(
        f"M = {VOCAB_SIZE:,}, K = {NUM_CLASSES:,}, {options.steps} steps of the true flow, float64"
    )
    print(
        f"{options.threads} threads: {found['seconds']:.1f} s ({found['cpu_seconds']:.1f} s of "
        "CPU), ",
        end="",
    )
    print(
        f"{options.steps / found['seconds']:.0f} steps/s, "
        f"{found['gflop'] / found['seconds']:.1f} Gflop/s"
    )
    print(f"floor {found['floor_seconds']:.1f} s, one pass over Y a step: ", end="")
    print(f"{found['seconds'] / found['floor_seconds']:.1f} floors", end="")
    print(f"; {found['cpu_seconds'] / found['floor_cpu_seconds']:.1f} in CPU seconds")
    print(f"peak memory {found['peak_mb']:.0f} MB")
    print(
        "largest relative difference from the dense program, K = 100, 100 steps: "
        f"{difference(100, 100):.1g}"
    )


if __name__ == "__main__":
    main()
