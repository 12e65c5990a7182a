from __future__ import annotations

from pathlib import Path

import pytest

from scansnap_core.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_topics.yaml"


def test_audit_prints_what_the_classes_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(EXAMPLE), "--lr-y", "20", "--lr-z", "1"]) == 0
    out, err = capsys.readouterr()
    lines = [" ".join(line.split()) for line in out.splitlines()]
    # f = P/|P|: the overlap is 0.13 / sqrt(0.225 * 0.24)
    assert lines[:5] == [
        "M = 11 tokens, K = 2 classes",
        "query tokens 1",
        "common tokens 2",
        "distinct tokens 3 3 (by class)",
        "eigenvalues of E -0.5594 0.5594",
    ]
    assert lines[6] == "condition required actual holds"
    assert "1(b) length T -> infinity T = inf yes" in lines
    assert "1(c) rates eta_Y >> eta_Z (at least 10 times) eta_Y/eta_Z = 20 yes" in lines
    assert "2 largest eigenvalue |lambda_1(E)| < 1/K = 0.5 0.5594 NO" in lines
    assert err == ""
