"""The tests that need a GPU and the training's benchmark, on this machine's GPU, and a record of both.

Run ``make gpu-check``, or ``python -m benchmarks.gpu results/gpu.json``. Without a GPU it refuses, and records nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import torch

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.engine.arguments import checked_device
from scansnap_core.storage.provenance import provenance

ROOT = Path(__file__).parents[1]
TESTS = ("-m", "pytest", "-q", "-k", "cuda", "--color=no", "tests/engine")
BENCHMARK = ("-m", "benchmarks.training", "--device", "cuda")


def said(arguments: tuple[str, ...]) -> tuple[int, list[str]]:
    """The exit status of a Python program and what it prints."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="")
    return done.returncode, done.stdout.splitlines()


def main(given: list[str] | None = None) -> int:
    """Check, and write the record; 1 if a test or the benchmark fails, 2 where there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    record = parser.parse_args(given).record
    try:
        checked_device("cuda")
    except BadInput as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 2
    (failed, tests), (broken, benchmark) = said(TESTS), said(BENCHMARK)
    found = provenance("make gpu-check") | {
        "device": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "passed": not failed and not broken,
        "tests": tests[-1:],
        "benchmark": benchmark,
    }
    files.save(record, json.dumps(found, indent=2) + "\n")
    return int(not found["passed"])


if __name__ == "__main__":
    sys.exit(main())
