"""Where a sample of the compiled training spends its time, and which bound each part meets.

Run ``python -m tools.benchmarks.roofline``. It times the parts of :mod:`scansnap_core.engine.kernel` on four samples of
one class of Syn-Medium, in one thread and by its own clock, beside a large float32 matrix product in this process.
Operations and bytes are counted from the kernel's loops, not by the processor: a fused multiply-add is two operations,
and bytes are what its loads and stores ask for, wherever they are answered from.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numba import njit

from scansnap_core.data.datasets import syn_medium
from scansnap_core.engine import kernel
from scansnap_core.engine.compiled import SharedRuns
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.vectors import LANES
from tools.benchmarks.training import BATCH, MOMENTUM, SEQ_LEN

EXP_OPERATIONS = 2 * 8 + 6
"""Of one exponential: eight fused multiply-adds, and what rounds, shifts and multiplies."""
FLOAT = 4
"""Bytes."""
SIDE = 1024
"""Of the matrices whose product sets the rate."""
LEAST_SECONDS, CALLS = 0.005, 200


def least_seconds(works: dict[str, Callable[[], object]], rounds: int = 40) -> dict[str, float]:
    """A call's time on this thread's clock, the least of some rounds in which all take turns."""
    found = dict.fromkeys(works, math.inf)
    for _ in range(rounds):
        for name, work in works.items():
            start, times = time.thread_time(), 0
            while times < 2 or time.thread_time() - start < LEAST_SECONDS:
                work()
                times += 1
            found[name] = min(found[name], (time.thread_time() - start) / times)
    return found


@njit(nogil=True)
def _decode(F: Any, Y: Any, rows: Any, none: Any, alphas: Any, tops: Any) -> None:
    for _ in range(CALLS):
        kernel._decode(F, Y, rows, none, alphas, tops)


@njit(nogil=True)
def _exponentiate(alphas: Any, tops: Any, sums: Any) -> None:
    for _ in range(CALLS):
        kernel._exponentiate(alphas, tops, sums)


@njit(nogil=True)
def _back(alphas: Any, Y: Any, rows: Any, G: Any) -> None:
    for _ in range(CALLS):
        kernel._back(alphas, Y, rows, G)


@njit(nogil=True)
def _gather(F: Any, alphas: Any, rows: Any, V: Any) -> None:
    for _ in range(CALLS):
        kernel._gather(F, alphas, rows, V)


def parts(S: int, O: int, L: int) -> dict[str, tuple[Callable[[], object], float, float]]:  # noqa: E741
    """By name: calls on four samples, the operations of one and its bytes."""
    rng, four = np.random.default_rng(0), kernel.TOGETHER
    size = -(-S // LANES) * LANES
    F, G = (rng.random((four, size), dtype=np.float32) for _ in "FG")
    Y, V = (rng.random((L, O), dtype=np.float32) for _ in "YV")
    alphas, tops, sums = np.zeros((four, O), np.float32), np.zeros(four, np.float32), np.zeros(four, np.float32)
    rows, none = rng.permutation(L)[:S], np.zeros(O, np.float32)
    product, row = 2.0 * four * S * O, FLOAT * S * O
    again = FLOAT * four * O * S / four  # the four samples' outputs, loaded once for every four rows
    return {
        "logits = F Y": (lambda: _decode(F, Y, rows, none, alphas, tops), product, row + FLOAT * four * O),
        "exponentials": (
            lambda: _exponentiate(alphas, tops, sums), EXP_OPERATIONS * four * O, 2.0 * FLOAT * four * O,
        ),
        "G = alphas Y^T": (lambda: _back(alphas, Y, rows, G), product, row + again),
        "V += F^T alphas": (lambda: _gather(F, alphas, rows, V), product, 2 * row + again),
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    classes, steps = syn_medium(5), options.steps
    settings = Settings.checked(
        lr_y=[1.0], lr_z=[1.0], steps=steps, seeds=[1], batch_size=BATCH, seq_len=SEQ_LEN, optimizer="momentum",
        momentum=MOMENTUM, initial="random", record=None, rng="fresh", device="cpu", dtype="float32",
    )  # fmt: skip
    SharedRuns(classes, settings).finish()  # compiles, or loads what was compiled before
    S, L, O = int((classes.compact.probs[0] > 0).sum()), len(classes.tokens), classes.vocab_size  # noqa: E741
    S, O = -(-S // kernel.TOGETHER) * kernel.TOGETHER, -(-O // LANES) * LANES  # noqa: E741
    counted, a = parts(S, O, L), torch.rand(SIDE, SIDE)
    works = {name: work for name, (work, _, _) in counted.items()}
    drawn, by_counter = (SharedRuns(classes, replace(settings, rng=rng)) for rng in ("fresh", "counter"))
    seconds = least_seconds(
        works
        | {
            "matrix": lambda: a @ a,
            "draws": lambda: drawn._sample(0),
            "by counter": lambda: by_counter._sample(0),
            "run": lambda: drawn._climb(0, 0),
        }
    )
    rate, samples = 2 * SIDE**3 / seconds["matrix"], BATCH * steps

    print(f"Syn-Medium, K = {classes.num_classes}, M = {classes.vocab_size}, {L} tokens, supports of {S}, float32")
    print(f"one thread; float32 matrix rate {rate / 1e9:.0f} Gflop/s\n")
    print(f"{'a sample':<16} {'ns':>7} {'flop':>8} {'bytes':>8} {'flop/byte':>9} {'Gflop/s':>8} {'of the rate':>11}")
    for name, (_, operations, loaded) in counted.items():
        flop, size, each = (value / kernel.TOGETHER for value in (operations, loaded, seconds[name] / CALLS))
        line = f"{name:<16} {each * 1e9:7.0f} {flop:8.0f} {size:8.0f} {flop / size:9.2f}"
        print(f"{line} {flop / each / 1e9:8.1f} {flop / each / rate:11.0%}")
    moved = 4 * FLOAT * L * O / BATCH  # parameters and velocities, read and written
    print(f"{'the update':<16} {'':>7} {3 * L * O / BATCH:8.0f} {moved:8.0f} {3 / (4 * FLOAT):9.2f}")
    print(f"{'all, of one run':<16} {seconds['run'] / samples * 1e9:7.0f}")
    for name, what in (("draws", "its draws"), ("by counter", "by counter")):
        print(f"{what:<16} {seconds[name] / samples * 1e9:7.0f}, once for all rates")


if __name__ == "__main__":
    main()
