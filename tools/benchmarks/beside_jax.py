"""Time the compiled engine beside a program in JAX that trains the same runs, by turns: the runs of
one seed on Syn-Medium 10/20, out of Fig. 6's grid.

Run ``python -m tools.benchmarks.beside_jax --jax PYTHON``, where PYTHON is an interpreter of an
environment that has JAX and NumPy. JAX isn't among this book's requirements.
:mod:`tools.benchmarks.cost` records what is measured here.

Both programs start from the same values and see the same samples, and their losses are compared.
JAX gets the samples ready-made; the engine's seconds include its draws. Both may use one core.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scansnap_core.engine.compiled import SharedRuns
from scansnap_core.engine.draws import draws_of
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.starts import initial_values
from scansnap_core.sweeps.blocks import Block, blocks
from scansnap_core.sweeps.grid_files import load_grid
from tools.benchmarks.turns import HERE, ratios_by_turns, summary

PROGRAM = HERE / "tools/benchmarks/jax_training.py"
CLASSES = 20
"""K of the largest data set in Fig. 6's grid."""


def largest_block() -> Block:
    """Return the runs of seed 1 on Syn-Medium 10/20, one for each of 16 pairs of rates."""
    grid = load_grid("fig6", seeds=1, rng="counter")
    (found,) = [each for each in blocks(grid, "cpu") if each.classes.num_classes == CLASSES]
    return found


def settings_of(block: Block) -> Settings:
    """Return the settings of a block's training."""
    return Settings(**block.arguments, seeds=[block.seed])


def write_arrays(block: Block, path: Path) -> None:
    """Write what the program in JAX reads: rates, initial values, samples, and each class's query
    and next token.
    """
    settings = settings_of(block)
    classes = block.classes
    source = draws_of(classes, settings)
    Y, Z, outputs = initial_values(classes, settings, source, classes.tokens)
    batches = [source.batch() for _ in range(settings.steps)]
    np.savez(
        path,
        lr_y=np.array(block.arguments["lr_y"], np.float32),
        lr_z=np.array(block.arguments["lr_z"], np.float32),
        Y=Y[0, 0].astype(np.float32),
        Z=Z[0, 0].astype(np.float32),
        classes=np.stack([np.asarray(n)[0] for n, _ in batches]),
        q=np.stack([np.asarray(q)[0] for _, q in batches]).astype(np.float32),
        query_row=np.array(classes.compact.query_row),
        target=np.array(outputs.columns),
    )


class InJax:
    """The program in JAX, in a process of its own that waits for lines."""

    def __init__(self, python: str, arrays: Path) -> None:
        """Start it, and let it compile."""
        self._process = subprocess.Popen(
            [python, str(PROGRAM), str(arrays)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.first_seconds = self.train()
        """CPU seconds of the first training, which compiles."""

    def train(self) -> float:
        """Train all runs once; return the CPU seconds, and keep the last losses."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        self.losses = np.array(answer["losses"])
        self.version = str(answer["version"])
        return float(answer["seconds"])

    def end(self) -> None:
        """Let it come to its end."""
        self._process.communicate()


class Ours:
    """The compiled engine on the same runs."""

    def __init__(self, block: Block) -> None:
        """Compile, or load what was compiled before."""
        self._block = block
        self.train()

    def train(self) -> float:
        """Draw and train all runs once; return the CPU seconds."""
        start = time.process_time()
        SharedRuns(self._block.classes, settings_of(self._block)).finish()
        return time.process_time() - start


class Measured(NamedTuple):
    """What training by turns gave."""

    seconds_jax: list[float]
    """CPU seconds of the program in JAX, a number for each turn."""
    seconds_ours: list[float]
    """CPU seconds of the compiled engine, draws included."""
    losses_jax: np.ndarray
    """-J before the last step, in nats, shape (rates,)."""
    compile_seconds: float
    """CPU seconds that JAX's first training takes more than its later ones."""
    jax_version: str

    def ratios(self) -> list[float]:
        """Divide JAX's seconds by ours, turn by turn."""
        return [a / b for a, b in zip(self.seconds_jax, self.seconds_ours, strict=True)]


def check_jax(python: str) -> None:
    """Refuse an interpreter that can't import JAX, before any work starts."""
    try:
        tried = subprocess.run([python, "-c", "import jax"], capture_output=True, text=True)
    except OSError as error:
        reason = str(error)
    else:
        if tried.returncode == 0:
            return
        reason = tried.stderr.strip().rpartition("\n")[2]
    remedy = "make an environment for it: python -m venv jaxenv; jaxenv/bin/pip install jax"
    raise SystemExit(f"--jax {python}: it has to import JAX, and says {reason}; {remedy}")


def measure(python: str, repeats: int = 12) -> Measured:
    """Train with both by turns. ``python`` is an interpreter that has JAX."""
    # Both programs get one core, so that neither spreads its work.
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    block = largest_block()
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder, "arrays.npz")
        write_arrays(block, arrays)
        in_jax = InJax(python, arrays)
        ours = Ours(block)
        seconds_jax: list[float] = []
        seconds_ours: list[float] = []

        def time_jax() -> float:
            seconds_jax.append(in_jax.train())
            return seconds_jax[-1]

        def time_ours() -> float:
            seconds_ours.append(ours.train())
            return seconds_ours[-1]

        ratios_by_turns(time_jax, time_ours, repeats)
        in_jax.end()
    os.sched_setaffinity(0, cores)
    return Measured(
        seconds_jax,
        seconds_ours,
        in_jax.losses,
        in_jax.first_seconds - float(np.median(seconds_jax)),
        in_jax.version,
    )


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jax", required=True, help="a Python that has JAX", metavar="PYTHON")
    parser.add_argument("--repeats", type=int, default=12, help="pairs of trainings")
    options = parser.parse_args()
    check_jax(options.jax)
    found = measure(options.jax, options.repeats)
    print(f"JAX {found.jax_version} compiles in {found.compile_seconds:.2f} CPU seconds")
    print(f"JAX's CPU seconds over ours, by turns: {summary(found.ratios())}")


if __name__ == "__main__":
    main()
