from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.cli import main
from scansnap_core.storage.store import read
from scansnap_core.sweeps import running

GRID = """
data: [syn_small]
rates: {lr_y: [1, 2], lr_z: 1}
steps: 5
seeds: 9
batch_size: 8
seq_len: 16
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(GRID)
    return path


def test_it_stores_a_grid_and_goes_on(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Callable[..., str]
) -> None:
    out = tmp_path / "a.zarr"
    command = ["sweep", str(grid), "--out", str(out), "--seeds", "3", "--rng", "replay", "--device", "cpu"]
    for _ in range(2):
        assert main(command) == 0
        assert capsys.readouterr() == (f"6 runs stored in {out}\n", "")
    result = read(out)
    assert result.seed.values.tolist() == [1, 2, 3]
    assert result.attrs["command"] == f"scansnap sweep {grid} --out {out} --seeds 3 --rng replay --device cpu"
    assert '"rng": "replay"' in result.attrs["configuration"]
    said = f"store {out}: seeds = [1, 2, 3], asked for is [1, 2, 3, 4]: a store"
    assert refused(*command, "--seeds", "4").startswith(said)
    assert read(out).identical(result)


def test_a_figure_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def stop(grid: Any, out: Path, **more: Any) -> None:
        asked.update(grid=grid, out=out, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", stop)
    command = ["sweep", "fig6", "--out", "a.zarr", "--seeds", "2", "--scheduler", "tcp://here:8786"]
    assert main(command) == 130
    assert asked.pop("grid").num_runs == 128
    assert asked == {
        "out": Path("a.zarr"),
        "device": "auto",
        "scheduler": "tcp://here:8786",
        "command": "scansnap " + " ".join(command),
        "progress": True,
    }


def test_diverged_runs_are_counted(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid.write_text(GRID.replace("[1, 2], lr_z: 1", "[1.0e+200, 1.0e+199], lr_z: 1.0e+200") + "dtype: float64\n")
    assert main(["sweep", str(grid), "--out", str(tmp_path / "a.zarr"), "--seeds", "2"]) == 1
    stderr = capsys.readouterr().err
    assert stderr == "scansnap: 4 of them turned NaN: diverged_at says when; use smaller rates\n"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (GRID + "stepz: 5", "file {grid}: a grid: key 'stepz': there is no such key; use data, rates"),
        (GRID + "optimizer: []", "file {grid}: optimizer = []: an axis of a grid has at least one value"),
        (GRID.replace("lr_z: 1", "lr_z: -1"), "file {grid}: lr_z = -1: a learning rate is positive and finite"),
        (
            GRID + "measures: [{name: recall, threshold: x}]",
            "measure recall: thresholds = 'x': thresholds are",
        ),
    ],
)
def test_a_bad_grid(changed: str, message: str, grid: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    grid.write_text(changed)
    assert refused("sweep", str(grid), "--out", str(tmp_path / "a.zarr")).startswith(message.format(grid=grid))
    assert [entry.name for entry in tmp_path.iterdir()] == ["grid.yaml"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit(3)", "measure = 'quits:one': SystemExit: 3: its module can be imported and holds it; correct"),
        ("def one(run, classes): sys.exit(3)", "quits.py ends the program in line 2: a function of your own returns"),
    ],
)
def test_a_module_that_ends_the_program(
    body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "quits", raising=False)
    (tmp_path / "quits.py").write_text(f"import sys\n{body}\n")
    (tmp_path / "grid.yaml").write_text(f"{GRID}measures: ['quits:one']\n")
    assert said in refused("sweep", str(tmp_path / "grid.yaml"), "--out", str(tmp_path / "a.zarr"))
    assert not (tmp_path / "a.zarr").exists()
