"""What the check on a GPU records and what its benchmark times, with the work itself left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import gpu
from benchmarks import training as benchmark
from scansnap_core.engine.settings import Settings


@pytest.mark.parametrize("statuses", [(0, 0), (1, 0), (0, 1)])
def test_the_record_names_the_device_and_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: tuple[int, int]
) -> None:
    answers = iter(zip(statuses, (["..", "2 passed"], ["1 ms a run"]), strict=True))
    monkeypatch.setattr(gpu, "checked_device", lambda device: device)
    monkeypatch.setattr(gpu, "said", lambda arguments: next(answers))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    assert gpu.main([str(tmp_path / "gpu.json")]) == max(statuses)
    found = json.loads((tmp_path / "gpu.json").read_text())
    told = [found[name] for name in ("device", "passed", "tests", "benchmark")]
    assert told == ["A GPU", not any(statuses), ["2 passed"], ["1 ms a run"]]


def test_without_a_gpu_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main([str(tmp_path / "gpu.json")]) == 2
    assert capsys.readouterr().err.startswith("gpu-check: device = 'cuda': it needs a CUDA GPU")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("device", "timed"),
    [
        ("cpu", [("fresh", False)]),
        ("cuda", [("fresh", False), ("counter", False), ("counter", True)]),
    ],
)
def test_on_a_gpu_steps_told_one_by_one_and_captured_ones_are_timed(
    device: str, timed: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained: list[Settings] = []

    def train(classes: Any, **given: Any) -> None:
        trained.append(Settings.checked(record=None, **{"rng": "fresh"} | given))

    monkeypatch.setattr("scansnap_core.engine.settings.checked_device", lambda name: name)
    monkeypatch.setattr(benchmark, "train", train)
    monkeypatch.setattr(benchmark, "matmul_rate", lambda name: 1e9)
    monkeypatch.setattr(benchmark, "one_hot_autograd", lambda *_, **__: 0.0)
    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda: 3 * 2**20)
    benchmark.main(["--device", device, "--steps", "7"])
    assert [(each.rng, each.capture) for each in trained] == [way for way in timed for _ in range(2)]
    assert [each.steps for each in trained] == [2, 7] * len(timed)
    lines = [line for line in capsys.readouterr().out.splitlines() if "ms a run and update" in line]
    assert [line.split("  ")[0] for line in lines] == ["train", "train by counter", "the same, captured"][: len(timed)]
    assert all(line.endswith("; 3 MiB of the GPU at most") == (device == "cuda") for line in lines)
