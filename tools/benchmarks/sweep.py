"""Time the sweep of Fig. 6 end to end against the machine's matrix rate on the same cores.

Run ``python -m tools.benchmarks.sweep``. The floor is the time that the products of the training
alone would take at the rate of a large float32 matrix product: 3 products (logits, their way back,
the gradient of Y), 2·20·M·B operations each, an update and run. Seconds depend on the machine; the
ratio, measured in one process, much less. In turns with it the whole command as a user gives it,
its start included, in a process of its own: its memory is the sweep's alone. With ``--against
FOLDER``, another checkout of this repository, the runs of one seed here and there are timed by
turns instead.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from scansnap_core.sweeps.blocks import blocks
from scansnap_core.sweeps.grid_files import load_grid
from scansnap_core.sweeps.running import run
from tools.benchmarks.training import matmul_rate, seconds
from tools.benchmarks.turns import HERE, Worker, ratios_by_turns, summary

SUPPORT = 20
"""Tokens that a class of Syn-Medium holds."""
LAUNCHER = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
"""Linux counts what a process held before it became another one, so a small one starts the command,
not this one.
"""


ONE_SEED = """
import sys, time
from scansnap_core.sweeps.blocks import blocks
from scansnap_core.sweeps.grid_files import load_grid
of_one_seed = list(blocks(load_grid("fig6", seeds=1, rng="counter"), "cpu"))
for _ in sys.stdin:
    start = time.process_time()
    for block in of_one_seed:
        block.compute()
    print(time.process_time() - start, flush=True)
"""
"""What one of two checkouts does for each line that it reads: it trains all runs of one seed."""


def one_seed_by_turns(other: Path, repeats: int) -> list[float]:
    """Divide CPU seconds of one seed's runs here by those in another checkout, by turns."""
    here = Worker(ONE_SEED, [], HERE)
    there = Worker(ONE_SEED, [], other.resolve())
    for worker in (here, there):
        worker.ask("")  # compiles, or loads what was compiled before
    ratios = ratios_by_turns(lambda: here.ask(""), lambda: there.ask(""), repeats)
    for worker in (here, there):
        worker.end()
    return ratios


def whole_command(*options: str) -> tuple[float, float]:
    """Time ``scansnap sweep fig6`` from its start to its end, and measure the most MB that it
    held.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = (sys.executable, "-c", "from scansnap_core.cli import main; main()")
        command = (*program, "sweep", "fig6", "--out", f"{folder}/fig6.zarr", *options)
        printed = subprocess.run(
            [sys.executable, "-c", LAUNCHER, *command],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    took, most = map(float, printed.stdout.split())
    return took, most


def main() -> None:
    """Print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rng", default="counter", help="fresh, replay or counter")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="another checkout, to be timed by turns"
    )
    options = parser.parse_args()
    if options.against:
        ratios = one_seed_by_turns(options.against, options.repeats)
        print(f"one seed's runs here over those there ({options.against}), CPU seconds by turns:")
        print(summary(ratios))
        return
    grid = load_grid("fig6", seeds=options.seeds, rng=options.rng)
    (batch_size,) = grid.batch_sizes
    assert batch_size is not None
    runs = grid.num_runs // len(grid.data)
    operations = sum(
        3 * 2 * SUPPORT * classes.vocab_size * batch_size * grid.steps * runs
        for classes in grid.data.values()
    )

    next(blocks(grid, "cpu")).compute()  # compiles, or loads what was compiled before
    print(f"Fig. 6, {grid.num_runs} runs, {grid.steps} updates, {grid.rng} data, {grid.dtype}")
    print(
        f"{torch.get_num_threads()} threads; data, initial values, training, entropies and the "
        "store together:"
    )
    for _ in range(options.repeats):
        rate = matmul_rate("cpu")
        with tempfile.TemporaryDirectory() as folder:
            before = time.process_time()
            swept = seconds(lambda: run(grid, Path(folder) / "fig6.zarr"))
            busy = time.process_time() - before
        rate = max(rate, matmul_rate("cpu"))
        floor = operations / rate
        print(f"  {swept:6.2f} s ({busy:.2f} s of processors); ", end="")
        print(
            f"{rate / 1e9:.0f} Gflop/s, floor {floor:.2f} s: {swept / floor:.1f} floors; ", end=""
        )
        took, most = whole_command("--seeds", str(options.seeds), "--rng", options.rng)
        print(f"the whole command {took:.2f} s, at most {most:.0f} MB")


if __name__ == "__main__":
    main()
