"""What long work shows: a bar in a terminal; elsewhere a line from time to time, also while nothing ends."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest

from scansnap_core.base import progress
from scansnap_core.base.progress import Lines, progress_bar


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.05)


def wait_for_lines(capsys: pytest.CaptureFixture[str], number: int) -> list[str]:
    lines: list[str] = []
    until = time.monotonic() + 10
    while len(lines) < number and time.monotonic() < until:
        time.sleep(0.01)
        lines += capsys.readouterr().err.splitlines()
    return lines


def test_without_a_terminal_a_line_comes_also_while_nothing_ends(
    often: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar(None, True, total=640, initial=100, unit="run") as bar:
        assert wait_for_lines(capsys, 2)[:2] == ["scansnap: 100 of 640 runs after 0:00:00"] * 2
        bar.update(20)
        bar.set_postfix(loss="0.125")
        assert wait_for_lines(capsys, 2)[-1].startswith("scansnap: 120 of 640 runs after 0:00:0")
    time.sleep(0.2)
    capsys.readouterr()
    time.sleep(0.2)
    assert capsys.readouterr().err == ""  # the work is over


def test_a_line_says_how_long_the_rest_takes() -> None:
    lines = Lines(None, "run", 640, 100)
    lines.update(20)
    assert lines.line(180) == "scansnap: 120 of 640 runs after 0:03:00, about 1:18:00 left"
    lines.set_postfix(loss="0.125", entropy="1.5")
    assert lines.line(180).endswith(" left, loss 0.125, entropy 1.5")
    assert Lines(None, "cell", None, 0).line(61.2) == "scansnap: 0 cells after 0:01:01"


def test_it_counts_what_it_goes_through(often: None) -> None:
    with progress_bar(range(5), True, unit="step") as numbers:
        assert list(numbers) == list(range(5))
        assert numbers.n == 5
    assert isinstance(numbers, Lines)
    assert numbers.line(1).startswith("scansnap: 5 of 5 steps")


def test_short_work_and_work_that_nobody_watches_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (True, False):
        with progress_bar(range(3), show, unit="step") as numbers:
            assert list(numbers) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar(range(3), True, unit="step") as numbers:
        list(numbers)
    assert "0/3" in capsys.readouterr().err
    assert not isinstance(numbers, Lines)


def test_where_there_is_no_standard_error_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=None, modules={}))
    with progress_bar(range(3), True, unit="step") as numbers:
        assert list(numbers) == [0, 1, 2]
