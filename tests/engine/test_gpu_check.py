"""What the check on a GPU records, with the two programs that it starts left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks import gpu


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
