"""Record what a training costs, for the chapter of that name: ``python -m tools.benchmarks.cost
results/cost.nc --jax PYTHON``, where PYTHON is an interpreter of an environment that has JAX.

Seconds are CPU seconds of one thread for an update of all runs, the least of some repeats, so that
other programs on the machine matter little. Operations are those of matrix products in such an
update, as torch's counter saw them, or ``SupportRun.operations``. The run at OPT's vocabulary is
:mod:`tools.benchmarks.scale`'s, in a process of its own. The most that one thread of the machine
gives, the bounds that a program can meet, is measured before and after.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from torch.utils.flop_counter import FlopCounterMode
from tqdm import tqdm

from scansnap_core.base import files
from scansnap_core.data.datasets import syn_large
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.compiled import SupportRun
from scansnap_core.engine.training import train
from scansnap_core.storage.provenance import provenance
from tools.benchmarks import beside_jax, scale
from tools.benchmarks.training import BATCH, SEQ_LEN, one_hot_autograd

REPEATS = 3
LR_Y = 1.0
LR_Z = 0.1
SMALL = (20, 240)
"""K and M of Syn-Medium 10/20."""
PRODUCT = 2048
PASSED = 2**28
"""Rows of a large product's matrices, and bytes of an array that no cache holds."""


class Point(NamedTuple):
    """One program at one size of one axis, the others fixed."""

    program: str
    axis: str
    size: int
    work: Callable[[int], object]
    """Make a number of updates."""
    updates: int
    """How many to time."""
    operations: int | None = None
    """Of an update, where torch can't count them."""


def on_supports(axis: str, size: int, classes: SequenceClasses, updates: int) -> Point:
    """Set up the true gradient flow on supports."""
    run = SupportRun(classes, LR_Y, LR_Z)
    return Point("supports", axis, size, run.advance, updates, run.operations)


def dense(axis: str, size: int, classes: SequenceClasses, updates: int) -> Point:
    """Set up the true gradient flow by products of all classes with all tokens."""

    def work(steps: int) -> object:
        return train(
            classes,
            lr_y=LR_Y,
            lr_z=LR_Z,
            steps=steps,
            batch_size=None,
            seq_len=math.inf,
            device="cpu",
        )

    return Point("dense", axis, size, work, updates)


def sgd(
    axis: str, size: int, classes: SequenceClasses, *, B: int = 128, T: int = 128, runs: int = 1
) -> Point:
    """Set up SGD on sampled counts."""

    def work(steps: int) -> object:
        return train(
            classes,
            lr_y=LR_Y,
            lr_z=LR_Z,
            steps=steps,
            batch_size=B,
            seq_len=T,
            seeds=range(runs),
            device="cpu",
        )

    return Point("sgd", axis, size, work, 20)


def one_hot(axis: str, size: int, classes: SequenceClasses, *, T: int = 128) -> Point:
    """Set up SGD on one-hot sequences, by autograd, with batches of 16."""

    def work(steps: int) -> object:
        return one_hot_autograd(classes, LR_Y, LR_Z, steps, seed=0, batch_size=16, seq_len=T)

    return Point("one-hot", axis, size, work, 3)


def points() -> Iterator[Point]:
    """All points, one at a time, since each holds its memory."""
    for M in (10**4, 10**6, 10**8, 10**10, 10**12):
        yield on_supports("M", M, syn_large(100, M), 200)
        yield dense("M", M, syn_large(20, M), 50)
        yield sgd("M", M, syn_large(20, M))
    for M in (1000, 2000, 4000, 8000):
        yield one_hot("M", M, syn_large(20, M))
    for K in (250, 500, 1000, 2000):
        yield on_supports("K", K, syn_large(K, scale.VOCAB_SIZE), 10)
    for K in (100, 200, 400, 800):
        yield dense("K", K, syn_large(K, scale.VOCAB_SIZE), 3)
    for T in (256, 512, 1024, 2048, 4096):
        yield one_hot("T", T, syn_large(*SMALL), T=T)
        yield sgd("T", T, syn_large(*SMALL), T=T)
    for B in (128, 256, 512, 1024, 2048, 4096):
        yield sgd("B", B, syn_large(*SMALL), B=B)
    for runs in (1, 2, 4, 8, 16, 32, 64):
        yield sgd("runs", runs, syn_large(*SMALL), runs=runs)


def cpu_seconds(point: Point) -> float:
    """Measure the CPU seconds of one update, without the cost that occurs only once."""

    def timed(updates: int) -> float:
        start = time.process_time()
        point.work(updates)
        return time.process_time() - start

    timed(1)
    once = min(timed(1) for _ in range(REPEATS))
    return (min(timed(point.updates + 1) for _ in range(REPEATS)) - once) / point.updates


def operations(point: Point) -> int:
    """Count the operations of the matrix products in one update."""
    if point.operations is not None:
        return point.operations
    with FlopCounterMode(display=False) as counter:
        point.work(1)
    return int(counter.get_total_flops())


def bounds() -> dict[str, float]:
    """One thread's least CPU seconds: for an operation of a large product, a byte read or written,
    a sample's draw.
    """
    found = {}
    for name, dtype in (("float32", torch.float32), ("float64", torch.float64)):
        a = torch.rand(PRODUCT, PRODUCT, dtype=dtype)
        found[f"seconds_per_operation_{name}"] = _least(partial(torch.matmul, a, a)) / (
            2 * PRODUCT**3
        )
    Y = np.ones(PASSED // 8)
    found["seconds_per_byte"] = _least(lambda: np.multiply(Y, 1.0, out=Y)) / (2 * Y.nbytes)
    rng = np.random.default_rng(0)
    (probs, *_) = syn_large(*SMALL).compact.probs
    found["seconds_per_draw"] = (
        _least(lambda: rng.multinomial(SEQ_LEN - 1, probs[probs > 0], size=BATCH)) / BATCH
    )
    return found


def _least(work: Callable[[], object], repeats: int = 10) -> float:
    return min(timeit.repeat(work, number=1, repeat=repeats, timer=time.process_time))


def main() -> None:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--jax", required=True, help="a Python that has JAX", metavar="PYTHON")
    options = parser.parse_args()
    beside_jax.check_jax(options.jax)
    file = options.file
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "scale.json")
        subprocess.run(
            [sys.executable, "-m", "tools.benchmarks.scale", "--json", str(found)], check=True
        )
        opt = json.loads(found.read_text("utf8"))
    before = bounds()
    rows = [
        (point[:3], cpu_seconds(point), operations(point)) for point in tqdm(points(), disable=None)
    ]
    in_jax = beside_jax.measure(options.jax)
    least = {name: min(value, before[name]) for name, value in bounds().items()}
    labels, seconds, counts = zip(*rows, strict=True)
    program, axis, size = zip(*labels, strict=True)
    source = provenance(f"python -m tools.benchmarks.cost {file} --jax python") | {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, shared with other programs",
        "date": datetime.now(UTC).date().isoformat(),
        "load_average": os.getloadavg()[2],
        "jax_version": in_jax.jax_version,
    }
    result = xr.Dataset(
        {
            "cpu_seconds": ("point", np.array(seconds)),
            "operations": ("point", np.array(counts)),
            "loss": ("step", opt.pop("loss")),
            "jax_cpu_seconds": ("turn", in_jax.seconds_jax),
            "ours_cpu_seconds": ("turn", in_jax.seconds_ours),
            "jax_last_loss": ("rate", in_jax.losses_jax),
        },
        coords={
            "program": ("point", list(program)),
            "axis": ("point", list(axis)),
            "size": ("point", list(size)),
        },
        attrs=least
        | {"jax_compile_cpu_seconds": in_jax.compile_seconds}
        | {f"opt_{name}": value for name, value in opt.items()}
        | {"sources": json.dumps([source])},
    )
    files.keep(file, result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    main()
