"""Time ``train`` on Syn-Medium against the machine's matrix rate and against a plain autograd loop.

Run ``python -m tools.benchmarks.training``. Seconds depend on the machine; the ratios in one
process much less. With ``--device cuda`` also with samples that the GPU draws. With ``--against
FOLDER``, another checkout of this repository, ``train`` here and there are timed by turns instead.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from scansnap_core.data.datasets import syn_medium
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.training import train
from tools.benchmarks.turns import HERE, Worker, ratios_by_turns, summary

BATCH = 128
SEQ_LEN = 128
MOMENTUM = 0.9
LR_Z = [lr_z for lr_z in (0.5, 1.0, 2.0, 3.0) for _ in range(4)]
LR_Y = [lr_z * ratio for lr_z in (0.5, 1.0, 2.0, 3.0) for ratio in (1, 2, 5, 10)]
"""The paper's 16 rate pairs (Fig. 6)."""


WORKER = """
import sys, time
from tools.benchmarks.training import BATCH, LR_Y, LR_Z, MOMENTUM, SEQ_LEN
from scansnap_core.data.datasets import syn_medium
from scansnap_core.engine.training import train
classes, seeds = syn_medium(5), range(int(sys.argv[1]))
for steps in map(int, sys.stdin):
    start = time.process_time()
    train(classes, lr_y=LR_Y, lr_z=LR_Z, steps=steps, seeds=seeds, optimizer="momentum",
          momentum=MOMENTUM, batch_size=BATCH, seq_len=SEQ_LEN, initial="random",
          dtype="float32", device="cpu")
    print(time.process_time() - start, flush=True)
"""
"""What one of two checkouts does, each time it reads a number of steps: the same training, in CPU
seconds.
"""


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def seconds_and_memory(work: Callable[[], object], device: str) -> tuple[float, int]:
    """Time one call, and measure the most bytes of a GPU that PyTorch held meanwhile."""
    if device != "cuda":
        return seconds(work), 0
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return seconds(work), torch.cuda.max_memory_reserved()


def matmul_rate(device: str, size: int = 2048, repeats: int = 5) -> float:
    """Measure the float32 operations per second of a large square matrix product, the best of
    some.
    """
    a = torch.rand(size, size, device=device)

    def product() -> None:
        (a @ a).sum().item()  # waits for the device

    product()
    return 2 * size**3 / min(seconds(product) for _ in range(repeats))


def ways(device: str) -> dict[str, dict[str, Any]]:
    """List the trainings that are timed, by name, with their arguments."""
    if device != "cuda":
        return {"train": {}}
    return {"train": {}, "train by counter": {"rng": "counter"}}


def one_hot_autograd(
    classes: SequenceClasses,
    lr_y: float,
    lr_z: float,
    steps: int,
    seed: int,
    batch_size: int = BATCH,
    seq_len: int = SEQ_LEN,
) -> float:
    """Train once as one would write it down first: one-hot sequences, M x M parameters, autograd,
    torch's SGD.
    """
    draw = torch.Generator().manual_seed(seed)
    M = classes.vocab_size
    probs = torch.from_numpy(classes.probs).float()
    query_of = torch.tensor(classes.query_of)
    next_of = torch.tensor(classes.next_of)
    bound = M**-0.5
    Y = (2 * bound * torch.rand(M, M, generator=draw) - bound).requires_grad_()
    Z = (2 * bound * torch.rand(M, M, generator=draw) - bound).requires_grad_()
    optimizer = torch.optim.SGD(
        [{"params": [Y], "lr": lr_y}, {"params": [Z], "lr": lr_z}], momentum=MOMENTUM
    )
    for _ in range(steps):
        n = torch.randint(classes.num_classes, (batch_size,), generator=draw)
        tokens = torch.multinomial(probs[n], seq_len - 1, replacement=True, generator=draw)
        X = torch.nn.functional.one_hot(tokens, M).float()
        b = torch.softmax((X @ Z[query_of[n]].unsqueeze(-1)).squeeze(-1), dim=-1)
        u = (X.mT @ b.unsqueeze(-1)).squeeze(-1)
        loss = torch.nn.functional.cross_entropy(torch.nn.functional.normalize(u) @ Y, next_of[n])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def by_turns(other: Path, seeds: int, steps: int, repeats: int) -> list[float]:
    """Divide CPU seconds of ``train`` here by those in another checkout, by turns."""
    here = Worker(WORKER, [str(seeds)], HERE)
    there = Worker(WORKER, [str(seeds)], other.resolve())
    for worker in (here, there):
        worker.ask("2")  # the first training loads what it needs
    ratios = ratios_by_turns(lambda: here.ask(str(steps)), lambda: there.ask(str(steps)), repeats)
    for worker in (here, there):
        worker.end()
    return ratios


def main(given: list[str] | None = None) -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="another checkout, to be timed by turns"
    )
    parser.add_argument("--repeats", type=int, default=12, help="pairs, with --against")
    options = parser.parse_args(given)
    if options.against:
        ratios = by_turns(options.against, options.seeds, options.steps, options.repeats)
        print(
            f"train here over train in {options.against}, CPU seconds, {len(ratios)} pairs by "
            "turns:"
        )
        print(summary(ratios))
        return
    classes = syn_medium(5)
    seeds = range(options.seeds)
    steps = options.steps
    runs = len(LR_Y) * options.seeds

    def core(num_steps: int, **way: Any) -> object:
        return train(
            classes,
            lr_y=LR_Y,
            lr_z=LR_Z,
            steps=num_steps,
            seeds=seeds,
            optimizer="momentum",
            momentum=MOMENTUM,
            batch_size=BATCH,
            seq_len=SEQ_LEN,
            initial="random",
            dtype="float32",
            device=options.device,
            **way,
        )

    found = {}
    for name, way in ways(options.device).items():
        core(2, **way)
        found[name] = seconds_and_memory(functools.partial(core, steps, **way), options.device)
    rate = matmul_rate(options.device)
    trained, _ = found["train"]
    plain_steps = max(1, steps // 10)
    plain = (
        seconds(lambda: one_hot_autograd(classes, LR_Y[0], LR_Z[0], plain_steps, seed=0))
        * steps
        / plain_steps
    )

    compact = classes.compact
    L = len(compact.tokens)
    Q = len(compact.queries)
    M = classes.vocab_size
    # Three products of a batch with Y (logits, g, dY), two with Z (attention logits, dZ).
    operations = 2 * BATCH * L * (3 * M + 2 * Q) * steps * runs
    print(
        f"Syn-Medium 5/10, {runs} runs ({len(LR_Y)} rate pairs, {options.seeds} seeds), {steps} "
        "updates, float32"
    )
    print(
        f"{torch.get_num_threads()} threads, {options.device}; float32 matrix rate "
        f"{rate / 1e9:.0f} Gflop/s"
    )
    for name, (taken, memory) in found.items():
        held = f"; {memory / 2**20:.0f} MiB of the GPU at most" if memory else ""
        print(
            f"{name:<22}    {taken:8.2f} s   {1e3 * taken / (runs * steps):.3f} ms a run and "
            f"update{held}"
        )
    print(
        f"  its matrix products     {operations / rate:8.2f} s at that rate: "
        f"1/{trained * rate / operations:.1f} of it"
    )
    print(
        f"one-hot autograd loop     {plain * runs:8.2f} s for as many runs (1 measured): "
        f"{plain * runs / trained:.0f} x"
    )


if __name__ == "__main__":
    main()
