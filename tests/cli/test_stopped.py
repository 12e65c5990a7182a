"""What a command says that is interrupted or terminated: what is left, and what to do."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import yaml

from scansnap_core.cli import INTERRUPTED, TERMINATED
from scansnap_core.commands import GOES_ON, NOTHING_KEPT
from tests.sweeps.processes import SLOW, finished_blocks, start, wait_for

ENDS = [(signal.SIGINT, INTERRUPTED, "interrupted"), (signal.SIGTERM, TERMINATED, "terminated")]


@pytest.mark.parametrize(("sent", "status", "said"), ENDS)
def test_a_sweep_says_that_the_same_command_goes_on_and_it_does(
    sent: signal.Signals, status: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(SLOW))
    out = tmp_path / "a.zarr"
    command = ("tests.cli.quick_progress", "sweep", tmp_path / "grid.yaml", "--out", out)
    process = start(*command)
    wait_for(lambda: finished_blocks(out) >= 2, process)
    process.send_signal(sent)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout) == (status, "")
    assert stderr.splitlines()[-1] == f"scansnap: {said}: {GOES_ON}"
    finished = finished_blocks(out)
    assert 2 <= finished < 16
    stdout, _ = (process := start(*command)).communicate()
    assert (process.returncode, stdout) == (0, f"64 runs stored in {out}\n")


@pytest.mark.parametrize(("sent", "status", "said"), ENDS)
def test_a_training_says_that_nothing_was_stored(sent: signal.Signals, status: int, said: str, tmp_path: Path) -> None:
    out = tmp_path / "run.nc"
    options: list[str | Path] = ["--lr-y", "1", "--lr-z", "1", "--steps", "1000000", "--device", "cpu", "--out", out]
    process = start("tests.cli.quick_progress", "train", "examples/two_topics.yaml", *options)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("scansnap: ")  # a line of progress: it trains
    process.send_signal(sent)
    _, stderr = process.communicate()
    assert stderr.splitlines()[-1] == f"scansnap: {said}: {NOTHING_KEPT}"
    assert (process.returncode, list(tmp_path.iterdir())) == (status, [])


def test_a_verification_says_that_its_chapters_are_unchanged(tmp_path: Path) -> None:
    process = start("tests.cli.quick_progress", "verify", "lemma_09")
    assert process.stderr is not None
    assert "cells after" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout) == (TERMINATED, "")
    assert stderr.splitlines()[-1].startswith("scansnap: terminated: no verdict was found; a chapter that isn't stored")
