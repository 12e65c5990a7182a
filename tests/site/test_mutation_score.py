"""What the home page says of the mutants: the record's numbers, and whether they are still of these sources."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from mutation_score import RECORD, score_html

from tests.site.book import ROOT

COUNTS = {
    "mutants": 2001,
    "killed_by_tests": 1990,
    "killed_by_chapters": 5,
    "timeouts": 2,
    "equivalent": 3,
    "survived": 1,
}
SOURCE = b"x = 1\n"


def write_record(root: Path, **changes: Any) -> None:
    (root / RECORD).parent.mkdir()
    (root / "scansnap_core").mkdir()
    (root / "scansnap_core/flows.py").write_bytes(SOURCE)
    record = {"counts": {"flows": COUNTS}, "sha256": {"flows": hashlib.sha256(SOURCE).hexdigest()}, **changes}
    (root / RECORD).write_text(json.dumps(record))


def test_the_score_leaves_out_what_is_equivalent_and_isnt_rounded_up(tmp_path: Path) -> None:
    write_record(tmp_path)
    page = score_html(tmp_path)
    assert "<strong>99.9 %</strong>" in page
    assert "1997 of 1998, besides 3" in page
    assert re.findall(r"<td>(.*?)</td>", page) == ["2001", "3", "1990", "5", "2", "1", "99.9 %"] * 2
    assert "hanged since" not in page


@pytest.mark.parametrize(("mutants", "score"), [(1001, "99.9 %"), (10**6, "99.9 %"), (3, "66.6 %"), (1, "0 %")])
def test_one_survivor_among_however_many_isnt_a_hundred(tmp_path: Path, mutants: int, score: str) -> None:
    counts = {**COUNTS, "mutants": mutants, "equivalent": 0, "survived": 1}
    write_record(tmp_path, counts={"flows": counts})
    page = score_html(tmp_path)
    assert f"<strong>{score}</strong>" in page
    assert page.count(f"<td>{score}</td>") == 2


def test_all_killed_is_a_hundred(tmp_path: Path) -> None:
    write_record(tmp_path, counts={"flows": {**COUNTS, "killed_by_tests": 1991, "survived": 0}})
    assert "<strong>100 %</strong>" in score_html(tmp_path)


@pytest.mark.parametrize("change", ["edit", "remove"])
def test_a_changed_source_is_named(tmp_path: Path, change: str) -> None:
    write_record(tmp_path)
    source = tmp_path / "scansnap_core/flows.py"
    source.write_bytes(b"x = 2\n") if change == "edit" else source.unlink()
    assert "Changed since this was measured: <code>flows.py</code>" in score_html(tmp_path)


def test_no_record_is_said(tmp_path: Path) -> None:
    assert "Not measured yet" in score_html(tmp_path)


def test_the_home_page_shows_the_record(site: Path) -> None:
    home = (site / "chapters/index.html").read_text(encoding="utf8")
    assert score_html(ROOT) in home
    assert "killed" in score_html(ROOT)
