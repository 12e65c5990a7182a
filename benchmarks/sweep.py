"""Time the sweep of Fig. 6 end to end against the machine's matrix rate on the same cores.

Run ``python -m benchmarks.sweep``. The floor is the time that the products of the training alone would take at the
rate of a large float32 matrix product: 3 products (logits, their way back, the gradient of Y) of 2·20·M·B operations
each, an update and run. Seconds depend on the machine; the ratio, measured in one process, much less.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.training import matmul_rate, seconds
from scansnap_core.sweeps.blocks import blocks
from scansnap_core.sweeps.grid_files import load_grid
from scansnap_core.sweeps.running import run

SUPPORT = 20
"""Tokens that a class of Syn-Medium holds."""


def main() -> None:
    """Print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rng", default="counter", help="fresh, replay or counter")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    grid = load_grid("fig6", seeds=options.seeds, rng=options.rng)
    (batch_size,) = grid.batch_sizes
    assert batch_size is not None
    runs = grid.num_runs // len(grid.data)
    operations = sum(
        3 * 2 * SUPPORT * classes.vocab_size * batch_size * grid.steps * runs for classes in grid.data.values()
    )

    next(blocks(grid, "cpu")).compute()  # compiles, or loads what was compiled before
    print(f"Fig. 6, {grid.num_runs} runs, {grid.steps} updates, {grid.rng} data, {grid.dtype}")
    print(f"{torch.get_num_threads()} threads; data, initial values, training, entropies and the store together:")
    for _ in range(options.repeats):
        rate = matmul_rate("cpu")
        with tempfile.TemporaryDirectory() as folder:
            before = time.process_time()
            swept = seconds(lambda: run(grid, Path(folder) / "fig6.zarr"))
            busy = time.process_time() - before
        rate = max(rate, matmul_rate("cpu"))
        floor = operations / rate
        print(f"  {swept:6.2f} s ({busy:.2f} s of processors); ", end="")
        print(f"{rate / 1e9:.0f} Gflop/s, floor {floor:.2f} s: {swept / floor:.1f} floors")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
