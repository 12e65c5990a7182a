"""A reader that goes early, as ``head`` does, ends a command without a word; a full disk with a sentence."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scansnap_core.cli import NOBODY_READS, REFUSED


@pytest.mark.parametrize("command", ["audit examples/two_topics.yaml", "--help"])
def test_nobody_reads(command: str) -> None:
    program = [sys.executable, "-m", "scansnap_core.cli", *command.split()]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    assert subprocess.run(program, capture_output=True, text=True).returncode == 0
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(program, stdout=writes, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (NOBODY_READS, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is Linux's")
def test_a_full_disk_is_said_in_a_sentence() -> None:
    program = [sys.executable, "-m", "scansnap_core.cli", "audit", "examples/two_topics.yaml"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (REFUSED, "scansnap: error: No space left on device: output\n")
