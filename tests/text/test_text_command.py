"""``scansnap text train``: what it says, and what it refuses before any work."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from scansnap_core.cli import main
from scansnap_core.storage.store import read
from scansnap_core.text.settings import OPTIMIZERS
from scansnap_core.text.training import Training

COMMAND = ["text", "train", "--corpus", "topics", "--steps", "1", "--device", "cpu", "--out"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lr", "-1"], "--lr -1.0: a learning rate is positive and finite; pass e.g. 1.0"),
        (["--vocab-size", "98"], "--vocab-size 98: it lies between 2 and the corpus' 97 words; choose one of these"),
        (["--optimizer", "lion"], f"--optimizer lion: the choices are {', '.join(OPTIMIZERS)}; use one of them"),
        (["--data", "somewhere"], "--data somewhere: the corpus topics is generated; leave --data out"),
        (["--corpus", "ptb"], "argument --corpus: invalid choice: 'ptb'"),
    ],
)
def test_refused(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.zarr"
    try:
        status = main([*COMMAND, str(out), *arguments])
    except SystemExit as exit:  # of the parser itself
        status = int(str(exit.code))
    assert status == 2
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr.startswith(f"scansnap: error: {message}")
    assert stderr.count("\n") == 1
    assert not out.exists()


def test_it_stores_what_was_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.zarr"
    sizes, rates = ["--layers", "2", "--seed", "3"], ["--lr", "0.25", "--dropout", "0", "--optimizer", "adam"]
    assert main([*COMMAND, str(out), *sizes, *rates, "--no-positions"]) == 0
    result = read(out)
    stdout, stderr = capsys.readouterr()
    assert stderr == ""
    assert stdout.splitlines()[-1] == f"stored in {out}"
    entropy = ", ".join(f"{float(value):.3f}" for value in result.entropy[1])
    assert f"1: {float(result.loss[1]):.3f}; {entropy}" in stdout
    asked = {"lr": 0.25, "dropout": 0.0, "positions": False, "optimizer": "adam", "seed": 3, "layers": 2}
    assert asked.items() <= json.loads(result.attrs["configuration"]).items()
    assert result.attrs["command"].startswith("scansnap text train --corpus topics")


def test_a_run_that_diverged_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def diverge(self: Training, step: int) -> torch.Tensor:
        with torch.no_grad():
            self.model.decoder.bias.fill_(torch.nan)
        return torch.tensor(torch.nan)

    monkeypatch.setattr(Training, "_step", diverge)
    assert main([*COMMAND, str(tmp_path / "run.zarr"), "--steps", "27"]) == 1
    assert "the loss is no longer finite from step 25 on" in capsys.readouterr().err  # not 27, the last
    assert np.isnan(read(tmp_path / "run.zarr").loss).values.tolist() == [False, True, True]
